//! What clients ask of a server beside its objects: default privileges, what roles may, what its
//! indexes can do, and lists of what there is none of here (partitions, temporary files,
//! channels).

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::{array, text};
use crate::expr::functions::arrays::array_of;
use crate::expr::functions::catalog_names::size_pretty;
use crate::expr::functions::registry::Family;
use crate::expr::table::{SetColumn, listed};
use crate::repr::ScalarType::{self, *};
use crate::repr::value::pack;
use crate::repr::{Datum, Row};

const TEXTS: ScalarType = array_of(Text);
const INT4S: ScalarType = array_of(Int4);

/// The units of sizes, with the bits that each shifts by.
const UNITS: [(&str, u32); 6] =
    [("bytes", 0), ("kb", 10), ("mb", 20), ("gb", 30), ("tb", 40), ("pb", 50)];

/// What the owner of an object may, and everybody, where nothing was granted.
const ACL_DEFAULT: &str = "(SELECT CASE _1::text \
     WHEN 'c' THEN '{}'::text[] \
     WHEN 'r' THEN ARRAY[u.n || '=arwdDxt/' || u.n] \
     WHEN 's' THEN ARRAY[u.n || '=rwU/' || u.n] \
     WHEN 'd' THEN ARRAY['=Tc/' || u.n, u.n || '=CTc/' || u.n] \
     WHEN 'f' THEN ARRAY['=X/' || u.n, u.n || '=X/' || u.n] \
     WHEN 'l' THEN ARRAY['=U/' || u.n, u.n || '=U/' || u.n] \
     WHEN 'T' THEN ARRAY['=U/' || u.n, u.n || '=U/' || u.n] \
     WHEN 'L' THEN ARRAY[u.n || '=rw/' || u.n] \
     WHEN 'n' THEN ARRAY[u.n || '=UC/' || u.n] \
     WHEN 'p' THEN ARRAY[u.n || '=sA/' || u.n] \
     WHEN 't' THEN ARRAY[u.n || '=C/' || u.n] \
     WHEN 'F' THEN ARRAY[u.n || '=U/' || u.n] \
     WHEN 'S' THEN ARRAY[u.n || '=U/' || u.n] END \
     FROM (SELECT pg_get_userbyid(_2)::text) AS u(n) WHERE _1 IS NOT NULL AND _2 IS NOT NULL)";

/// Whether there is a role.
macro_rules! role {
    ($column:literal) => {
        concat!("(SELECT true FROM pg_catalog.pg_authid o WHERE o.", $column, " = _1)")
    };
}

/// Whether a relation has a column.
macro_rules! column {
    ($relation:literal, $test:literal) => {
        concat!(
            "(SELECT true FROM pg_catalog.pg_attribute a WHERE a.attrelid = ",
            $relation,
            " AND NOT a.attisdropped AND a.",
            $test,
            ")"
        )
    };
}

const COLUMN_PROPERTY: &str = "(SELECT CASE lower(_3) \
     WHEN 'asc' THEN true WHEN 'desc' THEN false WHEN 'nulls_first' THEN false \
     WHEN 'nulls_last' THEN true WHEN 'orderable' THEN true \
     WHEN 'distance_orderable' THEN false WHEN 'returnable' THEN true \
     WHEN 'search_array' THEN true WHEN 'search_nulls' THEN true END \
     FROM pg_catalog.pg_index i WHERE i.indexrelid = _1::oid AND _2 BETWEEN 1 AND i.indnatts)";
const INDEX_PROPERTY: &str = "(SELECT CASE WHEN lower(_2) IN ('clusterable', 'index_scan', \
     'bitmap_scan', 'backward_scan') THEN true END \
     FROM pg_catalog.pg_index i WHERE i.indexrelid = _1::oid)";
const METHOD_PROPERTY: &str = "(SELECT CASE WHEN lower(_2) IN ('can_order', 'can_unique', \
     'can_multi_col', 'can_exclude', 'can_include') THEN true END \
     FROM pg_catalog.pg_am a WHERE a.oid = _1 AND a.amname = 'btree')";
