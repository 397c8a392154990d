//! Many who watch what lies behind a node of their own share one dataflow.
//!
//! Each is told what a walk through the edges finds, while edges and watchers come and go, and
//! sessions end without a word. What the dataflow holds is what is behind the nodes that are
//! watched, however large the rest of the graph is, and it is gone with the last of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::weir::Weir;
use crate::support::wire::Client;
use crate::{copy, define};

const SESSIONS: usize = 20;
const EACH: usize = 10;
/// Nodes that are watched, in rings of so many.
const RING: i64 = 10;
const WATCHED: i64 = 300;
/// Edges between others, which nobody asks for.
const OTHERS: i64 = 20_000;

type Edges = BTreeSet<(i64, i64)>;

/// A session, what its cursors watch, and what each was told.
struct Session {
    client: Client,
    cursors: Vec<(String, i64, BTreeMap<i64, i64>)>,
}

impl Session {
    fn new(weir: &Weir, rng: &mut StdRng) -> Session {
        let mut client = weir.client();
        define(&mut client, "BEGIN");
        let mut session = Session { client, cursors: vec![] };
        (0..EACH).for_each(|n| session.watch(n, rng.random_range(0..WATCHED)));
        session
    }

    fn watch(&mut self, number: usize, node: i64) {
        let name = format!("c{number}");
        let declare = |what: &str| format!("DECLARE {name} CURSOR FOR SUBSCRIBE ({})", what);
        // By a parameter, by a literal, and in SQL.
        let outcome = match number % 3 {
            0 => {
                let parameter = node.to_string();
                let sql = declare("FIND Y WHERE path($1, Y)");
                self.client.extended(&sql, &[Some(&parameter)], 0).unwrap()
            }
            1 => self.client.run(&declare(&format!("FIND Y WHERE path(y => Y, x => {node})"))),
            _ => self.client.run(&declare(&format!("SELECT y FROM path WHERE x = {node}"))),
        };
        assert_eq!(outcome.error, None);
        self.cursors.push((name, node, BTreeMap::new()));
    }

    fn check(&mut self, edges: &Edges, when: &str) {
        for (name, node, told) in &mut self.cursors {
            let sql = format!("FETCH ALL {name} WITH (timeout = '0s')");
            for row in self.client.run(&sql).rows(&sql) {
                let number = |at: usize| row[at].as_ref().unwrap().parse::<i64>().unwrap();
                *told.entry(number(2)).or_default() += number(1);
            }
            told.retain(|_, count| *count != 0);
            let wanted: BTreeMap<i64, i64> =
                behind(edges, *node).into_iter().map(|node| (node, 1)).collect();
            assert_eq!(*told, wanted, "behind {node}, {when}");
        }
    }
}

/// The nodes that a walk from one comes to.
fn behind(edges: &Edges, node: i64) -> BTreeSet<i64> {
    let (mut found, mut left) = (BTreeSet::new(), vec![node]);
    while let Some(node) = left.pop() {
        for (_, next) in edges.range((node, i64::MIN)..=(node, i64::MAX)) {
            if found.insert(*next) {
                left.push(*next);
            }
        }
    }
    found
}

fn number(client: &mut Client, sql: &str) -> i64 {
    client.run(sql).rows(sql)[0][0].as_ref().unwrap().parse().unwrap()
}

/// Waits until a question is answered so.
fn wait_for(client: &mut Client, sql: &str, wanted: i64) {
    let begin = Instant::now();
    while number(client, sql) != wanted {
        assert!(begin.elapsed() < Duration::from_secs(20), "{sql} is not {wanted}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

const DATAFLOWS: &str = "SELECT count(DISTINCT id) FROM weir_dataflows WHERE object IS NULL";
const SUBSCRIPTIONS: &str = "SELECT count(DISTINCT id) FROM weir_subscriptions";
/// All that is arranged but tables and what the engine tells of itself.
const RECORDS: &str = "SELECT coalesce(sum(records), 0)::int8 FROM weir_arrangements \
                       WHERE object IS NULL";

#[test]
fn many_who_watch_share_one_dataflow() {
    let weir = Weir::start(2);
    let mut rng = StdRng::seed_from_u64(crate::setting("GRAPH_SEED", 11));
    let mut client = weir.client();
    define(&mut client, "CREATE TABLE edge (a int8, b int8); CREATE INDEX ON edge (a)");
    let rules = "path(X, Y) <- edge(a => X, b => Y). path(X, Z) <- path(X, Y), edge(Y, Z).";
    define(&mut client, &format!("CREATE VIEW path (x, y) AS DATALOG path $$ {rules} $$"));
    let ring = |n: i64| (n, n / RING * RING + (n + 1) % RING);
    let mut edges: Edges = (0..WATCHED).map(ring).collect();
    edges.extend((WATCHED..OTHERS).map(|n| (n, n + 1)));
    let rows: String = edges.iter().map(|(a, b)| format!("{a}\t{b}\n")).collect();
    copy(&mut client, "edge", &rows);

    let mut sessions: Vec<Session> = (0..SESSIONS).map(|_| Session::new(&weir, &mut rng)).collect();
    sessions.iter_mut().for_each(|session| session.check(&edges, "at first"));
    wait_for(&mut client, SUBSCRIPTIONS, (SESSIONS * EACH) as i64);
    // One dataflow, and what it is told of constants.
    wait_for(&mut client, DATAFLOWS, 2);
    std::thread::sleep(Duration::from_secs(2));
    let held = number(&mut client, RECORDS);
    let answers = (SESSIONS * EACH) as i64 * RING;
    println!("{held} records are held for {answers} rows of answers");
    assert!(held < 12 * answers, "{held} records for {answers} rows");

    for turn in 0..12 {
        let node = rng.random_range(0..WATCHED);
        if rng.random_bool(0.5) {
            let (a, b) = ring(node);
            edges.remove(&(a, b));
            define(&mut client, &format!("DELETE FROM edge WHERE a = {a} AND b = {b}"));
        } else {
            let (a, b) = (node, rng.random_range(0..WATCHED));
            if edges.insert((a, b)) {
                define(&mut client, &format!("INSERT INTO edge VALUES ({a}, {b})"));
            }
        }
        match turn {
            // Some are gone without a word, some end.
            4 => sessions.truncate(SESSIONS / 2),
            6 => {
                for session in &mut sessions {
                    let (name, ..) = session.cursors.remove(0);
                    define(&mut session.client, &format!("CLOSE {name}"));
                }
            }
            8 => (0..5).for_each(|_| sessions.push(Session::new(&weir, &mut rng))),
            _ => {}
        }
        sessions.iter_mut().for_each(|session| session.check(&edges, &format!("turn {turn}")));
    }
    wait_for(&mut client, DATAFLOWS, 2);
    let left: usize = sessions.iter().map(|session| session.cursors.len()).sum();
    wait_for(&mut client, SUBSCRIPTIONS, left as i64);
    sessions.clear();
    wait_for(&mut client, SUBSCRIPTIONS, 0);
    wait_for(&mut client, DATAFLOWS, 0);
}
