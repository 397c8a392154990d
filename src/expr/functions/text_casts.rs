//! Conversions of every type to the string types and back, through the text form.

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::text;
use crate::expr::functions::string_casts::fit;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::{format_text, parse_text};

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn to_string<'a>(
    datum: Datum<'a>,
    from: ScalarType,
    to: ScalarType,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Answer<'a> {
    let mut spelled = String::new();
    format_text(&datum, from, cx.settings, &mut spelled);
    fit(to, cx.arena.alloc_str(&spelled), typmod, explicit, cx.arena)
}

fn from_string<'a>(
    datum: Datum<'a>,
    to: ScalarType,
    typmod: i32,
    cx: &EvalContext<'a>,
) -> Answer<'a> {
    Ok(parse_text(to, typmod, text(datum), cx.settings, cx.arena)?)
}

macro_rules! table {
    ($($ty:ident)*) => {
        /// The conversions.
        pub static CASTS: &[CastDef] = &[
            $(
                table!(@to $ty Text),
                table!(@to $ty Varchar),
                table!(@to $ty Bpchar),
                table!(@to $ty Name),
                table!(@from Text $ty),
                table!(@from Varchar $ty),
                table!(@from Bpchar $ty),
                table!(@from Name $ty),
            )*
        ];
    };
    (@to $from:ident $to:ident) => {
        CastDef::assignment($from, $to, |d, typmod, explicit, cx| {
            to_string(d, $from, $to, typmod, explicit, cx)
        })
        .total()
    };
    (@from $from:ident $to:ident) => {
        CastDef::explicit($from, $to, |d, typmod, _, cx| from_string(d, $to, typmod, cx))
    };
}

table! {
    Bool Int2 Int4 Int8 Float4 Float8 Numeric Bytea Date Time Timestamp TimestampTz Interval
    Uuid Jsonb Oid Json Bit Varbit Inet Cidr Macaddr JsonPath TimestampNs Xid TimeTz
}
