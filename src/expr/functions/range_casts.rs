//! Conversions of ranges and multiranges: to text and back, and of one range to a multirange.

use crate::expr::cast::{CastContext, CastDef, CastEval};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::range;
use crate::expr::functions::string_casts::fit;
use crate::repr::ScalarType::{self, *};
use crate::repr::range::Multirange as Several;
use crate::repr::text::format_text;
use crate::repr::{Datum, RangeKind};

/// The conversions, made once.
pub(super) fn casts() -> Vec<CastDef> {
    let mut casts = vec![];
    for kind in RangeKind::ALL {
        casts.push(
            CastDef::explicit(Range(kind), Multirange(kind), |d, _, _, cx| {
                let range = range(d);
                Ok(Several::of(range.kind, [range]).datum_in(cx.arena))
            })
            .total(),
        );
        for ty in [Range(kind), Multirange(kind)] {
            casts.extend([
                CastDef::assignment(ty, Text, |d, typmod, explicit, cx| {
                    spell(d, Text, typmod, explicit, cx)
                })
                .total(),
                CastDef::assignment(ty, Varchar, |d, typmod, explicit, cx| {
                    spell(d, Varchar, typmod, explicit, cx)
                })
                .total(),
                CastDef::assignment(ty, Bpchar, |d, typmod, explicit, cx| {
                    spell(d, Bpchar, typmod, explicit, cx)
                })
                .total(),
                CastDef::assignment(ty, Name, |d, typmod, explicit, cx| {
                    spell(d, Name, typmod, explicit, cx)
                })
                .total(),
            ]);
            casts.extend([Text, Varchar, Bpchar, Name].map(|from| CastDef {
                from,
                to: ty,
                context: CastContext::Explicit,
                nullable: false,
                fallible: true,
                eval: CastEval::Parse(ty),
            }));
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
    let from = match datum {
        Datum::Range(kind, _) => Range(kind),
        Datum::Multirange(kind, _) => Multirange(kind),
        other => return Ok(other),
    };
    let mut spelled = String::new();
    format_text(&datum, from, cx.settings, &mut spelled);
    fit(to, cx.arena.alloc_str(&spelled), typmod, explicit, cx.arena)
}
