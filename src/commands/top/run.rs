//! The keys, and asking the server again and again.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::{DefaultTerminal, Terminal};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::draw::{bytes, draw, nanos};
use super::pages::SUMMARY;
use super::view::View;
use crate::commands::connection::{connect, failed, report};
use crate::config::Top;
use crate::error::{Error, Result, SqlState};

/// What p does.
const PROFILE: &str = "ALTER SYSTEM SET introspection_snapshot = '1s'";
/// How long a key may wait for its answer.
const KEY_LIMIT: Duration = Duration::from_millis(100);

/// Shows a server until the user has enough.
pub fn run(asked: &Top) -> ExitCode {
    match show(asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn show(asked: &Top) -> Result<()> {
    let runtime = Runtime::new().map_err(|e| Error::internal(format!("could not start: {e}")))?;
    let client = runtime.block_on(connect(&asked.remote))?;
    let mut server = Server { runtime, client, asked, last: None };
    let mut view = View::default();
    view.turn_to(asked.page.saturating_sub(1));
    if asked.once {
        return once(&mut server, &mut view);
    }
    let mut terminal = ratatui::try_init().map_err(unusable)?;
    let result = follow(&mut terminal, &mut server, &mut view);
    ratatui::restore();
    result
}

/// Prints one picture; what is a rate needs two looks.
fn once(server: &mut Server<'_>, view: &mut View) -> Result<()> {
    server.look(view)?;
    std::thread::sleep(server.asked.interval);
    server.look(view)?;
    let backend = TestBackend::new(server.asked.width, server.asked.height);
    let mut terminal = Terminal::new(backend).map_err(unusable)?;
    terminal.draw(|frame| draw(frame, view)).map_err(unusable)?;
    let buffer = terminal.backend().buffer();
    let mut out = std::io::stdout().lock();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        match writeln!(out, "{}", line.trim_end()) {
            // Who reads has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(unusable)?,
        }
    }
    Ok(())
}

fn follow(terminal: &mut DefaultTerminal, server: &mut Server<'_>, view: &mut View) -> Result<()> {
    let mut due = Instant::now();
    loop {
        if Instant::now() >= due {
            if let Err(error) = server.look(view) {
                view.fault = Some(error.message.clone());
                if server.client.is_closed() {
                    return Err(error);
                }
            }
            due = Instant::now() + server.asked.interval;
        }
        terminal.draw(|frame| draw(frame, view)).map_err(unusable)?;
        let left = due.saturating_duration_since(Instant::now()).min(KEY_LIMIT);
        if !event::poll(left).map_err(unusable)? {
            continue;
        }
        if let Event::Key(key) = event::read().map_err(unusable)?
            && key.kind == KeyEventKind::Press
        {
            match pressed(view, key) {
                Then::Quit => return Ok(()),
                Then::Profile => {
                    if let Err(error) = server.ask(PROFILE) {
                        view.fault = Some(error.message);
                    }
                }
                Then::Look => {
                    server.last = None;
                    due = Instant::now();
                }
                Then::Draw => {}
            }
        }
    }
}

/// What is to be done after a key.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Draw,
    Look,
    Profile,
    Quit,
}

fn pressed(view: &mut View, key: KeyEvent) -> Then {
    if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
        return Then::Quit;
    }
    if view.is_typing {
        match key.code {
            KeyCode::Char(c) => view.filter.push(c),
            KeyCode::Backspace => drop(view.filter.pop()),
            KeyCode::Esc => (view.filter, view.is_typing) = (String::new(), false),
            KeyCode::Enter => view.is_typing = false,
            _ => {}
        }
        return Then::Draw;
    }
    match key.code {
        KeyCode::Char('q') => return Then::Quit,
        KeyCode::Char('p') => return Then::Profile,
        KeyCode::Tab => view.turn_to(view.page + 1),
        KeyCode::Char(digit @ '1'..='4') => view.turn_to(digit as usize - '1' as usize),
        KeyCode::Enter => view.enter(),
        KeyCode::Esc => view.leave(),
        other => {
            match other {
                KeyCode::Up | KeyCode::Char('k') => view.choose(-1),
                KeyCode::Down | KeyCode::Char('j') => view.choose(1),
                KeyCode::PageUp => view.choose(-10),
                KeyCode::PageDown => view.choose(10),
                KeyCode::Left => view.sort_by(-1),
                KeyCode::Right => view.sort_by(1),
                KeyCode::Char('r') => view.sort.1 = !view.sort.1,
                KeyCode::Char('/') => view.is_typing = true,
                _ => {}
            }
            return Then::Draw;
        }
    }
    Then::Look
}

