//! Transactions of the entity store: which entities are meant, and what is said of them.
//!
//! First the lookups are resolved. A name stands for the entity that has what it is said to have
//! of a unique attribute; two names that are said to have the same are one; each name that is left
//! is a new entity. Then all that is said is told from what was there before the statement, one
//! attribute after the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::attribute::VALUE;
use crate::error::{Error, Result, SqlState};
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::plan::facts::{ChangeKind, Entity, FactValue, Transact};
use crate::repr::value::pack;
use crate::repr::{Datum, GlobalId, Row};
use crate::session::binding;
use crate::session::facts::change::{Fact, Same, Store};
use crate::session::rows::Rows;
use crate::session::session::{Outcome, Session, Tag};
use crate::session::system::names::qualified;
use crate::session::transaction::Mode;

/// An entity whose number may not be known yet.
#[derive(Clone, Copy)]
enum Place {
    Known(i64),
    Named(usize),
}

/// A value, evaluated.
#[derive(Clone)]
enum Value {
    Plain(Row),
    Entity(Place),
}

/// What is said of an entity.
struct Said {
    place: Place,
    what: What,
}

enum What {
    Assert(GlobalId, Value),
    Retract(GlobalId, Option<Value>),
    RetractEntity,
    Swap(GlobalId, Option<Value>, Value),
}

/// Which entities the names stand for.
struct Names<'n> {
    names: &'n [Option<String>],
    /// A name that this one is the same as, or itself.
    parent: Vec<usize>,
    /// What is known, for those that are their own parents.
    known: Vec<Option<i64>>,
}

impl Names<'_> {
    fn root(&self, mut at: usize) -> usize {
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    fn entity(&self, place: Place) -> Option<i64> {
        match place {
            Place::Known(entity) => Some(entity),
            Place::Named(at) => self.known[self.root(at)],
        }
    }

    /// The value, if it is known by now.
    fn value(&self, value: &Value) -> Option<Row> {
        match value {
            Value::Plain(row) => Some(row.clone()),
            Value::Entity(place) => self.entity(*place).map(|e| pack(&[Datum::Int8(e)])),
        }
    }

    fn two_entities(&self, at: usize, one: i64, other: i64) -> Error {
        let name = self.names[at].as_deref().unwrap_or("without a name");
        Error::new(
            SqlState::UNIQUE_VIOLATION,
            format!("\"{name}\" would be two entities, {one} and {other}"),
        )
        .with_detail("Its values of unique attributes belong to both.")
    }

    /// A name stands for an entity. True: that is news.
    fn bind(&mut self, at: usize, entity: i64) -> Result<bool> {
        let root = self.root(at);
        match self.known[root] {
            Some(known) if known != entity => Err(self.two_entities(at, known, entity)),
            Some(_) => Ok(false),
            None => {
                self.known[root] = Some(entity);
                Ok(true)
            }
        }
    }

    /// Two names stand for one entity. True: that is news.
    fn unite(&mut self, one: usize, other: usize) -> Result<bool> {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return Ok(false);
        }
        match (self.known[one], self.known[other]) {
            (Some(a), Some(b)) if a != b => return Err(self.two_entities(one, a, b)),
            (None, known) => self.known[one] = known,
            _ => {}
        }
        self.parent[other] = one;
        Ok(true)
    }
}

/// What is said of one attribute.
#[derive(Default)]
struct Both {
    retract: Vec<Fact>,
    assert: Vec<Fact>,
}

