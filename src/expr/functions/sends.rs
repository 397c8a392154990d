//! Values in their binary form: `int4send` and its like.

use crate::expr::func::FuncDef;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::binary::format_binary;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

macro_rules! sends {
    ($($oid:literal $name:literal $ty:ident $($stable:ident)?;)*) => {
        const FUNCTIONS: &[FuncDef] = &[$(
            FuncDef::new($oid, $name, &[$ty], Bytea, |args, cx| {
                let mut bytes = vec![];
                format_binary(&args[0], $ty, &mut bytes);
                Ok(Datum::Bytea(cx.arena.alloc_slice_copy(&bytes)))
            })
            .total()
            $(.$stable())?,
        )*];
    };
}

sends! {
    2437 "boolsend" Bool;
    2431 "bpcharsend" Bpchar stable;
    2413 "byteasend" Bytea;
    2469 "date_send" Date;
    2425 "float4send" Float4;
    2427 "float8send" Float8;
    2405 "int2send" Int2;
    2407 "int4send" Int4;
    2409 "int8send" Int8;
    2479 "interval_send" Interval;
    324 "json_send" Json;
    3803 "jsonb_send" Jsonb;
    4004 "jsonpath_send" JsonPath;
    2423 "namesend" Name stable;
    2461 "numeric_send" Numeric;
    2419 "oidsend" Oid;
    2415 "textsend" Text stable;
    2471 "time_send" Time;
    2475 "timestamp_send" Timestamp;
    2477 "timestamptz_send" TimestampTz;
    2962 "uuid_send" Uuid;
    2433 "varcharsend" Varchar stable;
}
