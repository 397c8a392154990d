//! Analyses of generated programs, beside worklists.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::generated::{Fact, Workload};
use super::support::weir::Weir;
use super::support::wire::Client;
use super::{ask, copy, define, setting};

type Pair = (u32, u32);
type Facts = BTreeSet<Fact>;

fn grouped<K: Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    pairs.for_each(|(key, value)| groups.entry(key).or_default().push(value));
    groups
}

/// What each variable may point to: edges along which that flows are found while it flows.
fn points_to(facts: &Facts) -> HashSet<Pair> {
    let of = |table: usize| {
        facts.iter().filter(move |(t, _)| *t == table).map(|(_, [a, b, _])| (*a, *b))
    };
    let loads = grouped(of(2).map(|(v, w)| (w, v)));
    let stores = grouped(of(3));
    let mut flows: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut known: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (v, w) in of(1) {
        flows.entry(w).or_default().insert(v);
    }
    let mut left: Vec<Pair> = of(0).collect();
    while let Some((v, o)) = left.pop() {
        if !known.entry(v).or_default().insert(o) {
            continue;
        }
        left.extend(flows.get(&v).into_iter().flatten().map(|next| (*next, o)));
        let loaded = loads.get(&v).into_iter().flatten().map(|into| (o, *into));
        let stored = stores.get(&v).into_iter().flatten().map(|from| (*from, o));
        for (from, into) in loaded.chain(stored).collect::<Vec<Pair>>() {
            if flows.entry(from).or_default().insert(into) {
                left.extend(known.get(&from).into_iter().flatten().map(|o| (into, *o)));
            }
        }
    }
    known.into_iter().flat_map(|(v, all)| all.into_iter().map(move |o| (v, o))).collect()
}

/// Which places are joined by calls that return where they came from.
fn same_level(facts: &Facts) -> HashSet<Pair> {
    let of = |table: usize| facts.iter().filter(move |(t, _)| *t == table).map(|(_, row)| *row);
    let calls = grouped(of(0).map(|[l, x, a]| (a, (l, x))));
    let backs = grouped(of(1).map(|[l, b, y]| ((l, b), y)));
    let (calls, backs) = (&calls, &backs);
    let around = |a: u32, b: u32| {
        let calls = calls.get(&a).into_iter().flatten();
        calls.flat_map(move |(l, x)| {
            backs.get(&(*l, b)).into_iter().flatten().map(move |y| (*x, *y))
        })
    };
    let mut left: Vec<Pair> = calls.keys().flat_map(|a| around(*a, *a)).collect();
    let mut known: HashSet<Pair> = HashSet::new();
    let (mut after, mut before): (BTreeMap<u32, Vec<u32>>, BTreeMap<u32, Vec<u32>>) =
        Default::default();
    while let Some((a, b)) = left.pop() {
        if !known.insert((a, b)) {
            continue;
        }
        after.entry(a).or_default().push(b);
        before.entry(b).or_default().push(a);
        left.extend(around(a, b));
        left.extend(after.get(&b).into_iter().flatten().map(|c| (a, *c)));
        left.extend(before.get(&a).into_iter().flatten().map(|z| (*z, b)));
    }
    known
}

/// A workload's tables, filled, and its query as a view.
fn load(client: &mut Client, workload: &Workload, facts: &Facts) {
    for (number, (name, arity)) in workload.tables.iter().enumerate() {
        let columns: Vec<String> = (0..*arity).map(|c| format!("c{c} int NOT NULL")).collect();
        define(client, &format!("CREATE TABLE \"{name}\" ({})", columns.join(", ")));
        let row = |(_, row): &Fact| {
            let numbers: Vec<String> = row[..*arity].iter().map(u32::to_string).collect();
            numbers.join("\t") + "\n"
        };
        let rows: String = facts.iter().filter(|(table, _)| *table == number).map(row).collect();
        copy(client, &format!("\"{name}\""), &rows);
    }
    define(client, &format!("CREATE MATERIALIZED VIEW v AS DATALOG $$ {} $$", workload.text));
}

/// One transaction; what is not there cannot go, and what is there does not come.
fn change(client: &mut Client, workload: &Workload, facts: &mut Facts, changes: Vec<(Fact, i64)>) {
    let mut sql = "BEGIN; ".to_owned();
    for (fact, diff) in changes {
        let (name, arity) = workload.tables[fact.0];
        let numbers = &fact.1[..arity];
        if diff > 0 && facts.insert(fact) {
            let values: Vec<String> = numbers.iter().map(u32::to_string).collect();
            sql += &format!("INSERT INTO \"{name}\" VALUES ({}); ", values.join(", "));
        } else if diff < 0 && facts.remove(&fact) {
            let equal = numbers.iter().enumerate().map(|(at, n)| format!("c{at} = {n}"));
            let equal: Vec<String> = equal.collect();
            sql += &format!("DELETE FROM \"{name}\" WHERE {}; ", equal.join(" AND "));
        }
    }
    define(client, &(sql + "COMMIT"));
}

fn analyse(name: &str, by_worklist: fn(&Facts) -> HashSet<Pair>) {
    let workload = Workload::by_name(name).scaled(setting("GRAPH_SCALE", 0.05));
    let only = |(table, mut row): Fact| {
        row[workload.tables[table].1..].fill(0);
        (table, row)
    };
    let mut facts: Facts = workload.facts().into_iter().map(only).collect();
    let weir = Weir::start(2);
    let mut client = weir.client();
    load(&mut client, &workload, &facts);
    let check = |client: &mut Client, facts: &Facts, when: &str| {
        let pair = |row: Vec<String>| (row[0].parse().unwrap(), row[1].parse().unwrap());
        let found: HashSet<Pair> = ask(client, "SELECT * FROM v").into_iter().map(pair).collect();
        let expected = by_worklist(facts);
        assert!(found == expected, "{when}: {} rows for {}", found.len(), expected.len());
        assert!(expected.len() > 100, "{when}: this shows nothing");
        expected.len()
    };
    let count = check(&mut client, &facts, "at the beginning");
    println!("{name}: {} facts, {count} rows", facts.len());
    for turn in 0..8 {
        let changes = workload.changes(if turn % 2 == 0 { 1 } else { 25 }, turn);
        let changes = changes.into_iter().map(|(fact, diff)| (only(fact), diff)).collect();
        change(&mut client, &workload, &mut facts, changes);
        check(&mut client, &facts, &format!("after transaction {turn}"));
    }
}

#[test]
fn what_pointers_point_to_is_what_a_worklist_finds() {
    analyse("andersen", points_to);
}

#[test]
fn calls_that_return_are_those_that_a_worklist_finds() {
    analyse("labels", same_level);
}
