//! How values are spelled.

use serde::{Deserialize, Serialize};

/// What the text forms of values depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatSettings {}
