//! Oracles: what Weir answers has to be what PostgreSQL answers on the same data.
//!
//! 1. Random queries, once each: row for row, with the names and types of columns, and with the
//!    SQLSTATE where there is an error.
//! 2. Random views, maintained while tables change: after each change, what the view says, what an
//!    index on it says, what a subscription folds up to, and what PostgreSQL computes afresh are
//!    one and the same.
//! 3. Every function, operator and cast of PostgreSQL's catalog that Weir has, one by one.
//! 4. Weir beside itself: what must not matter, and what must add up.
//! 5. Random rules, beside an evaluator that is as simple as rules are.
//!
//! The seed is printed, and `ORACLE_SEED` sets it; `ORACLE_ROUNDS` multiplies the budget, and
//! `ORACLE_MINUTES` replaces it. A query whose answer is empty or NULL everywhere shows nothing: it
//! is drawn again, and counted. What the queries were made of is printed. Where Weir alone fails,
//! PostgreSQL must fail in a part that it did not have to compute: behind a limit, or a derived
//! table that is computed as it is (it groups, unites, cuts off), whose rows no join asked for.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "oracle/aggregate.rs"]
mod aggregate;
#[path = "oracle/answer.rs"]
mod answer;
#[path = "oracle/array.rs"]
mod array;
#[path = "oracle/coverage.rs"]
mod coverage;
#[path = "oracle/datalog.rs"]
mod datalog;
#[path = "oracle/derivations.rs"]
mod derivations;
#[path = "oracle/documents.rs"]
mod documents;
#[path = "oracle/expression.rs"]
mod expression;
#[path = "oracle/metamorphic.rs"]
mod metamorphic;
#[path = "oracle/planning.rs"]
mod planning;
#[path = "oracle/programs.rs"]
mod programs;
#[path = "oracle/query.rs"]
mod query;
#[path = "oracle/ranges.rs"]
mod ranges;
#[path = "oracle/recursion.rs"]
mod recursion;
#[path = "oracle/rewrites.rs"]
mod rewrites;
#[path = "oracle/signatures.rs"]
mod signatures;
#[path = "oracle/subquery.rs"]
mod subquery;
mod support;
#[path = "oracle/tables.rs"]
mod tables;
#[path = "oracle/times.rs"]
mod times;
#[path = "oracle/user_types.rs"]
mod user_types;
#[path = "oracle/values.rs"]
mod values;
#[path = "oracle/watchers.rs"]
mod watchers;
#[path = "oracle/window.rs"]
mod window;

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use answer::{Answer, Fold, Verdict, compare};
use coverage::Coverage;
use query::{Maker, Query};
use rewrites::Twins;
use support::postgres::Postgres;
use support::weir::Weir;
use support::wire::Client;

/// Queries, and groups of views, in one round.
const QUERIES: usize = 150;
const VIEW_GROUPS: usize = 6;
/// Views in a group, and changes that it sees.
const VIEWS: usize = 5;
const CHANGES: usize = 6;
/// Queries that are cut into parts, and rounds of twins.
const SPLITS: usize = 60;
const TWIN_ROUNDS: usize = 2;
/// Rows of an answer that are worth comparing.
const ROWS_MAX: usize = 20_000;
/// How often a query is drawn again, until one shows something.
const DRAWS_MAX: usize = 8;

/// Both servers, with the same tables.
struct Pair {
    weir: Weir,
    ours: Client,
    theirs: Client,
    _postgres: Postgres,
    rng: StdRng,
    /// The last key given.
    id: i32,
    counts: Counts,
    coverage: Coverage,
    /// How queries are planned.
    planned: String,
}

/// A query, and what of it PostgreSQL computes as it is, if it computes it.
struct Drawn {
    sql: String,
    wholes: Vec<String>,
}

#[derive(Debug, Default)]
struct Counts {
    equal: usize,
    equal_errors: usize,
    /// PostgreSQL fails in a part that it did not have to compute.
    unreached: usize,
    vacuous: usize,
    unsupported: usize,
    only_theirs_failed: usize,
    view_checks: usize,
}

impl Pair {
    /// None where PostgreSQL is not installed.
    fn start(workers: usize, seed: u64) -> Option<Pair> {
        let postgres = Postgres::start_if_installed()?;
        let weir = Weir::start(workers);
        let (ours, theirs) = (weir.client(), postgres.client());
        let rng = StdRng::seed_from_u64(seed);
        let counts = Counts::default();
        let coverage = Coverage::default();
        let mut pair = Pair {
            weir,
            ours,
            theirs,
            _postgres: postgres,
            rng,
            id: 0,
            counts,
            coverage,
            planned: String::new(),
        };
        tables::schema().iter().for_each(|sql| pair.both(sql));
        for table in tables::TABLES {
            let fill = tables::fill(&mut pair.rng, table, &mut pair.id);
            pair.both(&fill);
        }
        Some(pair)
    }

