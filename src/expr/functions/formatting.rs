//! `to_char` and `to_number` of numbers, by a template.

use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access;
use crate::expr::functions::registry::Family;
use crate::expr::number_template::{self, Spelled};
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

fn put<'a>(spelled: Spelled, cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
    Ok(Datum::Text(cx.arena.alloc_str(&spelled?)))
}

macro_rules! to_char {
    ($oid:literal $ty:ident |$value:ident, $template:ident| $compute:expr) => {
        FuncDef::new($oid, "to_char", &[$ty, Text], Text, |args, cx| {
            let ($value, $template) = (args[0], access::text(args[1]));
            put($compute, cx)
        })
        .stable()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    to_char!(1773 Int4 |v, template| number_template::int4(access::int4(v), template)),
    to_char!(1774 Int8 |v, template| number_template::int8(access::int8(v), template)),
    to_char!(1775 Float4 |v, template| number_template::float4(access::float4(v), template)),
    to_char!(1776 Float8 |v, template| number_template::float8(access::float8(v), template)),
    to_char!(1772 Numeric |v, template| {
        number_template::numeric(&access::numeric(v).to_owned(), template)
    }),
    FuncDef::new(1777, "to_number", &[Text, Text], Numeric, |args, cx| {
        let number = number_template::to_number(access::text(args[0]), access::text(args[1]))?;
        Ok(number.map_or(Datum::Null, |number| Datum::Numeric(number.encode_in(cx.arena))))
    })
    .nullable()
    .stable(),
];
