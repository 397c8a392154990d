//! CREATE ATTRIBUTE: the attribute's table, those that it keeps, and what all attributes share.

use crate::catalog::attribute::{
    Attribute, ENTITIES, ENTITY, FIRST_ENTITY, INSTANT, SHARED_SCHEMA, VALUE, history_name,
    owners_name,
};
use crate::catalog::item::{ColumnDefault, Item, ItemKind, PrimaryKey, Sequence, Table};
use crate::coord::request::Install;
use crate::error::{Error, Result};
use crate::optimizer::physical::table_layout;
use crate::plan::facts::CreateAttribute;
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc, ScalarType};
use crate::session::session::{Outcome, Session};

/// What is shared by all attributes.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    /// The sequence of entities.
    pub(super) entities: GlobalId,
    /// When each transaction was.
    pub(super) instant: GlobalId,
}

impl Session {
    pub(in crate::session) async fn create_attribute(
        &mut self,
        create: CreateAttribute,
    ) -> Result<Outcome> {
        let tag = "CREATE ATTRIBUTE";
        self.check_definable(tag)?;
        let catalog = &self.transaction()?.catalog;
        let there = catalog.by_name(&create.schema, &create.name);
        if let (Some(item), true) = (there, create.if_not_exists) {
            let name = item.name.clone();
            self.note(format!("relation \"{name}\" already exists, skipping"));
            return Ok(Outcome::Done(tag.into()));
        }
        self.schema(&create.schema).await?;
        let Shared { entities, .. } = self.make_shared().await?;
        let id = self.new_id(3).await?;
        let attribute = Attribute {
            many: create.many,
            reference: create.reference,
            history: Some(GlobalId(id.0 + 1)),
            owners: create.unique.then_some(GlobalId(id.0 + 2)),
        };
        let columns = facts_of(create.ty);
        self.make_table(id, &create, &attribute, entities)?;
        let kept = |name: String, key: &[usize], columns: Vec<ColumnDesc>| {
            let mut defaults = vec![None; columns.len()];
            defaults[ENTITY] = Some(ColumnDefault::Kept { by: id });
            table(&create.schema, name, columns, (defaults, key), vec![])
        };
        if let Some(history) = attribute.history {
            let mut columns = columns.clone();
            columns.push(column("tx", ColumnType::not_null(ScalarType::Int8)));
            columns.push(column("added", ColumnType::not_null(ScalarType::Bool)));
            self.make(history, kept(history_name(&create.name), &[0, 1, 2, 3], columns))?;
        }
        if let Some(owners) = attribute.owners {
            self.make(owners, kept(owners_name(&create.name), &[VALUE], columns))?;
        }
        Ok(Outcome::Done(tag.into()))
    }

    /// The table of an attribute itself.
    fn make_table(
        &mut self,
        id: GlobalId,
        create: &CreateAttribute,
        attribute: &Attribute,
        entities: GlobalId,
    ) -> Result<()> {
        let own = ColumnDefault::Attribute(attribute.clone());
        let own = match create.domain {
            Some(id) => ColumnDefault::Domain { id, default: Some(Box::new(own)) },
            None => own,
        };
        let next = ColumnDefault::Sequence { id: entities, identity: false, always: false };
        let key: &[usize] = if attribute.many { &[ENTITY, VALUE] } else { &[ENTITY] };
        let others = attribute.owners.map(|_| vec![VALUE]).into_iter().collect();
        let defaults = (vec![Some(next), Some(own)], key);
        let columns = facts_of(create.ty);
        let made = table(&create.schema, create.name.clone(), columns, defaults, others);
        self.make(id, made)
    }

    fn make(&mut self, id: GlobalId, (item, install): (Item, Install)) -> Result<()> {
        self.create(Item { id, ..item }, Some(install), false).map(|_| ())
    }

    /// Makes a schema that is not there.
    async fn schema(&mut self, name: &str) -> Result<()> {
        if self.transaction()?.catalog.has_schema(name) {
            return Ok(());
        }
        let id = self.new_id(1).await?;
        let item =
            Item { id, schema: name.to_owned(), name: name.to_owned(), kind: ItemKind::Schema };
        self.create(item, None, false).map(|_| ())
    }

    /// What all attributes share, made where this is the first one.
    async fn make_shared(&mut self) -> Result<Shared> {
        if let Ok(shared) = self.shared() {
            return Ok(shared);
        }
        self.schema(SHARED_SCHEMA).await?;
        let id = self.new_id(2).await?;
        let (entities, instant) = (id, GlobalId(id.0 + 1));
        let kind = ItemKind::Sequence(Sequence {
            start: FIRST_ENTITY,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cycle: false,
            owned_by: None,
        });
        let (schema, name) = (SHARED_SCHEMA.to_owned(), ENTITIES.to_owned());
        self.create(Item { id: entities, schema, name, kind }, None, false)?;
        // A transaction is never another's: its time has no history.
        let attribute = Attribute { many: false, reference: false, history: None, owners: None };
        let create = CreateAttribute {
            schema: SHARED_SCHEMA.to_owned(),
            name: INSTANT.to_owned(),
            ty: ColumnType::not_null(ScalarType::TimestampTz),
            domain: None,
            many: false,
            unique: false,
            reference: false,
            if_not_exists: false,
        };
        self.make_table(instant, &create, &attribute, entities)?;
        Ok(Shared { entities, instant })
    }

    /// What all attributes share.
    pub(super) fn shared(&self) -> Result<Shared> {
        let catalog = &self.transaction()?.catalog;
        let find = |name: &str| catalog.by_name(SHARED_SCHEMA, name);
        match (find(ENTITIES), find(INSTANT)) {
            (Some(entities), Some(instant)) if instant.attribute().is_some() => {
                Ok(Shared { entities: entities.id, instant: instant.id })
            }
            _ => Err(Error::unsupported(
                "a transaction of facts without an attribute",
                "CREATE ATTRIBUTE makes one.",
            )),
        }
    }
}

fn column(name: &str, ty: ColumnType) -> ColumnDesc {
    ColumnDesc { name: name.to_owned(), ty }
}

/// The columns of facts: an entity and a value.
fn facts_of(value: ColumnType) -> Vec<ColumnDesc> {
    vec![column("e", ColumnType::not_null(ScalarType::Int8)), column("v", value)]
}

/// A table with these columns, their defaults and its key; `others`: keys that it has besides.
fn table(
    schema: &str,
    name: String,
    columns: Vec<ColumnDesc>,
    (defaults, key): (Vec<Option<ColumnDefault>>, &[usize]),
    others: Vec<Vec<usize>>,
) -> (Item, Install) {
    let keys = [vec![key.to_vec()], others].concat();
    let desc = RelationDesc { columns, keys };
    let install = Install::Table(table_layout(&desc.types(), Some(key)));
    let primary_key = PrimaryKey { columns: key.to_vec(), name: format!("{name}_pkey") };
    let table = Table { desc, defaults, primary_key: Some(primary_key), retain_ms: None };
    let kind = ItemKind::Table(table);
    (Item { id: GlobalId(0), schema: schema.to_owned(), name, kind }, install)
}
