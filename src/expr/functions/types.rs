//! Categories of types, implicit conversion, and the type that several values agree on.

use crate::error::{Error, Result, SqlState};
use crate::expr::cast::{Cast, CastContext};
use crate::repr::ScalarType;

/// PostgreSQL's `pg_type.typcategory`, of which resolution prefers one type each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each variant is PostgreSQL's category of that name.
pub enum Category {
    Array,
    BitString,
    Boolean,
    Composite,
    DateTime,
    Network,
    Enum,
    Numeric,
    Range,
    String,
    Timespan,
    UserDefined,
    Internal,
}

impl Category {
    /// The letter in `pg_type`.
    pub const fn letter(self) -> char {
        match self {
            Category::Array => 'A',
            Category::BitString => 'V',
            Category::Boolean => 'B',
            Category::Composite => 'C',
            Category::DateTime => 'D',
            Category::Network => 'I',
            Category::Enum => 'E',
            Category::Numeric => 'N',
            Category::Range => 'R',
            Category::String => 'S',
            Category::Timespan => 'T',
            Category::UserDefined => 'U',
            Category::Internal => 'Z',
        }
    }
}

/// The category of a type.
pub const fn category(ty: ScalarType) -> Category {
    use ScalarType::*;
    match ty {
        Char => Category::Internal,
        Xid => Category::UserDefined,
        RegProc | RegProcedure | RegOper | RegOperator => Category::Numeric,
        RegClass | RegType | RegRole | RegNamespace => Category::Numeric,
        Bool => Category::Boolean,
        Date | Time | TimeTz | Timestamp | TimestampTz | TimestampNs => Category::DateTime,
        Int2 | Int4 | Int8 | Float4 | Float8 | Numeric | Oid => Category::Numeric,
        Text | Varchar | Bpchar | Name => Category::String,
        Interval => Category::Timespan,
        Bytea | Uuid | Jsonb | Json | JsonPath | Macaddr => Category::UserDefined,
        Bit | Varbit => Category::BitString,
        Inet | Cidr => Category::Network,
        Range(_) | Multirange(_) => Category::Range,
        Array(_) => Category::Array,
        Enum(_) => Category::Enum,
        Record(_) => Category::Composite,
    }
}

/// Whether a type is preferred in its category.
pub const fn is_preferred(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, Bool | Float8 | Oid | Text | TimestampTz | Interval | Varbit | Inet)
}

/// Whether a value converts without being asked to; what has no type yet (`None`) always does.
pub fn is_coercible(from: Option<ScalarType>, to: ScalarType) -> bool {
    match from {
        None => true,
        Some(from) if from == to => true,
        Some(from) => {
            Cast::find(from, to).is_some_and(|cast| cast.context == CastContext::Implicit)
        }
    }
}

/// The type that the results of `construct` (CASE, UNION, ...) have together: PostgreSQL's
/// `select_common_type`. What has no type yet (`None`) follows; all of them together are text.
pub fn common_type(construct: &str, types: &[Option<ScalarType>]) -> Result<ScalarType> {
    let mut known = types.iter().flatten().copied();
    let Some(mut common) = known.next() else { return Ok(ScalarType::Text) };
    for ty in known {
        if ty == common {
            continue;
        }
        if category(ty) != category(common) {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "{construct} types {} and {} cannot be matched",
                    common.display_name(),
                    ty.display_name()
                ),
            ));
        }
        if !is_preferred(common)
            && is_coercible(Some(common), ty)
            && !is_coercible(Some(ty), common)
        {
            common = ty;
        }
    }
    match types.iter().flatten().find(|ty| !is_coercible(Some(**ty), common)) {
        None => Ok(common),
        Some(ScalarType::Record(_)) => Err(Error::unsupported(
            format!("{construct} of rows whose columns are of other types"),
            "Convert the columns, so that they are of the same types in all rows.",
        )),
        Some(ty) => Err(Error::new(
            SqlState::CANNOT_COERCE,
            format!(
                "{construct} could not convert type {} to {}",
                ty.display_name(),
                common.display_name()
            ),
        )),
    }
}
