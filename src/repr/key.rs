//! The key encoding: byte strings that compare as their datums do.
//!
//! Comparing two keys of the same types as bytes gives PostgreSQL's btree order of the columns, and
//! equal keys are equal datums, whatever they were written as: `1.0` and `1.00`, `-0` and `0`,
//! `1 mon` and `30 days`, `char(n)` with other padding. Only jsonb, and arrays of it, keep equality
//! alone.
//!
//! - Integers, dates and times: big-endian, sign flipped. Floats: as their bits, folded so that
//!   negative ones descend; every NaN is the greatest.
//! - Text, json and jsonpath: its bytes and a zero, which text never contains.
//! - bytea: a zero byte becomes `00 ff`, and `00 01` ends it.
//! - numeric: a class byte, a decimal exponent, then pairs of digits; see [`crate::repr::numeric`].
//! - interval: its length with 30 days a month and 24 hours a day, in ten bytes.
//! - jsonb: a length and the encoding with numbers normalised.
//! - Arrays: the elements' keys, each behind a byte that says whether it is NULL, and a byte below
//!   these at the end; then the number of dimensions, their lengths and lower bounds.
//! - bits: as bytea, then how many bits of the last byte there are.
//! - inet and cidr: the number of bits, the network, its bits, the address.
//! - Enums: the key of the label, as text.
//! - Records: the fields' keys, each behind a byte that says whether it is NULL.
//! - ranges: whether there is something in it, then both edges: a byte that says whether there is
//!   a value, its key, and on which side of it the edge is. Multiranges: as arrays of them.
//!
//! Keys whose types are all of fixed width are of fixed width in [`KeyMode::Strict`].

use serde::{Deserialize, Serialize};

use crate::repr::datetime::TimeTz;
use crate::repr::numeric::key_length;
use crate::repr::range::{Range, RangeKind, ranges_of};
use crate::repr::record::{RecordRef, RecordType};
use crate::repr::value::{put_length, take_length};
use crate::repr::{ArrayRef, Datum, Inet, Interval, ScalarType};

/// Whether a key may hold NULLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeyMode {
    /// No column is NULL, and nothing marks it so: the keys of equijoins.
    Strict,
    /// Each column begins with a byte, 0 or for NULL 1; so NULLs are equal, and last.
    NullSafe,
}

const PRESENT: u8 = 0;
const NULL: u8 = 1;
/// What ends a bytea: below every escape, so that a prefix is less.
const BYTEA_END: [u8; 2] = [0, 1];
/// What a zero byte inside a bytea becomes.
const BYTEA_ZERO: [u8; 2] = [0, 0xff];
/// What ends an array's elements: below what stands before each, so that a prefix is less.
const ITEMS_END: u8 = 0;
/// What stands before an element.
const ITEM_PRESENT: u8 = 1;
/// What stands for one that is NULL, which is last.
const ITEM_NULL: u8 = 2;

/// What stands before the edges of a range, and in their place where it is empty.
const RANGE_PRESENT: u8 = 1;
const RANGE_EMPTY: u8 = 0;
/// What stands before the value of an edge, or for an edge beyond all values.
const EDGE_BELOW: u8 = 0;
const EDGE_AT: u8 = 1;
const EDGE_ABOVE: u8 = 2;

