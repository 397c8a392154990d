//! `||` of text and a value of any type that is no array: the value converted to text.

use bumpalo::collections::String as ArenaString;

use crate::expr::cast::Cast;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::text;
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot::*};
use crate::repr::ScalarType::Text;
use crate::repr::{Datum, Element};

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn as_text<'a>(element: Element, datum: Datum<'a>, cx: &EvalContext<'a>) -> Answer<'a> {
    match Cast::find(element.scalar(), Text) {
        Some(cast) => cast.compute(datum, -1, false, cx),
        None => Ok(datum),
    }
}

fn joined<'a>(left: Datum<'a>, right: Datum<'a>, cx: &EvalContext<'a>) -> Answer<'a> {
    let mut whole = ArenaString::from_str_in(text(left), cx.arena);
    whole.push_str(text(right));
    Ok(Datum::Text(whole.into_bump_str()))
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    PolyDef::new(2004, "anytextcat", &[AnyNonArray, Is(Text)], Is(Text), |element, args, cx| {
        joined(as_text(element, args[0], cx)?, args[1], cx)
    })
    .stable(),
    PolyDef::new(2003, "textanycat", &[Is(Text), AnyNonArray], Is(Text), |element, args, cx| {
        joined(args[0], as_text(element, args[1], cx)?, cx)
    })
    .stable(),
];

pub(super) const OPERATORS: &[PolyOperator] =
    &[PolyOperator { symbol: "||", func: 2004 }, PolyOperator { symbol: "||", func: 2003 }];
