//! Arbitrary-precision decimal numbers.

/// A numeric in its value encoding.
#[derive(Clone, Copy, Debug)]
pub struct NumericRef<'a>(pub &'a [u8]);
