//! Binary JSON.

/// A jsonb in its value encoding.
#[derive(Clone, Copy, Debug)]
pub struct JsonbRef<'a>(pub &'a [u8]);