impl ScalarType {
    /// Whether a datum can be read back from its key as it was.
    pub const fn key_is_identity(self) -> bool {
        match self {
            ScalarType::Bool | ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 => true,
            ScalarType::Oid | ScalarType::Text | ScalarType::Varchar | ScalarType::Name => true,
            ScalarType::Char
            | ScalarType::Xid
            | ScalarType::RegProc
            | ScalarType::RegProcedure
            | ScalarType::RegOper
            | ScalarType::RegOperator
            | ScalarType::RegClass
            | ScalarType::RegType
            | ScalarType::RegRole
            | ScalarType::RegNamespace => true,
            ScalarType::Date | ScalarType::Time | ScalarType::Timestamp => true,
            ScalarType::TimestampTz | ScalarType::TimestampNs | ScalarType::Uuid => true,
            ScalarType::Float4 | ScalarType::Float8 | ScalarType::Numeric => false,
            ScalarType::Bpchar | ScalarType::Bytea | ScalarType::Interval => false,
            ScalarType::Jsonb | ScalarType::Json | ScalarType::JsonPath => false,
            ScalarType::Array(_) | ScalarType::Bit | ScalarType::Varbit => false,
            ScalarType::Range(_) | ScalarType::Multirange(_) => false,
            ScalarType::Inet | ScalarType::Cidr | ScalarType::Macaddr => true,
            ScalarType::TimeTz => true,
            ScalarType::Enum(_) => true,
            ScalarType::Record(_) => false,
        }
    }

    /// Whether keys are ordered as the type is; where not, they keep equality alone.
    pub fn key_is_ordered(self) -> bool {
        match self {
            ScalarType::Jsonb => false,
            ScalarType::Array(element) => element.scalar().key_is_ordered(),
            ScalarType::Record(ty) => ty.every(ScalarType::key_is_ordered),
            _ => true,
        }
    }

    /// The bytes of a strict key, where they are always as many.
    pub const fn key_width(self) -> Option<usize> {
        match self {
            ScalarType::Interval => Some(INTERVAL_WIDTH),
            other => other.value_width(),
        }
    }
}

/// Appends the key of `datums` to `out`.
///
/// # Panics
///
/// In [`KeyMode::Strict`] on NULL.
pub fn encode_key<'a>(
    mode: KeyMode,
    types: &[ScalarType],
    datums: &[Datum<'a>],
    out: &mut Vec<u8>,
) {
    for (&ty, datum) in types.iter().zip(datums) {
        match mode {
            KeyMode::Strict => put(ty, datum, out),
            KeyMode::NullSafe if datum.is_null() => out.push(NULL),
            KeyMode::NullSafe => {
                out.push(PRESENT);
                put(ty, datum, out);
            }
        }
    }
}

/// Appends the datums of a key, or of its first columns.
///
/// # Panics
///
/// On a type that is not [`ScalarType::key_is_identity`], or on bytes that are no key of `types`.
#[inline]
pub fn decode_key<'a>(
    mode: KeyMode,
    types: &[ScalarType],
    bytes: &'a [u8],
    out: &mut Vec<Datum<'a>>,
) {
    out.reserve(types.len());
    let mut at = bytes;
    for &ty in types {
        if mode == KeyMode::NullSafe && take(&mut at) == [NULL] {
            out.push(Datum::Null);
        } else {
            out.push(get(ty, &mut at));
        }
    }
}

/// Appends `wanted.len()` datums, where those not wanted are passed over and read as NULL.
///
/// What is not wanted may be of any type; columns behind the last in `wanted` are not looked at.
#[inline]
pub fn decode_key_wanted<'a>(
    mode: KeyMode,
    types: &[ScalarType],
    wanted: &[bool],
    bytes: &'a [u8],
    out: &mut Vec<Datum<'a>>,
) {
    out.reserve(wanted.len());
    let mut at = bytes;
    for (&ty, &wanted) in types.iter().zip(wanted) {
        let mut datum = Datum::Null;
        if mode == KeyMode::Strict || take(&mut at) != [NULL] {
            if wanted {
                datum = get(ty, &mut at);
            } else {
                skip(ty, &mut at);
            }
        }
        out.push(datum);
    }
}

/// The datum of that type, not NULL, whose key `bytes` begin with, behind the marker.
///
/// # Panics
///
/// As [`decode_key`].
#[inline(always)]
pub fn decode_key_first<'a>(ty: ScalarType, bytes: &'a [u8]) -> Datum<'a> {
    let mut at = bytes;
    get(ty, &mut at)
}

