//! Representation: what a datum, a row, a type, an id and a time are.
//!
//! Floor 0: imports nothing of Weir but [`crate::error`]. Encoding is by schema, not by tags: a
//! relation's rows are read with its list of [`scalar::ScalarType`]s.

pub mod array;
pub mod binary;
pub mod bits;
pub mod bytea;
pub mod datetime;
pub mod datum;
pub mod enums;
pub mod float;
pub mod ids;
pub mod json;
pub mod jsonb;
pub mod jsonpath;
pub mod key;
pub mod network;
pub mod numeric;
pub mod range;
pub mod record;
pub mod regex;
pub mod row;
pub mod scalar;
pub mod scratch;
pub mod settings;
pub mod text;
pub mod user_type;
pub mod value;

pub use array::ArrayRef;
pub use bits::BitsRef;
pub use datum::{Datum, Interval};
pub use ids::{Diff, GlobalId, Timestamp};
pub use network::Inet;
pub use range::RangeKind;
pub use record::{RecordName, RecordRef, RecordShape, RecordType};
pub use row::Row;
pub use scalar::{ColumnDesc, ColumnType, Element, RelationDesc, ScalarType};
pub use settings::FormatSettings;
pub use user_type::UserType;
