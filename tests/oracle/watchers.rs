//! Who watches a question is told what becomes of its answer.
//!
//! Questions are watched by cursors: several of each shape, with constants of their own, who come
//! and go while the tables change. What each is told adds up to what the naive evaluator finds.

use std::collections::BTreeMap;

use rand::Rng;
use rand::rngs::StdRng;

use crate::datalog::{DOMAIN, Database, Row, derive};
use crate::programs::{Arg, Literal, Program, Rule};
use crate::support::wire::Client;

/// How many shapes are watched, and how many watch each at first.
const SHAPES: usize = 2;
const EACH: usize = 2;

/// Somebody who watches a question.
struct Watcher {
    cursor: String,
    question: Rule,
    rows: BTreeMap<Row, i64>,
}

/// All who watch, in one session.
pub struct Watchers {
    client: Client,
    shapes: Vec<Rule>,
    all: Vec<Watcher>,
    begun: usize,
    /// How many answers were compared, and how many of them were not empty.
    pub checks: usize,
    pub shown: usize,
}

impl Watchers {
    /// Nobody yet.
    pub fn new(client: Client) -> Watchers {
        Watchers { client, shapes: vec![], all: vec![], begun: 0, checks: 0, shown: 0 }
    }

    /// Begins with a program.
    pub fn begin(&mut self, rng: &mut StdRng, program: &Program) -> Vec<String> {
        let demand = if rng.random_bool(0.9) { "on" } else { "off" };
        self.run(&format!("SET weir.demand = {demand}"));
        self.run("BEGIN");
        self.shapes = (0..SHAPES).map(|_| program.question(rng)).collect();
        for shape in &mut self.shapes {
            each_argument(shape, |arg| {
                if matches!(arg, Arg::Any) && rng.random_bool(0.4) {
                    *arg = Arg::Constant(0);
                }
            });
        }
        (0..SHAPES * EACH).filter_map(|_| self.come(rng, program)).collect()
    }

    /// One more watches.
    fn come(&mut self, rng: &mut StdRng, program: &Program) -> Option<String> {
        let mut question = self.shapes[rng.random_range(0..SHAPES)].clone();
        each_argument(&mut question, |arg| {
            if let Arg::Constant(value) = arg {
                *value = rng.random_range(0..DOMAIN);
            }
        });
        self.begun += 1;
        let cursor = format!("c{}", self.begun);
        let sql = format!(
            "DECLARE {cursor} CURSOR FOR SUBSCRIBE (DATALOG $$ {program} {} $$)",
            question.find()
        );
        let error = self.client.run(&sql).error;
        self.all.push(Watcher { cursor, question, rows: BTreeMap::new() });
        error.map(|error| format!("{sql}\n{error}"))
    }

    /// What differs by now; some come and go.
    pub fn faults(
        &mut self,
        rng: &mut StdRng,
        program: &Program,
        content: &Database,
    ) -> Vec<String> {
        let mut faults: Vec<String> = vec![];
        for at in 0..self.all.len() {
            faults.extend(self.differs(at, program, content));
        }
        if !faults.is_empty() {
            return faults;
        }
        if rng.random_bool(0.5) && !self.all.is_empty() {
            let gone = self.all.remove(rng.random_range(0..self.all.len()));
            self.run(&format!("CLOSE {}", gone.cursor));
        }
        if rng.random_bool(0.6) {
            faults.extend(self.come(rng, program));
        }
        faults
    }

    fn differs(&mut self, at: usize, program: &Program, content: &Database) -> Option<String> {
        let Watcher { cursor, question, rows } = &mut self.all[at];
        let sql = format!("FETCH ALL {cursor} WITH (timeout = '0s')");
        let outcome = self.client.run(&sql);
        let about = || format!("SUBSCRIBE ({}) over {program}", question.find());
        if let Some(error) = outcome.error {
            return Some(format!("{}\n{error}", about()));
        }
        for row in outcome.rows {
            let value = |text: Option<String>| text.map(|text| text.parse::<i64>().unwrap());
            let row: Vec<_> = row.into_iter().map(value).collect();
            *rows.entry(row[2..].to_vec()).or_default() += row[1].unwrap();
        }
        rows.retain(|_, count| *count != 0);
        let wanted = derive(&[question], false, content);
        self.checks += 1;
        self.shown += usize::from(!wanted.is_empty());
        let same = rows.len() == wanted.len()
            && rows.iter().all(|(row, count)| *count == 1 && wanted.contains(row));
        (!same).then(|| format!("{}\nover {content:?}\nis {rows:?}\nnot {wanted:?}", about()))
    }

    /// All go.
    pub fn end(&mut self) {
        self.all.clear();
        self.run("ROLLBACK");
    }

    fn run(&mut self, sql: &str) {
        let outcome = self.client.run(sql);
        assert_eq!(outcome.error, None, "{sql}");
    }
}

/// Visits the arguments of the atoms that have to hold.
fn each_argument(question: &mut Rule, mut visit: impl FnMut(&mut Arg)) {
    for literal in &mut question.body {
        if let Literal::Positive(atom) = literal {
            atom.args.iter_mut().for_each(&mut visit);
        }
    }
}
