//! The formats of COPY: text, CSV and binary, by PostgreSQL 15's rules.
//!
//! * [`reader`] — bytes in arbitrary pieces in, rows out
//! * [`mod@line`] — where a line of text or CSV ends
//! * [`fields`] — a line's fields, with quotes and escapes resolved
//! * [`binary`] — the tuples of the binary format
//! * [`writer`] — rows in, bytes out
//!
//! A line is looked for first and split then, as PostgreSQL does it, because that order decides
//! which of two faults is reported. Fields are borrowed from the input unless they hold quotes or
//! escapes; nothing is allocated for a field or a row but the row itself.

pub mod binary;
#[cfg(test)]
mod cases;
pub mod fields;
pub mod line;
pub mod reader;
#[cfg(test)]
mod roundtrip;
pub mod writer;

pub use reader::CopyReader;
pub use writer::CopyWriter;
