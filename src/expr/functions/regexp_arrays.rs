//! Regular expressions whose answer is an array: the groups of a match, or what stands between
//! matches.

use std::ops::Range;

use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::text;
use crate::expr::functions::array_text::text_element;
use crate::expr::functions::arrays::array_of;
use crate::expr::functions::regexp::{Matches, flags_of, split};
use crate::expr::functions::registry::Family;
use crate::expr::table::{SetColumn, SetRows, listed};
use crate::repr::Datum;
use crate::repr::ScalarType::Text;
use crate::repr::array::{ArrayBuilder, Dims};
use crate::repr::regex::{Flags, compiled};
use crate::repr::value::pack;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// The groups of the first match, or the match where the pattern has none.
fn groups<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let value = text(args[0]);
    let regex = compiled(text(args[1]), flags_of(args, 2, "regexp_match")?)?;
    let Some(found) = regex.groups_at(value, 0)? else { return Ok(Datum::Null) };
    let array = of_groups(&found, regex.groups(), value);
    Ok(Datum::Array(text_element(), cx.arena.alloc_slice_copy(&array)))
}

/// The bytes of an array of what the groups matched, or the match where there are no groups.
fn of_groups(found: &[Option<Range<usize>>], groups: usize, value: &str) -> Vec<u8> {
    let wanted = if groups > 0 { &found[1..=groups] } else { &found[..1] };
    let mut builder = ArrayBuilder::new();
    builder.extend(wanted.iter().map(|group| match group {
        Some(range) => Datum::Text(&value[range.clone()]),
        None => Datum::Null,
    }));
    builder.finish(&Dims::vector(builder.len()))
}

/// What stands between matches.
fn split_to_array<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let mut builder = ArrayBuilder::new();
    builder.extend(split(args, "regexp_split_to_array")?.into_iter().map(Datum::Text));
    Ok(builder.vector_in(text_element(), cx.arena))
}

/// The groups of the first match, or of each where the flags say so.
fn matches(args: &[Datum<'_>]) -> Result<SetRows, EvalError> {
    let value = text(args[0]);
    let flags = args.get(2).map_or(Ok(Flags::default()), |flags| Flags::parse(text(*flags)))?;
    let regex = compiled(text(args[1]), flags)?;
    let mut found = Matches::new(regex.clone(), value, 1);
    let mut rows = vec![];
    while let Some(groups) = found.next_groups()? {
        let array = of_groups(&groups, regex.groups(), value);
        rows.push(pack(&[Datum::Array(text_element(), &array)]));
        if !flags.global {
            break;
        }
    }
    Ok(listed(rows))
}

const TEXTS: &[SetColumn] = &[SetColumn::value(array_of(Text))];

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(3396, "regexp_match", &[Text, Text], array_of(Text), groups).nullable(),
    FuncDef::new(3397, "regexp_match", &[Text, Text, Text], array_of(Text), groups).nullable(),
    FuncDef::new(2767, "regexp_split_to_array", &[Text, Text], array_of(Text), split_to_array),
    FuncDef::new(
        2768,
        "regexp_split_to_array",
        &[Text, Text, Text],
        array_of(Text),
        split_to_array,
    ),
    FuncDef::set(2763, "regexp_matches", &[Text, Text], TEXTS, |args, _| matches(args)),
    FuncDef::set(2764, "regexp_matches", &[Text, Text, Text], TEXTS, |args, _| matches(args)),
];
