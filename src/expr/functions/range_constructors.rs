//! `int4range(1, 5, '[]')`, `int4multirange(…)` and their kin.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::{range, text};
use crate::expr::functions::registry::Family;
use crate::repr::ScalarType::*;
use crate::repr::range::names::*;
use crate::repr::range::{Edge, Multirange, Range as OneRange};
use crate::repr::{Datum, RangeKind};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn constructed<'a>(kind: RangeKind, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let (lower, upper) = match args.get(2) {
        None => (true, false),
        Some(Datum::Null) => {
            let message = "range constructor flags argument must not be null";
            return Err(EvalError::new(SqlState::new(b"22000"), message));
        }
        Some(flags) => match text(*flags) {
            "[]" => (true, true),
            "[)" => (true, false),
            "(]" => (false, true),
            "()" => (false, false),
            _ => {
                let error = EvalError::new(SqlState::SYNTAX_ERROR, "invalid range bound flags");
                let hint = "Valid values are \"[]\", \"[)\", \"(]\", and \"()\".";
                return Err(EvalError { hint: Some(hint.into()), ..error });
            }
        },
    };
    let (lower, upper) = (Edge::lower(args[0], lower), Edge::upper(args[1], upper));
    Ok(OneRange::make(kind, lower, upper)?.datum_in(cx.arena))
}

fn gathered<'a>(kind: RangeKind, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args.iter().any(Datum::is_null) {
        let message = "multirange values cannot contain null members";
        return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    Ok(Multirange::of(kind, args.iter().map(|arg| range(*arg))).datum_in(cx.arena))
}

macro_rules! constructors {
    ($($kind:ident $name:literal $of:ident $range:ident: $two:literal $three:literal,
        $many_name:literal $many:ident: $none:literal $one:literal $several:literal;)*) => {
        const FUNCTIONS: &[FuncDef] = &[$(
            FuncDef::new($two, $name, &[$of, $of], $range, |args, cx| {
                constructed(RangeKind::$kind, args, cx)
            })
            .lax(),
            FuncDef::new($three, $name, &[$of, $of, Text], $range, |args, cx| {
                constructed(RangeKind::$kind, args, cx)
            })
            .lax(),
            FuncDef::new($none, $many_name, &[], $many, |args, cx| {
                gathered(RangeKind::$kind, args, cx)
            })
            .total(),
            FuncDef::new($one, $many_name, &[$range], $many, |args, cx| {
                gathered(RangeKind::$kind, args, cx)
            })
            .total(),
            FuncDef::new($several, $many_name, &[$range], $many, |args, cx| {
                gathered(RangeKind::$kind, args, cx)
            })
            .variadic($range)
            .lax(),
        )*];
    };
}

constructors! {
    Int4 "int4range" Int4 INT4RANGE: 3840 3841, "int4multirange" INT4MULTIRANGE: 4280 4281 4282;
    Int8 "int8range" Int8 INT8RANGE: 3945 3946, "int8multirange" INT8MULTIRANGE: 4295 4296 4297;
    Num "numrange" Numeric NUMRANGE: 3844 3845, "nummultirange" NUMMULTIRANGE: 4283 4284 4285;
    Ts "tsrange" Timestamp TSRANGE: 3933 3934, "tsmultirange" TSMULTIRANGE: 4286 4287 4288;
    Tstz "tstzrange" TimestampTz TSTZRANGE: 3937 3938,
        "tstzmultirange" TSTZMULTIRANGE: 4289 4290 4291;
    Date "daterange" Date DATERANGE: 3941 3942, "datemultirange" DATEMULTIRANGE: 4292 4293 4294;
}
