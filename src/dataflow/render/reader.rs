//! From bytes to datums: how operators read rows.
//!
//! Where a column lies is known beforehand as long as all columns before it are of fixed width and
//! none of them is NULL, and so it is in most rows. A [`RowReader`] keeps those places: it looks at
//! the bytes that tell of NULLs, and then reads each wanted column from its place. Any other row is
//! decoded from its start.

use crate::expr::mfp::Mfp;
use crate::plan::physical::{Arrangement, Source};
use crate::repr::key::{KeyMode, decode_key_first, decode_key_wanted};
use crate::repr::scratch::DatumVec;
use crate::repr::value::{GROUP, decode_first, decode_values, decode_wanted};
use crate::repr::{Datum, ScalarType};

/// Reads the columns of a row from where it lies; those that nobody wants read as NULL.
pub struct RowReader {
    key_mode: KeyMode,
    key_types: Vec<ScalarType>,
    key_wanted: Vec<bool>,
    value_types: Vec<ScalarType>,
    value_wanted: Vec<bool>,
    /// Where each column is; none where the value is the row.
    columns: Option<Vec<Source>>,
    arity: usize,
    places: Option<Places>,
    parts: DatumVec,
}

/// Where the columns of rows lie in which nothing is NULL up to the last wanted column.
struct Places {
    /// Bytes that are zero in such rows, and the bits of them that count: of the key, of the value.
    zero: [Vec<(usize, u8)>; 2],
    columns: Vec<Place>,
}

/// Where a column lies.
#[derive(Clone, Copy)]
enum Place {
    Unwanted,
    Key(usize, ScalarType),
    Value(usize, ScalarType),
}

impl RowReader {
    /// Reads rows whose value is the whole row.
    pub fn whole(types: &[ScalarType]) -> RowReader {
        RowReader {
            key_mode: KeyMode::Strict,
            key_types: Vec::new(),
            key_wanted: Vec::new(),
            value_types: types.to_vec(),
            value_wanted: Vec::new(),
            columns: None,
            arity: types.len(),
            places: None,
            parts: DatumVec::new(),
        }
        .only(&vec![true; types.len()])
    }

    /// Reads rows of an arrangement.
    pub fn arranged(layout: &Arrangement) -> RowReader {
        RowReader {
            key_mode: layout.mode,
            key_types: layout.key_types.clone(),
            key_wanted: Vec::new(),
            value_types: layout.value.iter().map(|c| layout.types[*c]).collect(),
            value_wanted: Vec::new(),
            columns: Some(layout.columns.clone()),
            arity: layout.types.len(),
            places: None,
            parts: DatumVec::new(),
        }
        .only(&vec![true; layout.types.len()])
    }

    /// Passes over the columns that are not wanted.
    pub fn only(mut self, wanted: &[bool]) -> RowReader {
        // What lies behind the last wanted part is not even looked at.
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for (column, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let (list, at) = match self.source(column) {
                Source::Key(at) => (&mut key, at),
                Source::Value(at) => (&mut value, at),
            };
            list.resize(list.len().max(at + 1), false);
            list[at] = true;
        }
        (self.key_wanted, self.value_wanted) = (key, value);
        self.places = self.find_places(wanted);
        self
    }

    /// Passes over the columns that `mfp` does not use, from `offset` on in its input.
    pub fn for_mfp(self, mfp: &Mfp, offset: usize) -> RowReader {
        let mut wanted = vec![false; self.arity];
        for column in mfp.input_columns() {
            if let Some(wanted) = column.checked_sub(offset).and_then(|c| wanted.get_mut(c)) {
                *wanted = true;
            }
        }
        self.only(&wanted)
    }

    fn source(&self, column: usize) -> Source {
        self.columns.as_ref().map_or(Source::Value(column), |columns| columns[column])
    }

    /// The places of all wanted columns, if each has one.
    fn find_places(&self, wanted: &[bool]) -> Option<Places> {
        let (key, key_zero) = self.key_places();
        let (value, value_zero) = self.value_places();
        let places = wanted.iter().enumerate().map(|(column, wanted)| match self.source(column) {
            _ if !wanted => Some(Place::Unwanted),
            Source::Key(at) => Some(Place::Key(*key.get(at)?, self.key_types[at])),
            Source::Value(at) => Some(Place::Value(*value.get(at)?, self.value_types[at])),
        });
        let columns = places.collect::<Option<Vec<Place>>>()?;
        Some(Places { zero: [key_zero, value_zero], columns })
    }

    /// The places of the first columns of the key, and the markers on the way.
    fn key_places(&self) -> (Vec<usize>, Vec<(usize, u8)>) {
        let (mut places, mut zero, mut at) = (Vec::new(), Vec::new(), 0);
        for ty in &self.key_types[..self.key_wanted.len()] {
            if self.key_mode == KeyMode::NullSafe {
                zero.push((at, u8::MAX));
                at += 1;
            }
            places.push(at);
            let Some(width) = ty.key_width() else { break };
            at += width;
        }
        (places, zero)
    }

