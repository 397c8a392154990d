//! Text.

use bumpalo::collections::String as ArenaString;

use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::text;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// Functions and operators of text.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

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
        Ok(Datum::Text(cx.arena.alloc_str(&text(args[0]).to_uppercase())))
    })
    .total(),
    FuncDef::new(870, "lower", &[Text], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&text(args[0]).to_lowercase())))
    })
    .total(),
];

const OPERATORS: &[OperatorDef] = &[OperatorDef::infix(Text, "||", Text, 1258)];
