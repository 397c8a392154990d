//! Who carries out the commands of a script.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use regex::{Captures, Regex};

use crate::support::weir::Weir;
use crate::support::wire::{Canceller, Client, Closer, Message, Outcome, Report, type_name};

/// How long anything may take before the script is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a session's thread is told.
enum Order {
    Simple(String),
    Extended(String, Vec<Option<String>>),
    CopyIn(String, Vec<u8>),
}

/// What it says.
enum Event {
    /// A row of a result or of a COPY, or a line around it.
    Row(String),
    Line(String),
    /// The statement is at its end.
    End,
}

struct Session {
    orders: Sender<Order>,
    events: Receiver<Event>,
    canceller: Canceller,
    is_running: bool,
    /// Ends the thread too, whatever it waits for.
    _closer: Closer,
}

/// A server, and the sessions on it.
pub struct Player {
    weir: Weir,
    sessions: BTreeMap<String, Session>,
    times: Vec<String>,
}

impl Player {
    pub fn new(workers: usize) -> Player {
        Player { weir: Weir::start(workers), sessions: BTreeMap::new(), times: Vec::new() }
    }

    /// Carries out a command.
    pub fn answer(&mut self, command: &[String]) -> Vec<String> {
        let lines = match command[0].as_str() {
            "stop" => self.end(Weir::stop),
            "kill -9" => self.end(Weir::kill),
            "kill engine" => self.end(Weir::kill_engine),
            "start" => self.end(Weir::resume),
            line => match line.strip_prefix("sleep ") {
                Some(ms) => {
                    std::thread::sleep(Duration::from_millis(ms.parse().expect("milliseconds")));
                    Vec::new()
                }
                None => self.tell(command),
            },
        };
        let mut lines: Vec<String> = lines.iter().flat_map(|line| self.normalise(line)).collect();
        // The changes of one time come in no order.

        for changes in lines.chunk_by_mut(|a, b| time_of(a).is_some() && time_of(a) == time_of(b)) {
            changes.sort();
        }
        lines
    }

    fn end(&mut self, how: fn(&mut Weir)) -> Vec<String> {
        self.sessions.clear();
        how(&mut self.weir);
        Vec::new()
    }

    /// A command to one session.
    fn tell(&mut self, command: &[String]) -> Vec<String> {
        let (name, rest) = command[0].split_at(1);
        let (verb, first) = rest.split_at(1);
        let body = std::iter::once(first).chain(command[1..].iter().map(String::as_str));
        let text = self.with_times(body.collect::<Vec<_>>().join("\n").trim_start());
        if verb == "-" {
            self.sessions.remove(name);
            return Vec::new();
        }
        if !self.sessions.contains_key(name) {
            match connect(&self.weir) {
                Ok(session) => self.sessions.insert(name.to_string(), session),
                Err(error) => return vec![format!("cannot connect: {error}")],
            };
        }
        let session = self.sessions.get_mut(name).expect("it has just been made");
        match verb {
            ">" | "~" => session.run(Order::Simple(text)),
            "$" => session.run(extended(&text)),
            "<" => session.run(copy_in(&text)),
            "&" => {
                session.start(Order::Simple(text));
                Vec::new()
            }
            "?" => session.rows(text.trim().parse().expect("a number of rows")),
            "." => session.rest(),
            "!" => {
                session.canceller.cancel().unwrap();
                Vec::new()
            }
            other => panic!("no command {other:?} in {command:?}"),
        }
    }

    /// SQL with the times that it names.
    fn with_times(&self, text: &str) -> String {
        let name = Regex::new(r":t(\d+)\b").unwrap();
        let time = |found: &Captures<'_>| {
            let number: usize = found[1].parse().unwrap();
            self.times.get(number - 1).cloned().unwrap_or_else(|| panic!("no time t{number} yet"))
        };
        name.replace_all(text, time).into_owned()
    }

    /// A line as the script shows it, with names for times.
    fn normalise(&mut self, line: &str) -> Vec<String> {
        let time = Regex::new(r"\b1[6-9]\d{17}\b").unwrap();
        let times = &mut self.times;
        let named = time.replace_all(line, |found: &Captures<'_>| {
            let known = times.iter().position(|time| *time == found[0]);
            let index = known.unwrap_or_else(|| {
                times.push(found[0].to_string());
                times.len() - 1
            });
            format!("t{}", index + 1)
        });
        named
            .lines()
            .map(|line| if line.is_empty() { "(empty line)" } else { line }.to_string())
            .collect()
    }
}

fn extended(text: &str) -> Order {
    let (sql, list) = text.rsplit_once('[').expect("parameters in brackets");
    let list = list.trim_end_matches(']');
    let parameter = |p: &str| (p.trim() != "NULL").then(|| p.trim().to_string());
    let parameters =
        if list.trim().is_empty() { Vec::new() } else { list.split(',').map(parameter).collect() };
    Order::Extended(sql.trim().trim_end_matches(';').to_string(), parameters)
}

fn copy_in(text: &str) -> Order {
    let (sql, data) = text.split_once(";\n").expect("a statement, then data");
    let data = data.strip_suffix("\\.").expect("the end of the data");
    Order::CopyIn(sql.to_string(), data.as_bytes().to_vec())
}

