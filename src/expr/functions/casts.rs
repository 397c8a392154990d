//! Conversions between types.

use crate::expr::cast::CastDef;
use crate::repr::ScalarType;

/// The conversion between two types, if there is one.
pub fn find(_from: ScalarType, _to: ScalarType) -> Option<&'static CastDef> {
    None
}
