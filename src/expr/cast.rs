//! Conversions between types, as `pg_cast` has them.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::casts;
use crate::repr::{Datum, ScalarType};

/// Where a conversion applies without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// Where a value is stored into a column.
    Assignment,
    /// Nowhere.
    Explicit,
}

/// Computes a conversion of a datum that is not NULL to a type modifier; the last argument says
/// whether the conversion was written.
pub type CastFn =
    for<'a> fn(Datum<'a>, i32, bool, &EvalContext<'a>) -> Result<Datum<'a>, EvalError>;

/// A conversion. `from == to` is the application of a type modifier (`varchar(3)`).
#[derive(Debug)]
pub struct CastDef {
    /// The type of the input.
    pub from: ScalarType,
    /// The type of the output.
    pub to: ScalarType,
    /// Where it applies without being written.
    pub context: CastContext,
    /// Whether it can fail.
    pub fallible: bool,
    /// The computation.
    pub eval: CastFn,
}

/// A reference to a [`CastDef`]; travels as the pair of types.
#[derive(Clone, Copy)]
pub struct Cast(pub &'static CastDef);

impl Cast {
    /// The conversion between two types, if there is one.
    pub fn find(from: ScalarType, to: ScalarType) -> Option<Cast> {
        casts::find(from, to).map(Cast)
    }
}

impl std::ops::Deref for Cast {
    type Target = CastDef;
    fn deref(&self) -> &CastDef {
        self.0
    }
}

impl fmt::Debug for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.from.name(), self.to.name())
    }
}

impl PartialEq for Cast {
    fn eq(&self, other: &Cast) -> bool {
        (self.from, self.to) == (other.from, other.to)
    }
}

impl Eq for Cast {}

impl Hash for Cast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.from, self.to).hash(state);
    }
}

impl Serialize for Cast {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.from, self.to).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cast {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cast, D::Error> {
        let (from, to) = <(ScalarType, ScalarType)>::deserialize(deserializer)?;
        Cast::find(from, to)
            .ok_or_else(|| D::Error::custom(format!("no cast from {from:?} to {to:?}")))
    }
}