    /// Fills the tables anew, so that a long run sees other data, and not more and more of it.
    fn refill(&mut self) {
        for table in tables::TABLES {
            self.both(&format!("DELETE FROM {}", table.name));
            let fill = tables::fill(&mut self.rng, table, &mut self.id);
            self.both(&fill);
        }
    }

    /// Runs a statement on both; it has to end alike.
    fn both(&mut self, sql: &str) {
        let (ours, theirs) = (self.ours.run(sql), self.theirs.run(sql));
        assert_eq!(ours.error, None, "{sql}");
        assert_eq!(theirs.error, None, "{sql}");
        assert_eq!(ours.tag, theirs.tag, "{sql}");
    }

    /// Has the queries that follow planned in some way.
    fn plan_somehow(&mut self) {
        self.planned = planning::somehow(&mut self.rng);
        let set = self.ours.run(&self.planned);
        assert_eq!(set.error, None, "{}", self.planned);
    }

    /// Draws a query that shows something, and PostgreSQL's answer to it.
    fn draw(&mut self, make: fn(&mut Maker<'_>) -> Query) -> (Drawn, Answer) {
        let mut draws = 0;
        loop {
            let mut maker = Maker::new(&mut self.rng);
            let Query { sql, .. } = make(&mut maker);
            let query = Drawn { sql, wholes: maker.wholes };
            if is_large(&mut self.theirs, &query.sql) {
                continue;
            }
            let answer = Answer::of(self.theirs.run(&query.sql));
            draws += 1;
            if draws == DRAWS_MAX || !answer.is_vacuous() {
                return (query, answer);
            }
            self.counts.vacuous += 1;
        }
    }

    /// Compares the answers to one query, of which ours is what `sql` says.
    fn check(&mut self, query: &Drawn, sql: &str, theirs: &Answer) -> Verdict {
        let ours = Answer::of(self.ours.run(sql));
        let verdict = compare(sql, &ours, theirs);
        if ours.error.is_some() && matches!(verdict, Verdict::Different(_)) {
            // PostgreSQL has not seen the rows behind a limit or the first that exists, and has not
            // computed a derived table where a join needed none of its rows: it is asked for them
            // too, and for the same by other joins.
            let parts = std::iter::once(&query.sql).chain(&query.wholes);
            for part in parts.map(|part| with_all_rows(part)) {
                let fails = |client: &mut Client| {
                    let all = Answer::of(client.run(&part));
                    matches!(compare(sql, &ours, &all), Verdict::EqualErrors)
                };
                if self.with_each_join(fails) {
                    self.counts.unreached += 1;
                    return Verdict::EqualErrors;
                }
            }
        }
        match &verdict {
            Verdict::Equal => self.counts.equal += 1,
            Verdict::EqualErrors => self.counts.equal_errors += 1,
            Verdict::Unsupported(_) => self.counts.unsupported += 1,
            Verdict::OnlyTheirsFailed => self.counts.only_theirs_failed += 1,
            Verdict::Different(what) => {
                return Verdict::Different(format!("{}\n{what}", self.planned));
            }
        }
        verdict
    }

    /// Whether something holds of PostgreSQL as it plans, or where one kind of join is left out.
    fn with_each_join(&mut self, mut holds: impl FnMut(&mut Client) -> bool) -> bool {
        if holds(&mut self.theirs) {
            return true;
        }
        ["hashjoin", "mergejoin", "nestloop"].iter().any(|join| {
            self.theirs.run(&format!("SET enable_{join} = off"));
            let does = holds(&mut self.theirs);
            self.theirs.run(&format!("RESET enable_{join}"));
            does
        })
    }
}

/// What differs. The first is printed at once, for those who watch a long run.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, what: String) {
        if self.0.is_empty() {
            println!("differs: {what}");
        }
        self.0.push(what);
    }
}

/// Whether a query has more rows than are worth comparing.
fn is_large(client: &mut Client, sql: &str) -> bool {
    let probe = format!(
        "SELECT count(*) > {ROWS_MAX} FROM (SELECT 1 FROM ({sql}) q LIMIT {ROWS_MAX} + 1) r"
    );
    let outcome = client.run(&probe);
    outcome.error.is_none() && outcome.rows[0][0].as_deref() == Some("t")
}

