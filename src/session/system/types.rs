//! `pg_type`, and what else follows from the list of scalar types.
//!
//! What PostgreSQL says of its types is a data file; the types that there are here, and those that
//! only declare arguments (`anyelement`, `void`), are taken from it.

use std::sync::OnceLock;

use crate::catalog::system::oids::{OWNER, PG_CATALOG};
use crate::error::Result;
use crate::repr::{Datum, ScalarType};
use crate::session::system::rows::Rows;

const FILE: &str = include_str!("../../catalog/system/types.tsv");

/// What `pg_type` says of a type, as far as attributes repeat it.
#[derive(Clone, Copy, Default)]
pub(super) struct Storage {
    pub(super) length: i16,
    pub(super) by_value: bool,
    pub(super) align: &'static str,
    pub(super) storage: &'static str,
    pub(super) collation: u32,
}

/// The fields of each line, by the type's oid.
fn lines() -> &'static Vec<(u32, Vec<&'static str>)> {
    static LINES: OnceLock<Vec<(u32, Vec<&'static str>)>> = OnceLock::new();
    LINES.get_or_init(|| {
        let line = |line: &'static str| {
            let fields: Vec<_> = line.split('\t').collect();
            (number(fields[0]), fields)
        };
        FILE.lines().map(line).collect()
    })
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or(0)
}

/// What an attribute of a type says of it.
pub(super) fn storage(ty: ScalarType) -> Storage {
    let lines = lines();
    let Ok(at) = lines.binary_search_by_key(&ty.oid(), |(oid, _)| *oid) else {
        return Storage { length: ty.length(), align: "i", storage: "x", ..Storage::default() };
    };
    let fields = &lines[at].1;
    Storage {
        length: ty.length(),
        by_value: fields[3] == "1",
        align: fields[18],
        storage: fields[19],
        collation: number(fields[20]),
    }
}

/// `pg_type`.
pub(super) fn types(rows: &mut Rows<'_>) -> Result<()> {
    for (oid, fields) in lines() {
        if fields[4] != "p" && ScalarType::from_oid(*oid).is_none() {
            continue;
        }
        let oid_of = |at: usize| Datum::Oid(number(fields[at]));
        let text = |at: usize| Datum::Text(fields[at]);
        let array = ScalarType::from_oid(number(fields[9])).map_or(0, ScalarType::oid);
        rows.add(&[
            ("oid", Datum::Oid(*oid)),
            ("typname", text(1)),
            ("typnamespace", Datum::Oid(PG_CATALOG)),
            ("typowner", Datum::Oid(OWNER)),
            ("typlen", Datum::Int2(fields[2].parse().unwrap_or(-1))),
            ("typbyval", Datum::Bool(fields[3] == "1")),
            ("typtype", text(4)),
            ("typcategory", text(5)),
            ("typispreferred", Datum::Bool(fields[6] == "1")),
            ("typisdefined", Datum::Bool(true)),
            ("typdelim", text(7)),
            ("typelem", oid_of(8)),
            ("typarray", Datum::Oid(array)),
            ("typinput", oid_of(10)),
            ("typoutput", oid_of(11)),
            ("typreceive", oid_of(12)),
            ("typsend", oid_of(13)),
            ("typmodin", oid_of(14)),
            ("typmodout", oid_of(15)),
            ("typanalyze", oid_of(16)),
            ("typsubscript", oid_of(17)),
            ("typalign", text(18)),
            ("typstorage", text(19)),
            ("typtypmod", Datum::Int4(-1)),
            ("typcollation", oid_of(20)),
        ])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_described() {
        assert!(lines().is_sorted_by_key(|(oid, _)| *oid));
        for ty in ScalarType::ALL {
            let line = lines().iter().find(|(oid, _)| *oid == ty.oid());
            let (_, fields) = line.unwrap_or_else(|| panic!("{}", ty.name()));
            assert_eq!((fields[1], fields[2].parse()), (ty.name(), Ok(ty.length())));
        }
    }
}
