//! The value encoding of rows.
//!
//! A row's bytes are read with the list of its types; nothing in them says what they are. Before
//! each group of eight columns stands a byte whose bits, lowest first, tell which of them are NULL;
//! a NULL takes no more room. Fixed-width types follow as little-endian bytes; the others as a
//! length (seven bits a byte, lowest first, high bit set on all but the last) and that many bytes:
//! UTF-8, raw bytes, the bits of the network and the bytes of an address, or the encodings of
//! [`crate::repr::numeric`], [`crate::repr::jsonb`], [`crate::repr::array`],
//! [`crate::repr::bits`] and
//! [`crate::repr::range`].
//!
//! The bytes of the first columns do not depend on how many columns follow, so that decoding a
//! prefix of a row's types is decoding a prefix of its columns.
//!
//! Invariant: only bytes that [`encode_values`] made are decoded, with the types of the datums that
//! were encoded. Text is not checked again; other bytes may panic or give nonsense.

use crate::repr::bits::BitsRef;
use crate::repr::datetime::TimeTz;
use crate::repr::jsonb::JsonbRef;
use crate::repr::network::Inet;
use crate::repr::numeric::NumericRef;
use crate::repr::{Datum, Interval, Row, ScalarType};

/// How many columns share a byte of NULL bits.
pub const GROUP: usize = 8;

/// Appends the encoding of `datums` to `out`.
pub fn encode_values<'a>(datums: &[Datum<'a>], out: &mut Vec<u8>) {
    for group in datums.chunks(GROUP) {
        let start = out.len();
        out.push(0);
        let mut nulls = 0u8;
        for (i, datum) in group.iter().enumerate() {
            if datum.is_null() {
                nulls |= 1 << i;
            } else {
                put_value(datum, out);
            }
        }
        out[start] = nulls;
    }
}

/// The row of these datums.
pub fn pack(datums: &[Datum<'_>]) -> Row {
    let mut bytes = Vec::with_capacity(16 * datums.len());
    encode_values(datums, &mut bytes);
    Row::new(&bytes)
}

/// Appends `types.len()` datums, read from `bytes`; see the module for what may be given.
#[inline]
pub fn decode_values<'a>(types: &[ScalarType], bytes: &'a [u8], out: &mut Vec<Datum<'a>>) {
    out.reserve(types.len());
    let mut at = bytes;
    for group in types.chunks(GROUP) {
        let [mut nulls] = take(&mut at);
        // One extension a group checks the capacity once.
        out.extend(group.iter().map(|&ty| {
            let datum = if nulls & 1 == 0 { take_value(ty, &mut at) } else { Datum::Null };
            nulls >>= 1;
            datum
        }));
    }
}

/// Appends `wanted.len()` datums, where those not wanted are passed over and read as NULL.
///
/// Columns behind the last in `wanted` are not looked at.
#[inline]
pub fn decode_wanted<'a>(
    types: &[ScalarType],
    wanted: &[bool],
    bytes: &'a [u8],
    out: &mut Vec<Datum<'a>>,
) {
    out.reserve(wanted.len());
    let mut at = bytes;
    for (types, wanted) in types.chunks(GROUP).zip(wanted.chunks(GROUP)) {
        let [mut nulls] = take(&mut at);
        for (&ty, &wanted) in types.iter().zip(wanted) {
            let mut datum = Datum::Null;
            if nulls & 1 == 0 {
                if wanted {
                    datum = take_value(ty, &mut at);
                } else {
                    skip_value(ty, &mut at);
                }
            }
            out.push(datum);
            nulls >>= 1;
        }
    }
}

/// The datum of one column.
#[inline]
pub fn decode_column<'a>(types: &[ScalarType], column: usize, bytes: &'a [u8]) -> Datum<'a> {
    let mut at = bytes;
    let mut nulls = 0u8;
    for (i, &ty) in types[..=column].iter().enumerate() {
        if i % GROUP == 0 {
            [nulls] = take(&mut at);
        }
        let null = nulls & 1 != 0;
        nulls >>= 1;
        if i == column {
            return if null { Datum::Null } else { take_value(ty, &mut at) };
        }
        if !null {
            skip_value(ty, &mut at);
        }
    }
    Datum::Null
}

/// The datum of that type, not NULL, whose encoding `bytes` begin with.
#[inline(always)]
pub fn decode_first<'a>(ty: ScalarType, bytes: &'a [u8]) -> Datum<'a> {
    let mut at = bytes;
    take_value(ty, &mut at)
}

