//! Schemas, relations and their columns: `pg_namespace`, `pg_class`, `pg_attribute`,
//! `pg_sequence`.
//!

use crate::catalog::item::{ColumnDefault, Item, ItemKind, Table};
use crate::catalog::system::oids::{
    INFORMATION_SCHEMA, OWNER, PG_CATALOG, WEIR_CATALOG, key_oid, oid, schema_oid,
};
use crate::error::Result;
use crate::repr::{ColumnDesc, Datum, GlobalId, ScalarType};
use crate::session::system::feeds::Objects;
use crate::session::system::names;
use crate::session::system::rows::Rows;
use crate::session::system::types::storage;

/// The access methods `heap` and `btree`.
const HEAP: u32 = 2;
const BTREE: u32 = 403;

/// The oid of an object's schema.
pub(super) fn namespace(objects: &Objects<'_>, schema: &str) -> u32 {
    schema_oid(objects.catalog, schema).unwrap_or(0)
}

fn add_namespace(oid: u32, name: &str, rows: &mut Rows<'_>) -> Result<()> {
    rows.add(&[
        ("oid", Datum::Oid(oid)),
        ("nspname", Datum::Text(name)),
        ("nspowner", Datum::Oid(OWNER)),
    ])
}

/// `pg_namespace`: the schemas that are always there.
pub(super) fn system_namespaces(rows: &mut Rows<'_>) -> Result<()> {
    add_namespace(PG_CATALOG, "pg_catalog", rows)?;
    add_namespace(INFORMATION_SCHEMA, "information_schema", rows)?;
    add_namespace(WEIR_CATALOG, "weir_catalog", rows)
}

/// `pg_namespace`.
pub(super) fn namespaces(_: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    match item.kind {
        ItemKind::Schema => add_namespace(oid(item.id), &item.name, rows),
        _ => Ok(()),
    }
}

/// What `pg_class` says that differs between relations.
struct Class<'a> {
    oid: u32,
    name: &'a str,
    namespace: u32,
    kind: &'static str,
    columns: usize,
    method: u32,
    has_index: bool,
}

/// `pg_class`.
pub(super) fn classes(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let (kind, method) = match &item.kind {
        ItemKind::Schema | ItemKind::Type(_) | ItemKind::Constraint(_) => return Ok(()),
        ItemKind::Table(_) | ItemKind::System(_) => ("r", HEAP),
        ItemKind::View(view) if view.materialized => ("m", HEAP),
        ItemKind::View(_) => ("v", 0),
        ItemKind::Index(_) => ("i", BTREE),
        ItemKind::Sequence(_) => ("S", 0),
    };
    let namespace = namespace(objects, &item.schema);
    let key = primary_key(item);
    let columns = match &item.kind {
        ItemKind::Index(index) => index.key.len(),
        ItemKind::Sequence(_) => SEQUENCE_COLUMNS.len(),
        _ => item.desc().map_or(0, |desc| desc.arity()),
    };
    let has_index = key.is_some() || objects.indexed.contains(&item.id);
    let oid = oid(item.id);
    add_class(&Class { oid, name: &item.name, namespace, kind, columns, method, has_index }, rows)?;
    let Some((columns, name)) = key else { return Ok(()) };
    let columns = columns.len();
    let (oid, kind, method, has_index) = (key_oid(item.id), "i", BTREE, false);
    add_class(&Class { oid, name, namespace, kind, columns, method, has_index }, rows)
}

fn add_class(class: &Class<'_>, rows: &mut Rows<'_>) -> Result<()> {
    let is_system = class.oid < oid(GlobalId::FIRST_USER);
    rows.add(&[
        ("oid", Datum::Oid(class.oid)),
        ("relname", Datum::Text(class.name)),
        ("relnamespace", Datum::Oid(class.namespace)),
        ("relowner", Datum::Oid(OWNER)),
        ("relam", Datum::Oid(class.method)),
        ("relfilenode", Datum::Oid(if class.kind == "v" { 0 } else { class.oid })),
        ("reltuples", Datum::Float4(if matches!(class.kind, "r" | "m") { -1.0 } else { 0.0 })),
        ("relhasindex", Datum::Bool(class.has_index)),
        ("relpersistence", Datum::Text("p")),
        ("relkind", Datum::Text(class.kind)),
        ("relnatts", Datum::Int2(class.columns as i16)),
        ("relhasrules", Datum::Bool(matches!(class.kind, "v" | "m"))),
        ("relispopulated", Datum::Bool(true)),
        (
            "relreplident",
            Datum::Text(if class.kind == "r" && !is_system || class.kind == "m" {
                "d"
            } else {
                "n"
            }),
        ),
    ])
}

/// The columns and the name of a primary key.
pub(super) fn primary_key(item: &Item) -> Option<(&[usize], &str)> {
    match &item.kind {
        ItemKind::Table(Table { primary_key: Some(key), .. }) => Some((&key.columns, &key.name)),
        _ => None,
    }
}

/// The columns of a sequence, where it is read as a relation.
const SEQUENCE_COLUMNS: [(&str, ScalarType); 3] = [
    ("last_value", ScalarType::Int8),
    ("log_cnt", ScalarType::Int8),
    ("is_called", ScalarType::Bool),
];