/// The query with all its rows: without limits, and what exists is counted.
fn with_all_rows(sql: &str) -> String {
    let limit = regex::Regex::new(r" LIMIT \d+( OFFSET \d+)?").unwrap();
    let sql = limit.replace_all(sql, "");
    sql.replace("EXISTS (", "(0 < (SELECT count(*) FROM (").replace("/*rows*/)", ") e))")
}

/// How much is to be done, and from which seed.
struct Budget {
    rounds: usize,
    seed: u64,
    /// How long it goes on, whatever the rounds.
    time: Option<Duration>,
    begin: Instant,
}

impl Budget {
    fn new() -> Budget {
        let number = |name: &str| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
        let rounds = number("ORACLE_ROUNDS").unwrap_or(1) as usize;
        let seed = number("ORACLE_SEED").unwrap_or_else(|| rand::rng().random_range(0..1 << 32));
        let time = number("ORACLE_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
        println!("ORACLE_SEED={seed}");
        Budget { rounds, seed, time, begin: Instant::now() }
    }

    /// Whether there is more to do after so many, of which a round has `each`.
    fn goes_on(&self, done: usize, each: usize) -> bool {
        match self.time {
            Some(time) => self.begin.elapsed() < time,
            None => done < each * self.rounds,
        }
    }
}

fn conclude(counts: &Counts, faults: &[String], budget: &Budget) {
    println!("{counts:?} in {} s", budget.begin.elapsed().as_secs());
    none_differ(faults, budget);
    let done = counts.equal + counts.equal_errors + counts.unreached;
    assert!(done > counts.unsupported, "most was refused: {counts:?}");
}

fn none_differ(faults: &[String], budget: &Budget) {
    let shown = faults.iter().take(20).cloned().collect::<Vec<_>>().join("\n\n");
    let seed = budget.seed;
    assert!(faults.is_empty(), "ORACLE_SEED={seed}: {} differ\n{shown}", faults.len());
}

#[test]
fn queries() {
    let budget = Budget::new();
    let Some(mut pair) = Pair::start(2, budget.seed) else { return };
    let mut faults = Faults::default();
    let mut number = 0;
    while budget.goes_on(number, QUERIES) {
        number += 1;
        if number % QUERIES == 0 {
            pair.refill();
        }
        let make = if number % 5 == 0 {
            |m: &mut Maker<'_>| m.limited(1)
        } else {
            |m: &mut Maker<'_>| m.query(2)
        };
        let (query, theirs) = pair.draw(make);
        pair.plan_somehow();
        match pair.check(&query, &query.sql, &theirs) {
            Verdict::Different(what) => faults.add(what),
            Verdict::Unsupported(what) => println!("not supported: {what}\n  {}", query.sql),
            Verdict::Equal => {
                let plan = pair.ours.run(&format!("EXPLAIN {}", query.sql));
                pair.coverage.add(&query.sql, &plan);
            }
            _ => {}
        }
    }
    conclude(&pair.counts, &faults.0, &budget);
    pair.coverage.conclude();
}

/// Functions, operators and casts, one by one.
#[test]
fn signatures_of_postgresql() {
    let budget = Budget::new();
    let Some(mut pair) = Pair::start(1, budget.seed) else { return };
    let seen = signatures::call_all(&pair.weir, &mut pair.theirs, &mut pair.rng, budget.rounds);
    println!("{} calls of {} signatures", seen.calls, seen.signatures);
    for (code, missing) in &seen.missing {
        println!("{code}: {} are missing", missing.len());
        missing.iter().for_each(|what| println!("  {what}"));
    }
    none_differ(&seen.faults, &budget);
}

/// A maintained view under test.
struct View {
    name: String,
    query: Drawn,
    subscriber: Client,
    fold: Fold,
}

#[test]
fn maintained_views() {
    let budget = Budget::new();
    let Some(mut pair) = Pair::start(2, budget.seed) else { return };
    let mut faults = Faults::default();
    let mut group = 0;
    while budget.goes_on(group, VIEW_GROUPS) {
        group += 1;
        let mut views: Vec<View> =
            (0..VIEWS).filter_map(|n| make_view(&mut pair, format!("v{group}_{n}"))).collect();
        for _ in 0..CHANGES {
            change(&mut pair);
            for view in &mut views {
                check_view(&mut pair, view).into_iter().for_each(|what| faults.add(what));
            }
        }
        pair.refill();
        for view in views {
            let dropped = pair.ours.run(&format!("DROP MATERIALIZED VIEW {}", view.name));
            assert_eq!(dropped.error, None);
        }
    }
    println!("{} checks of views", pair.counts.view_checks);
    conclude(&pair.counts, &faults.0, &budget);
}

/// Weir beside itself: the parts of a query and the whole, filters and what CASE counts.
#[test]
fn parts_add_up() {
    let budget = Budget::new();
    let mut rng = StdRng::seed_from_u64(budget.seed);
    let weir = Weir::start(2);
    let (mut client, mut id) = (weir.client(), 0);
    let fills = tables::TABLES.iter().map(|table| tables::fill(&mut rng, table, &mut id));
    for sql in tables::schema().into_iter().chain(fills) {
        client.run(&sql).rows(&sql);
    }
    let (mut faults, mut done) = (Vec::new(), 0);
    while budget.goes_on(done, SPLITS) {
        done += 1;
        let split = Maker::new(&mut rng).split();
        if is_large(&mut client, &split.whole) {
            continue;
        }
        faults.extend(split.fault(|sql| Answer::of(client.run(sql))));
    }
    println!("{done} queries were split");
    none_differ(&faults, &budget);
}

/// Weir beside itself: other workers, indexes and transactions.
#[test]
fn what_must_not_matter() {
    let budget = Budget::new();
    let mut rng = StdRng::seed_from_u64(budget.seed);
    let mut twins = Twins::start(&mut rng);
    let (mut faults, mut rounds) = (Vec::new(), 0);
    while budget.goes_on(rounds, TWIN_ROUNDS) {
        rounds += 1;
        faults.extend(twins.round(&mut rng));
    }
    println!("{} checks of views", twins.checks);
    none_differ(&faults, &budget);
}

/// Some statements in one transaction, on both.
fn change(pair: &mut Pair) {
    let statements = tables::change(&mut pair.rng, &mut pair.id);
    pair.both("BEGIN");
    for statement in statements {
        pair.both(&statement);
    }
    pair.both("COMMIT");
}

/// A view with an index and a subscription; none where the query is refused or fails.
fn make_view(pair: &mut Pair, name: String) -> Option<View> {
    let (query, theirs) = pair.draw(|maker| maker.query(1));
    if theirs.error.is_some_and(|error| !error.code().starts_with("22")) {
        return None;
    }
    pair.plan_somehow();
    let created = pair.ours.run(&format!("CREATE MATERIALIZED VIEW {name} AS {}", query.sql));
    if let Some(error) = created.error {
        assert_eq!(error.code(), "0A000", "{}\n{error}", query.sql);
        pair.counts.unsupported += 1;
        return None;
    }
    let index = pair.ours.run(&format!("CREATE INDEX ON {name} (c0)"));
    assert_eq!(index.error, None, "{}", query.sql);
    let mut subscriber = pair.weir.client();
    let declared = subscriber.run(&format!("BEGIN; DECLARE c CURSOR FOR SUBSCRIBE {name}"));
    assert_eq!(declared.error, None, "{}", query.sql);
    Some(View { name, query, subscriber, fold: Fold::default() })
}

/// What is wrong with a view now.
fn check_view(pair: &mut Pair, view: &mut View) -> Vec<String> {
    let theirs = Answer::of(pair.theirs.run(&view.query.sql));
    let mut faults = Vec::new();
    pair.counts.view_checks += 1;
    let ours = format!("SELECT * FROM {}", view.name);
    if let Verdict::Different(what) = pair.check(&view.query, &ours, &theirs) {
        faults.push(format!("the view of {}\n{what}", view.query.sql));
    }
    if let Verdict::Different(what) = pair.check(&view.query, &view.query.sql, &theirs) {
        faults.push(format!("afresh, {what}"));
    }
    let Some(first) = theirs.rows.first().filter(|_| theirs.error.is_none()) else {
        return faults;
    };
    // A float that was summed up is not spelled alike.
    let is_float = theirs.columns[0].1 == answer::FLOAT8;
    if let Some(key) = first[0].as_ref().filter(|_| !is_float) {
        let literal = format!("'{}'", key.replace('\'', "''"));
        let by_key = format!("SELECT * FROM {} WHERE c0 = {literal}", view.name);
        let theirs = format!("SELECT * FROM ({}) v WHERE c0 = {literal}", view.query.sql);
        let theirs = Answer::of(pair.theirs.run(&theirs));
        if let Verdict::Different(what) = pair.check(&view.query, &by_key, &theirs) {
            faults.push(format!("by key, the view of {}\n{what}", view.query.sql));
        }
    }
    let changes = view.subscriber.run("FETCH ALL c WITH (timeout = '0s')");
    match changes.error {
        // The subscription ended where the view had an error; that was compared above.
        Some(_) => return faults,
        None => view.fold.add(changes.rows),
    }
    if let Some(what) = view.fold.differs(&pair.ours.run(&ours)) {
        faults.push(format!("the subscription to {}\n{what}", view.query.sql));
    }
    faults
}
