//! The entity store beside a model that is nothing but sets.
//!
//! Random transactions, in EDN and in SQL, alone and in blocks with savepoints, are told to a
//! server and to the model; what the server holds, also after it was killed, has to be the model's:
//! the facts, the owners of unique values, each step of the history, and any step as of its
//! transaction. Then sessions beside each other count by compare-and-set and race for values.
//!
//! `FACTS_ROUNDS` sets how many transactions, `WEIR_SEED` which.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::weir::Weir;
use crate::support::wire::Client;

/// An attribute: its name, whether it is `MANY`, `UNIQUE`, `REF`.
type Attribute = (&'static str, bool, bool, bool);

const ATTRIBUTES: [Attribute; 6] = [
    ("one", false, false, false),
    ("many", true, false, false),
    ("uniq", false, true, false),
    ("umany", true, true, false),
    ("link", true, false, true),
    ("boss", false, false, true),
];

const ENTITIES: i64 = 6;
const VALUES: i64 = 5;

type Facts = BTreeSet<(i64, i64)>;
/// The facts of each attribute.
type State = Vec<Facts>;

/// What a statement says of one attribute.
#[derive(Default)]
struct Said {
    assert: Vec<(i64, i64)>,
    retract: Vec<(i64, i64)>,
}

/// A statement: its text, and what it comes to.
struct Statement {
    text: String,
    said: BTreeMap<usize, Said>,
    /// Codes of which one is due.
    faults: BTreeSet<&'static str>,
    /// Whether it may not say and unsay one fact.
    strict: bool,
    /// Names, and the entities that stand for them in the model: below zero, where they are new.
    names: Vec<(&'static str, i64)>,
}

impl Statement {
    fn new(strict: bool) -> Statement {
        let (said, faults) = (BTreeMap::new(), BTreeSet::new());
        Statement { text: String::new(), said, faults, strict, names: vec![] }
    }

    fn assert(&mut self, attribute: usize, fact: (i64, i64)) {
        self.said.entry(attribute).or_default().assert.push(fact);
    }

    fn retract(&mut self, attribute: usize, facts: impl IntoIterator<Item = (i64, i64)>) {
        self.said.entry(attribute).or_default().retract.extend(facts);
    }

    /// The state after it, or the codes of which one is due.
    fn applied(&self, state: &State) -> Result<State, BTreeSet<&'static str>> {
        let mut faults = self.faults.clone();
        let mut next = state.clone();
        for (attribute, Said { assert, retract }) in &self.said {
            let (_, many, unique, _) = ATTRIBUTES[*attribute];
            if self.strict && assert.iter().any(|fact| retract.contains(fact)) {
                faults.insert("21000");
            }
            let facts = &mut next[*attribute];
            for fact in retract {
                facts.remove(fact);
            }
            let new: Facts = assert.iter().copied().collect();
            let entities: BTreeSet<i64> = new.iter().map(|(e, _)| *e).collect();
            if !many {
                if entities.len() < new.len() {
                    faults.insert("21000");
                }
                facts.retain(|(e, _)| !entities.contains(e));
            }
            facts.extend(new);
            let values: BTreeSet<i64> = facts.iter().map(|(_, v)| *v).collect();
            if unique && values.len() < facts.len() {
                faults.insert("23505");
            }
        }
        if faults.is_empty() { Ok(next) } else { Err(faults) }
    }
}

struct Random(StdRng);

impl Random {
    fn entity(&mut self) -> i64 {
        self.0.random_range(1..=ENTITIES)
    }

    fn attribute(&mut self) -> usize {
        self.0.random_range(0..ATTRIBUTES.len())
    }

    fn value(&mut self, attribute: usize) -> i64 {
        let most = if ATTRIBUTES[attribute].3 { ENTITIES } else { VALUES };
        self.0.random_range(1..=most)
    }

    fn statement(&mut self, state: &State) -> Statement {
        if self.0.random_bool(0.3) { self.sql(state) } else { self.edn(state) }
    }

    fn sql(&mut self, state: &State) -> Statement {
        let mut statement = Statement::new(false);
        let attribute = self.attribute();
        let name = ATTRIBUTES[attribute].0;
        let value = self.value(attribute);
        let having: Facts = state[attribute].iter().copied().filter(|f| f.1 == value).collect();
        match self.0.random_range(0..4) {
            0 | 1 => {
                let count = self.0.random_range(1..4);
                let facts: Vec<_> =
                    (0..count).map(|_| (self.entity(), self.value(attribute))).collect();
                let rows: Vec<_> = facts.iter().map(|(e, v)| format!("({e}, {v})")).collect();
                statement.text = format!("INSERT INTO f.{name} VALUES {}", rows.join(", "));
                facts.into_iter().for_each(|fact| statement.assert(attribute, fact));
            }
            2 => {
                statement.text = format!("DELETE FROM f.{name} WHERE v = {value}");
                statement.retract(attribute, having);
            }
            _ => {
                let most = if ATTRIBUTES[attribute].3 { ENTITIES } else { VALUES };
                statement.text =
                    format!("UPDATE f.{name} SET v = v % {most} + 1 WHERE v <> {value}");
                let old = state[attribute].difference(&having).copied();
                for (e, v) in old {
                    statement.retract(attribute, [(e, v)]);
                    statement.assert(attribute, (e, v % most + 1));
                }
            }
        }
        statement
    }

    fn edn(&mut self, state: &State) -> Statement {
        let mut statement = Statement::new(true);
        let mut parts = vec![];
        for _ in 0..self.0.random_range(1..5) {
            let part = self.fact(state, &mut statement);
            parts.push(part);
        }
        statement.text = format!("[{}]", parts.join(" "));
        statement
    }

    /// An entity: its number, or a lookup ref.
    fn meant(&mut self, state: &State) -> (String, i64) {
        let unique: Vec<(usize, i64, i64)> = [2, 3]
            .into_iter()
            .flat_map(|at| state[at].iter().map(move |(e, v)| (at, *e, *v)))
            .collect();
        if !unique.is_empty() && self.0.random_bool(0.3) {
            let (at, e, v) = unique[self.0.random_range(0..unique.len())];
            return (format!("[:f/{} {v}]", ATTRIBUTES[at].0), e);
        }
        let e = self.entity();
        (e.to_string(), e)
    }

    fn fact(&mut self, state: &State, statement: &mut Statement) -> String {
        let attribute = self.attribute();
        let (name, many, _, reference) = ATTRIBUTES[attribute];
        let (shown, e) = self.meant(state);
        let (value, v) = match reference {
            true => self.meant(state),
            false => {
                let v = self.value(attribute);
                (v.to_string(), v)
            }
        };
        match self.0.random_range(0..10) {
            0..4 => {
                statement.assert(attribute, (e, v));
                format!("[:db/add {shown} :f/{name} {value}]")
            }
            4 => {
                statement.retract(attribute, [(e, v)]);
                format!("[:db/retract {shown} :f/{name} {value}]")
            }
            5 => {
                let all = state[attribute].iter().copied().filter(|fact| fact.0 == e);
                statement.retract(attribute, all.collect::<Vec<_>>());
                format!("[:db/retract {shown} :f/{name}]")
            }
            6 if self.0.random_bool(0.3) => {
                for (at, (_, _, _, reference)) in ATTRIBUTES.iter().enumerate() {
                    let all = state[at].iter().copied();
                    let all = all.filter(|fact| fact.0 == e || *reference && fact.1 == e);
                    statement.retract(at, all.collect::<Vec<_>>());
                }
                format!("[:db/retractEntity {shown}]")
            }
            7 if !many && !reference => {
                let current = state[attribute].iter().find(|fact| fact.0 == e).map(|fact| fact.1);
                let old =
                    if self.0.random_bool(0.7) { current } else { Some(self.value(attribute)) };
                if old != current {
                    statement.faults.insert("40001");
                }
                statement.assert(attribute, (e, v));
                let old = old.map_or("nil".to_owned(), |old| old.to_string());
                format!("[:db/cas {shown} :f/{name} {old} {value}]")
            }
            8 => self.named(state, statement),
            _ => {
                statement.assert(attribute, (e, v));
                format!("{{:db/id {shown} :f/{name} {value}}}")
            }
        }
    }

    /// A map of an entity with a name and a unique value, by which it may be one that is there.
    fn named(&mut self, state: &State, statement: &mut Statement) -> String {
        let (unique, one) = (self.value(2), self.value(0));
        let taken: Vec<&'static str> = statement.names.iter().map(|(name, _)| *name).collect();
        let Some(name) = ["s", "t", "u"].into_iter().find(|name| !taken.contains(name)) else {
            return "[:db/retract 1 :f/one 99]".to_owned();
        };
        let owner = state[2].iter().find(|fact| fact.1 == unique).map(|fact| fact.0);
        // Names that claim one value are one entity.
        let e = owner.unwrap_or(-unique);
        statement.names.push((name, e));
        statement.assert(2, (e, unique));
        statement.assert(0, (e, one));
        format!("{{:db/id \"{name}\" :f/uniq {unique} :f/one {one}}}")
    }
}

/// A server and the model of what it holds.
struct Both {
    weir: Weir,
    client: Client,
    state: State,
    /// The transactions so far, and the state after each.
    past: Vec<(i64, State)>,
}

fn facts_of(client: &mut Client, sql: &str) -> Vec<Vec<i64>> {
    let number = |text: Option<String>| match text.as_deref() {
        Some("t") => 1,
        Some("f") => 0,
        text => text.unwrap().parse().unwrap(),
    };
    let rows = client.run(sql).rows(sql);
    rows.into_iter().map(|row| row.into_iter().map(number).collect()).collect()
}

fn pairs(client: &mut Client, sql: &str) -> Facts {
    facts_of(client, sql).into_iter().map(|row| (row[0], row[1])).collect()
}

impl Both {
    fn start() -> Both {
        let weir = Weir::start(1);
        let mut client = weir.client();
        for (name, many, unique, reference) in ATTRIBUTES {
            let ty = if reference { "REF" } else { "int" };
            let unique = if unique { " UNIQUE" } else { "" };
            let many = if many { " MANY" } else { "" };
            let sql = format!("CREATE ATTRIBUTE f.{name} {ty}{unique}{many}");
            client.run(&sql).rows(&sql);
        }
        let state = vec![Facts::new(); ATTRIBUTES.len()];
        Both { weir, client, state, past: vec![] }
    }

    /// Runs a statement; false: it failed, as it had to.
    fn run(&mut self, statement: &Statement) -> bool {
        let outcome = self.client.run(&statement.text);
        let expected = statement.applied(&self.state);
        match (outcome.error, expected) {
            (None, Ok(next)) => {
                self.state = next;
                for (name, stand_in) in &statement.names {
                    let found = outcome.rows.iter().find(|row| row[0].as_deref() == Some(name));
                    let found: i64 = found.unwrap()[1].as_ref().unwrap().parse().unwrap();
                    if *stand_in > 0 {
                        assert_eq!(found, *stand_in, "{}", statement.text);
                    } else {
                        let taken = self.state.iter().flatten().any(|fact| fact.0 == found);
                        let known = statement
                            .names
                            .iter()
                            .any(|(other, e)| e == stand_in && *other < *name);
                        assert!(known || !taken, "{} names {found}", statement.text);
                        self.rename(*stand_in, found);
                    }
                }
                true
            }
            (Some(error), Err(codes)) if codes.contains(error.code()) => false,
            (error, expected) => {
                let error = error.map(|error| error.to_string());
                panic!("{}\n{error:?}\n{:?}", statement.text, expected.err());
            }
        }
    }

    fn rename(&mut self, from: i64, to: i64) {
        for facts in &mut self.state {
            *facts = facts.iter().map(|(e, v)| (if *e == from { to } else { *e }, *v)).collect();
        }
    }

    fn control(&mut self, sql: &str) {
        self.client.run(sql).rows(sql);
    }

    /// A block of statements, some of which are taken back.
    fn block(&mut self, random: &mut Random) {
        let before = self.state.clone();
        self.control("BEGIN");
        for _ in 0..random.0.random_range(1..6) {
            let there = self.state.clone();
            self.control("SAVEPOINT s");
            let statement = random.statement(&self.state);
            if !self.run(&statement) || random.0.random_bool(0.2) {
                self.control("ROLLBACK TO s");
                self.state = there;
            }
            if random.0.random_bool(0.5) {
                self.check_facts();
            }
        }
        if random.0.random_bool(0.8) {
            self.control("COMMIT");
        } else {
            self.control("ROLLBACK");
            self.state = before;
        }
    }

    /// Notes the transaction that has just been.
    fn note(&mut self) {
        let known: BTreeSet<i64> = self.past.iter().map(|(tx, _)| *tx).collect();
        let all = facts_of(&mut self.client, "SELECT e FROM db.tx_instant ORDER BY e");
        let new: Vec<i64> = all.into_iter().map(|r| r[0]).filter(|e| !known.contains(e)).collect();
        match new.as_slice() {
            [] => assert_eq!(
                Some(&self.state),
                self.past.last().map(|(_, s)| s).or(Some(&self.state))
            ),
            [tx] => self.past.push((*tx, self.state.clone())),
            _ => panic!("several transactions: {new:?}"),
        }
    }

    fn check_facts(&mut self) {
        for (at, (name, _, unique, _)) in ATTRIBUTES.iter().enumerate() {
            let found = pairs(&mut self.client, &format!("SELECT e, v FROM f.{name}"));
            assert_eq!(found, self.state[at], "{name}");
            if *unique {
                let owners = pairs(&mut self.client, &format!("SELECT e, v FROM f.{name}_owner"));
                assert_eq!(owners, self.state[at], "owners of {name}");
            }
        }
    }

    fn check_history(&mut self, random: &mut Random) {
        for (at, (name, ..)) in ATTRIBUTES.iter().enumerate() {
            let mut expected: BTreeSet<Vec<i64>> = BTreeSet::new();
            let mut before = Facts::new();
            for (tx, state) in &self.past {
                let gone = before.difference(&state[at]).map(|(e, v)| vec![*e, *v, *tx, 0]);
                let came = state[at].difference(&before).map(|(e, v)| vec![*e, *v, *tx, 1]);
                expected.extend(gone.chain(came));
                before = state[at].clone();
            }
            let sql = format!("SELECT e, v, tx, added FROM f.{name}_history");
            let found: BTreeSet<Vec<i64>> = facts_of(&mut self.client, &sql).into_iter().collect();
            assert_eq!(found, expected, "history of {name}");
            if self.past.is_empty() {
                continue;
            }
            let (tx, then) = &self.past[random.0.random_range(0..self.past.len())];
            let sql = format!("SELECT e, v FROM facts_as_of(f.{name}, {tx})");
            assert_eq!(pairs(&mut self.client, &sql), then[at], "{name} as of {tx}");
            let sql = format!("SELECT e, v FROM facts_since(f.{name}, {tx})");
            let since = pairs(&mut self.client, &sql);
            let kept: Facts = self.state[at].difference(&since).copied().collect();
            assert!(kept.is_subset(&then[at]), "{name} since {tx}");
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn facts_are_those_of_a_model() {
    let seed = number("WEIR_SEED", 1);
    let mut random = Random(StdRng::seed_from_u64(seed));
    let mut both = Both::start();
    let mut failed = 0;
    let rounds = number("FACTS_ROUNDS", 150);
    for round in 0..rounds {
        if random.0.random_bool(0.3) {
            both.block(&mut random);
        } else {
            let statement = random.statement(&both.state);
            failed += u64::from(!both.run(&statement));
        }
        both.note();
        if round % 10 == 9 {
            both.check_facts();
            both.check_history(&mut random);
        }
        if round % 50 == 49 {
            both.weir.kill();
            both.weir.resume();
            both.client = both.weir.client();
            both.check_facts();
            both.check_history(&mut random);
        }
    }
    assert!(failed > rounds / 30, "only {failed} of {rounds} were refused");
    assert!(both.past.len() as u64 > rounds / 4, "only {} changed something", both.past.len());
}

#[test]
fn sessions_beside_each_other_count_and_own() {
    const SESSIONS: i64 = 4;
    const TIMES: i64 = 15;
    let weir = Weir::start(1);
    let mut client = weir.client();
    for sql in [
        "CREATE ATTRIBUTE f.count int",
        "CREATE ATTRIBUTE f.mail text UNIQUE",
        "CREATE ATTRIBUTE f.by int",
        "[[:db/add 1 :f/count 0]]",
    ] {
        client.run(sql).rows(sql);
    }
    let port = weir.port;
    let threads: Vec<_> = (0..SESSIONS)
        .map(|me| {
            std::thread::spawn(move || {
                let mut client = Client::connect(port).unwrap();
                for n in 0..TIMES {
                    loop {
                        let sql = "SELECT v, 0 FROM f.count";
                        let (count, _) = *pairs(&mut client, sql).first().unwrap();
                        let next = count + 1;
                        let cas = format!("[[:db/cas 1 :f/count {count} {next}]]");
                        match client.run(&cas).error {
                            None => break,
                            Some(error) => assert_eq!(error.code(), "40001", "{error}"),
                        }
                    }
                    // All say it of a new entity, but one value is one entity's.
                    let upsert = format!("[{{:f/mail \"m{n}\" :f/by {me}}}]");
                    client.run(&upsert).rows(&upsert);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(facts_of(&mut client, "SELECT v FROM f.count"), [[SESSIONS * TIMES]]);
    let owners = "SELECT count(*), count(DISTINCT e), count(DISTINCT v) FROM f.mail";
    assert_eq!(facts_of(&mut client, owners), [[TIMES, TIMES, TIMES]]);
    let by = "SELECT count(*) FROM f.by JOIN f.mail USING (e)";
    assert_eq!(facts_of(&mut client, by), [[TIMES]]);
    let steps = "SELECT count(*) FROM f.count_history WHERE added";
    assert_eq!(facts_of(&mut client, steps), [[SESSIONS * TIMES + 1]]);
}
