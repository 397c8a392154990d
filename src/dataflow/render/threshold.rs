//! Rows whose count is positive, that often: what `EXCEPT` and `INTERSECT` end with.
//!
//! Rows count together when they are equal as SQL sees it, `1.0` with `1.00`; what goes out then
//! are the least of those written that are there, as many as are left.

use super::rows::{RowSink, Shaper};
use super::window::GroupLogic;
use crate::repr::key::{KeyMode, decode_key, encode_key};
use crate::repr::value::{decode_values, encode_values};
use crate::repr::{Row, ScalarType};

/// Keys rows by all of their columns; what was written is kept where the key does not tell.
pub fn by_whole_row(types: &[ScalarType]) -> Shaper {
    let types = types.to_vec();
    let keep = !is_identity(&types);
    let (mut key, mut value) = (Vec::new(), Vec::new());
    Box::new(move |datums, _, emit| {
        key.clear();
        encode_key(KeyMode::NullSafe, &types, datums, &mut key);
        value.clear();
        if keep {
            encode_values(datums, &mut value);
        }
        emit.ok(Row::new(&key), Row::new(&value));
    })
}

/// Answers with the rows that are left.
pub fn positive_rows(types: &[ScalarType], mut sink: RowSink) -> GroupLogic {
    let types = types.to_vec();
    let identity = is_identity(&types);
    Box::new(move |key, rows, answer| {
        let mut left: i64 = rows.iter().map(|(_, count)| count).sum();
        for (value, count) in rows {
            let count = (*count).min(left);
            if count <= 0 {
                continue;
            }
            left -= count;
            sink.put(count, answer, |_, datums| {
                if identity {
                    decode_key(KeyMode::NullSafe, &types, key, datums);
                } else {
                    decode_values(&types, value.0, datums);
                }
                Ok(())
            });
        }
    })
}

/// Whether a row can be read back from its key.
pub fn is_identity(types: &[ScalarType]) -> bool {
    types.iter().all(|ty| ty.key_is_identity())
}
