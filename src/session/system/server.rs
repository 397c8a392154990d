//! What a server has a few of, whatever is in it: access methods, collations, languages,
//! tablespaces.

use crate::catalog::system::oids::{OWNER, PG_CATALOG};
use crate::error::Result;
use crate::repr::Datum;
use crate::session::system::rows::Rows;

/// The tablespace `pg_default`.
const PG_DEFAULT: u32 = 1663;

/// `pg_am`.
pub(super) fn access_methods(rows: &mut Rows<'_>) -> Result<()> {
    for (oid, name, handler, kind) in [(2, "heap", 3, "t"), (403, "btree", 330, "i")] {
        rows.add(&[
            ("oid", Datum::Oid(oid)),
            ("amname", Datum::Text(name)),
            ("amhandler", Datum::Oid(handler)),
            ("amtype", Datum::Text(kind)),
        ])?;
    }
    Ok(())
}

/// `pg_collation`: text is ordered by its bytes, whatever the collation is called.
pub(super) fn collations(rows: &mut Rows<'_>) -> Result<()> {
    for (oid, name, provider) in [(100, "default", "d"), (950, "C", "c"), (951, "POSIX", "c")] {
        let locale = if provider == "d" { Datum::Null } else { Datum::Text(name) };
        rows.add(&[
            ("oid", Datum::Oid(oid)),
            ("collname", Datum::Text(name)),
            ("collnamespace", Datum::Oid(PG_CATALOG)),
            ("collowner", Datum::Oid(OWNER)),
            ("collprovider", Datum::Text(provider)),
            ("collisdeterministic", Datum::Bool(true)),
            ("collencoding", Datum::Int4(-1)),
            ("collcollate", locale),
            ("collctype", locale),
        ])?;
    }
    Ok(())
}

/// `pg_language`.
pub(super) fn languages(rows: &mut Rows<'_>) -> Result<()> {
    for (oid, name, trusted) in [(12, "internal", false), (14, "sql", true)] {
        rows.add(&[
            ("oid", Datum::Oid(oid)),
            ("lanname", Datum::Text(name)),
            ("lanowner", Datum::Oid(OWNER)),
            ("lanpltrusted", Datum::Bool(trusted)),
        ])?;
    }
    Ok(())
}

/// `pg_tablespace`.
pub(super) fn tablespaces(rows: &mut Rows<'_>) -> Result<()> {
    for (oid, name) in [(PG_DEFAULT, "pg_default"), (1664, "pg_global")] {
        rows.add(&[
            ("oid", Datum::Oid(oid)),
            ("spcname", Datum::Text(name)),
            ("spcowner", Datum::Oid(OWNER)),
        ])?;
    }
    Ok(())
}