/// The server, and when it was last asked.
struct Server<'a> {
    runtime: Runtime,
    client: Client,
    asked: &'a Top,
    last: Option<Instant>,
}

impl Server<'_> {
    /// Asks for what the view shows.
    fn look(&mut self, view: &mut View) -> Result<()> {
        let summary = self.ask(SUMMARY)?;
        let host = &self.asked.remote;
        view.summary = format!("weir {}:{}{}", host.host, host.port, told(&summary));
        let answer = self.ask(&view.query())?;
        let now = Instant::now();
        let since = self.last.map_or(Duration::ZERO, |last| now - last);
        self.last = Some(now);
        view.take(answer, since);
        Ok(())
    }

    fn ask(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let messages = self.runtime.block_on(self.client.simple_query(sql)).map_err(failed)?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let cell = |place| row.get(place).map(str::to_owned);
                Some((0..row.len()).map(cell).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }
}

/// The line about the server.
fn told(summary: &[Vec<Option<String>>]) -> String {
    let number = |place: usize| {
        summary.first()?.get(place)?.as_ref()?.parse::<f64>().ok().filter(|n| n.is_finite())
    };
    let part = |name: &str, text: Option<String>| {
        text.map(|text| format!("   {name} {text}")).unwrap_or_default()
    };
    [
        part("memory", number(0).map(bytes)),
        part("arrangements", number(1).map(bytes)),
        part("disk", number(2).map(bytes)),
        part("workers", number(3).map(|count| count.to_string())),
        part("lag", number(4).map(nanos)),
    ]
    .concat()
}

fn unusable(error: std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not use the terminal: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(view: &mut View, code: KeyCode) -> Then {
        pressed(view, KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_turn_pages_type_filters_and_quit() {
        let mut view = View::default();
        assert_eq!(press(&mut view, KeyCode::Tab), Then::Look);
        assert_eq!(view.shown_page().name, "Critical operators");
        assert_eq!(press(&mut view, KeyCode::Char('p')), Then::Profile);
        press(&mut view, KeyCode::Char('3'));
        assert_eq!(view.shown_page().name, "Sessions");
        press(&mut view, KeyCode::Char('/'));
        for c in "queen".chars() {
            assert_eq!(press(&mut view, KeyCode::Char(c)), Then::Draw);
        }
        press(&mut view, KeyCode::Backspace);
        press(&mut view, KeyCode::Enter);
        assert_eq!((view.filter.as_str(), view.is_typing), ("quee", false));
        assert_eq!(press(&mut view, KeyCode::Esc), Then::Look);
        assert!(view.filter.is_empty());
        let before = view.sort;
        press(&mut view, KeyCode::Char('r'));
        assert_eq!(view.sort, (before.0, !before.1));
        assert_eq!(press(&mut view, KeyCode::Char('q')), Then::Quit);
    }

    #[test]
    fn what_is_not_known_is_left_out_of_the_summary() {
        let row = vec![Some("5000000".into()), None, Some("12".into()), Some("2".into()), None];
        assert_eq!(told(&[row]), "   memory 5.0 MB   disk 12 B   workers 2");
        assert_eq!(told(&[]), "");
    }
}
