//! Text.

use bumpalo::Bump;
use bumpalo::collections::String as ArenaString;

use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::text;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// Functions and operators of text.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

/// Maps each character for itself, as C libraries do: what would become several characters stays.
fn map_chars<'a, I: Iterator<Item = char>>(
    value: &str,
    map: fn(char) -> I,
    arena: &'a Bump,
) -> &'a str {
    let mut mapped = ArenaString::with_capacity_in(value.len(), arena);
    mapped.extend(value.chars().map(|c| {
        let mut to = map(c);
        match (to.next(), to.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    }));
    mapped.into_bump_str()
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(1258, "textcat", &[Text, Text], Text, |args, cx| {
        let (a, b) = (text(args[0]), text(args[1]));
        let mut whole = ArenaString::with_capacity_in(a.len() + b.len(), cx.arena);
        whole.push_str(a);
        whole.push_str(b);
        Ok(Datum::Text(whole.into_bump_str()))
    })
    .total(),
    FuncDef::new(1317, "length", &[Text], Int4, |args, _| {
        Ok(Datum::Int4(text(args[0]).chars().count() as i32))
    })
    .total(),
    FuncDef::new(1318, "length", &[Bpchar], Int4, |args, _| {
        Ok(Datum::Int4(text(args[0]).trim_end_matches(' ').chars().count() as i32))
    })
    .total(),
    FuncDef::new(871, "upper", &[Text], Text, |args, cx| {
        Ok(Datum::Text(map_chars(text(args[0]), |c| c.to_uppercase(), cx.arena)))
    })
    .total(),
    FuncDef::new(870, "lower", &[Text], Text, |args, cx| {
        Ok(Datum::Text(map_chars(text(args[0]), |c| c.to_lowercase(), cx.arena)))
    })
    .total(),
];

const OPERATORS: &[OperatorDef] = &[OperatorDef::infix(Text, "||", Text, 1258)];
