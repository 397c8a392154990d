//! What the polymorphic types of one signature stand for in a call: PostgreSQL's
//! `check_generic_type_consistency` and `enforce_generic_type_consistency`.
//!
//! `anyelement`, `anyarray` and `anynonarray` stand for exactly one element type, `anyrange` and
//! `anymultirange` for the ranges of it. The
//! `anycompatible` types stand for the common type of what is given for them. An argument without a
//! type follows.

use crate::expr::functions::types::common_type;
use crate::expr::polymorphic::Slot;
use crate::repr::{Element, ScalarType};

/// Why polymorphic types stand for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// The arguments do not fit together: the function is not meant.
    Inconsistent,
    /// No argument has a type.
    Unknown,
    /// They stand for elements of arrays that are arrays.
    NoArrayOf(ScalarType),
}

/// The element type that the slots stand for, given the arguments' types.
pub(super) fn element(slots: &[Slot], args: &[Option<ScalarType>]) -> Result<Element, Unresolved> {
    let pairs = || slots.iter().copied().zip(args.iter().copied());
    let is_compatible = slots.iter().any(|slot| slot.is_compatible());
    let mut known = vec![];
    for (slot, arg) in pairs().filter(|(slot, _)| slot.is_polymorphic()) {
        let Some(arg) = arg else { continue };
        if !slot.admits(arg) {
            return Err(Unresolved::Inconsistent);
        }
        known.push(slot.part_of(arg).ok_or(Unresolved::Inconsistent)?);
    }
    let scalar = match known.as_slice() {
        // Untyped arguments together are text for the one family, and nothing for the other.
        [] if is_compatible => ScalarType::Text,
        [] => return Err(Unresolved::Unknown),
        known if is_compatible => {
            let known: Vec<_> = known.iter().copied().map(Some).collect();
            common_type("", &known).map_err(|_| Unresolved::Inconsistent)?
        }
        // Records of other types are told apart by their fields, when they are compared.
        [first, ..] if slots.contains(&Slot::AnyRecord) => *first,
        [first, rest @ ..] if rest.iter().all(|other| other == first) => *first,
        _ => return Err(Unresolved::Inconsistent),
    };
    if slots.iter().any(|slot| slot.is_range()) && scalar.range_kind().is_none() {
        return Err(Unresolved::Inconsistent);
    }
    match scalar.as_element() {
        Some(element) => Ok(element),
        None if slots.contains(&Slot::AnyNonArray) || slots.iter().any(|slot| slot.is_array()) => {
            Err(Unresolved::Inconsistent)
        }
        None => Err(Unresolved::NoArrayOf(scalar)),
    }
}