impl Session {
    pub(in crate::session) async fn transact(&mut self, transact: Transact) -> Result<Outcome> {
        self.check_writable("TRANSACT")?;
        let itself = self.fact_transaction().await?;
        let mut stores = BTreeMap::new();
        let said = self.evaluated(&transact, itself, &mut stores).await?;
        let count = transact.temporary.len();
        let mut names = Names {
            names: &transact.temporary,
            parent: (0..count).collect(),
            known: vec![None; count],
        };
        self.resolve(&said, &mut names, &stores).await?;
        let changes = self.changes(&said, &names, &mut stores).await?;
        for (attribute, Both { retract, assert }) in changes {
            self.check_values(&stores[&attribute], &assert)?;
            refuse_both(&stores[&attribute], &retract, &assert)?;
            self.change_facts(attribute, retract, assert).await?;
        }
        if self.mode() != Mode::Implicit {
            // Inside a block the answer leaves before the commit.
            self.await_durable().await?;
        }
        let mut rows = vec![pack(&[Datum::Text("db.tx"), Datum::Int8(itself)])];
        for (at, name) in transact.temporary.iter().enumerate() {
            let entity = names.entity(Place::Named(at)).unwrap_or_default();
            let name = name.as_deref().map_or(Datum::Null, Datum::Text);
            rows.push(pack(&[name, Datum::Int8(entity)]));
        }
        let desc = Transact::desc();
        let rows = Box::new(Rows::ready(rows, desc.scalars()));
        Ok(Outcome::Rows { desc, rows, tag: Tag::Fixed("TRANSACT".into()) })
    }

    /// What is said, with all values evaluated and lookups resolved.
    async fn evaluated(
        &mut self,
        transact: &Transact,
        itself: i64,
        stores: &mut BTreeMap<GlobalId, Store>,
    ) -> Result<Vec<Said>> {
        let found = self.looked_up(transact, stores).await?;
        let entity = |session: &Session, entity: &Entity| match entity {
            Entity::Known(expr) => session.entity_number(expr).map(Place::Known),
            Entity::Temporary(at) => Ok(Place::Named(*at)),
            Entity::Transaction => Ok(Place::Known(itself)),
            Entity::Lookup { attribute, value } => {
                let (store, value) = (&stores[attribute], session.packed(value)?);
                let owner = found.get(&(*attribute, store.same(&value)?));
                let owner = owner.ok_or_else(|| no_owner(store, &value))?;
                Ok(Place::Known(*owner))
            }
        };
        let value = |session: &Session, value: &FactValue| match value {
            FactValue::Plain(expr) => session.packed(expr).map(Value::Plain),
            FactValue::Entity(of) => entity(session, of).map(Value::Entity),
        };
        let mut said = Vec::with_capacity(transact.changes.len());
        let mut used = BTreeSet::new();
        for change in &transact.changes {
            let place = entity(self, &change.entity)?;
            let what = match &change.kind {
                ChangeKind::Assert(id, v) => What::Assert(*id, value(self, v)?),
                ChangeKind::Retract(id, v) => {
                    let v = v.as_ref().map(|v| value(self, v)).transpose()?;
                    What::Retract(*id, v)
                }
                ChangeKind::RetractEntity => What::RetractEntity,
                ChangeKind::Swap(id, old, new) => {
                    let old = old.as_ref().map(|old| value(self, old)).transpose()?;
                    What::Swap(*id, old, value(self, new)?)
                }
            };
            if let What::Assert(id, _) | What::Retract(id, _) | What::Swap(id, ..) = &what {
                used.insert(*id);
            }
            said.push(Said { place, what });
        }
        for id in used {
            self.learn(id, stores)?;
        }
        Ok(said)
    }

    fn learn(&self, id: GlobalId, stores: &mut BTreeMap<GlobalId, Store>) -> Result<()> {
        if let std::collections::btree_map::Entry::Vacant(entry) = stores.entry(id) {
            entry.insert(self.store(id)?);
        }
        Ok(())
    }

    /// The entities that lookup refs name, by attribute and value.
    async fn looked_up(
        &mut self,
        transact: &Transact,
        stores: &mut BTreeMap<GlobalId, Store>,
    ) -> Result<BTreeMap<(GlobalId, Row), i64>> {
        let mut wanted: BTreeMap<GlobalId, Vec<Row>> = BTreeMap::new();
        for change in &transact.changes {
            let values = match &change.kind {
                ChangeKind::Assert(_, v) | ChangeKind::Retract(_, Some(v)) => vec![v],
                ChangeKind::Swap(_, old, new) => old.iter().chain([new]).collect(),
                ChangeKind::Retract(_, None) | ChangeKind::RetractEntity => vec![],
            };
            let entities = values.into_iter().filter_map(|value| match value {
                FactValue::Entity(entity) => Some(entity),
                FactValue::Plain(_) => None,
            });
            for entity in entities.chain([&change.entity]) {
                if let Entity::Lookup { attribute, value } = entity {
                    wanted.entry(*attribute).or_default().push(self.packed(value)?);
                }
            }
        }
        let mut found = BTreeMap::new();
        for (attribute, values) in wanted {
            self.learn(attribute, stores)?;
            let owners = self.owners(&stores[&attribute], values.iter()).await?;
            found.extend(owners.into_iter().map(|(same, e)| ((attribute, same), e)));
        }
        Ok(found)
    }

