//! Rows as tables keep them: the key and the value of an arrangement, and back.

use bumpalo::Bump;

use crate::error::{Error, Result};
use crate::expr::func::EvalContext;
use crate::plan::physical::{Arrangement, Source};
use crate::repr::key::{KeyMode, decode_key, encode_key};
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, encode_values};
use crate::repr::{Datum, Row, ScalarType};

/// Encodes rows in one layout.
pub(super) struct RowEncoder<'l> {
    layout: &'l Arrangement,
    key: Vec<u8>,
    value: Vec<u8>,
    settings: FormatSettings,
}

impl<'l> RowEncoder<'l> {
    /// An encoder for a layout.
    pub(super) fn new(layout: &'l Arrangement) -> RowEncoder<'l> {
        let settings = FormatSettings::default();
        RowEncoder { layout, key: Vec::new(), value: Vec::new(), settings }
    }

    /// The key and the value of a row with all columns of the relation.
    ///
    /// Errors: XX000 on NULL in a key that can have none; whoever makes rows has looked.
    pub(super) fn encode(&mut self, datums: &[Datum<'_>]) -> Result<(Row, Row)> {
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: &self.settings };
        let mut parts = Vec::with_capacity(self.layout.types.len());
        for expr in &self.layout.key {
            parts.push(expr.eval(datums, &cx)?);
        }
        if self.layout.mode == KeyMode::Strict && parts.iter().any(Datum::is_null) {
            return Err(Error::internal("a row has no key"));
        }
        self.key.clear();
        encode_key(self.layout.mode, &self.layout.key_types, &parts, &mut self.key);
        parts.clear();
        parts.extend(self.layout.value.iter().map(|column| datums[*column]));
        self.value.clear();
        encode_values(&parts, &mut self.value);
        Ok((Row::new(&self.key), Row::new(&self.value)))
    }
}

/// Decodes rows of one layout.
pub(super) struct RowDecoder<'l> {
    layout: &'l Arrangement,
    /// Of the key's parts up to the last that is read back from it.
    key_types: Vec<ScalarType>,
    value_types: Vec<ScalarType>,
}

impl<'l> RowDecoder<'l> {
    /// A decoder for a layout.
    pub(super) fn new(layout: &'l Arrangement) -> RowDecoder<'l> {
        let value_types = layout.value.iter().map(|column| layout.types[*column]).collect();
        let parts = layout.columns.iter().map(|column| match column {
            Source::Key(part) => part + 1,
            Source::Value(_) => 0,
        });
        let key_types = layout.key_types[..parts.max().unwrap_or(0)].to_vec();
        RowDecoder { layout, key_types, value_types }
    }

    /// All columns of the relation.
    pub(super) fn decode<'a>(&self, key: &'a Row, value: &'a Row) -> Vec<Datum<'a>> {
        let mut parts = Vec::new();
        decode_key(self.layout.mode, &self.key_types, key.bytes(), &mut parts);
        let first = parts.len();
        decode_values(&self.value_types, value.bytes(), &mut parts);
        let find = |source: &Source| match *source {
            Source::Key(at) => parts[at],
            Source::Value(at) => parts[first + at],
        };
        self.layout.columns.iter().map(find).collect()
    }
}
