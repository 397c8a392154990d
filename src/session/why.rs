//! EXPLAIN WHY: a derivation of a fact, found in the content of one snapshot.
//!
//! A rule is asked for an instance that derives the fact, then its facts are explained alike.
//! In a recursion each fact has a height, the round in which it appears at the earliest, and only
//! instances of lower facts are looked at: so no fact is explained by itself, and the derivation is
//! as low as there is one. The facts of a recursion are read once, with their heights, and only
//! those that demand leaves.
//!
//! It is bounded: a fact is explained where it comes first, after [`FACTS_MAX`] facts none is any
//! more, and of a group [`GROUP_MAX`] bindings are shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::relation::{ColumnOrder, Equivalence, Id, Relation, RelationType};
use crate::plan::why::{self, Kind, Literal, Proof, Rule, Variable, Way, Why};
use crate::repr::settings::FormatSettings;
use crate::repr::text::format_text;
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnType, Datum, Row, ScalarType};
use crate::session::analyze::plan_rows;
use crate::session::session::{Outcome, Session};

/// How many facts are explained.
const FACTS_MAX: usize = 1_000;

/// How many bindings of a group are shown.
const GROUP_MAX: usize = 10;

/// How many facts of a recursion are looked at.
const READ_MAX: usize = 1_000_000;

/// A search for derivations.
pub(super) struct Search<'s> {
    pub(super) session: &'s mut Session,
    pub(super) why: Why,
    pub(super) settings: FormatSettings,
    pub(super) proofs: Vec<Proof>,
    /// The facts of recursions, by predicate, and their heights.
    facts: BTreeMap<usize, Vec<(Row, i32)>>,
}

/// A value beside its type.
#[derive(Clone, Copy)]
pub(super) struct Held<'d> {
    pub(super) datum: Datum<'d>,
    pub(super) scalar: ScalarType,
}

/// A derived fact.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Fact {
    predicate: usize,
    row: Row,
    height: Option<i32>,
}

/// A statement that an instance rests on.
struct Premise {
    proof: Proof,
    /// What explains it, if rules derive it.
    fact: Option<Fact>,
    /// What it rests on, where that is known already.
    from: Vec<Premise>,
}

/// How a rule derives a fact.
struct Derivation {
    rule: String,
    note: Option<String>,
    from: Vec<Premise>,
}

impl Session {
    pub(super) async fn explain_why(&mut self, why: Why) -> Result<Outcome> {
        let (negated, json) = (why.negated, why.json);
        let settings = self.variables.format().clone();
        let mut search =
            Search { session: self, why, settings, proofs: vec![], facts: BTreeMap::new() };
        let fact = search.asked().await?;
        let found = search.found(&fact).await?;
        match (negated, found) {
            (false, Some(fact)) => search.explain(fact).await?,
            (true, None) => search.refute(&fact).await?,
            (false, None) => search.say(&fact, "does not hold; EXPLAIN WHY NOT shows why"),
            (true, Some(_)) => search.say(&fact, "holds; EXPLAIN WHY shows why"),
        }
        let proofs = search.proofs;
        self.await_durable().await?;
        Ok(match json {
            false => plan_rows(&why::text(&proofs), ScalarType::Text),
            true => {
                let text = serde_json::to_string_pretty(&why::as_json(&proofs));
                plan_rows(&[text.unwrap_or_default()], ScalarType::Json)
            }
        })
    }
}

