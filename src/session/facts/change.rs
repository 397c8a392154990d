//! The facts of one attribute that come and go: what SQL and transactions come to.
//!
//! What is said is a set: it is told from what was there before, whatever the order in which it is
//! said. A fact that is there already stays as it is, one that is not there cannot go; where an
//! entity has one value, a new one sends the old one away. What is left is written to the
//! attribute, to the owners of its values where it is unique, and to its history.
//!
//! The history holds the net changes of each transaction. A fact that comes and goes within one
//! was never there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalog::attribute::{Attribute, ENTITY, VALUE};
use crate::catalog::item::Item;
use crate::coord::request::TableWrite;
use crate::error::{Error, Result, SqlState};
use crate::optimizer::physical::table_layout;
use crate::plan::physical::Arrangement;
use crate::repr::text::format_text;
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnType, Datum, Diff, GlobalId, Row, ScalarType};
use crate::session::facts::define::Shared;
use crate::session::layout::{RowDecoder, RowEncoder};
use crate::session::session::Session;

/// Microseconds from 1970 to PostgreSQL's epoch.
const EPOCH_US: i64 = 946_684_800_000_000;

/// A fact of an attribute.
#[derive(Clone, Debug)]
pub(in crate::session) struct Fact {
    /// The entity.
    pub(super) entity: i64,
    /// Its value, packed.
    pub(super) value: Row,
}

impl Fact {
    /// The fact that a row begins with.
    pub(in crate::session) fn of_row(row: &Row, types: &[ScalarType]) -> Fact {
        let mut datums = Vec::with_capacity(types.len());
        decode_values(types, row.bytes(), &mut datums);
        Fact::of_datums(&datums)
    }

    fn of_datums(datums: &[Datum<'_>]) -> Fact {
        let entity = match datums[ENTITY] {
            Datum::Int8(entity) => entity,
            _ => 0,
        };
        Fact { entity, value: pack(&datums[VALUE..=VALUE]) }
    }
}

/// An attribute as it is written.
pub(super) struct Store {
    pub(super) id: GlobalId,
    item: Arc<Item>,
    pub(super) attribute: Attribute,
    /// The type of its values.
    pub(super) scalar: ScalarType,
    layout: Arc<Arrangement>,
    /// The layout of values as keys, by which they are the same.
    same: Arrangement,
}

/// A fact by which facts are the same: an entity, and its value as a key.
pub(super) type Same = (i64, Row);

/// What comes of what was said.
#[derive(Default)]
struct Change {
    gone: BTreeMap<Same, Fact>,
    came: BTreeMap<Same, Fact>,
}

impl Store {
    /// Its name for people.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.item.schema, self.item.name)
    }

    /// What a value is the same by.
    pub(super) fn same(&self, value: &Row) -> Result<Row> {
        let mut datums = Vec::with_capacity(1);
        decode_values(&[self.scalar], value.bytes(), &mut datums);
        Ok(RowEncoder::new(&self.same).encode(&datums)?.0)
    }

    /// The datums of a fact, and what stands behind them.
    pub(super) fn datums<'f>(&self, fact: &'f Fact, more: &[Datum<'f>]) -> Vec<Datum<'f>> {
        let mut datums = vec![Datum::Int8(fact.entity)];
        decode_values(&[self.scalar], fact.value.bytes(), &mut datums);
        datums.extend(more);
        datums
    }

    /// What is left of what is said when it is told from the facts that are there.
    fn net(&self, there: Vec<Fact>, retract: &[Fact], assert: &[Fact]) -> Result<Change> {
        let mut present: BTreeMap<Same, Fact> = BTreeMap::new();
        let mut had: BTreeMap<i64, Row> = BTreeMap::new();
        for fact in there {
            let same = self.same(&fact.value)?;
            had.insert(fact.entity, same.clone());
            present.insert((fact.entity, same), fact);
        }
        let mut change = Change::default();
        for fact in retract {
            let key = (fact.entity, self.same(&fact.value)?);
            if let Some(fact) = present.get(&key) {
                change.gone.insert(key, fact.clone());
            }
        }
        let mut has: BTreeMap<i64, (Row, &Fact)> = BTreeMap::new();
        for fact in assert {
            let key = (fact.entity, self.same(&fact.value)?);
            if !self.attribute.many {
                let before = has.insert(fact.entity, (key.1.clone(), fact));
                if let Some((_, other)) = before.filter(|(same, _)| *same != key.1) {
                    return Err(self.two_values(other, fact));
                }
            }
            if present.contains_key(&key) {
                change.gone.remove(&key);
                continue;
            }
            let old = had.get(&fact.entity).filter(|_| !self.attribute.many);
            if let Some(old) = old.map(|same| (fact.entity, same.clone()))
                && let Some(fact) = present.get(&old)
            {
                change.gone.insert(old, fact.clone());
            }
            change.came.entry(key).or_insert_with(|| fact.clone());
        }
        Ok(change)
    }

    /// A value as people read it.
    pub(super) fn shown(&self, value: &Row) -> String {
        let mut datums = Vec::with_capacity(1);
        decode_values(&[self.scalar], value.bytes(), &mut datums);
        let mut text = String::new();
        match datums[0] {
            Datum::Null => text.push_str("null"),
            datum => format_text(&datum, self.scalar, &Default::default(), &mut text),
        }
        text
    }

    fn two_values(&self, one: &Fact, other: &Fact) -> Error {
        Error::new(
            SqlState::CARDINALITY_VIOLATION,
            format!("entity {} would have two values of attribute {}", one.entity, self.name()),
        )
        .with_detail(format!(
            "They are {} and {}.",
            self.shown(&one.value),
            self.shown(&other.value)
        ))
        .with_hint("An attribute that is declared MANY has several values.")
    }

    fn taken(&self, value: &Row, by: i64) -> Error {
        Error::new(
            SqlState::UNIQUE_VIOLATION,
            format!("duplicate value violates unique attribute {}", self.name()),
        )
        .with_detail(format!("Value {} is that of entity {by}.", self.shown(value)))
    }
}

impl Session {
    /// An attribute, to be written.
    pub(super) fn store(&self, id: GlobalId) -> Result<Store> {
        let catalog = self.transaction()?.catalog.clone();
        let item = catalog.expect(id)?.clone();
        let (Some(attribute), Some(desc)) = (item.attribute().cloned(), item.desc()) else {
            return Err(Error::internal("facts of what is no attribute"));
        };
        let scalar = desc.columns[VALUE].ty.scalar;
        let layout = self.engine.layout(&catalog, id)?;
        let same = table_layout(&[ColumnType::not_null(scalar)], Some(&[0]));
        Ok(Store { id, item, attribute, scalar, layout, same })
    }