/// Passes over the key of one column that is not NULL.
fn skip(ty: ScalarType, at: &mut &[u8]) {
    let end_of = |bytes: &[u8], ends: &dyn Fn(&[u8]) -> bool, length: usize| {
        bytes.windows(length).position(ends).expect("a key's last byte is there") + length
    };
    let width = match ty {
        ScalarType::Text
        | ScalarType::Varchar
        | ScalarType::Name
        | ScalarType::Char
        | ScalarType::Bpchar
        | ScalarType::Json
        | ScalarType::Enum(_)
        | ScalarType::JsonPath => end_of(at, &|w| w == [0], 1),
        ScalarType::Bytea => end_of(at, &|w| w == BYTEA_END, 2),
        ScalarType::Numeric => key_length(at),
        ScalarType::Jsonb => take_length(at),
        ScalarType::Bit | ScalarType::Varbit => end_of(at, &|w| w == BYTEA_END, 2) + 1,
        ScalarType::Inet | ScalarType::Cidr => 2 + 2 * usize::from(at[0] / 8),
        ScalarType::Array(element) => return skip_array(element.scalar(), at),
        ScalarType::Record(ty) => return skip_record(ty, at),
        ScalarType::Range(kind) => return skip_range(kind, at),
        ScalarType::Multirange(kind) => {
            while take(at) != [ITEMS_END] {
                skip_range(kind, at);
            }
            return;
        }
        other => other.key_width().expect("all other types are of fixed width"),
    };
    *at = &at[width..];
}

#[inline]
fn put(ty: ScalarType, datum: &Datum<'_>, out: &mut Vec<u8>) {
    match *datum {
        Datum::Null => panic!("a strict key holds no NULL"),
        Datum::Bool(v) => out.push(v.into()),
        Datum::Int2(v) => out.extend_from_slice(&(v as u16 ^ (1 << 15)).to_be_bytes()),
        Datum::Int4(v) | Datum::Date(v) => {
            out.extend_from_slice(&(v as u32 ^ (1 << 31)).to_be_bytes());
        }
        Datum::Int8(v)
        | Datum::Time(v)
        | Datum::Timestamp(v)
        | Datum::TimestampTz(v)
        | Datum::TimestampNs(v) => {
            out.extend_from_slice(&(v as u64 ^ (1 << 63)).to_be_bytes());
        }
        Datum::Float4(v) => out.extend_from_slice(&fold_f32(v).to_be_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&fold_f64(v).to_be_bytes()),
        Datum::Numeric(v) => v.encode_key(out),
        Datum::Text(v) => {
            let v = if ty == ScalarType::Bpchar { v.trim_end_matches(' ') } else { v };
            out.extend_from_slice(v.as_bytes());
            out.push(0);
        }
        Datum::Json(v) | Datum::JsonPath(v) | Datum::Enum(_, v) => {
            out.extend_from_slice(v.as_bytes());
            out.push(0);
        }
        Datum::Bytea(v) => put_bytea(v, out),
        Datum::Interval(v) => put_interval(v, out),
        Datum::Uuid(v) => out.extend_from_slice(&v),
        Datum::Jsonb(v) => {
            let mut normal = Vec::with_capacity(v.0.len());
            v.normalise(&mut normal);
            put_length(normal.len(), out);
            out.extend_from_slice(&normal);
        }
        Datum::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Bits(v) => {
            put_bytea(v.bytes(), out);
            // How many bits of the last byte there are: more are more.
            out.push((v.len() - 8 * v.bytes().len().saturating_sub(1)) as u8);
        }
        Datum::Inet(v) => {
            out.push(v.width);
            out.extend_from_slice(v.network().bytes());
            out.push(v.bits);
            out.extend_from_slice(v.bytes());
        }
        Datum::Macaddr(v) => out.extend_from_slice(&v),
        Datum::TimeTz(v) => {
            out.extend_from_slice(&(v.utc_micros() as u64 ^ (1 << 63)).to_be_bytes());
            out.extend_from_slice(&(v.west as u32 ^ (1 << 31)).to_be_bytes());
        }
        Datum::Range(kind, v) => put_range(&Range::read(kind, v), out),
        Datum::Multirange(kind, v) => {
            for range in ranges_of(kind, v) {
                out.push(ITEM_PRESENT);
                put_range(&range, out);
            }
            out.push(ITEMS_END);
        }
        Datum::Array(element, v) => put_array(&ArrayRef::new(element, v), out),
        Datum::Record(ty, v) => {
            let values = RecordRef::new(ty, v).values();
            encode_key(KeyMode::NullSafe, ty.scalars(), &values, out);
        }
    }
}

