//! The order-preserving encoding of keys.

use serde::{Deserialize, Serialize};

/// How a key treats NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeyMode {
    /// It has none, and no marker.
    Strict,
    /// One marker byte a part; NULL last.
    NullSafe,
}