    /// Retracts and asserts facts of an attribute.
    ///
    /// Errors: 21000 where an entity would have two values, 23505 where a value would have two
    /// owners.
    pub(in crate::session) async fn change_facts(
        &mut self,
        attribute: GlobalId,
        retract: Vec<Fact>,
        assert: Vec<Fact>,
    ) -> Result<()> {
        let store = self.store(attribute)?;
        let there = self.facts_there(&store, retract.iter().chain(&assert)).await?;
        let change = store.net(there, &retract, &assert)?;
        if change.gone.is_empty() && change.came.is_empty() {
            return Ok(());
        }
        self.write_owners(&store, &change).await?;
        self.write_history(&store, &change).await?;
        let updates = encoded(&store, &store.layout, &change)?;
        self.buffer(attribute, updates)
    }

    /// Which facts with the keys of these there are: those of the entities where they have one
    /// value, otherwise the facts themselves.
    pub(super) async fn facts_there(
        &mut self,
        store: &Store,
        facts: impl Iterator<Item = &Fact>,
    ) -> Result<Vec<Fact>> {
        let mut encoder = RowEncoder::new(&store.layout);
        let keys = facts.map(|fact| Ok(encoder.encode(&store.datums(fact, &[]))?.0));
        let keys = keys.collect::<Result<BTreeSet<Row>>>()?;
        self.facts_at(store.id, &store.layout, keys).await
    }

    /// The facts that an attribute, or a table that it keeps, has under these keys, as the
    /// transaction sees it.
    async fn facts_at(
        &mut self,
        table: GlobalId,
        layout: &Arrangement,
        keys: BTreeSet<Row>,
    ) -> Result<Vec<Fact>> {
        let transaction = self.transaction()?;
        let made = transaction.made(table);
        let buffer = transaction.work.buffers.get(&table);
        let touched: BTreeSet<&Row> = keys
            .iter()
            .filter(|key| buffer.is_some_and(|buffer| buffer.keys.contains_key(*key)))
            .collect();
        let mut rows: BTreeMap<(Row, Row), Diff> = BTreeMap::new();
        if let (Some(buffer), false) = (buffer, touched.is_empty()) {
            for (key, value, diff) in &buffer.updates {
                if touched.contains(key) {
                    *rows.entry((key.clone(), value.clone())).or_default() += diff;
                }
            }
        }
        if !made && !keys.is_empty() {
            let keys = keys.iter().cloned().collect();
            let mut encoder = RowEncoder::new(layout);
            for row in self.rows_at_snapshot(table, layout, keys).await? {
                let mut datums = Vec::with_capacity(layout.types.len());
                decode_values(&layout.types, row.bytes(), &mut datums);
                *rows.entry(encoder.encode(&datums)?).or_default() += 1;
            }
        }
        let decoder = RowDecoder::new(layout);
        let there = rows.iter().filter(|(_, count)| **count > 0);
        Ok(there.map(|((key, value), _)| Fact::of_datums(&decoder.decode(key, value))).collect())
    }