fn put_array(array: &ArrayRef<'_>, out: &mut Vec<u8>) {
    let ty = array.element.scalar();
    for datum in array.iter() {
        if datum.is_null() {
            out.push(ITEM_NULL);
        } else {
            out.push(ITEM_PRESENT);
            put(ty, &datum, out);
        }
    }
    out.push(ITEMS_END);
    out.push(array.dims.count() as u8);
    for length in array.dims.lengths() {
        out.extend_from_slice(&length.to_be_bytes());
    }
    for lower in array.dims.lowers() {
        out.extend_from_slice(&(*lower as u32 ^ (1 << 31)).to_be_bytes());
    }
}

fn put_range(range: &Range<'_>, out: &mut Vec<u8>) {
    let Some((lower, upper)) = &range.edges else { return out.push(RANGE_EMPTY) };
    out.push(RANGE_PRESENT);
    for edge in [lower, upper] {
        match &edge.value {
            None if edge.step < 0 => out.push(EDGE_BELOW),
            None => out.push(EDGE_ABOVE),
            Some(value) => {
                out.push(EDGE_AT);
                put(range.kind.subtype(), value, out);
                out.push((edge.step + 1) as u8);
            }
        }
    }
}

fn skip_range(kind: RangeKind, at: &mut &[u8]) {
    if take(at) == [RANGE_EMPTY] {
        return;
    }
    for _ in 0..2 {
        if take(at) == [EDGE_AT] {
            skip(kind.subtype(), at);
            let [_step] = take(at);
        }
    }
}

fn skip_array(ty: ScalarType, at: &mut &[u8]) {
    loop {
        match take(at) {
            [ITEM_PRESENT] => skip(ty, at),
            [ITEM_NULL] => {}
            _ => break,
        }
    }
    let [count] = take(at);
    *at = &at[8 * usize::from(count)..];
}

fn skip_record(ty: RecordType, at: &mut &[u8]) {
    for ty in ty.scalars() {
        if take(at) == [PRESENT] {
            skip(*ty, at);
        }
    }
}