const NOBODY: &str = "CASE WHEN _1 IS NOT NULL THEN '{}'::int4[] END";

/// A size with its unit in bytes. Errors: 22023, 22003.
fn size_bytes(whole: &str) -> Result<i64, EvalError> {
    let invalid = || {
        let message = format!("invalid size: \"{whole}\"");
        EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
    };
    let trimmed = whole.trim_start();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut at = usize::from(trimmed.starts_with(['+', '-']));
    let whole_digits = digits(&trimmed[at..]);
    at += whole_digits;
    let mut fraction_digits = 0;
    if trimmed[at..].starts_with('.') {
        fraction_digits = digits(&trimmed[at + 1..]);
        at += 1 + fraction_digits;
    }
    if whole_digits + fraction_digits == 0 {
        return Err(invalid());
    }
    if trimmed[at..].starts_with(['e', 'E']) {
        let sign = usize::from(trimmed[at + 1..].starts_with(['+', '-']));
        let exponent = digits(&trimmed[at + 1 + sign..]);
        at += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let unit = trimmed[at..].trim();
    let shift = match UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)) {
        _ if unit.is_empty() => 0,
        Some((_, shift)) => *shift,
        None => {
            let mut error = invalid();
            error.detail = Some(format!("Invalid size unit: \"{unit}\".").into());
            let units = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
            error.hint = Some(units.into());
            return Err(error);
        }
    };
    let number = crate::repr::numeric::Numeric::parse(&trimmed[..at])?;
    let factor = crate::repr::numeric::Numeric::from_i128(1 << shift);
    Ok(number.mul(&factor)?.to_i64()?)
}

