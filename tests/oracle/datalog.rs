//! Rules mean what a naive evaluator finds.
//!
//! Random programs (recursion, negation over what is whole, aggregates, lattices in a recursion)
//! are maintained as views and asked afresh while tables change. The evaluator shares nothing with
//! Weir: it knows programs as they were drawn, never their text, matches each rule against all rows
//! in nested loops, and does so until nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::derivations;
use crate::programs::{Arg, Atom, Fold, Head, Literal, Program, Rule, TABLES};
use crate::support::weir::Weir;
use crate::support::wire::Client;
use crate::watchers::Watchers;
use crate::{Budget, none_differ};

/// Programs in one round, and changes that each sees.
const PROGRAMS: usize = 24;
const CHANGES: usize = 5;
/// Values are below this; few, so that they meet.
pub const DOMAIN: i64 = 6;
const ROWS_MAX: usize = 12;

/// A value; none: NULL.
pub type Value = Option<i64>;
pub type Row = Vec<Value>;
pub type Database = BTreeMap<String, BTreeSet<Row>>;
/// The variables that have a value.
pub type Binding = BTreeMap<usize, Value>;

/// All that the rules derive from the tables.
pub fn evaluate(program: &Program, tables: &Database) -> Database {
    let mut content = tables.clone();
    for stratum in &program.strata {
        for name in &stratum.names {
            content.insert(name.clone(), BTreeSet::new());
        }
        loop {
            let of =
                |name: &String| program.rules.iter().filter(|rule| rule.name == *name).collect();
            let rules: Vec<Vec<&Rule>> = stratum.names.iter().map(of).collect();
            let next: Vec<BTreeSet<Row>> =
                rules.iter().map(|rules| derive(rules, stratum.recursive, &content)).collect();
            let old: Vec<_> = stratum.names.iter().map(|name| content[name].clone()).collect();
            if next == old {
                break;
            }
            content.extend(stratum.names.iter().cloned().zip(next));
        }
    }
    content
}

/// The rows of one predicate, from the content as it is.
pub fn derive(rules: &[&Rule], recursive: bool, content: &Database) -> BTreeSet<Row> {
    let folds = rules.iter().flat_map(|rule| &rule.head).filter_map(|head| match head {
        Head::Fold(fold, _) => Some(*fold),
        _ => None,
    });
    let folds: BTreeSet<Fold> = folds.collect();
    let is_lattice = folds.iter().any(|f| f.is_lattice()) && folds.iter().all(|f| f.is_lattice());
    let mut rows = BTreeSet::new();
    for rule in rules {
        let bindings = matches(&rule.body, content);
        if is_lattice || !rule.head.iter().any(|head| matches!(head, Head::Fold(..))) {
            rows.extend(bindings.iter().map(|binding| plain(&rule.head, binding)));
        } else {
            rows.extend(grouped(&rule.head, &bindings));
        }
    }
    if !is_lattice {
        return rows;
    }
    let folded = rules[0].head.len();
    let fold_of = |at: usize| {
        rules.iter().find_map(|rule| match rule.head[at] {
            Head::Fold(fold, _) => Some(fold),
            _ => None,
        })
    };
    let folds: Vec<Option<Fold>> = (0..folded).map(fold_of).collect();
    let mut groups: BTreeMap<Row, Vec<Row>> = BTreeMap::new();
    for row in rows {
        let key = row.iter().zip(&folds).filter(|(_, f)| f.is_none()).map(|(v, _)| *v).collect();
        groups.entry(key).or_default().push(row);
    }
    if groups.is_empty() && !recursive && folds.iter().all(Option::is_some) {
        groups.insert(vec![], vec![]);
    }
    let joined = groups.into_iter().map(|(key, rows)| {
        let mut key = key.into_iter();
        let column = |(at, fold): (usize, &Option<Fold>)| match fold {
            None => key.next().unwrap(),
            Some(fold) => fold.of(&rows.iter().map(|row| row[at]).collect::<Vec<_>>()),
        };
        folds.iter().enumerate().map(column).collect()
    });
    joined.collect()
}

/// The head of one binding; of what is folded the value.
pub fn plain(head: &[Head], binding: &Binding) -> Row {
    head.iter().map(|term| term.value(binding)).collect()
}

