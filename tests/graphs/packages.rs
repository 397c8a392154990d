//! Debian's package graph under rules.

use std::collections::{BTreeMap, BTreeSet};

use super::index::{Package, Packages, read, some_of};
use super::support::weir::Weir;
use super::support::wire::Client;
use super::{ask, copy, define, setting};

type Names = BTreeSet<Vec<String>>;
type Edges = BTreeMap<String, BTreeSet<String>>;

const TABLES: &str = "
CREATE TABLE package (name text PRIMARY KEY, version text NOT NULL);
CREATE TABLE depends (name text, clause int, pre bool, target text);
CREATE TABLE provides (name text, what text);
CREATE TABLE chosen (name text PRIMARY KEY);";

/// Views, each on those before it.
const VIEWS: [(&str, &str); 8] = [
    ("offers", "offers(P, P) <- package(P, _). offers(P, V) <- provides(P, V)."),
    ("supply", "supply(P, C, Pre, Q) <- depends(P, C, Pre, T), offers(Q, T)."),
    ("needs", "needs(P, Q) <- supply(P, _, _, Q)."),
    // All that a package depends on in the end.
    ("below", "below(P, Q) <- chosen(P), needs(P, Q). below(P, R) <- below(P, Q), needs(Q, R)."),
    // Packages that depend on themselves, by ways that end with a step of this or that kind.
    (
        "ring",
        "late(P, Q) <- chosen(P), supply(P, _, false, Q).
         late(P, R) <- late(P, Q), supply(Q, _, false, R).
         late(P, R) <- early(P, Q), supply(Q, _, false, R).
         early(P, Q) <- chosen(P), supply(P, _, true, Q).
         early(P, R) <- late(P, Q), supply(Q, _, true, R).
         early(P, R) <- early(P, Q), supply(Q, _, true, R).
         ring(P) <- late(P, P) OR early(P, P).",
    ),
    ("unneeded", "unneeded(P) <- package(P, _), NOT needs(_, P)."),
    ("unmet", "unmet(P, C) <- depends(P, C, _, _), NOT supply(P, C, _, _)."),
    // What breaks when a package goes, because it and nobody else does what is needed.
    (
        "breaks",
        "does(P, C, Q) <- supply(P, C, _, Q).
         doers(P, C, count(Q)) <- does(P, C, Q).
         sole(P, Q) <- doers(P, C, 1), does(P, C, Q).
         breaks(G, P) <- chosen(G), sole(P, G).
         breaks(G, P) <- breaks(G, R), sole(P, R).",
    ),
];

/// What the views should say, computed from the packages.
struct Expected {
    needs: Edges,
    of: BTreeMap<&'static str, Names>,
}

fn expected(packages: &Packages, chosen: &[String]) -> Expected {
    let mut offers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages.values() {
        for what in package.provides.iter().chain([&package.name]) {
            offers.entry(what).or_default().insert(&package.name);
        }
    }
    let (mut needs, mut backward, mut sole) = (Edges::new(), Edges::new(), Edges::new());
    let mut unmet = Names::new();
    for package in packages.values() {
        for (number, (_, clause)) in package.depends.iter().enumerate() {
            let doers: BTreeSet<&str> = clause
                .iter()
                .flat_map(|target| offers.get(target.as_str()))
                .flatten()
                .copied()
                .collect();
            for doer in &doers {
                needs.entry(package.name.clone()).or_default().insert((*doer).to_owned());
                backward.entry((*doer).to_owned()).or_default().insert(package.name.clone());
            }
            match doers.iter().next() {
                None => {
                    unmet.insert(vec![package.name.clone(), number.to_string()]);
                }
                Some(only) if doers.len() == 1 => {
                    sole.entry((*only).to_owned()).or_default().insert(package.name.clone());
                }
                Some(_) => {}
            }
        }
    }
    let (mut below, mut ring, mut breaks) = (Names::new(), Names::new(), Names::new());
    for name in chosen {
        let pair = |other: String| vec![name.clone(), other];
        let reached = reached(&needs, name);
        if reached.contains(name) {
            ring.insert(vec![name.clone()]);
        }
        below.extend(reached.into_iter().map(pair));
        breaks.extend(self::reached(&sole, name).into_iter().map(pair));
    }
    let unneeded = packages.keys().filter(|name| !backward.contains_key(*name));
    let unneeded = unneeded.map(|name| vec![name.clone()]).collect();
    let of = [
        ("below", below),
        ("ring", ring),
        ("unneeded", unneeded),
        ("unmet", unmet),
        ("breaks", breaks),
    ];
    Expected { needs, of: of.into() }
}

/// What is reached from a node by an edge or more.
fn reached(edges: &Edges, from: &str) -> BTreeSet<String> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(node) = left.pop() {
        for next in edges.get(&node).into_iter().flatten() {
            if seen.insert(next.clone()) {
                left.push(next.clone());
            }
        }
    }
    seen
}

/// A subscription, folded up.
struct Follower {
    client: Client,
    rows: BTreeMap<Vec<String>, i64>,
}

impl Follower {
    fn new(mut client: Client, query: &str) -> Follower {
        define(&mut client, &format!("BEGIN; DECLARE c CURSOR FOR SUBSCRIBE ({query})"));
        Follower { client, rows: BTreeMap::new() }
    }

    /// All rows that are there by now.
    fn rows(&mut self) -> Names {
        let sql = "FETCH ALL c WITH (timeout = '0s')";
        for row in self.client.run(sql).rows(sql) {
            let row: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
            let count = self.rows.entry(row[2..].to_vec()).or_default();
            *count += row[1].parse::<i64>().unwrap();
            assert!((0..=1).contains(count), "{row:?}: rules derive sets");
        }
        self.rows.retain(|_, count| *count != 0);
        self.rows.keys().cloned().collect()
    }
}

