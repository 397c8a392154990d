//! Derivations are what they say: each step is an instance of a rule, each leaf a row of a table,
//! and nothing rests on itself; and of a fact that is not there each rule fails where it is said.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use rand::rngs::StdRng;
use serde_json::Value as Json;

use crate::datalog::{Binding, DOMAIN, Database, Row, Value, derive, grouped, matches, plain};
use crate::programs::{Head, Literal, Program, Rule, TABLES};
use crate::support::wire::Client;

/// A fact by its name and values.
type Fact = (String, Row);

/// What is asked, and what is known.
struct Check<'p> {
    program: &'p Program,
    content: &'p Database,
    /// What each derived fact rests on.
    rests: BTreeMap<Fact, Vec<Fact>>,
}

/// What is wrong with the derivation of one fact, and of one that does not hold.
pub fn faults(
    client: &mut Client,
    rng: &mut StdRng,
    program: &Program,
    name: &str,
    content: &Database,
) -> Vec<String> {
    let rows = &content[name];
    let arity = program.rules.iter().find(|r| r.name == name).unwrap().head.len();
    let mut faults = vec![];
    if !rows.is_empty() {
        let row = rows.iter().nth(rng.random_range(0..rows.len())).unwrap();
        faults.extend(one(client, rng, program, (name, row), content, ""));
    }
    let row: Row =
        (0..arity).map(|_| rng.random_bool(0.95).then(|| rng.random_range(0..DOMAIN))).collect();
    if !rows.contains(&row) {
        faults.extend(one(client, rng, program, (name, &row), content, "NOT "));
    }
    faults
}

fn one(
    client: &mut Client,
    rng: &mut StdRng,
    program: &Program,
    (name, row): (&str, &Row),
    content: &Database,
    not: &str,
) -> Option<String> {
    let fact = spelled(row);
    let sql = match rng.random_bool(0.7) {
        true => format!("DATALOG $$ {program} EXPLAIN WHY {not}AS JSON {name}({fact}) $$"),
        false => format!("EXPLAIN WHY {not}AS JSON v_{name}({fact})"),
    };
    let outcome = client.run(&sql);
    let told = |what: String| Some(format!("{sql}\nof {program}\nover {content:?}\n{what}"));
    if let Some(error) = outcome.error {
        return told(error.to_string());
    }
    let text = outcome.rows[0][0].clone().unwrap();
    let plain = text.replace("\\\"public\\\".", "").replace("public.", "");
    let json: Json = serde_json::from_str(&plain.replace("v_", "")).unwrap();
    let mut check = Check { program, content, rests: BTreeMap::new() };
    let wanted = (name.to_owned(), row.clone());
    let checked = match not {
        "" => check.why(&json[0], &wanted),
        _ => check.why_not(&json[0], &wanted),
    };
    checked.err().and_then(|what| told(format!("{what}\nin {text}")))
}

fn spelled(row: &Row) -> String {
    let value = |value: &Value| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
    row.iter().map(value).collect::<Vec<_>>().join(", ")
}

fn parsed(text: &str) -> Fact {
    let (name, values) = text.split_once('(').unwrap();
    (name.to_owned(), values.trim_end_matches(')').split(", ").map(value).collect())
}

fn value(text: &str) -> Value {
    (text != "null").then(|| text.parse().unwrap())
}