/// One row for each group of bindings, which are distinct.
pub fn grouped(head: &[Head], bindings: &BTreeSet<Binding>) -> BTreeSet<Row> {
    let mut groups: BTreeMap<Row, Vec<&Binding>> = BTreeMap::new();
    let is_key = |term: &&Head| !matches!(term, Head::Fold(..));
    for binding in bindings {
        let key = head.iter().filter(is_key).map(|term| term.value(binding)).collect();
        groups.entry(key).or_default().push(binding);
    }
    if groups.is_empty() && !head.iter().any(|term| is_key(&term)) {
        groups.insert(vec![], vec![]);
    }
    let rows = groups.into_iter().map(|(key, bindings)| {
        let mut key = key.into_iter();
        let column = |term: &Head| match term {
            Head::Fold(fold, _) => {
                fold.of(&bindings.iter().map(|binding| term.value(binding)).collect::<Vec<_>>())
            }
            _ => key.next().unwrap(),
        };
        head.iter().map(column).collect()
    });
    rows.collect()
}

/// All bindings for which all literals hold.
pub fn matches(body: &[Literal], content: &Database) -> BTreeSet<Binding> {
    let mut bindings = BTreeSet::from([Binding::new()]);
    for literal in body {
        bindings = bindings.iter().flat_map(|b| extend(literal, b, content)).collect();
    }
    bindings
}

fn extend(literal: &Literal, binding: &Binding, content: &Database) -> Vec<Binding> {
    let keep = |holds: bool| if holds { vec![binding.clone()] } else { vec![] };
    match literal {
        Literal::Positive(atom) => {
            content[&atom.name].iter().filter_map(|row| unify(atom, row, binding)).collect()
        }
        Literal::Negative(atom) => {
            keep(!content[&atom.name].iter().any(|row| unify(atom, row, binding).is_some()))
        }
        Literal::Without(atoms) => {
            let mut all = vec![binding.clone()];
            for atom in atoms {
                let more = |binding: &Binding| -> Vec<Binding> {
                    let rows = content[&atom.name].iter();
                    rows.filter_map(|row| unify(atom, row, binding)).collect()
                };
                all = all.iter().flat_map(more).collect();
            }
            keep(all.is_empty())
        }
        Literal::Less(a, b) => {
            let (a, b) = (value(a, binding), value(b, binding));
            keep(matches!((a, b), (Some(a), Some(b)) if a < b))
        }
        Literal::Differ(a, b) => {
            let (a, b) = (value(a, binding), value(b, binding));
            keep(matches!((a, b), (Some(a), Some(b)) if a != b))
        }
        Literal::Plus(variable, from, more) => {
            let mut binding = binding.clone();
            binding.insert(*variable, binding[from].map(|value| value + more));
            vec![binding]
        }
        Literal::Either(first, second) => {
            let mut both = extend(first, binding, content);
            both.extend(extend(second, binding, content));
            both
        }
    }
}

fn value(arg: &Arg, binding: &Binding) -> Value {
    match arg {
        Arg::Constant(value) => Some(*value),
        Arg::Variable(variable) => binding[variable],
        Arg::Any => unreachable!("_ has no value"),
    }
}

/// The binding with what a row gives to the variables of an atom; NULL equals nothing.
fn unify(atom: &Atom, row: &Row, binding: &Binding) -> Option<Binding> {
    let mut binding = binding.clone();
    for (arg, value) in atom.args.iter().zip(row) {
        let wanted = match arg {
            Arg::Any => continue,
            Arg::Constant(constant) => Some(*constant),
            Arg::Variable(variable) => match binding.get(variable) {
                Some(known) => *known,
                None => {
                    binding.insert(*variable, *value);
                    continue;
                }
            },
        };
        if wanted.is_none() || wanted != *value {
            return None;
        }
    }
    Some(binding)
}

/// Rows of a table, by chance.
fn random_rows(rng: &mut StdRng, arity: usize) -> Vec<Row> {
    let count = rng.random_range(0..=ROWS_MAX);
    let mut value = || match rng.random_range(0..12) {
        0 => None,
        _ => Some(rng.random_range(0..DOMAIN)),
    };
    (0..count).map(|_| (0..arity).map(|_| value()).collect()).collect()
}

fn spelled(value: &Value) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

