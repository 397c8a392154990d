//! Order, equality and containment of documents.

use std::cmp::Ordering;

use super::build::JsonbBuilder;
use super::view::{JsonbItem, JsonbRef};
use crate::repr::numeric::Numeric;

impl JsonbItem<'_> {
    /// PostgreSQL's order of kinds.
    fn rank(&self) -> u8 {
        match self {
            JsonbItem::Null => 0,
            JsonbItem::String(_) => 1,
            JsonbItem::Number(_) => 2,
            JsonbItem::Bool(_) => 3,
            JsonbItem::Array(_) => 4,
            JsonbItem::Object(_) => 5,
        }
    }
}

impl<'a> JsonbRef<'a> {
    /// PostgreSQL's btree order.
    ///
    /// Kinds come first, then sizes, then the parts in order. An empty array at the top is before
    /// every scalar there, though inside a document it is behind: PostgreSQL treats a scalar at the
    /// top as an array of one.
    pub fn compare(self, other: JsonbRef<'_>) -> Ordering {
        match (self.item(), other.item()) {
            (JsonbItem::Array(a), b) if a.is_empty() && b.rank() < 4 => Ordering::Less,
            (a, JsonbItem::Array(b)) if b.is_empty() && a.rank() < 4 => Ordering::Greater,
            _ => compare_inner(self, other),
        }
    }

    /// Appends an encoding that is the same for equal documents: numbers lose their scales.
    pub fn normalise(self, out: &mut Vec<u8>) {
        if has_scales(self) {
            let mut builder = JsonbBuilder::new();
            put_normal(self, &mut builder);
            out.extend_from_slice(builder.finish());
        } else {
            out.extend_from_slice(self.0);
        }
    }

    /// Whether this contains `other`: the operator `@>`.
    pub fn contains(self, other: JsonbRef<'_>) -> bool {
        match (self.item(), other.item()) {
            // A scalar is contained in an array at the top, and only there.
            (JsonbItem::Array(a), b) if b.rank() < 4 => {
                a.iter().any(|x| x.is_scalar() && equal(x, other))
            }
            _ => contains_inner(self, other),
        }
    }
}

/// Runs `f` on a stack that grows: documents may lie deeper in each other than a stack is long.
pub(super) fn with_stack<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(64 << 10, 1 << 20, f)
}

fn equal(a: JsonbRef<'_>, b: JsonbRef<'_>) -> bool {
    compare_inner(a, b) == Ordering::Equal
}

fn compare_inner(a: JsonbRef<'_>, b: JsonbRef<'_>) -> Ordering {
    match (a.item(), b.item()) {
        (JsonbItem::String(a), JsonbItem::String(b)) => a.cmp(b),
        (JsonbItem::Number(a), JsonbItem::Number(b)) => a.compare(b),
        (JsonbItem::Bool(a), JsonbItem::Bool(b)) => a.cmp(&b),
        (JsonbItem::Array(a), JsonbItem::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
            let parts = a.iter().zip(b.iter()).map(|(a, b)| with_stack(|| compare_inner(a, b)));
            first_difference(parts)
        }),
        (JsonbItem::Object(a), JsonbItem::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
            let parts = a.iter().zip(b.iter());
            first_difference(parts.map(|((ak, av), (bk, bv))| {
                ak.cmp(bk).then_with(|| with_stack(|| compare_inner(av, bv)))
            }))
        }),
        (a, b) => a.rank().cmp(&b.rank()),
    }
}

fn first_difference(mut parts: impl Iterator<Item = Ordering>) -> Ordering {
    parts.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn contains_inner(a: JsonbRef<'_>, b: JsonbRef<'_>) -> bool {
    match (a.item(), b.item()) {
        (JsonbItem::Array(a), JsonbItem::Array(b)) => b.iter().all(|wanted| {
            a.iter().any(|here| {
                if wanted.is_scalar() {
                    equal(here, wanted)
                } else {
                    with_stack(|| contains_inner(here, wanted))
                }
            })
        }),
        (JsonbItem::Object(a), JsonbItem::Object(b)) => b.iter().all(|(key, wanted)| {
            a.get(key).is_some_and(|here| with_stack(|| contains_inner(here, wanted)))
        }),
        _ => a.is_scalar() && equal(a, b),
    }
}

/// Whether a number inside has digits behind the point that could be zeros.
fn has_scales(json: JsonbRef<'_>) -> bool {
    match json.item() {
        JsonbItem::Number(n) => n.as_small().is_none_or(|(_, dscale)| dscale > 0),
        JsonbItem::Array(a) => a.iter().any(|v| with_stack(|| has_scales(v))),
        JsonbItem::Object(o) => o.iter().any(|(_, v)| with_stack(|| has_scales(v))),
        _ => false,
    }
}

fn put_normal(json: JsonbRef<'_>, out: &mut JsonbBuilder) {
    match json.item() {
        JsonbItem::Number(n) => out.number(&match n.to_owned() {
            Numeric::Finite(d) => Numeric::Finite(d.trim_scale()),
            other => other,
        }),
        JsonbItem::Array(a) => {
            out.begin_array();
            a.iter().for_each(|v| with_stack(|| put_normal(v, out)));
            out.end();
        }
        JsonbItem::Object(o) => {
            out.begin_object();
            for (key, value) in o.iter() {
                out.key(key);
                with_stack(|| put_normal(value, out));
            }
            out.end();
        }
        _ => out.raw(json),
    }
}