fn connect(weir: &Weir) -> std::io::Result<Session> {
    let client = Client::connect(weir.port)?;
    let (canceller, closer) = (client.canceller.clone(), client.closer());
    let (orders, orders_received) = mpsc::channel();
    let (events_sent, events) = mpsc::channel();
    std::thread::spawn(move || serve(client, &orders_received, &events_sent));
    Ok(Session { orders, events, canceller, is_running: false, _closer: closer })
}

impl Session {
    fn start(&mut self, order: Order) {
        assert!(!self.is_running, "it is still at the statement before");
        self.is_running = true;
        let _ = self.orders.send(order);
    }

    fn run(&mut self, order: Order) -> Vec<String> {
        self.start(order);
        self.rest()
    }

    /// What comes up to the end of the statement.
    fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while self.is_running {
            match self.next() {
                Ok(Event::Row(line) | Event::Line(line)) => lines.push(line),
                Ok(Event::End) => self.is_running = false,
                Err(missing) => {
                    lines.push(missing);
                    break;
                }
            }
        }
        lines
    }

    /// What comes up to a number of rows.
    fn rows(&mut self, mut count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        while count > 0 && self.is_running {
            match self.next() {
                Ok(Event::Row(line)) => {
                    lines.push(line);
                    count -= 1;
                }
                Ok(Event::Line(line)) => lines.push(line),
                Ok(Event::End) => self.is_running = false,
                Err(missing) => {
                    lines.push(missing);
                    break;
                }
            }
        }
        lines
    }

    fn next(&mut self) -> Result<Event, String> {
        let missing = |_| format!("(nothing within {} s)", PATIENCE.as_secs());
        self.events.recv_timeout(PATIENCE).map_err(missing)
    }
}

/// The thread of a session. It ends when its orders do.
fn serve(mut client: Client, orders: &Receiver<Order>, events: &Sender<Event>) {
    while let Ok(order) = orders.recv() {
        let result = match order {
            Order::Simple(sql) => {
                client.send_query(&sql).and_then(|()| stream(&mut client, events))
            }
            Order::Extended(sql, parameters) => {
                let parameters: Vec<_> = parameters.iter().map(Option::as_deref).collect();
                client.extended(&sql, &parameters, 0).map(|outcome| tell_outcome(outcome, events))
            }
            Order::CopyIn(sql, data) => client.copy_in(&sql, &data).map(|outcomes| {
                outcomes.into_iter().for_each(|outcome| tell_outcome(outcome, events));
            }),
        };
        let is_lost = result.is_err();
        if is_lost {
            let _ = events.send(Event::Line("connection lost".to_string()));
        }
        if events.send(Event::End).is_err() || is_lost {
            return;
        }
    }
}

/// Passes on what comes, as it comes.
fn stream(client: &mut Client, events: &Sender<Event>) -> std::io::Result<()> {
    loop {
        let event = match client.receive()? {
            Message::Ready(_) => return Ok(()),
            Message::RowDescription(columns) => {
                let columns = columns.iter().map(|c| format!("{}:{}", c.name, type_name(c.oid)));
                Event::Line(columns.collect::<Vec<_>>().join(" | "))
            }
            Message::DataRow(values) => {
                let text = |v: Vec<u8>| String::from_utf8_lossy(&v).into_owned();
                let values: Vec<_> = values.into_iter().map(|value| value.map(text)).collect();
                Event::Row(row(&values))
            }
            Message::CopyData(data) => {
                Event::Row(String::from_utf8_lossy(&data).trim_end_matches('\n').to_string())
            }
            Message::CommandComplete(tag) => Event::Line(tag),
            Message::Error(report) | Message::Notice(report) => Event::Line(spell(&report)),
            _ => continue,
        };
        if events.send(event).is_err() {
            // Nobody listens: the session went away, and its connection goes with this thread.
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
    }
}

fn tell_outcome(outcome: Outcome, events: &Sender<Event>) {
    let mut lines = Vec::new();
    lines.extend(outcome.notices.iter().map(spell));
    if let Some(columns) = outcome.columns {
        let columns = columns.iter().map(|c| format!("{}:{}", c.name, type_name(c.oid)));
        lines.push(columns.collect::<Vec<_>>().join(" | "));
    }
    lines.extend(outcome.rows.iter().map(|values| row(values)));
    lines.extend(outcome.tag);
    lines.extend(outcome.error.iter().map(spell));
    for line in lines {
        let _ = events.send(Event::Line(line));
    }
}

fn row(values: &[Option<String>]) -> String {
    let spell = |value: &Option<String>| match value {
        None => "NULL".to_string(),
        Some(text) if text.is_empty() => "(empty)".to_string(),
        Some(text) => text.replace('\n', "\\n"),
    };
    values.iter().map(spell).collect::<Vec<_>>().join(" | ")
}

/// An error with its detail, hint and position.
fn spell(report: &Report) -> String {
    report.to_string()
}

/// The number of the time that a line starts with.
fn time_of(line: &str) -> Option<u32> {
    line.strip_prefix('t')?.split(['\t', ' ']).next()?.parse().ok()
}
