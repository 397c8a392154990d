//! Which ranges there are.

use serde::{Deserialize, Serialize};

use crate::repr::ScalarType;

/// What a range is of, by PostgreSQL's name of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // Each variant is the range type of that name.
pub enum RangeKind {
    Int4,
    Int8,
    Num,
    Ts,
    Tstz,
    Date,
}

impl RangeKind {
    /// All of them, in the order of declaration.
    pub const ALL: [RangeKind; 6] = [
        RangeKind::Int4,
        RangeKind::Int8,
        RangeKind::Num,
        RangeKind::Ts,
        RangeKind::Tstz,
        RangeKind::Date,
    ];

    /// The type of the bounds.
    pub const fn subtype(self) -> ScalarType {
        match self {
            RangeKind::Int4 => ScalarType::Int4,
            RangeKind::Int8 => ScalarType::Int8,
            RangeKind::Num => ScalarType::Numeric,
            RangeKind::Ts => ScalarType::Timestamp,
            RangeKind::Tstz => ScalarType::TimestampTz,
            RangeKind::Date => ScalarType::Date,
        }
    }

    /// Whether each value has a next one, so that ranges have a canonical form.
    pub const fn is_discrete(self) -> bool {
        matches!(self, RangeKind::Int4 | RangeKind::Int8 | RangeKind::Date)
    }
}

impl ScalarType {
    /// The ranges whose bounds are of this type.
    pub fn range_kind(self) -> Option<RangeKind> {
        RangeKind::ALL.into_iter().find(|kind| kind.subtype() == self)
    }

    /// What the bounds of this range type are.
    pub const fn range_subtype(self) -> Option<ScalarType> {
        match self {
            ScalarType::Range(kind) => Some(kind.subtype()),
            _ => None,
        }
    }

    /// What the bounds of this multirange type are.
    pub const fn multirange_subtype(self) -> Option<ScalarType> {
        match self {
            ScalarType::Multirange(kind) => Some(kind.subtype()),
            _ => None,
        }
    }
}

/// The range types under the names that tables of functions give them.
pub mod names {
    use super::RangeKind;
    use crate::repr::ScalarType::{self, Multirange, Range};

    macro_rules! names {
        ($($range:ident $multirange:ident $kind:ident)*) => {$(
            #[allow(missing_docs)] // PostgreSQL's type of that name.
            pub const $range: ScalarType = Range(RangeKind::$kind);
            #[allow(missing_docs)] // PostgreSQL's type of that name.
            pub const $multirange: ScalarType = Multirange(RangeKind::$kind);
        )*};
    }

    names! {
        INT4RANGE INT4MULTIRANGE Int4
        INT8RANGE INT8MULTIRANGE Int8
        NUMRANGE NUMMULTIRANGE Num
        TSRANGE TSMULTIRANGE Ts
        TSTZRANGE TSTZMULTIRANGE Tstz
        DATERANGE DATEMULTIRANGE Date
    }
}
