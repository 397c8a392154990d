//! Arrays joined into text, and text split into arrays.

use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::{array, text};
use crate::expr::functions::arrays::array_of;
use crate::expr::functions::registry::Family;
use crate::expr::polymorphic::{PolyDef, Slot::*};
use crate::repr::ScalarType::Text;
use crate::repr::array::ArrayBuilder;
use crate::repr::text::format_text;
use crate::repr::{Datum, Element};

/// The functions over text alone.
pub static FAMILY: Family = Family { functions: SPLITTING, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// Text as an element.
pub(super) fn text_element() -> Element {
    Text.as_element().expect("text is no array")
}

/// The elements' text forms with a separator between them; a NULL is `null`, or left out.
fn joined<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Datum::Null);
    }
    let (of, separator) = (array(args[0]), text(args[1]));
    let null = args.get(2).filter(|null| !null.is_null()).map(|null| text(*null));
    let mut whole = String::new();
    let mut first = true;
    for item in of.iter() {
        if item.is_null() && null.is_none() {
            continue;
        }
        if !first {
            whole.push_str(separator);
        }
        first = false;
        match null {
            Some(null) if item.is_null() => whole.push_str(null),
            _ => format_text(&item, of.element.scalar(), cx.settings, &mut whole),
        }
    }
    Ok(Datum::Text(cx.arena.alloc_str(&whole)))
}

/// What stands between separators; characters where the separator is NULL, all where it is empty.
fn split<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let whole = text(args[0]);
    let null = args.get(2).filter(|null| !null.is_null()).map(|null| text(*null));
    let mut builder = ArrayBuilder::new();
    let mut put = |part: &str| match null == Some(part) {
        true => builder.push(&Datum::Null),
        false => builder.push(&Datum::Text(part)),
    };
    match args[1] {
        _ if whole.is_empty() => {}
        Datum::Null => whole.split("").filter(|part| !part.is_empty()).for_each(put),
        separator if text(separator).is_empty() => put(whole),
        separator => whole.split(text(separator)).for_each(put),
    }
    Ok(builder.vector_in(text_element(), cx.arena))
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    PolyDef::new(395, "array_to_string", &[AnyArray, Is(Text)], Is(Text), |_, args, cx| {
        joined(args, cx)
    })
    .total()
    .stable(),
    PolyDef::new(
        384,
        "array_to_string",
        &[AnyArray, Is(Text), Is(Text)],
        Is(Text),
        |_, args, cx| joined(args, cx),
    )
    .lax()
    .nullable()
    .total()
    .stable(),
];

const SPLITTING: &[FuncDef] = &[
    FuncDef::new(394, "string_to_array", &[Text, Text], array_of(Text), split)
        .lax()
        .nullable()
        .total(),
    FuncDef::new(376, "string_to_array", &[Text, Text, Text], array_of(Text), split)
        .lax()
        .nullable()
        .total(),
];