/// How many of `bytes` the encoding of columns of these types takes.
pub fn encoded_len(types: &[ScalarType], bytes: &[u8]) -> usize {
    let mut at = bytes;
    for group in types.chunks(GROUP) {
        let [mut nulls] = take(&mut at);
        for &ty in group {
            if nulls & 1 == 0 {
                skip_value(ty, &mut at);
            }
            nulls >>= 1;
        }
    }
    bytes.len() - at.len()
}

impl ScalarType {
    /// The bytes of a value that is not NULL, where they are always as many.
    pub const fn value_width(self) -> Option<usize> {
        match self {
            ScalarType::Char => None,
            ScalarType::Oid
            | ScalarType::Xid
            | ScalarType::RegProc
            | ScalarType::RegProcedure
            | ScalarType::RegOper
            | ScalarType::RegOperator
            | ScalarType::RegClass
            | ScalarType::RegType
            | ScalarType::RegRole
            | ScalarType::RegNamespace => Some(4),
            ScalarType::Bool => Some(1),
            ScalarType::Int2 => Some(2),
            ScalarType::Int4 | ScalarType::Float4 | ScalarType::Date => Some(4),
            ScalarType::Int8 | ScalarType::Float8 | ScalarType::Time => Some(8),
            ScalarType::Timestamp | ScalarType::TimestampTz | ScalarType::TimestampNs => Some(8),
            ScalarType::Interval | ScalarType::Uuid => Some(16),
            ScalarType::Numeric | ScalarType::Text | ScalarType::Varchar => None,
            ScalarType::Bpchar | ScalarType::Bytea | ScalarType::Jsonb | ScalarType::Name => None,
            ScalarType::Array(_) | ScalarType::Json | ScalarType::JsonPath => None,
            ScalarType::Bit | ScalarType::Varbit | ScalarType::Inet | ScalarType::Cidr => None,
            ScalarType::Macaddr => Some(6),
            ScalarType::TimeTz => Some(12),
            ScalarType::Enum(_) | ScalarType::Record(_) => None,
            ScalarType::Range(_) | ScalarType::Multirange(_) => None,
        }
    }
}

