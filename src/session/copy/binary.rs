//! The tuples of the binary format, as the reader takes them apart.

use crate::error::{Error, Result, SqlState};

/// What a binary COPY begins with.
pub const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// The flag that older versions set for rows with oids.
const WITH_OIDS: u32 = 1 << 16;

/// What was found at the front of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuple {
    /// Not all of it is there.
    More,
    /// The end: nothing is left, or a trailer.
    End,
    /// A tuple of this many bytes; its fields are known.
    Whole(usize),
    /// A tuple whose later fields are damaged or missing; its first ones are known.
    Broken(&'static str),
}

/// A field's bytes, from the start of the data; none: NULL.
pub type Span = Option<(usize, usize)>;

fn fault(message: impl Into<String>) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

fn int4(data: &[u8], at: usize) -> Option<i32> {
    data.get(at..)?.first_chunk().map(|raw| i32::from_be_bytes(*raw))
}

/// The length of the header at the front of `data`; none: not all of it is there.
///
/// # Errors
///
/// 22P04 for what is no header, or for one that is cut off where the data is `finished`.
pub fn header(data: &[u8], finished: bool) -> Result<Option<usize>> {
    let missing = |what: &str| match finished {
        true => Err(fault(format!("invalid COPY file header ({what})"))),
        false => Ok(None),
    };
    let start = &data[..data.len().min(SIGNATURE.len())];
    if !SIGNATURE.starts_with(start) || (finished && start.len() < SIGNATURE.len()) {
        return Err(fault("COPY file signature not recognized"));
    }
    let Some(flags) = int4(data, SIGNATURE.len()) else { return missing("missing flags") };
    let flags = flags as u32;
    if flags & WITH_OIDS != 0 {
        return Err(fault("invalid COPY file header (WITH OIDS)"));
    }
    if flags >> 16 != 0 {
        return Err(fault("unrecognized critical flags in COPY file header"));
    }
    let Some(length) = int4(data, SIGNATURE.len() + 4) else { return missing("missing length") };
    let Ok(length) = usize::try_from(length) else {
        return Err(fault("invalid COPY file header (missing length)"));
    };
    let whole = SIGNATURE.len() + 8 + length;
    if data.len() < whole { missing("wrong length") } else { Ok(Some(whole)) }
}

/// Takes apart the tuple of `columns` fields at the front of `data`. `fields` gets what it has.
///
/// # Errors
///
/// 22P04 for another number of fields, or for data behind the trailer.
pub fn tuple(data: &[u8], finished: bool, columns: usize, fields: &mut Vec<Span>) -> Result<Tuple> {
    fields.clear();
    let Some(count) = data.first_chunk().map(|raw| i16::from_be_bytes(*raw)) else {
        return Ok(if finished { Tuple::End } else { Tuple::More });
    };
    if count == -1 {
        return match data.len() {
            2 if finished => Ok(Tuple::End),
            2 => Ok(Tuple::More),
            _ => Err(fault("received copy data after EOF marker")),
        };
    }
    if i32::from(count) != columns as i32 {
        return Err(fault(format!("row field count is {count}, expected {columns}")));
    }
    let cut_off = match finished {
        true => Tuple::Broken("unexpected EOF in COPY data"),
        false => Tuple::More,
    };
    let mut at = 2;
    for _ in 0..columns {
        let Some(length) = int4(data, at) else { return Ok(cut_off) };
        at += 4;
        if length == -1 {
            fields.push(None);
            continue;
        }
        let Ok(length) = usize::try_from(length) else {
            return Ok(Tuple::Broken("invalid field size"));
        };
        if data.len() - at < length {
            return Ok(cut_off);
        }
        fields.push(Some((at, at + length)));
        at += length;
    }
    Ok(Tuple::Whole(at))
}
