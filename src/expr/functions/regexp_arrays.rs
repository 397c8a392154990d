//! Regular expressions whose answer is an array: the groups of a match, or what stands between
//! matches.

use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::text;
use crate::expr::functions::array_text::text_element;
use crate::expr::functions::arrays::array_of;
use crate::expr::functions::regexp::{Matches, flags_of};
use crate::expr::functions::registry::Family;
use crate::expr::regex::compiled;
use crate::repr::Datum;
use crate::repr::ScalarType::Text;
use crate::repr::array::ArrayBuilder;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// The groups of the first match, or the match where the pattern has none.
fn groups<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let value = text(args[0]);
    let regex = compiled(text(args[1]), flags_of(args, 2, "regexp_match")?)?;
    let Some(found) = regex.groups_at(value, 0)? else { return Ok(Datum::Null) };
    let wanted = if regex.groups() > 0 { &found[1..=regex.groups()] } else { &found[..1] };
    let mut builder = ArrayBuilder::new();
    builder.extend(wanted.iter().map(|group| match group {
        Some(range) => Datum::Text(&value[range.clone()]),
        None => Datum::Null,
    }));
    Ok(builder.vector_in(text_element(), cx.arena))
}

/// What stands between matches. An empty match right behind another, or at an end, parts nothing.
fn split<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let value = text(args[0]);
    let regex = compiled(text(args[1]), flags_of(args, 2, "regexp_split_to_array")?)?;
    let mut builder = ArrayBuilder::new();
    let (mut matched_to, mut split_to) = (0, 0);
    let mut matches = Matches::new(regex, value, 1);
    while let Some(found) = matches.next() {
        if found.start < value.len() && found.end > matched_to {
            builder.push(&Datum::Text(&value[split_to..found.start]));
            split_to = found.end;
        }
        matched_to = found.end;
    }
    builder.push(&Datum::Text(&value[split_to..]));
    Ok(builder.vector_in(text_element(), cx.arena))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(3396, "regexp_match", &[Text, Text], array_of(Text), groups).nullable(),
    FuncDef::new(3397, "regexp_match", &[Text, Text, Text], array_of(Text), groups).nullable(),
    FuncDef::new(2767, "regexp_split_to_array", &[Text, Text], array_of(Text), split),
    FuncDef::new(2768, "regexp_split_to_array", &[Text, Text, Text], array_of(Text), split),
];