/// Appends the encoding of a datum that is not NULL; nothing for NULL.
#[inline]
pub(super) fn put_value(datum: &Datum<'_>, out: &mut Vec<u8>) {
    match *datum {
        Datum::Null => {}
        Datum::Bool(v) => out.push(v.into()),
        Datum::Int2(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Int4(v) | Datum::Date(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Int8(v)
        | Datum::Time(v)
        | Datum::Timestamp(v)
        | Datum::TimestampTz(v)
        | Datum::TimestampNs(v) => {
            out.extend_from_slice(&v.to_le_bytes());
        }
        Datum::Float4(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Numeric(NumericRef(v)) | Datum::Bytea(v) | Datum::Jsonb(JsonbRef(v)) => {
            put_bytes(v, out);
        }
        Datum::Array(_, v) | Datum::Range(_, v) | Datum::Multirange(_, v) => put_bytes(v, out),
        Datum::Record(_, v) => put_bytes(v, out),
        Datum::Text(v) | Datum::Json(v) | Datum::JsonPath(v) | Datum::Enum(_, v) => {
            put_bytes(v.as_bytes(), out);
        }
        Datum::Interval(v) => {
            out.extend_from_slice(&v.months.to_le_bytes());
            out.extend_from_slice(&v.days.to_le_bytes());
            out.extend_from_slice(&v.micros.to_le_bytes());
        }
        Datum::Uuid(v) => out.extend_from_slice(&v),
        Datum::Oid(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Bits(BitsRef(v)) => put_bytes(v, out),
        Datum::Inet(v) => {
            put_length(1 + v.bytes().len(), out);
            out.push(v.bits);
            out.extend_from_slice(v.bytes());
        }
        Datum::Macaddr(v) => out.extend_from_slice(&v),
        Datum::TimeTz(v) => {
            out.extend_from_slice(&v.micros.to_le_bytes());
            out.extend_from_slice(&v.west.to_le_bytes());
        }
    }
}

/// Takes a datum of that type, not NULL, off the front.
#[inline]
pub(super) fn take_value<'a>(ty: ScalarType, at: &mut &'a [u8]) -> Datum<'a> {
    match ty {
        ScalarType::Char => Datum::Text(take_str(at)),
        ScalarType::Bool => {
            let [v] = take(at);
            Datum::Bool(v != 0)
        }
        ScalarType::Int2 => Datum::Int2(i16::from_le_bytes(take(at))),
        ScalarType::Int4 => Datum::Int4(i32::from_le_bytes(take(at))),
        ScalarType::Int8 => Datum::Int8(i64::from_le_bytes(take(at))),
        ScalarType::Float4 => Datum::Float4(f32::from_le_bytes(take(at))),
        ScalarType::Float8 => Datum::Float8(f64::from_le_bytes(take(at))),
        ScalarType::Numeric => Datum::Numeric(NumericRef(take_bytes(at))),
        ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar | ScalarType::Name => {
            Datum::Text(take_str(at))
        }
        ScalarType::Json => Datum::Json(take_str(at)),
        ScalarType::JsonPath => Datum::JsonPath(take_str(at)),
        ScalarType::Bytea => Datum::Bytea(take_bytes(at)),
        ScalarType::Date => Datum::Date(i32::from_le_bytes(take(at))),
        ScalarType::Time => Datum::Time(i64::from_le_bytes(take(at))),
        ScalarType::Timestamp => Datum::Timestamp(i64::from_le_bytes(take(at))),
        ScalarType::TimestampTz => Datum::TimestampTz(i64::from_le_bytes(take(at))),
        ScalarType::TimestampNs => Datum::TimestampNs(i64::from_le_bytes(take(at))),
        ScalarType::Interval => {
            let months = i32::from_le_bytes(take(at));
            let days = i32::from_le_bytes(take(at));
            Datum::Interval(Interval { months, days, micros: i64::from_le_bytes(take(at)) })
        }
        ScalarType::Uuid => Datum::Uuid(take(at)),
        ScalarType::Jsonb => Datum::Jsonb(JsonbRef(take_bytes(at))),
        ScalarType::Oid | ScalarType::Xid => Datum::Oid(u32::from_le_bytes(take(at))),
        ScalarType::RegProc
        | ScalarType::RegProcedure
        | ScalarType::RegOper
        | ScalarType::RegOperator
        | ScalarType::RegClass
        | ScalarType::RegType
        | ScalarType::RegRole
        | ScalarType::RegNamespace => Datum::Oid(u32::from_le_bytes(take(at))),
        ScalarType::Array(element) => Datum::Array(element, take_bytes(at)),
        ScalarType::Bit | ScalarType::Varbit => Datum::Bits(BitsRef(take_bytes(at))),
        ScalarType::Inet | ScalarType::Cidr => {
            let bytes = take_bytes(at);
            Datum::Inet(Inet::new(bytes[0], &bytes[1..]))
        }
        ScalarType::Macaddr => Datum::Macaddr(take(at)),
        ScalarType::TimeTz => {
            let micros = i64::from_le_bytes(take(at));
            Datum::TimeTz(TimeTz { micros, west: i32::from_le_bytes(take(at)) })
        }
        ScalarType::Enum(of) => Datum::Enum(of, take_str(at)),
        ScalarType::Record(of) => Datum::Record(of, take_bytes(at)),
        ScalarType::Range(kind) => Datum::Range(kind, take_bytes(at)),
        ScalarType::Multirange(kind) => Datum::Multirange(kind, take_bytes(at)),
    }
}

/// Takes a datum of that type, not NULL, off the front without reading it.
#[inline]
pub(super) fn skip_value(ty: ScalarType, at: &mut &[u8]) {
    let width = match ty.value_width() {
        Some(width) => width,
        None => take_length(at),
    };
    *at = &at[width..];
}

#[inline(always)]
fn take<const N: usize>(at: &mut &[u8]) -> [u8; N] {
    let (head, rest) = at.split_first_chunk::<N>().expect("a row has the bytes its types ask for");
    *at = rest;
    *head
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

#[inline]
fn take_bytes<'a>(at: &mut &'a [u8]) -> &'a [u8] {
    let length = take_length(at);
    let (head, rest) = at.split_at(length);
    *at = rest;
    head
}

#[inline]
fn take_str<'a>(at: &mut &'a [u8]) -> &'a str {
    let bytes = take_bytes(at);
    debug_assert!(std::str::from_utf8(bytes).is_ok());
    // Sound by the invariant of the module: the bytes were those of a `str`.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}

/// Appends a length in seven bits a byte.
pub(crate) fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// Takes a length off the front.
#[inline]
pub(crate) fn take_length(at: &mut &[u8]) -> usize {
    let [first] = take(at);
    if first < 0x80 { first as usize } else { take_long_length(first, at) }
}

#[cold]
fn take_long_length(first: u8, at: &mut &[u8]) -> usize {
    let mut length = (first & 0x7f) as usize;
    let mut shift = 7;
    loop {
        let [byte] = take(at);
        length |= ((byte & 0x7f) as usize) << shift;
        if byte < 0x80 {
            return length;
        }
        shift += 7;
    }
}
