//! Comparison operators, IS DISTINCT FROM and its negation, GREATEST and LEAST.
//!
//! Within a type they are [`Datum::compare`], so that operators, keys, sorting and DISTINCT agree.
//! Dates and timestamps of different types compare in `datetime`.

use std::cmp::Ordering;

use crate::expr::error::EvalError;
use crate::expr::func::{Func, FuncDef, OperatorDef};
use crate::expr::functions::access::{float, integer};
use crate::expr::functions::registry::{self, Family};
use crate::expr::functions::{array_comparison, enums};
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::datum::compare_floats;
use crate::repr::range::names::*;

/// The comparison operators and their functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

/// The functions of every type that have no name in SQL.
pub static UNNAMED: Family = Family { functions: UNNAMED_FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

#[inline]
fn same(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    a.compare(&b)
}

#[inline]
fn padded(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    a.compare_as(Bpchar, &b)
}

#[inline]
fn integers(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    integer(a).cmp(&integer(b))
}

#[inline]
fn floats(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    compare_floats(float(a), float(b))
}

macro_rules! comparisons {
    ($($left:ident, $right:ident, $order:ident:
        $eq:literal $eq_oid:literal, $ne:literal $ne_oid:literal, $lt:literal $lt_oid:literal,
        $le:literal $le_oid:literal, $gt:literal $gt_oid:literal, $ge:literal $ge_oid:literal;)*
    ) => {
        const FUNCTIONS: &[FuncDef] = &[$(
            comparisons!(@ $eq, $eq_oid, $left, $right, $order, is_eq),
            comparisons!(@ $ne, $ne_oid, $left, $right, $order, is_ne),
            comparisons!(@ $lt, $lt_oid, $left, $right, $order, is_lt),
            comparisons!(@ $le, $le_oid, $left, $right, $order, is_le),
            comparisons!(@ $gt, $gt_oid, $left, $right, $order, is_gt),
            comparisons!(@ $ge, $ge_oid, $left, $right, $order, is_ge),
        )*];
        const OPERATORS: &[OperatorDef] = &[$(
            OperatorDef::infix($left, "=", $right, $eq_oid),
            OperatorDef::infix($left, "<>", $right, $ne_oid),
            OperatorDef::infix($left, "<", $right, $lt_oid),
            OperatorDef::infix($left, "<=", $right, $le_oid),
            OperatorDef::infix($left, ">", $right, $gt_oid),
            OperatorDef::infix($left, ">=", $right, $ge_oid),
        )*];
    };
    (@ $name:literal, $oid:literal, $left:ident, $right:ident, $order:ident, $test:ident) => {
        FuncDef::new($oid, $name, &[$left, $right], Bool, |args, _| {
            Ok(Datum::Bool($order(args[0], args[1]).$test()))
        })
        .total()
    };
}

comparisons! {
    Bool, Bool, same:
        "booleq" 60, "boolne" 84, "boollt" 56,
        "boolle" 1691, "boolgt" 57, "boolge" 1692;
    Bpchar, Bpchar, padded:
        "bpchareq" 1048, "bpcharne" 1053, "bpcharlt" 1049,
        "bpcharle" 1050, "bpchargt" 1051, "bpcharge" 1052;
    Bit, Bit, same:
        "biteq" 1581, "bitne" 1582, "bitlt" 1595,
        "bitle" 1594, "bitgt" 1593, "bitge" 1592;
    Varbit, Varbit, same:
        "varbiteq" 1666, "varbitne" 1667, "varbitlt" 1671,
        "varbitle" 1670, "varbitgt" 1669, "varbitge" 1668;
    Inet, Inet, same:
        "network_eq" 920, "network_ne" 925, "network_lt" 921,
        "network_le" 922, "network_gt" 923, "network_ge" 924;
    Macaddr, Macaddr, same:
        "macaddr_eq" 830, "macaddr_ne" 835, "macaddr_lt" 831,
        "macaddr_le" 832, "macaddr_gt" 833, "macaddr_ge" 834;
    Bytea, Bytea, same:
        "byteaeq" 1948, "byteane" 1953, "bytealt" 1949,
        "byteale" 1950, "byteagt" 1951, "byteage" 1952;
    Char, Char, same:
        "chareq" 61, "charne" 70, "charlt" 1246,
        "charle" 72, "chargt" 73, "charge" 74;
    Date, Date, same:
        "date_eq" 1086, "date_ne" 1091, "date_lt" 1087,
        "date_le" 1088, "date_gt" 1089, "date_ge" 1090;
    Float4, Float4, same:
        "float4eq" 287, "float4ne" 288, "float4lt" 289,
        "float4le" 290, "float4gt" 291, "float4ge" 292;
    Float4, Float8, floats:
        "float48eq" 299, "float48ne" 300, "float48lt" 301,
        "float48le" 302, "float48gt" 303, "float48ge" 304;
    Float8, Float4, floats:
        "float84eq" 305, "float84ne" 306, "float84lt" 307,
        "float84le" 308, "float84gt" 309, "float84ge" 310;
    Float8, Float8, same:
        "float8eq" 293, "float8ne" 294, "float8lt" 295,
        "float8le" 296, "float8gt" 297, "float8ge" 298;
    Int2, Int2, same:
        "int2eq" 63, "int2ne" 145, "int2lt" 64,
        "int2le" 148, "int2gt" 146, "int2ge" 151;
    Int2, Int4, integers:
        "int24eq" 158, "int24ne" 164, "int24lt" 160,
        "int24le" 166, "int24gt" 162, "int24ge" 168;
    Int2, Int8, integers:
        "int28eq" 1850, "int28ne" 1851, "int28lt" 1852,
        "int28le" 1854, "int28gt" 1853, "int28ge" 1855;
    Int4, Int2, integers:
        "int42eq" 159, "int42ne" 165, "int42lt" 161,
        "int42le" 167, "int42gt" 163, "int42ge" 169;
    Int4, Int4, same:
        "int4eq" 65, "int4ne" 144, "int4lt" 66,
        "int4le" 149, "int4gt" 147, "int4ge" 150;
    Int4, Int8, integers:
        "int48eq" 852, "int48ne" 853, "int48lt" 854,
        "int48le" 856, "int48gt" 855, "int48ge" 857;
    Int8, Int2, integers:
        "int82eq" 1856, "int82ne" 1857, "int82lt" 1858,
        "int82le" 1860, "int82gt" 1859, "int82ge" 1861;
    Int8, Int4, integers:
        "int84eq" 474, "int84ne" 475, "int84lt" 476,
        "int84le" 478, "int84gt" 477, "int84ge" 479;
    Int8, Int8, same:
        "int8eq" 467, "int8ne" 468, "int8lt" 469,
        "int8le" 471, "int8gt" 470, "int8ge" 472;
    Interval, Interval, same:
        "interval_eq" 1162, "interval_ne" 1163, "interval_lt" 1164,
        "interval_le" 1165, "interval_gt" 1167, "interval_ge" 1166;
    Jsonb, Jsonb, same:
        "jsonb_eq" 4043, "jsonb_ne" 4038, "jsonb_lt" 4039,
        "jsonb_le" 4041, "jsonb_gt" 4040, "jsonb_ge" 4042;
    Name, Name, same:
        "nameeq" 62, "namene" 659, "namelt" 655,
        "namele" 656, "namegt" 657, "namege" 658;
    Name, Text, same:
        "nameeqtext" 240, "namenetext" 245, "namelttext" 241,
        "nameletext" 242, "namegttext" 244, "namegetext" 243;
    Numeric, Numeric, same:
        "numeric_eq" 1718, "numeric_ne" 1719, "numeric_lt" 1722,
        "numeric_le" 1723, "numeric_gt" 1720, "numeric_ge" 1721;
    Oid, Oid, same:
        "oideq" 184, "oidne" 185, "oidlt" 716,
        "oidle" 717, "oidgt" 1638, "oidge" 1639;
    Text, Name, same:
        "texteqname" 247, "textnename" 252, "textltname" 248,
        "textlename" 249, "textgtname" 251, "textgename" 250;
    Text, Text, same:
        "texteq" 67, "textne" 157, "text_lt" 740,
        "text_le" 741, "text_gt" 742, "text_ge" 743;
    Time, Time, same:
        "time_eq" 1145, "time_ne" 1106, "time_lt" 1102,
        "time_le" 1103, "time_gt" 1104, "time_ge" 1105;
    TimeTz, TimeTz, same:
        "timetz_eq" 1352, "timetz_ne" 1353, "timetz_lt" 1354,
        "timetz_le" 1355, "timetz_gt" 1357, "timetz_ge" 1356;
    Timestamp, Timestamp, same:
        "timestamp_eq" 2052, "timestamp_ne" 2053, "timestamp_lt" 2054,
        "timestamp_le" 2055, "timestamp_gt" 2057, "timestamp_ge" 2056;
    TimestampTz, TimestampTz, same:
        "timestamptz_eq" 1152, "timestamptz_ne" 1153, "timestamptz_lt" 1154,
        "timestamptz_le" 1155, "timestamptz_gt" 1157, "timestamptz_ge" 1156;
    Uuid, Uuid, same:
        "uuid_eq" 2956, "uuid_ne" 2959, "uuid_lt" 2954,
        "uuid_le" 2955, "uuid_gt" 2958, "uuid_ge" 2957;
}

/// Where the functions without a name begin; the type's place in [`ScalarType::ELEMENTS`]
/// is added; those of arrays are in [`super::array_comparison`].
pub(super) const DISTINCT: u32 = 94_000;
pub(super) const NOT_DISTINCT: u32 = 94_200;
pub(super) const GREATEST: u32 = 94_400;
pub(super) const LEAST: u32 = 94_600;

macro_rules! of_every_type {
    ($($ty:ident)*) => {
        const UNNAMED_FUNCTIONS: &[FuncDef] = &[$(
            FuncDef::new(
                DISTINCT + $ty.index() as u32,
                "IS DISTINCT FROM",
                &[$ty, $ty],
                Bool,
                |args, _| Ok(Datum::Bool(args[0].compare_as($ty, &args[1]).is_ne())),
            )
            .lax()
            .total(),
            FuncDef::new(
                NOT_DISTINCT + $ty.index() as u32,
                "IS NOT DISTINCT FROM",
                &[$ty, $ty],
                Bool,
                |args, _| Ok(Datum::Bool(args[0].compare_as($ty, &args[1]).is_eq())),
            )
            .lax()
            .total(),
            FuncDef::new(GREATEST + $ty.index() as u32, "GREATEST", &[], $ty, |args, _| {
                extreme($ty, args, Ordering::is_gt)
            })
            .variadic($ty)
            .lax()
            .nullable()
            .total(),
            FuncDef::new(LEAST + $ty.index() as u32, "LEAST", &[], $ty, |args, _| {
                extreme($ty, args, Ordering::is_lt)
            })
            .variadic($ty)
            .lax()
            .nullable()
            .total(),
        )*];
    };
}

of_every_type! {
    Bool Int2 Int4 Int8 Float4 Float8 Numeric Text Varchar Bpchar
    Bytea Date Time Timestamp TimestampTz Interval Uuid Jsonb Oid Name Json
    Bit Varbit Inet Cidr Macaddr JsonPath TimestampNs
    Char Xid RegProc RegProcedure RegOper RegOperator
    RegClass RegType RegRole RegNamespace
    INT4RANGE INT8RANGE NUMRANGE TSRANGE TSTZRANGE DATERANGE
    INT4MULTIRANGE INT8MULTIRANGE NUMMULTIRANGE TSMULTIRANGE TSTZMULTIRANGE DATEMULTIRANGE
    TimeTz
}

/// The first of the arguments that is beyond all others, NULLs aside.
pub(super) fn extreme<'a>(
    ty: ScalarType,
    args: &[Datum<'a>],
    beyond: fn(Ordering) -> bool,
) -> Answer<'a> {
    let mut best = Datum::Null;
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        if best.is_null() || beyond(arg.compare_as(ty, &best)) {
            best = *arg;
        }
    }
    Ok(best)
}

fn unnamed(base: u32, ty: ScalarType) -> Func {
    if let Array(element) = ty {
        let def = registry::polymorphic(array_comparison::UNNAMED + base);
        return Func(def.expect("there is one of arrays").instance(element));
    }
    if let (false, Some(element)) = (ty.is_built_in(), ty.as_element()) {
        let def = registry::polymorphic(enums::UNNAMED + base);
        return Func(def.expect("there is one of all other types").instance(element));
    }
    let oid = base + ty.index() as u32;
    Func(registry::by_oid(oid).expect("there is one of every type"))
}

/// `a IS DISTINCT FROM b` within a type.
pub fn distinct(ty: ScalarType) -> Func {
    unnamed(DISTINCT, ty)
}

/// `a IS NOT DISTINCT FROM b` within a type.
pub fn not_distinct(ty: ScalarType) -> Func {
    unnamed(NOT_DISTINCT, ty)
}

/// `GREATEST(...)` of a type.
pub fn greatest(ty: ScalarType) -> Func {
    unnamed(GREATEST, ty)
}

/// `LEAST(...)` of a type.
pub fn least(ty: ScalarType) -> Func {
    unnamed(LEAST, ty)
}