/// Statements that take a package out.
fn out(name: &str) -> String {
    let from = |table: &str| format!("DELETE FROM {table} WHERE name = '{name}'; ");
    ["package", "depends", "provides"].map(from).concat()
}

/// Statements that put a package in.
fn into(package: &Package) -> String {
    let Package { name, version, .. } = package;
    let mut sql = format!("INSERT INTO package VALUES ('{name}', '{version}'); ");
    for (clause, (pre, targets)) in package.depends.iter().enumerate() {
        for target in targets {
            sql += &format!("INSERT INTO depends VALUES ('{name}', {clause}, {pre}, '{target}'); ");
        }
    }
    for what in &package.provides {
        sql += &format!("INSERT INTO provides VALUES ('{name}', '{what}'); ");
    }
    sql
}

fn load(client: &mut Client, packages: &Packages, chosen: &[String]) {
    let (mut package, mut depends, mut provides) = (String::new(), String::new(), String::new());
    for Package { name, version, depends: clauses, provides: all } in packages.values() {
        package += &format!("{name}\t{version}\n");
        for (clause, (pre, targets)) in clauses.iter().enumerate() {
            for target in targets {
                depends += &format!("{name}\t{clause}\t{pre}\t{target}\n");
            }
        }
        all.iter().for_each(|what| provides += &format!("{name}\t{what}\n"));
    }
    define(client, TABLES);
    copy(client, "package", &package);
    copy(client, "depends", &depends);
    copy(client, "provides", &provides);
    copy(client, "chosen", &(chosen.join("\n") + "\n"));
    for (name, rules) in VIEWS {
        define(client, &format!("CREATE MATERIALIZED VIEW {name} AS DATALOG $$ {rules} $$"));
    }
}

fn check(client: &mut Client, follower: &mut Follower, expected: &Expected, when: &str) {
    for (view, rows) in &expected.of {
        let found = ask(client, &format!("SELECT * FROM {view}"));
        assert_eq!(&found, rows, "{view} {when}");
    }
    assert_eq!(follower.rows(), expected.of["below"], "subscribed to, {when}");
}

/// Who depends on a package in the end, asked of rules that derive no more than that.
fn check_above(client: &mut Client, expected: &Expected, name: &str) {
    let rules = "above(P, Q) <- needs(P, Q). above(P, R) <- needs(P, Q), above(Q, R).";
    let found = ask(client, &format!("DATALOG $$ {rules} FIND P WHERE above(P, '{name}') $$"));
    let is_above = |other: &&String| reached(&expected.needs, other).contains(name);
    let rows: Names = expected.needs.keys().filter(is_above).map(|p| vec![p.clone()]).collect();
    assert_eq!(found, rows, "above {name}");
}

#[test]
fn debians_packages_stay_right_while_they_are_upgraded() {
    let Some((all, upgrades)) = read() else {
        assert!(std::env::var_os("CI").is_none(), "there is no package index: apt-get update");
        println!("skipped: there is no package index, which apt-get update would bring");
        return;
    };
    let mut packages = some_of(&all, setting("GRAPH_PACKAGES", 1_500));
    let step = (packages.len() / 12).max(1);
    // The C library and what it needs depend on each other.
    let much_needed = "libc6".to_owned();
    let chosen: BTreeSet<String> =
        packages.keys().step_by(step).chain([&much_needed]).cloned().collect();
    let chosen: Vec<String> = chosen.into_iter().collect();
    let weir = Weir::start(2);
    let mut client = weir.client();
    load(&mut client, &packages, &chosen);
    let mut follower = Follower::new(weir.client(), "FIND P, Q WHERE below(P, Q)");
    let begun = expected(&packages, &chosen);
    for (view, rows) in &begun.of {
        println!("{view}: {} rows", rows.len());
    }
    for view in ["below", "ring", "unneeded", "breaks"] {
        assert!(!begun.of[view].is_empty(), "{view} shows nothing");
    }
    check(&mut client, &mut follower, &begun, "at the beginning");
    check_above(&mut client, &begun, &much_needed);
    // What has been upgraded is upgraded, one package a transaction.
    let newer = |package: &&Package| packages.get(&package.name).is_some_and(|old| old != *package);
    let newer: Vec<Package> = upgrades.values().filter(newer).take(8).cloned().collect();
    println!("{} packages, {} upgrades", packages.len(), newer.len());
    for package in newer {
        define(&mut client, &format!("BEGIN; {}{}COMMIT", out(&package.name), into(&package)));
        let when = format!("after the upgrade of {}", package.name);
        packages.insert(package.name.clone(), package);
        check(&mut client, &mut follower, &expected(&packages, &chosen), &when);
    }
    // Others go, the one that all need first, and come back.
    let going = packages.keys().step_by((packages.len() / 5).max(1)).cloned();
    let going: Vec<String> = [much_needed.clone()].into_iter().chain(going).collect();
    for name in going {
        let Some(package) = packages.remove(&name) else { continue };
        define(&mut client, &format!("BEGIN; {}COMMIT", out(&name)));
        let now = expected(&packages, &chosen);
        check(&mut client, &mut follower, &now, &format!("without {name}"));
        define(&mut client, &format!("BEGIN; {}COMMIT", into(&package)));
        packages.insert(name.clone(), package);
        let now = expected(&packages, &chosen);
        check(&mut client, &mut follower, &now, &format!("with {name} again"));
    }
    check_above(&mut client, &expected(&packages, &chosen), &much_needed);
}