impl Search<'_> {
    /// The fact that is asked for, in the types of its predicate.
    async fn asked(&mut self) -> Result<Row> {
        let fact = self.why.fact.clone();
        let row = self.rows(fact, 1).await?.pop();
        let row = row.ok_or_else(|| Error::internal("EXPLAIN WHY of no fact"))?;
        let types = self.types(0);
        let mut datums = vec![];
        decode_values(&types, row.bytes(), &mut datums);
        let meant = |(datum, null): (&Datum<'_>, &bool)| !datum.is_null() || *null;
        if !datums.iter().zip(&self.why.nulls).all(meant) {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "a parameter of a fact must not be null",
            )
            .with_hint("Write null in its place."));
        }
        Ok(row)
    }

    /// The fact as its predicate has it, where it does.
    async fn found(&mut self, row: &Row) -> Result<Option<Fact>> {
        let types = self.types(0);
        let pairs: Vec<(usize, Held<'_>)> = held(&types, row).into_iter().enumerate().collect();
        if let Some(recursion) = self.why.predicates[0].recursion.clone() {
            let ty = RelationType { columns: recursion.types.clone(), keys: vec![] };
            let facts = Relation::Get { id: Id::Local(recursion.id), ty };
            let facts = self.among(matched(facts, &pairs)?, None).await?;
            if let Some(found) = self.rows(facts, 1).await?.pop() {
                return Ok(Some(Fact { predicate: 0, ..split(&recursion.types, &found)? }));
            }
        }
        let content = self.why.predicates[0].content.clone();
        let found = self.rows(matched(content, &pairs)?, 1).await?.pop();
        if found.is_some() && self.why.predicates[0].recursion.is_some() && !self.why.negated {
            let what = self.spelled_fact(&self.why.name, &types, row);
            return Err(Error::unsupported(
                format!("EXPLAIN WHY of {what}, which rests on itself alone,"),
                "What a lattice derives has to grow with what it is derived from.",
            ));
        }
        Ok(found.map(|row| Fact { predicate: 0, row, height: None }))
    }

    fn say(&mut self, row: &Row, note: &str) {
        let what = self.spelled_fact(&self.why.name, &self.types(0), row);
        self.proofs.push(Proof { what, note: Some(note.to_owned()), ..Proof::default() });
    }

    /// Explains a fact that holds.
    async fn explain(&mut self, fact: Fact) -> Result<()> {
        let what = self.spelled_fact(&self.why.name, &self.types(0), &fact.row);
        self.proofs.push(Proof { what, ..Proof::default() });
        let mut todo = vec![(0, fact)];
        let mut known: BTreeSet<(usize, Row)> = BTreeSet::new();
        while let Some((number, fact)) = todo.pop() {
            if known.contains(&(fact.predicate, fact.row.clone())) {
                self.proofs[number].note = Some("as above".to_owned());
                continue;
            }
            if known.len() >= FACTS_MAX {
                self.proofs[number].note = Some(format!("not shown after {FACTS_MAX} facts"));
                continue;
            }
            known.insert((fact.predicate, fact.row.clone()));
            let Some(found) = self.derivation(&fact).await? else {
                let what = &self.proofs[number].what;
                return Err(Error::internal(format!("no rule derives {what}")));
            };
            self.proofs[number].rule = Some(found.rule);
            self.proofs[number].note = found.note;
            let before = todo.len();
            self.put(number, found.from, &mut todo);
            // What comes first is explained first.
            todo[before..].reverse();
        }
        Ok(())
    }

    fn put(&mut self, above: usize, premises: Vec<Premise>, todo: &mut Vec<(usize, Fact)>) {
        for premise in premises {
            let number = self.proofs.len();
            self.proofs.push(premise.proof);
            self.proofs[above].from.push(number);
            todo.extend(premise.fact.map(|fact| (number, fact)));
            self.put(number, premise.from, todo);
        }
    }

    /// An instance of a rule that derives a fact of lower facts.
    async fn derivation(&mut self, fact: &Fact) -> Result<Option<Derivation>> {
        let types = self.types(fact.predicate);
        let values = held(&types, &fact.row);
        let stratum = self.why.predicates[fact.predicate].recursion.as_ref().map(|r| r.stratum);
        let below = stratum.zip(fact.height);
        for rule in self.why.predicates[fact.predicate].rules.clone() {
            let found = match &rule.groups {
                Some(_) => self.group(&rule, &values).await?,
                None => self.instance(&rule, &values, below).await?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        let lattice = self.why.predicates[fact.predicate].lattice.as_ref();
        let only = lattice.is_some_and(|columns| columns.iter().all(|folds| *folds));
        let rule = self.why.predicates[fact.predicate].rules.first().filter(|_| only);
        let note = Some("of no rows".to_owned());
        Ok(rule.map(|rule| Derivation { rule: rule.text.clone(), note, from: vec![] }))
    }

    async fn instance(
        &mut self,
        rule: &Rule,
        values: &[Held<'_>],
        below: Option<(usize, i32)>,
    ) -> Result<Option<Derivation>> {
        for way in &rule.ways {
            let width = way.variables.len();
            let pairs = values.iter().enumerate().map(|(at, held)| (width + at, *held));
            let pairs: Vec<_> = pairs.collect();
            if let Some(from) = self.of_way(way, &pairs, below).await? {
                let (rule, note) = (rule.text.clone(), None);
                return Ok(Some(Derivation { rule, note, from }));
            }
        }
        Ok(None)
    }

    /// What an instance of a way through a body rests on, in which some columns have values.
    async fn of_way(
        &mut self,
        way: &Way,
        pairs: &[(usize, Held<'_>)],
        below: Option<(usize, i32)>,
    ) -> Result<Option<Vec<Premise>>> {
        let instances = matched(way.instances.clone(), pairs)?;
        let heights = way.literals.iter().filter_map(|literal| match literal {
            Literal::Fact { height, .. } => *height,
            _ => None,
        });
        let order =
            heights.map(|column| ColumnOrder { column, descending: false, nulls_first: false });
        let lowest = instances.top_k(vec![], order.collect(), Some(1), 0);
        let lowest = self.among(lowest, below).await?;
        let Some(row) = self.rows(lowest, 1).await?.pop() else { return Ok(None) };
        let types: Vec<ScalarType> = way.instances.typ().scalars();
        let values = held(&types, &row);
        let mut premises = vec![];
        for literal in &way.literals {
            premises.push(self.premise(literal, way, &values)?);
        }
        Ok(Some(premises))
    }

    fn premise(&self, literal: &Literal, way: &Way, values: &[Held<'_>]) -> Result<Premise> {
        let plain = |kind, what| Premise {
            proof: Proof { kind, what, ..Proof::default() },
            fact: None,
            from: vec![],
        };
        Ok(match literal {
            Literal::Fact { name, predicate, columns, height } => {
                let own: Vec<Held<'_>> = columns.iter().map(|at| values[*at]).collect();
                let what = self.spelled(name, &own);
                let fact = predicate.map(|predicate| {
                    let datums: Vec<Datum<'_>> = own.iter().map(|held| held.datum).collect();
                    let height = height.and_then(|at| match values[at].datum {
                        Datum::Int4(height) => Some(height),
                        _ => None,
                    });
                    Fact { predicate, row: pack(&datums), height }
                });
                Premise { fact, ..plain(Kind::Fact, what) }
            }
            Literal::Absent(text) => {
                let filled = text.filled(|name| self.value(name, &way.variables, values));
                let mut premise = plain(Kind::Absent, filled);
                premise.proof.note = Some("no such row".to_owned());
                premise
            }
            Literal::Condition(text) => {
                let filled = text.filled(|name| self.value(name, &way.variables, values));
                plain(Kind::Condition, filled)
            }
        })
    }

    /// The bindings of the group that a rule derives a fact from.
    async fn group(&mut self, rule: &Rule, values: &[Held<'_>]) -> Result<Option<Derivation>> {
        let Some(groups) = &rule.groups else { return Ok(None) };
        let pairs: Vec<_> = values.iter().copied().enumerate().collect();
        let derived = self.among(matched(groups.derived.clone(), &pairs)?, None).await?;
        if self.rows(derived, 1).await?.is_empty() {
            return Ok(None);
        }
        let width = groups.variables.len();
        let keys = groups.keys.iter().enumerate().map(|(at, key)| (width + at, values[*key]));
        let keys: Vec<_> = keys.collect();
        let bindings = self.among(matched(groups.bindings.clone(), &keys)?, None).await?;
        let (count, first) = self.least_rows(bindings).await?;
        let types: Vec<ScalarType> = groups.bindings.typ().scalars();
        let mut from = vec![];
        for row in &first {
            let bound = held(&types, row);
            let mut premises = None;
            for way in &rule.ways {
                if premises.is_none()
                    && let Some(pairs) = pairs_of(way, &groups.variables, &bound)
                {
                    premises = self.of_way(way, &pairs, None).await?;
                }
            }
            let what = self.bindings(&groups.variables, &bound);
            let proof = Proof { kind: Kind::Binding, what, ..Proof::default() };
            from.push(Premise { proof, fact: None, from: premises.unwrap_or_default() });
        }
        let rows = if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        let note = match count > first.len() {
            true => format!("of {rows}, of which {} are shown", first.len()),
            false => format!("of {rows}"),
        };
        Ok(Some(Derivation { rule: rule.text.clone(), note: Some(note), from }))
    }

    /// How many rows there are, and the first of them in an order that is always the same.
    async fn least_rows(&mut self, relation: Relation) -> Result<(usize, Vec<Row>)> {
        let mut stream = self.session.read_relation(relation, None).await?;
        let (mut count, mut least) = (0, BTreeSet::new());
        while let Some(rows) = self.session.cancel.or(stream.next()).await? {
            for (row, _) in rows {
                count += 1;
                least.insert(row);
                if least.len() > GROUP_MAX {
                    least.pop_last();
                }
            }
        }
        Ok((count, least.into_iter().collect()))
    }

    /// Rows, each once. Errors: 54000 where there are more than may be.
    pub(super) async fn rows(&mut self, relation: Relation, max: usize) -> Result<Vec<Row>> {
        let mut stream = self.session.read_relation(relation, None).await?;
        let mut found = vec![];
        while let Some(rows) = self.session.cancel.or(stream.next()).await? {
            found.extend(rows.into_iter().map(|(row, _)| row));
            if found.len() > max && max == READ_MAX {
                return Err(Error::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    format!("the derivation may be among more than {READ_MAX} facts"),
                )
                .with_hint("Explain a fact that less depends on."));
            }
        }
        Ok(found)
    }

    /// A relation with the facts of recursions that it reads; of one stratum only those below a
    /// height.
    pub(super) async fn among(
        &mut self,
        mut relation: Relation,
        below: Option<(usize, i32)>,
    ) -> Result<Relation> {
        for number in 0..self.why.predicates.len() {
            let Some(recursion) = self.why.predicates[number].recursion.clone() else { continue };
            if !relation.reads_local(&BTreeSet::from([recursion.id])) {
                continue;
            }
            if !self.facts.contains_key(&number) {
                let mut facts = vec![];
                for row in self.rows(recursion.facts.clone(), READ_MAX).await? {
                    let height = split(&recursion.types, &row)?.height;
                    facts.push((row, height.unwrap_or(i32::MAX)));
                }
                self.facts.insert(number, facts);
            }
            let all = self.facts.get(&number).into_iter().flatten();
            let rows = all.filter(|(_, height)| {
                below.is_none_or(|(s, bound)| s != recursion.stratum || *height < bound)
            });
            let rows = Ok(rows.map(|(row, _)| (row.clone(), 1)).collect());
            let ty = RelationType { columns: recursion.types.clone(), keys: vec![] };
            let value = Box::new(Relation::Constant { rows, ty });
            relation = Relation::Let { id: recursion.id, value, body: Box::new(relation) };
        }
        Ok(relation)
    }

    pub(super) fn types(&self, predicate: usize) -> Vec<ScalarType> {
        self.why.predicates[predicate].types.iter().map(|ty| ty.scalar).collect()
    }

    pub(super) fn spelled_fact(&self, name: &str, types: &[ScalarType], row: &Row) -> String {
        self.spelled(name, &held(types, row))
    }

    fn spelled(&self, name: &str, values: &[Held<'_>]) -> String {
        let values = values.iter().map(|held| self.literal(*held));
        format!("{name}({})", values.collect::<Vec<_>>().join(", "))
    }

    /// A value as a rule has it.
    pub(super) fn literal(&self, held: Held<'_>) -> String {
        if held.datum.is_null() {
            return "null".to_owned();
        }
        let mut text = String::new();
        format_text(&held.datum, held.scalar, &self.settings, &mut text);
        match held.scalar {
            ScalarType::Bool => if text == "t" { "true" } else { "false" }.to_owned(),
            ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 | ScalarType::Numeric => text,
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// The value of a variable.
    pub(super) fn value(
        &self,
        name: &str,
        variables: &[Variable],
        values: &[Held<'_>],
    ) -> Option<String> {
        let at = variables.iter().position(|variable| variable.name == name)?;
        Some(self.literal(*values.get(at)?))
    }

    /// `X = 1, Y = 2`.
    pub(super) fn bindings(&self, variables: &[Variable], values: &[Held<'_>]) -> String {
        let bound = variables.iter().zip(values).filter_map(|(variable, held)| {
            Some(format!("{} = {}", variable.written.as_ref()?, self.literal(*held)))
        });
        bound.collect::<Vec<_>>().join(", ")
    }

    /// The same as an object.
    pub(super) fn binding(&self, variables: &[Variable], values: &[Held<'_>]) -> serde_json::Value {
        let bound = variables.iter().zip(values).filter_map(|(variable, held)| {
            Some((variable.written.clone()?, json!(self.literal(*held))))
        });
        serde_json::Value::Object(bound.collect())
    }
}

/// The columns of a way that have the values of a binding; none where their types differ.
fn pairs_of<'d>(
    way: &Way,
    variables: &[Variable],
    values: &[Held<'d>],
) -> Option<Vec<(usize, Held<'d>)>> {
    let mut pairs = vec![];
    for (variable, held) in variables.iter().zip(values) {
        let at = way.variables.iter().position(|own| own.name == variable.name)?;
        if way.variables[at].scalar != held.scalar {
            return None;
        }
        pairs.push((at, *held));
    }
    Some(pairs)
}

/// The values of a row.
pub(super) fn held<'d>(types: &[ScalarType], row: &'d Row) -> Vec<Held<'d>> {
    let mut datums = vec![];
    decode_values(types, row.bytes(), &mut datums);
    let pairs = datums.into_iter().zip(types);
    pairs.map(|(datum, scalar)| Held { datum, scalar: *scalar }).collect()
}

/// A fact and the height that is its last column.
fn split(types: &[ColumnType], row: &Row) -> Result<Fact> {
    let types: Vec<ScalarType> = types.iter().map(|ty| ty.scalar).collect();
    let mut datums = vec![];
    decode_values(&types, row.bytes(), &mut datums);
    match datums.pop() {
        Some(Datum::Int4(height)) => {
            Ok(Fact { predicate: 0, row: pack(&datums), height: Some(height) })
        }
        _ => Err(Error::internal("a fact without a height")),
    }
}

/// The rows of a relation in which some columns have values; NULL is NULL.
pub(super) fn matched(relation: Relation, pairs: &[(usize, Held<'_>)]) -> Result<Relation> {
    if pairs.is_empty() {
        return Ok(relation);
    }
    let types = relation.typ().scalars();
    let arity = types.len();
    if pairs.iter().any(|(at, held)| types.get(*at) != Some(&held.scalar)) {
        return Err(Error::internal("a fact that is not of its predicate's types"));
    }
    let columns = pairs.iter().map(|(_, held)| ColumnType::nullable(held.scalar)).collect();
    let datums: Vec<Datum<'_>> = pairs.iter().map(|(_, held)| held.datum).collect();
    let ty = RelationType { columns, keys: vec![vec![]] };
    let values = Relation::Constant { rows: Ok(vec![(pack(&datums), 1)]), ty };
    let equivalences = pairs.iter().enumerate().map(|(number, (at, held))| Equivalence {
        exprs: vec![Expr::Column(*at), Expr::Column(arity + number)],
        null_safe: held.datum.is_null(),
    });
    let equivalences = equivalences.collect();
    let input = Box::new(Relation::Join { inputs: vec![relation, values], equivalences });
    Ok(Relation::Project { input, outputs: (0..arity).collect() })
}
