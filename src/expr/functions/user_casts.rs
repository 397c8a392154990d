//! Conversions from and to types that are not built in, made when they are first asked for: to and
//! from strings by the text form, between records field by field, between arrays as their elements.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use crate::expr::cast::{CastContext, CastDef, CastEval};
use crate::expr::functions::casts;
use crate::expr::functions::string_casts::fit;
use crate::expr::functions::text::type_of;
use crate::repr::RecordType;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::format_text;

type Made = HashMap<(ScalarType, ScalarType), Option<&'static CastDef>>;

/// The conversion between two types of which one is not built in.
pub(super) fn find(from: ScalarType, to: ScalarType) -> Option<&'static CastDef> {
    static MADE: OnceLock<RwLock<Made>> = OnceLock::new();
    const UNPOISONED: &str = "nothing panics while it holds the conversions";
    let made = MADE.get_or_init(RwLock::default);
    if let Some(known) = made.read().expect(UNPOISONED).get(&(from, to)) {
        return *known;
    }
    let cast = make(from, to).map(|cast| &*Box::leak(Box::new(cast)));
    *made.write().expect(UNPOISONED).entry((from, to)).or_insert(cast)
}

fn make(from: ScalarType, to: ScalarType) -> Option<CastDef> {
    let def =
        |context, eval, fallible| CastDef { from, to, context, nullable: false, fallible, eval };
    match (from, to) {
        (Record(a), Record(b)) => of_records(a, b).map(|(inner, fallible)| {
            def(CastContext::Implicit, CastEval::Fields(b, inner.leak()), fallible)
        }),
        (Array(a), Array(b)) => {
            let inner = casts::find(a.scalar(), b.scalar())?;
            Some(def(inner.context, CastEval::Elements(inner), inner.fallible))
        }
        (from, Text | Varchar | Bpchar | Name) if !from.is_built_in() => {
            Some(def(CastContext::Assignment, spelled(to), false))
        }
        (Text | Varchar | Bpchar | Name, to) if !to.is_built_in() => {
            Some(def(CastContext::Explicit, CastEval::Parse(to), true))
        }
        _ => None,
    }
}

/// How each field becomes another's, none where it is of the type already; and whether one can
/// fail. None where the records do not convert: two types with names never do.
fn of_records(a: RecordType, b: RecordType) -> Option<(Vec<Option<&'static CastDef>>, bool)> {
    let is_named_twice = !a.is_anonymous() && !b.is_anonymous() && a.name() != b.name();
    if is_named_twice || a.scalars().len() != b.scalars().len() {
        return None;
    }
    let mut inner = vec![];
    for ((from, to), field) in a.scalars().iter().zip(b.scalars()).zip(b.fields()) {
        // A modifier is applied by the conversion of a type to itself.
        let is_same = from == to && field.ty.typmod == -1;
        match casts::find(*from, *to) {
            _ if is_same => inner.push(None),
            Some(cast) if from == to || !b.is_anonymous() => inner.push(Some(cast)),
            None if from == to => inner.push(None),
            _ => return None,
        }
    }
    let modified = b.fields().iter().any(|field| field.ty.typmod != -1);
    let fallible = modified || inner.iter().flatten().any(|cast| cast.fallible);
    Some((inner, fallible))
}

fn spelled(to: ScalarType) -> CastEval {
    macro_rules! to {
        ($to:ident) => {
            CastEval::Plain(|datum, typmod, explicit, cx| {
                let mut text = String::new();
                format_text(&datum, type_of(&datum), cx.settings, &mut text);
                fit($to, cx.arena.alloc_str(&text), typmod, explicit, cx.arena)
            })
        };
    }
    match to {
        Varchar => to!(Varchar),
        Bpchar => to!(Bpchar),
        Name => to!(Name),
        _ => to!(Text),
    }
}