/// A change of a table as SQL, made in its rows too, which may be there more than once.
fn change(rng: &mut StdRng, tables: &mut BTreeMap<String, Vec<Row>>) -> String {
    let (name, columns) = TABLES[rng.random_range(0..TABLES.len())];
    let rows = tables.get_mut(name).unwrap();
    if rng.random_bool(0.45) {
        let (at, than) = (rng.random_range(0..columns.len()), rng.random_range(0..DOMAIN));
        rows.retain(|row| row[at] != Some(than));
        return format!("DELETE FROM {name} WHERE {} = {than}", columns[at]);
    }
    let mut new = random_rows(rng, columns.len());
    new.truncate(4);
    if new.is_empty() {
        return format!("DELETE FROM {name} WHERE false");
    }
    let spell = |row: &Row| format!("({})", row.iter().map(spelled).collect::<Vec<_>>().join(", "));
    let values = new.iter().map(spell).collect::<Vec<_>>().join(", ");
    rows.extend(new);
    format!("INSERT INTO {name} VALUES {values}")
}

fn answer(client: &mut Client, sql: &str) -> Result<Vec<Row>, String> {
    let outcome = client.run(sql);
    if let Some(error) = outcome.error {
        return Err(format!("{error}"));
    }
    let value = |text: Option<String>| text.map(|text| text.parse().unwrap());
    let row = |row: Vec<Option<String>>| row.into_iter().map(value).collect();
    let mut rows: Vec<Row> = outcome.rows.into_iter().map(row).collect();
    rows.sort();
    Ok(rows)
}

/// A server, and what its tables hold.
struct Bench {
    _weir: Weir,
    client: Client,
    watchers: Watchers,
    tables: BTreeMap<String, Vec<Row>>,
    checks: usize,
    shown: usize,
}

impl Bench {
    fn start(workers: usize) -> Bench {
        let weir = Weir::start(workers);
        let mut client = weir.client();
        let mut tables = BTreeMap::new();
        for (name, columns) in TABLES {
            let typed: Vec<_> = columns.iter().map(|column| format!("{column} bigint")).collect();
            let created = client.run(&format!("CREATE TABLE {name} ({})", typed.join(", ")));
            assert_eq!(created.error, None);
            tables.insert((*name).to_owned(), vec![]);
        }
        let watchers = Watchers::new(weir.client());
        Bench { _weir: weir, client, watchers, tables, checks: 0, shown: 0 }
    }

    fn database(&self) -> Database {
        let sets = self.tables.iter();
        sets.map(|(name, rows)| (name.clone(), rows.iter().cloned().collect())).collect()
    }

    fn run(&mut self, sql: &str) {
        let outcome = self.client.run(sql);
        assert_eq!(outcome.error, None, "{sql}");
    }

    /// What differs for one program, over some changes.
    fn program(&mut self, rng: &mut StdRng) -> Vec<String> {
        let program = Program::random(rng);
        let text = program.to_string();
        let strategy = ["auto", "linear", "delta", "wco"][rng.random_range(0..4)];
        self.run(&format!("SET weir.join_strategy = '{strategy}'"));
        let names: Vec<String> = program.names();
        let mut faults = vec![];
        for name in &names {
            for kind in ["MATERIALIZED VIEW v", "VIEW p"] {
                let create = format!("CREATE {kind}_{name} AS DATALOG {name} $$ {text} $$");
                if let Some(error) = self.client.run(&create).error {
                    faults.push(format!("{create}\n{error}"));
                }
            }
        }
        faults.extend(self.watchers.begin(rng, &program));
        for number in 0..=CHANGES {
            if !faults.is_empty() {
                break;
            }
            if number > 0 {
                self.change(rng);
            }
            let content = evaluate(&program, &self.database());
            let differ = self.watchers.faults(rng, &program, &content);
            faults.extend(differ.into_iter().map(|fault| format!("after {number}: {fault}")));
            for name in &names {
                let wanted: Vec<Row> = content[name].iter().cloned().collect();
                faults.extend(self.differs(&format!("SELECT * FROM v_{name}"), &wanted, &text));
            }
            let name = &names[rng.random_range(0..names.len())];
            let demand = if rng.random_bool(0.8) { "on" } else { "off" };
            self.run(&format!("SET weir.demand = {demand}"));
            faults.extend(self.afresh(rng, name, &content[name], &text));
            let name = &names[rng.random_range(0..names.len())];
            faults.extend(derivations::faults(&mut self.client, rng, &program, name, &content));
            for _ in 0..2 {
                let question = program.question(rng);
                let wanted: Vec<Row> = derive(&[&question], false, &content).into_iter().collect();
                let sql = format!("DATALOG $$ {text} {} $$", question.find());
                faults.extend(self.differs(&sql, &wanted, &text));
            }
        }
        self.watchers.end();
        for name in names.iter().rev() {
            self.client.run(&format!("DROP MATERIALIZED VIEW IF EXISTS v_{name}"));
            self.client.run(&format!("DROP VIEW IF EXISTS p_{name}"));
        }
        faults
    }