    /// Finds out which entities the names stand for; those that are left are new ones.
    async fn resolve(
        &mut self,
        said: &[Said],
        names: &mut Names<'_>,
        stores: &BTreeMap<GlobalId, Store>,
    ) -> Result<()> {
        let mut asked: BTreeSet<(GlobalId, Row)> = BTreeSet::new();
        loop {
            let mut claims: BTreeMap<GlobalId, Vec<(usize, Row)>> = BTreeMap::new();
            for Said { place, what } in said {
                let (Place::Named(at), What::Assert(id, value)) = (place, what) else { continue };
                let known = names.value(value).filter(|_| stores[id].attribute.owners.is_some());
                if let Some(value) = known {
                    claims.entry(*id).or_default().push((*at, value));
                }
            }
            let mut news = false;
            for (id, claims) in claims {
                let store = &stores[&id];
                let mut first: BTreeMap<Row, usize> = BTreeMap::new();
                for (at, value) in &claims {
                    let other = *first.entry(store.same(value)?).or_insert(*at);
                    news |= names.unite(other, *at)?;
                }
                let new = first.keys().any(|same| asked.insert((id, same.clone())));
                if !new {
                    continue;
                }
                let owners = self.owners(store, claims.iter().map(|(_, value)| value)).await?;
                for (same, entity) in owners {
                    if let Some(at) = first.get(&same) {
                        news |= names.bind(*at, entity)?;
                    }
                }
            }
            if !news {
                break;
            }
        }
        let unknown: BTreeSet<usize> = (0..names.parent.len())
            .map(|at| names.root(at))
            .filter(|root| names.known[*root].is_none())
            .collect();
        let new = self.new_entities(unknown.len()).await?;
        for (root, entity) in unknown.into_iter().zip(new) {
            names.known[root] = Some(entity);
        }
        Ok(())
    }

    /// The facts that are said to come and to go, by attribute.
    async fn changes(
        &mut self,
        said: &[Said],
        names: &Names<'_>,
        stores: &mut BTreeMap<GlobalId, Store>,
    ) -> Result<BTreeMap<GlobalId, Both>> {
        let mut changes: BTreeMap<GlobalId, Both> = BTreeMap::new();
        let entity_of = |place: Place| {
            names.entity(place).ok_or_else(|| Error::internal("an entity without a number"))
        };
        let value_of = |value: &Value| {
            names.value(value).ok_or_else(|| Error::internal("a value without a number"))
        };
        for Said { place, what } in said {
            let entity = entity_of(*place)?;
            match what {
                What::Assert(id, value) => {
                    let fact = Fact { entity, value: value_of(value)? };
                    changes.entry(*id).or_default().assert.push(fact);
                }
                What::Retract(id, Some(value)) => {
                    let fact = Fact { entity, value: value_of(value)? };
                    changes.entry(*id).or_default().retract.push(fact);
                }
                What::Retract(id, None) => {
                    let facts = self.facts_of(*id, entity, false).await?;
                    changes.entry(*id).or_default().retract.extend(facts);
                }
                What::RetractEntity => {
                    let catalog = self.transaction()?.catalog.clone();
                    let all = catalog.items().filter(|item| item.attribute().is_some());
                    for id in all.map(|item| item.id).collect::<Vec<_>>() {
                        let facts = self.facts_of(id, entity, true).await?;
                        if !facts.is_empty() {
                            self.learn(id, stores)?;
                            changes.entry(id).or_default().retract.extend(facts);
                        }
                    }
                }
                What::Swap(id, old, new) => {
                    let old = old.as_ref().map(value_of).transpose()?;
                    self.compare(&stores[id], entity, old).await?;
                    let fact = Fact { entity, value: value_of(new)? };
                    changes.entry(*id).or_default().assert.push(fact);
                }
            }
        }
        Ok(changes)
    }