/// A size that need not be whole.
fn numeric_pretty(size: &str) -> Result<String, EvalError> {
    let whole = size.split('.').next().unwrap_or(size);
    let Ok(whole) = whole.parse::<i128>() else {
        let message = format!("pg_size_pretty of {size} is not supported");
        return Err(EvalError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    };
    Ok(match whole.abs() < 10 * 1024 {
        true => format!("{size} bytes"),
        false => size_pretty(whole),
    })
}

/// The elements of an array of smallints with their places.
fn expanded(datum: Datum<'_>) -> Vec<Row> {
    let places = array(datum).iter().zip(1..);
    places.map(|(element, place)| pack(&[element, Datum::Int4(place)])).collect()
}

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::in_sql(3943, "acldefault", &[Char, Oid], TEXTS, ACL_DEFAULT),
    FuncDef::in_sql(2705, "pg_has_role", &[Name, Name, Text], Bool, role!("rolname")),
    FuncDef::in_sql(2706, "pg_has_role", &[Name, Oid, Text], Bool, role!("rolname")),
    FuncDef::in_sql(2707, "pg_has_role", &[Oid, Name, Text], Bool, role!("oid")),
    FuncDef::in_sql(2708, "pg_has_role", &[Oid, Oid, Text], Bool, role!("oid")),
    FuncDef::in_sql(2709, "pg_has_role", &[Name, Text], Bool, role!("rolname")),
    FuncDef::in_sql(2710, "pg_has_role", &[Oid, Text], Bool, role!("oid")),
    FuncDef::in_sql(
        3012,
        "has_column_privilege",
        &[Name, Text, Text, Text],
        Bool,
        column!("_2::regclass::oid", "attname = _3"),
    ),
    FuncDef::in_sql(
        3014,
        "has_column_privilege",
        &[Name, Oid, Text, Text],
        Bool,
        column!("_2", "attname = _3"),
    ),
    FuncDef::in_sql(
        3015,
        "has_column_privilege",
        &[Name, Oid, Int2, Text],
        Bool,
        column!("_2", "attnum = _3"),
    ),
    FuncDef::in_sql(
        3020,
        "has_column_privilege",
        &[Text, Text, Text],
        Bool,
        column!("_1::regclass::oid", "attname = _2"),
    ),
    FuncDef::in_sql(
        3021,
        "has_column_privilege",
        &[Text, Int2, Text],
        Bool,
        column!("_1::regclass::oid", "attnum = _2"),
    ),
    FuncDef::in_sql(
        3022,
        "has_column_privilege",
        &[Oid, Text, Text],
        Bool,
        column!("_1", "attname = _2"),
    ),
    FuncDef::in_sql(
        3023,
        "has_column_privilege",
        &[Oid, Int2, Text],
        Bool,
        column!("_1", "attnum = _2"),
    ),
    FuncDef::in_sql(636, "pg_indexam_has_property", &[Oid, Text], Bool, METHOD_PROPERTY),
    FuncDef::in_sql(637, "pg_index_has_property", &[RegClass, Text], Bool, INDEX_PROPERTY),
    FuncDef::in_sql(
        638,
        "pg_index_column_has_property",
        &[RegClass, Int4, Text],
        Bool,
        COLUMN_PROPERTY,
    ),
    FuncDef::in_sql(2561, "pg_blocking_pids", &[Int4], INT4S, NOBODY),
    FuncDef::in_sql(3376, "pg_safe_snapshot_blocking_pids", &[Int4], INT4S, NOBODY),
    FuncDef::in_sql(315, "pg_jit_available", &[], Bool, "false"),
    FuncDef::in_sql(3163, "pg_trigger_depth", &[], Int4, "0"),
    FuncDef::in_sql(3296, "pg_notification_queue_usage", &[], Float8, "0::float8"),
    FuncDef::in_sql(3808, "pg_get_function_arg_default", &[Oid, Int4], Text, "NULL::text"),
    FuncDef::in_sql(3424, "pg_partition_root", &[RegClass], RegClass, "NULL::regclass"),
    FuncDef::new(3334, "pg_size_bytes", &[Text], Int8, |args, _| {
        size_bytes(text(args[0])).map(Datum::Int8)
    }),
    FuncDef::new(3166, "pg_size_pretty", &[Numeric], Text, |args, cx| {
        let Datum::Numeric(size) = args[0] else { return Ok(Datum::Null) };
        Ok(Datum::Text(cx.arena.alloc_str(&numeric_pretty(&size.to_string())?)))
    }),
    FuncDef::set(
        3425,
        "pg_partition_ancestors",
        &[RegClass],
        &[SetColumn::named("relid", RegClass)],
        |_, _| Ok(listed(vec![])),
    ),
    FuncDef::set(
        3423,
        "pg_partition_tree",
        &[RegClass],
        &[
            SetColumn::named("relid", RegClass),
            SetColumn::named("parentrelid", RegClass).nullable(),
            SetColumn::named("isleaf", Bool),
            SetColumn::named("level", Int4),
        ],
        |_, _| Ok(listed(vec![])),
    ),
    FuncDef::set(5029, "pg_ls_tmpdir", &[], FILES, |_, _| Ok(listed(vec![]))),
    FuncDef::set(5030, "pg_ls_tmpdir", &[Oid], FILES, |_, _| Ok(listed(vec![]))),
    FuncDef::set(3035, "pg_listening_channels", &[], &[SetColumn::value(Text)], |_, _| {
        Ok(listed(vec![]))
    }),
    // PostgreSQL gives it an oid when a cluster is made.
    FuncDef::set(
        93_010,
        "_pg_expandarray",
        &[array_of(Int2)],
        &[SetColumn::named("x", Int2).nullable(), SetColumn::named("n", Int4)],
        |args, _| Ok(listed(expanded(args[0]))),
    ),
];

const FILES: &[SetColumn] = &[
    SetColumn::named("name", Text),
    SetColumn::named("size", Int8),
    SetColumn::named("modification", TimestampTz),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let cases = [("1.5 GB", 1_610_612_736), ("-3kB", -3072), ("12", 12), (" .5MB ", 524_288)];
        for (text, bytes) in cases {
            assert_eq!(size_bytes(text), Ok(bytes), "{text}");
        }
        assert!(size_bytes("x").is_err() && size_bytes("1 foo").is_err());
    }
}
