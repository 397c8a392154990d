//! The shape of an array: the length and the lower bound of each dimension.

use crate::error::{Error, Result, SqlState};

/// The dimensions that an array has at most.
pub const DIMS_MAX: usize = 6;
/// The elements that an array has at most: as many as PostgreSQL's pointers fit into a gigabyte.
const ITEMS_MAX: i64 = 0x3fff_ffff / 8;

/// The lengths and lower bounds of an array's dimensions; none where it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dims {
    count: u8,
    lengths: [i32; DIMS_MAX],
    lowers: [i32; DIMS_MAX],
}

impl Dims {
    /// The shape of the empty array.
    pub const EMPTY: Dims = Dims { count: 0, lengths: [0; DIMS_MAX], lowers: [0; DIMS_MAX] };

    /// One dimension that counts from 1; the empty shape for a length of 0.
    pub fn vector(length: usize) -> Dims {
        let mut dims = Dims::EMPTY;
        if length > 0 {
            dims.push(length as i32, 1);
        }
        dims
    }

    /// The shape of these lengths and lower bounds; empty where a length is 0.
    ///
    /// # Errors
    ///
    /// 54000 for too many dimensions or elements, or a bound beyond integers.
    pub fn checked(lengths: &[i32], lowers: &[i32]) -> Result<Dims> {
        if lengths.len() > DIMS_MAX {
            return Err(too_many_dims(lengths.len()));
        }
        let mut items = 1i64;
        for length in lengths {
            items *= i64::from(*length);
            if *length < 0 || items > ITEMS_MAX {
                return Err(too_large());
            }
        }
        let mut dims = Dims::EMPTY;
        for (length, lower) in lengths.iter().zip(lowers) {
            if lower.checked_add(*length).is_none() {
                let message = format!("array lower bound is too large: {lower}");
                return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
            dims.push(*length, *lower);
        }
        Ok(if items == 0 { Dims::EMPTY } else { dims })
    }

    /// Adds a dimension inside the others.
    pub fn push(&mut self, length: i32, lower: i32) {
        let at = usize::from(self.count);
        (self.lengths[at], self.lowers[at]) = (length, lower);
        self.count += 1;
    }

    /// The number of dimensions.
    pub fn count(&self) -> usize {
        self.count.into()
    }

    /// The lengths, outermost first.
    pub fn lengths(&self) -> &[i32] {
        &self.lengths[..self.count()]
    }

    /// The lower bounds, outermost first.
    pub fn lowers(&self) -> &[i32] {
        &self.lowers[..self.count()]
    }

    /// The upper bound of a dimension.
    pub fn upper(&self, dim: usize) -> i32 {
        self.lowers[dim] + self.lengths[dim] - 1
    }

    /// The number of elements.
    pub fn items(&self) -> usize {
        match self.lengths() {
            [] => 0,
            lengths => lengths.iter().map(|length| *length as usize).product(),
        }
    }

    /// The place of an element among all; none where a subscript is out of range.
    pub fn offset(&self, subscripts: &[i32]) -> Option<usize> {
        if subscripts.len() != self.count() {
            return None;
        }
        let mut offset = 0;
        for (dim, subscript) in subscripts.iter().enumerate() {
            let place = i64::from(*subscript) - i64::from(self.lowers[dim]);
            if place < 0 || place >= i64::from(self.lengths[dim]) {
                return None;
            }
            offset = offset * self.lengths[dim] as usize + place as usize;
        }
        Some(offset)
    }
}

/// Error 54000: PostgreSQL's limit of dimensions.
pub(super) fn too_many_dims(count: usize) -> Error {
    let message =
        format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Error 54000: PostgreSQL's limit of elements.
fn too_large() -> Error {
    let message = format!("array size exceeds the maximum allowed ({ITEMS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}