    /// The facts that an attribute has of an entity; with `references`, those that refer to it
    /// too.
    async fn facts_of(&mut self, id: GlobalId, entity: i64, references: bool) -> Result<Vec<Fact>> {
        let store = self.store(id)?;
        let catalog = self.transaction()?.catalog.clone();
        let item = catalog.expect(id)?;
        let both = references && store.attribute.reference;
        let text = format!(
            "SELECT e, v FROM {} WHERE e = {entity}{}",
            qualified(&item.schema, &item.name),
            if both { format!(" OR v = {entity}") } else { String::new() },
        );
        let settings = self.variables.format().clone();
        let (relation, _) = binding::stored_query(&catalog, &text, &settings)?;
        let (rows, types) = self.selected(relation).await?;
        Ok(rows.iter().map(|(row, _)| Fact::of_row(row, &types)).collect())
    }

    /// Fails where an entity has another value than is said.
    async fn compare(&mut self, store: &Store, entity: i64, old: Option<Row>) -> Result<()> {
        // The key of the facts of an entity with one value has no value.
        let any = Fact { entity, value: old.clone().unwrap_or_else(|| pack(&[Datum::Null])) };
        let there = self.facts_there(store, std::iter::once(&any)).await?;
        let found = there.first().map(|fact| &fact.value);
        let same = |value: Option<&Row>| value.map(|value| store.same(value)).transpose();
        if same(found)? == same(old.as_ref())? {
            return Ok(());
        }
        let shown = found.map_or("none".to_owned(), |value| store.shown(value));
        Err(Error::new(
            SqlState::SERIALIZATION_FAILURE,
            format!("could not compare and set attribute {} of entity {entity}", store.name()),
        )
        .with_detail(format!("Its value is {shown}.")))
    }

    /// Fails where a new value does not belong to the domain of the attribute.
    fn check_values(&self, store: &Store, facts: &[Fact]) -> Result<()> {
        let checks = self.domain_checks(store.id)?;
        if checks.is_empty() {
            return Ok(());
        }
        let settings = self.variables.format();
        let arena = bumpalo::Bump::new();
        let cx = EvalContext { arena: &arena, settings };
        for fact in facts {
            let datums = store.datums(fact, &[]);
            for check in &*checks {
                check.eval(&datums[..=VALUE], &cx)?;
            }
        }
        Ok(())
    }

    fn packed(&self, expr: &Expr) -> Result<Row> {
        self.constant(expr, |datum| match datum {
            Datum::Null => Err(null_value()),
            datum => Ok(pack(&[datum])),
        })
    }

    fn entity_number(&self, expr: &Expr) -> Result<i64> {
        self.constant(expr, |datum| match datum {
            Datum::Int8(entity) => Ok(entity),
            Datum::Null => Err(null_value()),
            other => Err(Error::internal(format!("an entity is {other:?}"))),
        })
    }
}

fn null_value() -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "a fact cannot be null")
        .with_hint("Retract the fact in place of asserting nothing.")
}

fn no_owner(store: &Store, value: &Row) -> Error {
    Error::new(
        SqlState::NO_DATA_FOUND,
        format!("no entity has the value {} of attribute {}", store.shown(value), store.name()),
    )
    .with_hint("A lookup ref names an entity that is there before the transaction.")
}

/// Fails where a fact is said to come and to go.
fn refuse_both(store: &Store, retract: &[Fact], assert: &[Fact]) -> Result<()> {
    let same = |fact: &Fact| Ok((fact.entity, store.same(&fact.value)?));
    let gone = retract.iter().map(same).collect::<Result<BTreeSet<Same>>>()?;
    for fact in assert {
        if gone.contains(&same(fact)?) {
            return Err(Error::new(
                SqlState::CARDINALITY_VIOLATION,
                format!("a fact of attribute {} is asserted and retracted", store.name()),
            )
            .with_detail(format!(
                "Entity {} has value {}.",
                fact.entity,
                store.shown(&fact.value)
            )));
        }
    }
    Ok(())
}