    /// The places of the first columns of the value, and the NULL bits on the way.
    fn value_places(&self) -> (Vec<usize>, Vec<(usize, u8)>) {
        let (mut places, mut zero, mut at) = (Vec::new(), Vec::new(), 0);
        for (column, ty) in self.value_types[..self.value_wanted.len()].iter().enumerate() {
            if column % GROUP == 0 {
                zero.push((at, 0));
                at += 1;
            }
            if let Some((_, bits)) = zero.last_mut() {
                *bits |= 1 << (column % GROUP);
            }
            places.push(at);
            let Some(width) = ty.value_width() else { break };
            at += width;
        }
        (places, zero)
    }

    /// Appends the columns of a row to `out`.
    #[inline]
    pub fn read<'a>(&'a mut self, key: &'a [u8], value: &'a [u8], out: &mut Vec<Datum<'a>>) {
        if let Some(Places { zero: [key_zero, value_zero], columns }) = &self.places
            && key_zero.iter().all(|(at, bits)| key[*at] & bits == 0)
            && value_zero.iter().all(|(at, bits)| value[*at] & bits == 0)
        {
            out.extend(columns.iter().map(|place| match *place {
                Place::Unwanted => Datum::Null,
                Place::Key(at, ty) => decode_key_first(ty, &key[at..]),
                Place::Value(at, ty) => decode_first(ty, &value[at..]),
            }));
        } else {
            self.decode(key, value, out);
        }
    }

    /// Reads a row from its start.
    fn decode<'a>(&'a mut self, key: &'a [u8], value: &'a [u8], out: &mut Vec<Datum<'a>>) {
        let Some(columns) = &self.columns else {
            let end = out.len() + self.arity;
            if self.value_wanted.len() == self.arity && self.value_wanted.iter().all(|w| *w) {
                decode_values(&self.value_types, value, out);
            } else {
                decode_wanted(&self.value_types, &self.value_wanted, value, out);
                out.resize(end, Datum::Null);
            }
            return;
        };
        let mut parts = self.parts.borrow();
        decode_key_wanted(self.key_mode, &self.key_types, &self.key_wanted, key, &mut parts);
        decode_wanted(&self.value_types, &self.value_wanted, value, &mut parts);
        let values = self.key_wanted.len();
        out.extend(columns.iter().map(|source| match *source {
            Source::Key(at) if at < values => parts[at],
            Source::Key(_) => Datum::Null,
            Source::Value(at) => parts.get(values + at).copied().unwrap_or(Datum::Null),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::scalar::Expr;
    use crate::repr::key::encode_key;
    use crate::repr::value::encode_values;

    #[test]
    fn places_give_what_decoding_gives() {
        use ScalarType::{Bool, Int2, Int4, Int8, Text};
        let types = [Int4, Text, Int8, Bool, Int2, Int4, Int4, Int4, Int4, Int4, Text, Int2];
        let value: Vec<usize> = (0..types.len()).filter(|c| *c != 2 && *c != 4).collect();
        let columns = (0..types.len()).map(|c| match c {
            2 => Source::Key(0),
            4 => Source::Key(1),
            other => Source::Value(value.iter().position(|v| *v == other).unwrap()),
        });
        let layout = Arrangement {
            types: types.to_vec(),
            key: vec![Expr::Column(2), Expr::Column(4)],
            key_types: vec![Int8, Int2],
            mode: KeyMode::NullSafe,
            columns: columns.collect(),
            value,
        };
        let row: Vec<Datum<'_>> = types
            .iter()
            .zip(1..)
            .map(|(ty, n)| match ty {
                Int4 => Datum::Int4(n),
                Int8 => Datum::Int8(n.into()),
                Int2 => Datum::Int2(n as i16),
                Bool => Datum::Bool(n % 2 == 0),
                _ => Datum::Text("some text"),
            })
            .collect();
        for null in 0..=types.len() {
            let mut row = row.clone();
            row.iter_mut().skip(null).take(1).for_each(|datum| *datum = Datum::Null);
            let (mut key, mut bytes, mut whole) = (Vec::new(), Vec::new(), Vec::new());
            encode_key(layout.mode, &layout.key_types, &[row[2], row[4]], &mut key);
            let values: Vec<_> = layout.value.iter().map(|c| row[*c]).collect();
            encode_values(&values, &mut bytes);
            encode_values(&row, &mut whole);
            for wanted in 0..1usize << types.len() {
                let wanted: Vec<bool> = (0..types.len()).map(|c| wanted >> c & 1 == 1).collect();
                let expected = row.iter().zip(&wanted);
                let expected: Vec<_> =
                    expected.map(|(d, w)| if *w { *d } else { Datum::Null }).collect();
                let mut reader = RowReader::arranged(&layout).only(&wanted);
                let mut found = Vec::new();
                reader.read(&key, &bytes, &mut found);
                assert_eq!(found, expected);
                let mut reader = RowReader::whole(&types).only(&wanted);
                let mut found = Vec::new();
                reader.read(&[], &whole, &mut found);
                assert_eq!(found, expected);
            }
        }
    }
}
