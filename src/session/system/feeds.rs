//! Which system relation has its rows from where, and what a definition changes in them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::item::{Item, ItemKind, RowSource};
use crate::catalog::objects::Catalog;
use crate::catalog::system::declared;
use crate::coord::request::TableWrite;
use crate::error::{Error, Result};
use crate::repr::{Diff, GlobalId, Row};
use crate::session::engine::Engine;
use crate::session::system::rows::Rows;
use crate::session::system::{definitions, functions, objects, server, types, user_types};

/// The objects that rows are made of.
pub(super) struct Objects<'c> {
    /// All of them.
    pub(super) catalog: &'c Catalog,
    /// The relations that have an index.
    pub(super) indexed: HashSet<GlobalId>,
}

impl<'c> Objects<'c> {
    fn of(catalog: &'c Catalog) -> Objects<'c> {
        let indexed = catalog.items().filter_map(|item| match &item.kind {
            ItemKind::Index(index) => Some(index.on),
            _ => None,
        });
        Objects { catalog, indexed: indexed.collect() }
    }

    /// The object of an id.
    pub(super) fn get(&self, id: GlobalId) -> Option<&Arc<Item>> {
        self.catalog.get(id)
    }
}

/// Adds rows that are always there.
type Always = fn(&mut Rows<'_>) -> Result<()>;
/// Adds the rows that an object of a catalog makes.
type OfObject = fn(&Objects<'_>, &Item, &mut Rows<'_>) -> Result<()>;
/// Rows in the layout of their relation.
type Updates = Vec<(Row, Row, Diff)>;

/// Where the rows of a relation come from.
struct Feed {
    schema: &'static str,
    relation: &'static str,
    /// Those that are always there.
    always: Option<Always>,
    /// Those that follow from each object, be it a user's or a system relation.
    of_object: Option<OfObject>,
}

const fn always(relation: &'static str, rows: Always) -> Feed {
    Feed { schema: "pg_catalog", relation, always: Some(rows), of_object: None }
}

const fn of_objects(relation: &'static str, rows: OfObject) -> Feed {
    Feed { schema: "pg_catalog", relation, always: None, of_object: Some(rows) }
}

impl Feed {
    const fn in_weir_catalog(self) -> Feed {
        Feed { schema: "weir_catalog", ..self }
    }

    const fn and_always(self, rows: Always) -> Feed {
        Feed { always: Some(rows), ..self }
    }
}

/// All relations whose rows are made here. One that is `fed` and not here is written by
/// [`Client::feed`](crate::coord::request::Client::feed).
static FEEDS: &[Feed] = &[
    of_objects("pg_namespace", objects::namespaces).and_always(objects::system_namespaces),
    of_objects("pg_class", objects::classes),
    of_objects("pg_attribute", objects::attributes),
    of_objects("pg_attrdef", definitions::defaults),
    of_objects("pg_index", definitions::indexes),
    of_objects("pg_constraint", definitions::constraints),
    of_objects("pg_sequence", objects::sequences),
    of_objects("pg_depend", definitions::dependencies),
    of_objects("pg_rewrite", definitions::rules),
    of_objects("weir_definitions", definitions::definitions).in_weir_catalog(),
    of_objects("pg_type", user_types::types).and_always(types::types),
    of_objects("pg_enum", user_types::labels),
    always("pg_proc", functions::functions),
    always("pg_operator", functions::operators),
    always("pg_cast", functions::casts),
    always("pg_aggregate", functions::aggregates),
    always("pg_am", server::access_methods),
    always("pg_collation", server::collations),
    always("pg_language", server::languages),
    always("pg_tablespace", server::tablespaces),
];

impl Feed {
    fn item(&self) -> Result<&'static Arc<Item>> {
        declared::by_name(self.schema, self.relation)
            .ok_or_else(|| Error::internal(format!("{} is not declared", self.relation)))
    }
}

/// The rows that a system relation begins with: all, where it is constant.
pub(in crate::session) fn first_rows(
    engine: &Engine,
    catalog: &Catalog,
    relation: &Item,
) -> Result<Updates> {
    let layout = engine.layout(catalog, relation.id)?;
    let Some(desc) = relation.desc() else { return Ok(vec![]) };
    let mut rows = Rows::new(desc, &layout);
    for feed in FEEDS {
        if feed.relation != relation.name || feed.schema != relation.schema {
            continue;
        }
        if let Some(always) = feed.always {
            always(&mut rows)?;
        }
        if let Some(of_object) = feed.of_object {
            let objects = Objects::of(catalog);
            for item in declared::items() {
                of_object(&objects, item, &mut rows)?;
            }
            for item in catalog.items() {
                of_object(&objects, item, &mut rows)?;
            }
        }
    }
    Ok(rows.updates(1))
}

/// What definitions that make one catalog of another change in one relation.
pub(in crate::session) fn changes_of(
    engine: &Engine,
    relation: GlobalId,
    old: &Catalog,
    new: &Catalog,
) -> Result<Updates> {
    for feed in FEEDS {
        let item = feed.item()?;
        if item.id == relation {
            return changes_by(engine, feed, item, old, new);
        }
    }
    Ok(vec![])
}

/// What definitions that make one catalog of another change in all relations.
pub(in crate::session) fn changes(
    engine: &Engine,
    old: &Catalog,
    new: &Catalog,
) -> Result<Vec<TableWrite>> {
    let mut writes = Vec::new();
    for feed in FEEDS.iter().filter(|feed| feed.of_object.is_some()) {
        let item = feed.item()?;
        let updates = changes_by(engine, feed, item, old, new)?;
        if !updates.is_empty() {
            writes.push(TableWrite { table: item.id, updates: Arc::new(updates) });
        }
    }
    Ok(writes)
}

fn changes_by(
    engine: &Engine,
    feed: &Feed,
    relation: &Item,
    old: &Catalog,
    new: &Catalog,
) -> Result<Updates> {
    let (Some(of_object), Some(desc)) = (feed.of_object, relation.desc()) else {
        return Ok(vec![]);
    };
    let layout = engine.layout(new, relation.id)?;
    let mut updates = Vec::new();
    for (catalog, diff) in [(old, -1), (new, 1)] {
        let mut rows = Rows::new(desc, &layout);
        let objects = Objects::of(catalog);
        for item in catalog.items() {
            of_object(&objects, item, &mut rows)?;
        }
        updates.extend(rows.updates(diff));
    }
    consolidate(&mut updates);
    Ok(updates)
}

fn consolidate(updates: &mut Updates) {
    updates.sort_unstable();
    updates.dedup_by(|next, kept| {
        let same = next.0 == kept.0 && next.1 == kept.1;
        if same {
            kept.2 += next.2;
        }
        same
    });
    updates.retain(|(_, _, diff)| *diff != 0);
}

/// The system relations that have arrangements from the start on.
pub(in crate::session) fn fed() -> impl Iterator<Item = &'static Arc<Item>> {
    declared::items().filter(
        |item| matches!(&item.kind, ItemKind::System(system) if system.source == RowSource::Fed),
    )
}