#[inline]
fn get<'a>(ty: ScalarType, at: &mut &'a [u8]) -> Datum<'a> {
    let long = |at: &mut &[u8]| (u64::from_be_bytes(take(at)) ^ (1 << 63)) as i64;
    match ty {
        ScalarType::Bool => Datum::Bool(take(at) != [0]),
        ScalarType::Int2 => Datum::Int2((u16::from_be_bytes(take(at)) ^ (1 << 15)) as i16),
        ScalarType::Int4 => Datum::Int4((u32::from_be_bytes(take(at)) ^ (1 << 31)) as i32),
        ScalarType::Date => Datum::Date((u32::from_be_bytes(take(at)) ^ (1 << 31)) as i32),
        ScalarType::Int8 => Datum::Int8(long(at)),
        ScalarType::Time => Datum::Time(long(at)),
        ScalarType::Timestamp => Datum::Timestamp(long(at)),
        ScalarType::TimestampTz => Datum::TimestampTz(long(at)),
        ScalarType::TimestampNs => Datum::TimestampNs(long(at)),
        oid if oid.is_oid() => Datum::Oid(u32::from_be_bytes(take(at))),
        ScalarType::Uuid => Datum::Uuid(take(at)),
        ScalarType::Text
        | ScalarType::Varchar
        | ScalarType::Name
        | ScalarType::Char
        | ScalarType::Enum(_) => {
            let end = at.iter().position(|b| *b == 0).expect("a zero ends text in a key");
            let (text, rest) = at.split_at(end);
            *at = &rest[1..];
            debug_assert!(std::str::from_utf8(text).is_ok());
            // Sound: the bytes are a `str`'s own, as `encode_key` put them.
            let text = unsafe { std::str::from_utf8_unchecked(text) };
            match ty {
                ScalarType::Enum(of) => Datum::Enum(of, text),
                _ => Datum::Text(text),
            }
        }
        ScalarType::Inet | ScalarType::Cidr => {
            let [width] = take(at);
            let (_, rest) = at.split_at(usize::from(width / 8));
            let (address, behind) = rest[1..].split_at(usize::from(width / 8));
            let bits = rest[0];
            *at = behind;
            Datum::Inet(Inet::new(bits, address))
        }
        ScalarType::Macaddr => Datum::Macaddr(take(at)),
        ScalarType::TimeTz => {
            let utc = long(at);
            let west = (u32::from_be_bytes(take(at)) ^ (1 << 31)) as i32;
            Datum::TimeTz(TimeTz { micros: utc - i64::from(west) * 1_000_000, west })
        }
        other => panic!("a key of {} is not read back", other.display_name()),
    }
}

#[inline(always)]
fn take<const N: usize>(at: &mut &[u8]) -> [u8; N] {
    let (head, rest) = at.split_first_chunk::<N>().expect("a key has the bytes its types ask for");
    *at = rest;
    *head
}

/// Bits in the order of the numbers; one zero, and one NaN behind all.
fn fold_f64(v: f64) -> u64 {
    if v.is_nan() {
        return u64::MAX;
    }
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}

/// As [`fold_f64`].
fn fold_f32(v: f32) -> u32 {
    if v.is_nan() {
        return u32::MAX;
    }
    let bits = (v + 0.0).to_bits();
    if bits >> 31 == 0 { bits | (1 << 31) } else { !bits }
}

fn put_bytea(bytes: &[u8], out: &mut Vec<u8>) {
    for run in bytes.split_inclusive(|b| *b == 0) {
        match run.split_last() {
            Some((0, head)) => {
                out.extend_from_slice(head);
                out.extend_from_slice(&BYTEA_ZERO);
            }
            _ => out.extend_from_slice(run),
        }
    }
    out.extend_from_slice(&BYTEA_END);
}

/// An interval is under 2^73 microseconds long, whatever its parts.
const INTERVAL_WIDTH: usize = 10;

