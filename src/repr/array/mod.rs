//! Arrays: any number of elements of one type, in up to six dimensions.
//!
//! An array's bytes are read with its element type, which its own type says; a
//! [`Datum::Array`](crate::repr::Datum::Array) carries it beside the bytes. No bytes at all are the
//! empty array, which has no dimensions. Otherwise a byte tells the number of dimensions and which
//! of the rest is there; then come the lengths, the lower bounds unless all are 1, a bit for each
//! element that is NULL unless none is, and the other elements in the value encoding, the last
//! dimension fastest. So the bytes of equal arrays differ only where their elements' do, and
//! elements of fixed width are found without reading those before them.

mod binary;
mod build;
mod dims;
mod text;
mod view;

pub(super) use binary::{format_binary, parse_binary};
pub use build::ArrayBuilder;
pub use dims::{DIMS_MAX, Dims};
pub(super) use text::{format_text, parse_text};
pub use view::{ArrayIter, ArrayRef};