    fn change(&mut self, rng: &mut StdRng) {
        let count = rng.random_range(1..4);
        let statements: Vec<_> = (0..count).map(|_| change(rng, &mut self.tables)).collect();
        let together = rng.random_bool(0.5);
        if together {
            self.run("BEGIN");
        }
        statements.iter().for_each(|statement| self.run(statement));
        if together {
            self.run("COMMIT");
        }
    }

    /// What differs where a rule is asked for, whole or with a constant.
    fn afresh(
        &mut self,
        rng: &mut StdRng,
        name: &str,
        rows: &BTreeSet<Row>,
        text: &str,
    ) -> Option<String> {
        let arity = rows.first().map_or(0, Vec::len);
        if arity == 0 || rng.random_bool(0.3) {
            let wanted: Vec<Row> = rows.iter().cloned().collect();
            return self.differs(&format!("DATALOG {name} $$ {text} $$"), &wanted, text);
        }
        let at = rng.random_range(0..arity);
        let constant = rng.random_range(0..DOMAIN);
        let args: Vec<String> = (0..arity)
            .map(|n| if n == at { constant.to_string() } else { format!("A{n}") })
            .collect();
        let mut head: Vec<String> = args.clone();
        head[at] = constant.to_string();
        let wanted: Vec<Row> =
            rows.iter().filter(|row| row[at] == Some(constant)).cloned().collect();
        let (head, args) = (head.join(", "), args.join(", "));
        let sql = match rng.random_range(0..4) {
            // By a plain view, in both languages.
            0 => format!("FIND {head} WHERE p_{name}({args})"),
            1 => {
                let columns: Vec<String> = (0..arity).map(|n| format!("A{n}")).collect();
                let columns = columns.join(", ");
                format!("SELECT * FROM p_{name} AS p ({columns}) WHERE A{at} = {constant}")
            }
            _ => format!("DATALOG $$ {text} FIND {head} WHERE {name}({args}) $$"),
        };
        self.differs(&sql, &wanted, text)
    }

    fn differs(&mut self, sql: &str, wanted: &[Row], text: &str) -> Option<String> {
        self.checks += 1;
        self.shown += usize::from(!wanted.is_empty());
        match answer(&mut self.client, sql) {
            Ok(rows) if rows == wanted => None,
            Ok(rows) => {
                let tables = &self.tables;
                Some(format!("{sql}\nof {text}\nover {tables:?}\nis {rows:?}\nnot {wanted:?}"))
            }
            Err(error) => Some(format!("{sql}\nof {text}\n{error}")),
        }
    }
}

#[test]
fn rules_mean_what_a_naive_evaluator_finds() {
    let budget = Budget::new();
    let mut rng = StdRng::seed_from_u64(budget.seed);
    let (mut faults, mut done) = (vec![], 0);
    let mut benches = [Bench::start(1), Bench::start(3)];
    while budget.goes_on(done, PROGRAMS) && faults.is_empty() {
        faults.extend(benches[done % 2].program(&mut rng));
        done += 1;
    }
    let (checks, shown) =
        benches.iter().fold((0, 0), |(c, s), bench| (c + bench.checks, s + bench.shown));
    for Bench { watchers, .. } in &benches {
        println!("{} checks of watchers, {} of them not empty", watchers.checks, watchers.shown);
    }
    println!("{done} programs, {checks} checks, {shown} of them not empty");
    none_differ(&faults, &budget);
    assert!(shown * 3 > checks, "most answers were empty");
}