fn parts(json: &Json) -> Vec<&Json> {
    json["From"].as_array().into_iter().flatten().collect()
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// The rules that one side of each OR is taken of.
fn ways(rule: &Rule) -> Vec<Vec<Literal>> {
    let mut ways: Vec<Vec<Literal>> = vec![vec![]];
    for literal in &rule.body {
        ways = match literal {
            Literal::Either(a, b) => {
                let with = |side: &Literal| {
                    ways.iter()
                        .map(|way| [way.as_slice(), std::slice::from_ref(side)].concat())
                        .collect()
                };
                let both: [Vec<Vec<Literal>>; 2] = [with(a), with(b)];
                both.concat()
            }
            other => ways
                .iter()
                .map(|way| [way.as_slice(), std::slice::from_ref(other)].concat())
                .collect(),
        };
    }
    ways
}

impl Check<'_> {
    fn is_table(name: &str) -> bool {
        TABLES.iter().any(|(table, _)| *table == name)
    }

    /// Whether the rules of a predicate derive a lattice.
    fn is_lattice(&self, name: &str) -> bool {
        let heads = self.program.rules.iter().filter(|r| r.name == name).flat_map(|r| &r.head);
        let folds: Vec<_> = heads
            .filter_map(|head| match head {
                Head::Fold(fold, _) => Some(*fold),
                _ => None,
            })
            .collect();
        !folds.is_empty() && folds.iter().all(|fold| fold.is_lattice())
    }

    fn rules(&self, name: &str, text: &str) -> Vec<&Rule> {
        let own = || self.program.rules.iter().filter(|rule| rule.name == name);
        let exact: Vec<&Rule> = own().filter(|rule| rule.text() == text).collect();
        if exact.is_empty() { own().collect() } else { exact }
    }

    fn why(&mut self, json: &Json, wanted: &Fact) -> Result<(), String> {
        let fact = self.fact(json)?;
        ensure(fact == *wanted, || format!("explains {fact:?}"))?;
        self.is_founded()?;
        self.is_lowest()
    }

    /// Checks what a fact rests on.
    fn fact(&mut self, json: &Json) -> Result<Fact, String> {
        let text = json["Fact"].as_str().ok_or("no fact")?;
        let fact = parsed(text);
        ensure(self.content[&fact.0].contains(&fact.1), || format!("{text} does not hold"))?;
        if Check::is_table(&fact.0) {
            ensure(json.get("By").is_none(), || format!("{text} is derived"))?;
            return Ok(fact);
        }
        let Some(by) = json["By"].as_str() else {
            ensure(json["Note"] == "as above", || format!("{text} by nothing"))?;
            return Ok(fact);
        };
        let mut rests = vec![];
        let bindings: Vec<&Json> =
            parts(json).into_iter().filter(|part| part.get("Binding").is_some()).collect();
        let premises = self.premises(json, &mut rests)?;
        for binding in &bindings {
            self.premises(binding, &mut rests)?;
        }
        let note = json["Note"].as_str().unwrap_or_default().to_owned();
        let rules: Vec<&Rule> = self.rules(&fact.0, by);
        let derives = rules.iter().any(|rule| match note.starts_with("of ") {
            true => self.is_group(rule, &fact.1, &bindings, &note),
            false => self.is_instance(rule, &fact.1, &premises),
        });
        ensure(derives, || format!("{text} is not derived by {by} so"))?;
        self.rests.insert(fact.clone(), rests);
        Ok(fact)
    }

    /// The facts right below something.
    fn premises(&mut self, json: &Json, rests: &mut Vec<Fact>) -> Result<Vec<Fact>, String> {
        let mut found = vec![];
        for part in parts(json).into_iter().filter(|part| part.get("Fact").is_some()) {
            found.push(self.fact(part)?);
        }
        rests.extend(found.iter().cloned());
        Ok(found)
    }

    /// The bindings of a rule whose facts are all among the premises.
    fn bindings_by(&self, rule: &Rule, premises: &[Fact]) -> BTreeSet<Binding> {
        let mut few: Database = self.content.keys().map(|n| (n.clone(), BTreeSet::new())).collect();
        for (name, row) in premises {
            few.get_mut(name).unwrap().insert(row.clone());
        }
        let mut found = BTreeSet::new();
        for way in ways(rule) {
            let positive: Vec<Literal> = way
                .iter()
                .filter(|l| !matches!(l, Literal::Negative(_) | Literal::Without(_)))
                .cloned()
                .collect();
            let by_few = matches(&positive, &few);
            found.extend(matches(&way, self.content).into_iter().filter(|b| by_few.contains(b)));
        }
        found
    }

    fn is_instance(&self, rule: &Rule, row: &Row, premises: &[Fact]) -> bool {
        let folds = rule.head.iter().any(|head| matches!(head, Head::Fold(..)));
        (!folds || self.is_lattice(&rule.name))
            && self.bindings_by(rule, premises).iter().any(|b| plain(&rule.head, b) == *row)
    }

    fn is_group(&self, rule: &Rule, row: &Row, shown: &[&Json], note: &str) -> bool {
        let is_key = |at: &usize| !matches!(rule.head[*at], Head::Fold(..));
        let key_of = |values: &Row| -> Row {
            (0..values.len()).filter(is_key).map(|at| values[at]).collect()
        };
        let all = matches(&rule.body, self.content);
        let group: BTreeSet<Binding> = all
            .into_iter()
            .filter(|binding| key_of(&plain(&rule.head, binding)) == key_of(row))
            .collect();
        if self.is_lattice(&rule.name) {
            return group.is_empty() && note == "of no rows";
        }
        let count = note[3..].split(' ').next().unwrap().parse::<usize>().unwrap_or(0);
        let is_of = |json: &&Json| {
            let premises: Vec<Fact> = parts(json)
                .into_iter()
                .filter_map(|part| Some(parsed(part["Fact"].as_str()?)))
                .collect();
            let text = json["Binding"].as_str().unwrap();
            self.bindings_by(rule, &premises)
                .iter()
                .any(|b| group.contains(b) && told(b) == named(text))
        };
        grouped(&rule.head, &group).contains(row)
            && count == group.len()
            && shown.len() == count.min(10)
            && shown.iter().all(is_of)
    }

    /// Whether nothing rests on itself.
    fn is_founded(&self) -> Result<(), String> {
        let mut founded: BTreeSet<&Fact> = BTreeSet::new();
        loop {
            let before = founded.len();
            for (fact, rests) in &self.rests {
                if rests.iter().all(|f| Check::is_table(&f.0) || founded.contains(f)) {
                    founded.insert(fact);
                }
            }
            if founded.len() == before {
                break;
            }
        }
        ensure(founded.len() == self.rests.len(), || "something rests on itself".to_owned())
    }

    /// Whether what a recursion derives is derived in as few rounds as it can be.
    fn is_lowest(&self) -> Result<(), String> {
        for stratum in self.program.strata.iter().filter(|s| s.recursive) {
            if stratum.names.iter().any(|name| self.is_lattice(name)) {
                continue;
            }
            let mut content = self.content.clone();
            for name in &stratum.names {
                content.insert(name.clone(), BTreeSet::new());
            }
            let mut first: BTreeMap<Fact, usize> = BTreeMap::new();
            for round in 1.. {
                let mut next = content.clone();
                for name in &stratum.names {
                    let rules: Vec<&Rule> =
                        self.program.rules.iter().filter(|r| r.name == *name).collect();
                    next.insert(name.clone(), derive(&rules, true, &content));
                }
                if next == content {
                    break;
                }
                for name in &stratum.names {
                    for row in &next[name] {
                        first.entry((name.clone(), row.clone())).or_insert(round);
                    }
                }
                content = next;
            }
            for fact in self.rests.keys().filter(|fact| stratum.names.contains(&fact.0)) {
                let height = self.height(fact, &stratum.names);
                ensure(height == first[fact], || {
                    format!("{fact:?} has the height {height}, not {}", first[fact])
                })?;
            }
        }
        Ok(())
    }

    fn height(&self, fact: &Fact, names: &[String]) -> usize {
        let rests = self.rests[fact].iter().filter(|fact| names.contains(&fact.0));
        1 + rests.map(|fact| self.height(fact, names)).max().unwrap_or(0)
    }

    fn why_not(&self, json: &Json, wanted: &Fact) -> Result<(), String> {
        let fact = parsed(json["Fact"].as_str().ok_or("no fact")?);
        ensure(fact == *wanted, || format!("refutes {fact:?}"))?;
        ensure(json["Note"] == "does not hold", || "it should not hold".to_owned())?;
        let own = self.program.rules.iter().filter(|rule| rule.name == fact.0);
        let count: usize = own.map(|rule| ways(rule).len()).sum();
        ensure(parts(json).len() == count, || format!("there are {count} ways"))?;
        for told in parts(json) {
            let text = told["Rule"].as_str().ok_or("no rule")?;
            let rules = self.rules(&fact.0, text);
            let mut all = rules.iter().flat_map(|rule| {
                ways(rule).into_iter().map(|way| self.fails(rule, way, told, &fact.1))
            });
            ensure(all.any(|fails| fails == Some(true)), || format!("{text} does not fail so"))?;
        }
        Ok(())
    }

    /// Whether a way through a rule fails as it is told; none where it is another way.
    fn fails(&self, rule: &Rule, way: Vec<Literal>, told: &Json, row: &Row) -> Option<bool> {
        let is_lattice = self.is_lattice(&rule.name);
        let mut left: Vec<Literal> = way;
        let mut body: Vec<Literal> = vec![];
        for step in parts(told) {
            // A negation of several atoms is told as it was written.
            let text = step["Literal"].as_str()?.replace('"', "");
            if text == "head" {
                let of = |head: &Head| match head {
                    Head::Variable(v) => Some(*v),
                    Head::Fold(_, of) if is_lattice && of.len() == 1 => Some(of[0]),
                    _ => None,
                };
                let pairs = rule.head.iter().map(of).zip(row);
                let pairs: Vec<_> = pairs.filter_map(|(v, value)| Some((v?, value))).collect();
                let is_other = |(head, value): (&Head, &Value)| match head {
                    Head::Constant(own) => Some(*own) != *value,
                    _ => false,
                };
                return Some(
                    rule.head.iter().zip(row).any(is_other)
                        || pairs.iter().any(|(a, x)| pairs.iter().any(|(b, y)| a == b && x != y)),
                );
            }
            let same = |literal: &Literal| {
                let own = literal.text(rule.style & !1).replace('!', "NOT ").replace("NOT =", "<>");
                let named =
                    literal.text(rule.style | 1).replace('!', "NOT ").replace("NOT =", "<>");
                own == text || named == text
            };
            let is_head = match left.iter().position(same) {
                Some(at) => {
                    body.push(left.remove(at));
                    false
                }
                None if left.is_empty() && text.starts_with(&rule.name) => true,
                None => return None,
            };
            let bindings = matches(&body, self.content);
            let bindings: Vec<&Binding> = bindings
                .iter()
                .filter(|binding| {
                    rule.head.iter().zip(row).all(|(head, value)| match head {
                        Head::Variable(v) => binding.get(v).is_none_or(|own| own == value),
                        Head::Constant(_) => !is_head || head.value(binding) == *value,
                        Head::Fold(_, of) if is_lattice => {
                            let alone = of.len() == 1 && binding.contains_key(&of[0]);
                            !(is_head || alone) || head.value(binding) == *value
                        }
                        Head::Fold(..) => true,
                    })
                })
                .collect();
            if step.get("Fails").is_some() {
                return Some(bindings.is_empty());
            }
            let count = step["Bindings"].as_u64()? as usize;
            if bindings.is_empty() || count != bindings.len().min(101) {
                return Some(false);
            }
        }
        let note = told["Note"].as_str().unwrap_or_default();
        let (Some(other), true) = (note.strip_prefix("derives "), left.is_empty()) else {
            return Some(false);
        };
        let other = parsed(other.trim_end_matches(" in its place"));
        Some(self.content[&other.0].contains(&other.1) && other.1 != *row)
    }
}

fn told(binding: &Binding) -> BTreeMap<String, Value> {
    binding.iter().map(|(variable, value)| (format!("V{variable}"), *value)).collect()
}

fn named(text: &str) -> BTreeMap<String, Value> {
    let parts = text.split(", ").filter_map(|part| part.split_once(" = "));
    parts.map(|(name, text)| (name.to_owned(), value(text))).collect()
}