    /// The entities that have these values of a unique attribute.
    pub(super) async fn owners(
        &mut self,
        store: &Store,
        values: impl Iterator<Item = &Row>,
    ) -> Result<BTreeMap<Row, i64>> {
        let Some(owners) = store.attribute.owners else {
            return Err(Error::internal("the owners of values that are not unique"));
        };
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, owners)?;
        let mut encoder = RowEncoder::new(&layout);
        let mut keys = BTreeSet::new();
        for value in values {
            let fact = Fact { entity: 0, value: value.clone() };
            keys.insert(encoder.encode(&store.datums(&fact, &[]))?.0);
        }
        let found = self.facts_at(owners, &layout, keys).await?;
        found.iter().map(|fact| Ok((store.same(&fact.value)?, fact.entity))).collect()
    }

    /// Sees to it that no value has two owners.
    async fn write_owners(&mut self, store: &Store, change: &Change) -> Result<()> {
        let Some(owners) = store.attribute.owners else { return Ok(()) };
        let all = change.came.values().chain(change.gone.values());
        let found = self.owners(store, all.map(|fact| &fact.value)).await?;
        let mut new: BTreeMap<&Row, i64> = BTreeMap::new();
        for ((entity, same), fact) in &change.came {
            let other = new.insert(same, *entity);
            let old = found.get(same).copied();
            let old = old.filter(|old| !change.gone.contains_key(&(*old, same.clone())));
            if let Some(by) = other.or(old).filter(|by| by != entity) {
                return Err(store.taken(&fact.value, by));
            }
        }
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, owners)?;
        let updates = encoded(store, &layout, change)?;
        self.buffer(owners, updates)
    }

    /// Writes down what has come and gone.
    async fn write_history(&mut self, store: &Store, change: &Change) -> Result<()> {
        let Some(history) = store.attribute.history else { return Ok(()) };
        let tx = self.fact_transaction().await?;
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, history)?;
        let buffer = self.transaction()?.work.buffers.get(&history);
        let mut encoder = RowEncoder::new(&layout);
        let mut updates = vec![];
        for (fact, added) in both(change) {
            let mut row =
                |added| encoder.encode(&store.datums(fact, &[Datum::Int8(tx), Datum::Bool(added)]));
            let opposite = row(!added)?;
            // What the transaction itself has done is undone, not done the other way.
            let undone = buffer.is_some_and(|b| b.keys.get(&opposite.0) == Some(&true));
            let ((key, value), diff) = if undone { (opposite, -1) } else { (row(added)?, 1) };
            updates.push((key, value, diff));
        }
        self.buffer(history, updates)
    }

    /// The entity that the open transaction is.
    pub(super) async fn fact_transaction(&mut self) -> Result<i64> {
        let Shared { instant, .. } = self.shared()?;
        let entity = match self.transaction()?.work.entity {
            Some(entity) => entity,
            None => self.new_entities(1).await?.next().unwrap_or_default(),
        };
        let transaction = self.transaction_mut()?;
        transaction.work.entity = Some(entity);
        let now = i64::try_from(transaction.start / 1_000).unwrap_or(i64::MAX) - EPOCH_US;
        let catalog = transaction.catalog.clone();
        let layout = self.engine.layout(&catalog, instant)?;
        let datums = [Datum::Int8(entity), Datum::TimestampTz(now)];
        let (key, value) = RowEncoder::new(&layout).encode(&datums)?;
        // It may have been written down, and that undone by a savepoint.
        let buffer = self.transaction()?.work.buffers.get(&instant);
        if buffer.and_then(|buffer| buffer.keys.get(&key)) != Some(&true) {
            self.buffer(instant, vec![(key, value, 1)])?;
        }
        Ok(entity)
    }

    /// So many entities that nobody else has.
    pub(super) async fn new_entities(&mut self, count: usize) -> Result<std::vec::IntoIter<i64>> {
        let Shared { entities, .. } = self.shared()?;
        if count == 0 {
            return Ok(vec![].into_iter());
        }
        Ok(self.fetch_values(entities, count as u64).await?.into_iter())
    }

    /// Whether one of these tables is an attribute.
    pub(in crate::session) fn writes_facts(&self, writes: &[TableWrite]) -> Result<bool> {
        let catalog = &self.transaction()?.catalog;
        let items = writes.iter().filter_map(|write| catalog.get(write.table));
        Ok(items.into_iter().any(|item| item.attribute().is_some()))
    }
}

/// The facts of a change, and whether each has come.
fn both(change: &Change) -> impl Iterator<Item = (&Fact, bool)> {
    let gone = change.gone.values().map(|fact| (fact, false));
    gone.chain(change.came.values().map(|fact| (fact, true)))
}

/// A change as updates of a table of facts.
fn encoded(store: &Store, layout: &Arrangement, change: &Change) -> Result<Vec<(Row, Row, Diff)>> {
    let mut encoder = RowEncoder::new(layout);
    let updates = both(change).map(|(fact, came)| {
        let (key, value) = encoder.encode(&store.datums(fact, &[]))?;
        Ok((key, value, if came { 1 } else { -1 }))
    });
    updates.collect()
}