/// `pg_attribute`.
pub(super) fn attributes(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let add = |at: usize, attribute: Attribute<'_>, rows: &mut Rows<'_>| {
        add_attribute(oid(item.id), at as i16 + 1, &attribute, rows)
    };
    match &item.kind {
        ItemKind::Schema | ItemKind::Type(_) | ItemKind::Constraint(_) => {}
        ItemKind::Table(table) => {
            for (at, (column, default)) in
                table.desc.columns.iter().zip(&table.defaults).enumerate()
            {
                let (_, default) = ColumnDefault::split(default.as_ref());
                let identity = match default {
                    Some(ColumnDefault::Sequence { identity: true, always: true, .. }) => "a",
                    Some(ColumnDefault::Sequence { identity: true, .. }) => "d",
                    _ => "",
                };
                let has_default = identity.is_empty()
                    && matches!(
                        default,
                        Some(ColumnDefault::Expression(_) | ColumnDefault::Sequence { .. })
                    );
                let not_null = !column.ty.nullable;
                add(at, Attribute { column, not_null, has_default, identity }, rows)?;
            }
            for (at, column) in primary_key(item).into_iter().flat_map(|(key, _)| key).enumerate() {
                let column = &table.desc.columns[*column];
                add_attribute(key_oid(item.id), at as i16 + 1, &Attribute::of(column), rows)?;
            }
        }
        ItemKind::View(view) => {
            for (at, column) in view.desc.columns.iter().enumerate() {
                add(at, Attribute::of(column), rows)?;
            }
        }
        ItemKind::System(system) => {
            for (at, column) in system.desc.columns.iter().enumerate() {
                let not_null = !column.ty.nullable;
                add(at, Attribute { not_null, ..Attribute::of(column) }, rows)?;
            }
        }
        ItemKind::Sequence(_) => {
            for (at, (name, ty)) in SEQUENCE_COLUMNS.into_iter().enumerate() {
                let column = ColumnDesc { name: name.to_owned(), ty: ty.into() };
                add(at, Attribute { not_null: true, ..Attribute::of(&column) }, rows)?;
            }
        }
        ItemKind::Index(index) => {
            let Some(desc) = objects.get(index.on).and_then(|on| on.desc()) else { return Ok(()) };
            for (at, column) in names::key_columns(index, desc).into_iter().enumerate() {
                let column = match column {
                    0 => ColumnDesc { name: "expr".to_owned(), ty: ScalarType::Text.into() },
                    column => desc.columns[column as usize - 1].clone(),
                };
                add(at, Attribute::of(&column), rows)?;
            }
        }
    }
    Ok(())
}

/// What `pg_attribute` says of a column.
struct Attribute<'a> {
    column: &'a ColumnDesc,
    not_null: bool,
    has_default: bool,
    identity: &'static str,
}

impl<'a> Attribute<'a> {
    fn of(column: &'a ColumnDesc) -> Attribute<'a> {
        Attribute { column, not_null: false, has_default: false, identity: "" }
    }
}

fn add_attribute(
    relation: u32,
    number: i16,
    attribute: &Attribute<'_>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let ty = attribute.column.ty;
    let storage = storage(ty.scalar);
    rows.add(&[
        ("attrelid", Datum::Oid(relation)),
        ("attname", Datum::Text(&attribute.column.name)),
        ("atttypid", Datum::Oid(ty.scalar.oid())),
        ("attstattarget", Datum::Int4(-1)),
        ("attlen", Datum::Int2(storage.length)),
        ("attnum", Datum::Int2(number)),
        ("attndims", Datum::Int4(ty.scalar.element().is_some().into())),
        ("attcacheoff", Datum::Int4(-1)),
        ("atttypmod", Datum::Int4(ty.typmod)),
        ("attbyval", Datum::Bool(storage.by_value)),
        ("attalign", Datum::Text(storage.align)),
        ("attstorage", Datum::Text(storage.storage)),
        ("attnotnull", Datum::Bool(attribute.not_null)),
        ("atthasdef", Datum::Bool(attribute.has_default)),
        ("attidentity", Datum::Text(attribute.identity)),
        ("attislocal", Datum::Bool(true)),
        ("attcollation", Datum::Oid(storage.collation)),
    ])
}

/// `pg_sequence`.
pub(super) fn sequences(_: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let ItemKind::Sequence(sequence) = &item.kind else { return Ok(()) };
    rows.add(&[
        ("seqrelid", Datum::Oid(oid(item.id))),
        ("seqtypid", Datum::Oid(sequence_type(sequence.min, sequence.max).oid())),
        ("seqstart", Datum::Int8(sequence.start)),
        ("seqincrement", Datum::Int8(sequence.increment)),
        ("seqmax", Datum::Int8(sequence.max)),
        ("seqmin", Datum::Int8(sequence.min)),
        ("seqcache", Datum::Int8(1)),
        ("seqcycle", Datum::Bool(sequence.cycle)),
    ])
}

/// The type that a sequence was made for, as its bounds tell.
fn sequence_type(min: i64, max: i64) -> ScalarType {
    let bounds = |least: i64, greatest: i64| max == greatest || min == least;
    match (bounds(i16::MIN.into(), i16::MAX.into()), bounds(i32::MIN.into(), i32::MAX.into())) {
        (true, _) => ScalarType::Int2,
        (_, true) => ScalarType::Int4,
        _ => ScalarType::Int8,
    }
}
