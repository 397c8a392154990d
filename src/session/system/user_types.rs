//! `pg_type` and `pg_enum`: the types that users create, and those of the rows of relations.

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::system::oids::{OWNER, oid, part_oid};
use crate::catalog::types::Definition;
use crate::error::Result;
use crate::repr::Datum;
use crate::repr::record::row_type_oids;
use crate::session::system::feeds::Objects;
use crate::session::system::objects::namespace;
use crate::session::system::rows::Rows;

/// What differs between such types.
struct Of<'a> {
    oids: (u32, u32),
    name: &'a str,
    namespace: u32,
    /// `typtype` and `typcategory`.
    kind: (&'a str, &'a str),
    length: i16,
    relation: u32,
    /// `typbasetype` and `typtypmod` of a domain.
    base: (u32, i32),
    not_null: bool,
    default: Option<&'a str>,
}

/// `pg_type`.
pub(super) fn types(objects: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let of = Of {
        oids: row_type_oids(item.id),
        name: &item.name,
        namespace: namespace(objects, &item.schema),
        kind: ("c", "C"),
        length: -1,
        relation: 0,
        base: (0, -1),
        not_null: false,
        default: None,
    };
    let ItemKind::Type(ty) = &item.kind else {
        return match item.desc() {
            Some(_) => add(&Of { relation: oid(item.id), ..of }, rows),
            None => Ok(()),
        };
    };
    let of = Of { oids: (oid(item.id), ty.array_oid), ..of };
    match &ty.definition {
        Definition::Enum(_) => add(&Of { kind: ("e", "E"), length: 4, ..of }, rows),
        Definition::Composite(_) => add(&of, rows),
        Definition::Domain(domain) => {
            let over = domain.over.map_or(domain.base.scalar.oid(), oid);
            let of = Of {
                kind: ("d", "U"),
                length: domain.base.scalar.length(),
                base: (over, domain.base.typmod),
                not_null: domain.not_null,
                default: domain.default.as_deref(),
                ..of
            };
            add(&of, rows)
        }
    }
}

/// A type and that of its arrays.
fn add(of: &Of<'_>, rows: &mut Rows<'_>) -> Result<()> {
    let array_name = format!("_{}", of.name);
    let (own, array) = of.oids;
    let mut add = |oid: u32, name: &str, of: &Of<'_>, (element, array): (u32, u32)| {
        rows.add(&[
            ("oid", Datum::Oid(oid)),
            ("typname", Datum::Text(name)),
            ("typnamespace", Datum::Oid(of.namespace)),
            ("typowner", Datum::Oid(OWNER)),
            ("typlen", Datum::Int2(of.length)),
            ("typbyval", Datum::Bool(of.length > 0)),
            ("typtype", Datum::Text(of.kind.0)),
            ("typcategory", Datum::Text(of.kind.1)),
            ("typispreferred", Datum::Bool(false)),
            ("typisdefined", Datum::Bool(true)),
            ("typdelim", Datum::Text(",")),
            ("typrelid", Datum::Oid(of.relation)),
            ("typelem", Datum::Oid(element)),
            ("typarray", Datum::Oid(array)),
            ("typalign", Datum::Text("i")),
            ("typstorage", Datum::Text(if of.length > 0 { "p" } else { "x" })),
            ("typnotnull", Datum::Bool(of.not_null)),
            ("typbasetype", Datum::Oid(of.base.0)),
            ("typtypmod", Datum::Int4(of.base.1)),
            ("typdefault", of.default.map_or(Datum::Null, Datum::Text)),
        ])
    };
    add(own, of.name, of, (0, array))?;
    let plain = Of {
        kind: ("b", "A"),
        length: -1,
        relation: 0,
        base: (0, -1),
        not_null: false,
        default: None,
        ..*of
    };
    add(array, &array_name, &plain, (own, 0))
}

/// `pg_enum`.
pub(super) fn labels(_: &Objects<'_>, item: &Item, rows: &mut Rows<'_>) -> Result<()> {
    let ItemKind::Type(ty) = &item.kind else { return Ok(()) };
    let Definition::Enum(labels) = &ty.definition else { return Ok(()) };
    for (at, label) in labels.iter().enumerate() {
        rows.add(&[
            ("oid", Datum::Oid(part_oid(item.id, at))),
            ("enumtypid", Datum::Oid(oid(item.id))),
            ("enumsortorder", Datum::Float4(at as f32 + 1.0)),
            ("enumlabel", Datum::Text(&label.label)),
        ])?;
    }
    Ok(())
}
