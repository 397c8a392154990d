//! Conversions of arrays: to other arrays as their elements convert, and to the string types and
//! back through the text form. They are made from the tables of the other types, each once.

use crate::expr::cast::{CastContext, CastDef, CastEval};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::string_casts::fit;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::format_text;
use crate::repr::{Datum, Element};

/// The conversions, given those between types that are no arrays.
pub(super) fn casts(
    find: impl Fn(ScalarType, ScalarType) -> Option<&'static CastDef>,
) -> Vec<CastDef> {
    let elements = || (0..ScalarType::ELEMENT_COUNT).map(Element::at);
    let mut casts = vec![];
    for from in elements() {
        for to in elements() {
            if let Some(inner) = find(from.scalar(), to.scalar()) {
                casts.push(CastDef {
                    from: Array(from),
                    to: Array(to),
                    context: inner.context,
                    nullable: false,
                    fallible: inner.fallible,
                    eval: CastEval::Elements(inner),
                });
            }
        }
        for string in [Text, Varchar, Bpchar, Name] {
            let def = |from, to, context, eval, fallible| CastDef {
                from,
                to,
                context,
                nullable: false,
                fallible,
                eval,
            };
            let spell = CastEval::Plain(match string {
                Varchar => |d, typmod, explicit, cx| spell(d, Varchar, typmod, explicit, cx),
                Bpchar => |d, typmod, explicit, cx| spell(d, Bpchar, typmod, explicit, cx),
                Name => |d, typmod, explicit, cx| spell(d, Name, typmod, explicit, cx),
                _ => |d, typmod, explicit, cx| spell(d, Text, typmod, explicit, cx),
            });
            casts.push(def(Array(from), string, CastContext::Assignment, spell, false));
            let parse = CastEval::Parse(Array(from));
            casts.push(def(string, Array(from), CastContext::Explicit, parse, true));
        }
    }
    casts
}

fn spell<'a>(
    datum: Datum<'a>,
    to: ScalarType,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let Datum::Array(element, _) = datum else { return Ok(datum) };
    let mut spelled = String::new();
    format_text(&datum, Array(element), cx.settings, &mut spelled);
    fit(to, cx.arena.alloc_str(&spelled), typmod, explicit, cx.arena)
}