fn put_interval(interval: Interval, out: &mut Vec<u8>) {
    let biased = interval.total_micros() + (1 << (8 * INTERVAL_WIDTH - 1));
    out.extend_from_slice(&biased.to_be_bytes()[16 - INTERVAL_WIDTH..]);
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use rand::prelude::*;

    use super::*;
    use crate::repr::BitsRef;
    use crate::repr::array::{ArrayBuilder, Dims};
    use crate::repr::jsonb::JsonbBuilder;
    use crate::repr::numeric::Numeric;
    use crate::repr::range::{Edge, Multirange};
    use crate::repr::scalar::Element;
    use crate::repr::value::{decode_column, decode_values, decode_wanted, encode_values, pack};

    /// A datum of that type, out of few, so that equal and neighbouring ones occur.
    fn random<'a>(ty: ScalarType, rng: &mut StdRng, arena: &'a Bump) -> Datum<'a> {
        if rng.random_bool(0.1) {
            return Datum::Null;
        }
        let long = [0, 1, -1, i64::MIN, i64::MAX, 256, -256][rng.random_range(0..7)];
        let float = [0.0, -0.0, 1.5, -1.5, f64::NAN, -f64::NAN, f64::INFINITY, -f64::INFINITY]
            [rng.random_range(0..8)];
        match ty {
            ScalarType::Bool => Datum::Bool(rng.random()),
            ScalarType::Int2 => Datum::Int2(long as i16),
            ScalarType::Int4 => Datum::Int4(long as i32),
            ScalarType::Int8 => Datum::Int8(long),
            ScalarType::Float4 => Datum::Float4(float as f32),
            ScalarType::Float8 => Datum::Float8(float),
            ScalarType::Numeric => Datum::Numeric(random_numeric(rng).encode_in(arena)),
            ScalarType::Text | ScalarType::Varchar | ScalarType::Name | ScalarType::Bpchar => {
                let length = rng.random_range(0..4);
                let text: String =
                    (0..length).map(|_| *['a', ' ', '\u{1}', 'é'].choose(rng).unwrap()).collect();
                Datum::Text(arena.alloc_str(&text.repeat(if rng.random() { 1 } else { 60 })))
            }
            ScalarType::Bytea => {
                let length = rng.random_range(0..4);
                Datum::Bytea(
                    arena.alloc_slice_fill_with(length, |_| [0, 1, 255][rng.random_range(0..3)]),
                )
            }
            ScalarType::Date => Datum::Date(long as i32),
            ScalarType::Time => Datum::Time(long),
            ScalarType::Timestamp => Datum::Timestamp(long),
            ScalarType::TimestampTz => Datum::TimestampTz(long),
            ScalarType::TimestampNs => Datum::TimestampNs(long),
            ScalarType::Interval => Datum::Interval(Interval {
                months: rng.random_range(-1..2),
                days: rng.random_range(-2..3) * 30,
                micros: [0, 2_592_000_000_000, long][rng.random_range(0..3)],
            }),
            ScalarType::Uuid => Datum::Uuid([rng.random_range(0..3); 16]),
            ScalarType::Jsonb => {
                let mut builder = JsonbBuilder::new();
                random_json(rng, &mut builder, 2);
                Datum::Jsonb(builder.finish_in(arena))
            }
            ScalarType::Char => Datum::Text(if rng.random() { "a" } else { "" }),
            ScalarType::Oid | ScalarType::Xid => Datum::Oid(long as u32),
            ScalarType::RegProc
            | ScalarType::RegProcedure
            | ScalarType::RegOper
            | ScalarType::RegOperator
            | ScalarType::RegClass
            | ScalarType::RegType
            | ScalarType::RegRole
            | ScalarType::RegNamespace => Datum::Oid(long as u32),
            ScalarType::Json => Datum::Json(["1", "[1,  2]", "\"é\""][rng.random_range(0..3)]),
            ScalarType::JsonPath => Datum::JsonPath(["$", "$.\"a\"", "@"][rng.random_range(0..3)]),
            ScalarType::Array(element) => random_array(element, rng, arena),
            ScalarType::Bit | ScalarType::Varbit => {
                let (len, odd) = (rng.random_range(0..20), rng.random_range(1..9));
                Datum::Bits(BitsRef::make(len, arena, |at| at % odd == 0))
            }
            ScalarType::Inet | ScalarType::Cidr => {
                let bytes = [rng.random_range(0..3), 0, 128, rng.random_range(0..2)].repeat(4);
                match rng.random() {
                    true => Datum::Inet(Inet::new(rng.random_range(0..=32), &bytes[..4])),
                    false => Datum::Inet(Inet::new(rng.random_range(0..=128), &bytes)),
                }
            }
            ScalarType::TimeTz => Datum::TimeTz(TimeTz {
                micros: rng.random_range(0..3) * 3_600_000_000,
                west: rng.random_range(-1..2) * 3600,
            }),
            ScalarType::Macaddr => Datum::Macaddr([rng.random_range(0..3); 6]),
            ScalarType::Enum(_) | ScalarType::Record(_) => panic!("no built-in type"),
            ScalarType::Range(kind) => random_range(kind, rng, arena).datum_in(arena),
            ScalarType::Multirange(kind) => {
                let ranges = (0..rng.random_range(0..4)).map(|_| random_range(kind, rng, arena));
                Multirange::of(kind, ranges).datum_in(arena)
            }
        }
    }

    fn random_range<'a>(kind: RangeKind, rng: &mut StdRng, arena: &'a Bump) -> Range<'a> {
        loop {
            let mut value = || match random(kind.subtype(), rng, arena) {
                // The text forms have no other dates.
                Datum::Date(v) => Datum::Date(v.clamp(-300, 300)),
                other => other,
            };
            let (lower, upper) = (value(), value());
            let lower = Edge::lower(lower, rng.random());
            let upper = Edge::upper(upper, rng.random());
            if let Ok(range) = Range::make(kind, lower, upper) {
                return range;
            }
        }
    }

    fn random_array<'a>(element: Element, rng: &mut StdRng, arena: &'a Bump) -> Datum<'a> {
        let lengths = [&[][..], &[1], &[2], &[3], &[1, 2], &[2, 1]][rng.random_range(0..6)];
        let lowers = [[1, 1], [0, 1], [-5, 7]][rng.random_range(0..3)];
        let dims = Dims::checked(lengths, &lowers[..lengths.len()]).unwrap();
        let dims = if lengths.is_empty() { Dims::EMPTY } else { dims };
        let mut builder = ArrayBuilder::new();
        (0..dims.items()).for_each(|_| builder.push(&random(element.scalar(), rng, arena)));
        builder.finish_in(element, &dims, arena)
    }

    fn random_numeric(rng: &mut StdRng) -> Numeric {
        let dscale = [0, 1, 2, 5, 41, 300][rng.random_range(0..6)];
        let units = [0, 1, -1, 10, 100, -100, 12, 99, 10_000, i128::MAX, i128::MIN];
        match rng.random_range(0..12) {
            0 => Numeric::NaN,
            1 => Numeric::PositiveInfinity,
            2 => Numeric::NegativeInfinity,
            3 | 4 => Numeric::from_big(
                num_bigint::BigInt::from(units[rng.random_range(0..11)])
                    * num_bigint::BigInt::from(10).pow(rng.random_range(0..50)),
                dscale,
            ),
            _ => Numeric::new(units[rng.random_range(0..11)], dscale),
        }
    }

    fn random_json(rng: &mut StdRng, out: &mut JsonbBuilder, depth: u32) {
        match rng.random_range(0..if depth == 0 { 4 } else { 6 }) {
            0 => out.null(),
            1 => out.bool(rng.random()),
            2 => out.number(&Numeric::new(rng.random_range(0..3), rng.random_range(0..2))),
            3 => out.string(["", "a", "b"][rng.random_range(0..3)]),
            4 => {
                out.begin_array();
                (0..rng.random_range(0..3)).for_each(|_| random_json(rng, out, depth - 1));
                out.end();
            }
            _ => {
                out.begin_object();
                for _ in 0..rng.random_range(0..3) {
                    out.key(["a", "b", "bb"][rng.random_range(0..3)]);
                    random_json(rng, out, depth - 1);
                }
                out.end();
            }
        }
    }

    fn key(mode: KeyMode, types: &[ScalarType], datums: &[Datum<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_key(mode, types, datums, &mut out);
        out
    }

    #[test]
    fn keys_compare_as_datums() {
        let mut rng = StdRng::seed_from_u64(1);
        for ty in ScalarType::ALL {
            let arena = Bump::new();
            let datums: Vec<_> = (0..120).map(|_| random(ty, &mut rng, &arena)).collect();
            for a in &datums {
                for b in &datums {
                    // A second column shows that no key runs into the next.
                    let with = |d: &Datum<'_>, n| {
                        key(KeyMode::NullSafe, &[ty, ScalarType::Int2], &[*d, Datum::Int2(n)])
                    };
                    let expected = a.compare_as(ty, b);
                    if ty.key_is_ordered() {
                        assert_eq!(with(a, 0).cmp(&with(b, 0)), expected, "{a:?} {b:?}");
                        assert_eq!(with(a, 1) > with(b, 0), expected.is_ge(), "{a:?} {b:?}");
                    }
                    assert_eq!(with(a, 0) == with(b, 0), expected.is_eq(), "{a:?} {b:?}");
                    assert_eq!(expected, b.compare_as(ty, a).reverse());
                }
                if let (Some(width), false) = (ty.key_width(), a.is_null()) {
                    assert_eq!(key(KeyMode::Strict, &[ty], &[*a]).len(), width);
                }
            }
        }
    }

    #[test]
    fn rows_and_identity_keys_come_back() {
        let mut rng = StdRng::seed_from_u64(2);
        for _ in 0..2_000 {
            let arena = Bump::new();
            let types: Vec<ScalarType> = (0..rng.random_range(0..20))
                .map(|_| *ScalarType::ALL.choose(&mut rng).unwrap())
                .collect();
            let datums: Vec<_> = types.iter().map(|t| random(*t, &mut rng, &arena)).collect();
            let row = pack(&datums);
            let mut back = Vec::new();
            decode_values(&types, row.bytes(), &mut back);
            assert_eq!(back, datums);
            assert_eq!(pack(&back), row, "the bytes are the same again");

            let wanted: Vec<bool> = types.iter().map(|_| rng.random()).collect();
            let k = rng.random_range(0..=types.len());
            let (mut some, mut first) = (Vec::new(), Vec::new());
            decode_wanted(&types, &wanted[..k], row.bytes(), &mut some);
            decode_values(&types[..k], row.bytes(), &mut first);
            assert_eq!(first, datums[..k]);
            for i in 0..k {
                assert_eq!(some[i], if wanted[i] { datums[i] } else { Datum::Null });
                assert_eq!(decode_column(&types, i, row.bytes()), datums[i]);
            }
            let mut longer = row.bytes().to_vec();
            encode_values(&datums, &mut longer);
            assert_eq!(crate::repr::value::encoded_len(&types, &longer), row.bytes().len());

            let kept: Vec<usize> =
                (0..types.len()).filter(|i| types[*i].key_is_identity()).collect();
            let types: Vec<_> = kept.iter().map(|i| types[*i]).collect();
            let datums: Vec<_> = kept.iter().map(|i| datums[*i]).collect();
            let bytes = key(KeyMode::NullSafe, &types, &datums);
            let mut back = Vec::new();
            decode_key(KeyMode::NullSafe, &types, &bytes, &mut back);
            assert_eq!(back, datums);
        }
    }

    #[test]
    fn wanted_columns_of_keys_are_found_behind_any_other() {
        let mut rng = StdRng::seed_from_u64(3);
        for _ in 0..2_000 {
            let arena = Bump::new();
            let types: Vec<ScalarType> = (0..rng.random_range(0..6))
                .map(|_| *ScalarType::ALL.choose(&mut rng).unwrap())
                .collect();
            let mode = *[KeyMode::Strict, KeyMode::NullSafe].choose(&mut rng).unwrap();
            let datums: Vec<_> = types.iter().map(|t| random(*t, &mut rng, &arena)).collect();
            if mode == KeyMode::Strict && datums.iter().any(Datum::is_null) {
                continue;
            }
            let wanted: Vec<bool> =
                types.iter().map(|t| t.key_is_identity() && rng.random()).collect();
            let bytes = key(mode, &types, &datums);
            let mut back = Vec::new();
            decode_key_wanted(mode, &types, &wanted, &bytes, &mut back);
            let expected = datums.iter().zip(&wanted);
            let expected: Vec<_> =
                expected.map(|(d, w)| if *w { *d } else { Datum::Null }).collect();
            assert_eq!(back, expected);
        }
    }
}
