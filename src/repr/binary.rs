//! PostgreSQL's binary form of every type: big-endian, with the length outside.

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::repr::array;
use crate::repr::bits;
use crate::repr::datetime;
use crate::repr::datetime::TimeTz;
use crate::repr::jsonb::{JsonbRef, check_json};
use crate::repr::jsonpath;
use crate::repr::network;
use crate::repr::numeric::Numeric;
use crate::repr::range::{self, Range};
use crate::repr::record::{self, RecordRef};
use crate::repr::text::{char_byte, char_of, checked_text, fit_bpchar, fit_name, fit_varchar};
use crate::repr::{ArrayRef, Datum, Interval, ScalarType, enums};

/// The only version of jsonb's binary form: this byte, then its text.
const JSONB_VERSION: u8 = 1;

/// The only version of jsonpath's: this byte, then its text.
const JSONPATH_VERSION: u8 = 1;
/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Reads a value of type `ty` with PostgreSQL's type modifier (−1 for none).
///
/// # Errors
///
/// 08P01 for too few bytes, 22P03 for too many, 22021 for text that is not UTF-8, and what the
/// type's own limits are.
pub fn parse_binary<'a>(
    ty: ScalarType,
    typmod: i32,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Datum<'a>> {
    Ok(match ty {
        ScalarType::Bool => Datum::Bool(fixed::<1>(bytes)? != [0]),
        ScalarType::Int2 => Datum::Int2(i16::from_be_bytes(fixed(bytes)?)),
        ScalarType::Int4 => Datum::Int4(i32::from_be_bytes(fixed(bytes)?)),
        ScalarType::Int8 => Datum::Int8(i64::from_be_bytes(fixed(bytes)?)),
        ScalarType::Float4 => Datum::Float4(f32::from_be_bytes(fixed(bytes)?)),
        ScalarType::Float8 => Datum::Float8(f64::from_be_bytes(fixed(bytes)?)),
        ScalarType::Numeric => {
            Datum::Numeric(Numeric::read_binary(bytes)?.with_typmod(typmod)?.encode_in(arena))
        }
        ScalarType::Text => Datum::Text(utf8(bytes)?),
        ScalarType::Varchar => Datum::Text(fit_varchar(utf8(bytes)?, typmod, false)?),
        ScalarType::Bpchar => Datum::Text(fit_bpchar(utf8(bytes)?, typmod, false, arena)?),
        ScalarType::Name => Datum::Text(fit_name(utf8(bytes)?)),
        ScalarType::Bytea => Datum::Bytea(bytes),
        ScalarType::Date => Datum::Date(date(i32::from_be_bytes(fixed(bytes)?))?),
        ScalarType::Time => {
            let micros = i64::from_be_bytes(fixed(bytes)?);
            if !(0..=DAY).contains(&micros) {
                return Err(out_of_range("time"));
            }
            Datum::Time(datetime::round_to_precision(micros, typmod))
        }
        ScalarType::Timestamp => Datum::Timestamp(timestamp(bytes, typmod)?),
        ScalarType::TimestampTz => Datum::TimestampTz(timestamp(bytes, typmod)?),
        ScalarType::TimestampNs => Datum::TimestampNs(i64::from_be_bytes(fixed(bytes)?)),
        ScalarType::Interval => {
            let raw: [u8; 16] = fixed(bytes)?;
            Datum::Interval(Interval {
                micros: i64::from_be_bytes(fixed(&raw[..8])?),
                days: i32::from_be_bytes(fixed(&raw[8..12])?),
                months: i32::from_be_bytes(fixed(&raw[12..])?),
            })
        }
        ScalarType::Uuid => Datum::Uuid(fixed(bytes)?),
        ScalarType::Jsonb => Datum::Jsonb(jsonb(bytes, arena)?),
        ScalarType::Oid
        | ScalarType::Xid
        | ScalarType::RegProc
        | ScalarType::RegProcedure
        | ScalarType::RegOper
        | ScalarType::RegOperator
        | ScalarType::RegClass
        | ScalarType::RegType
        | ScalarType::RegRole
        | ScalarType::RegNamespace => Datum::Oid(u32::from_be_bytes(fixed(bytes)?)),
        ScalarType::Char => Datum::Text(char_of(fixed::<1>(bytes)?[0], arena)),
        ScalarType::Json => {
            let text = utf8(bytes)?;
            check_json(text, false)?;
            Datum::Json(text)
        }
        ScalarType::Bit | ScalarType::Varbit => {
            Datum::Bits(bits::parse_binary(ty, typmod, bytes, arena)?)
        }
        ScalarType::Inet | ScalarType::Cidr => Datum::Inet(network::parse_binary(ty, bytes)?),
        ScalarType::Macaddr => Datum::Macaddr(fixed(bytes)?),
        ScalarType::TimeTz => {
            let raw: [u8; 12] = fixed(bytes)?;
            let micros = i64::from_be_bytes(fixed(&raw[..8])?);
            let west = i32::from_be_bytes(fixed(&raw[8..])?);
            Datum::TimeTz(TimeTz::checked(micros, west)?.rounded(typmod))
        }
        ScalarType::JsonPath => Datum::JsonPath(jsonpath(bytes, arena)?),
        ScalarType::Range(kind) => range::parse_range_binary(kind, bytes, arena)?.datum_in(arena),
        ScalarType::Multirange(kind) => {
            range::parse_multirange_binary(kind, bytes, arena)?.datum_in(arena)
        }
        ScalarType::Array(element) => array::parse_binary(element, typmod, bytes, arena)?,
        ScalarType::Enum(of) => enums::parse_label(of, utf8(bytes)?, arena)?,
        ScalarType::Record(of) => record::parse_binary(of, bytes, arena)?,
    })
}

/// Appends the binary form of a value of type `ty`; nothing for NULL.
pub fn format_binary(datum: &Datum<'_>, ty: ScalarType, out: &mut Vec<u8>) {
    debug_assert!(ty.admits(datum), "a {} is not {datum:?}", ty.display_name());
    match *datum {
        Datum::Null => {}
        Datum::Bool(v) => out.push(v.into()),
        Datum::Int2(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int4(v) | Datum::Date(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Int8(v)
        | Datum::Time(v)
        | Datum::Timestamp(v)
        | Datum::TimestampTz(v)
        | Datum::TimestampNs(v) => {
            out.extend_from_slice(&v.to_be_bytes());
        }
        Datum::Float4(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Numeric(v) => v.to_owned().write_binary(out),
        Datum::Text(v) if ty == ScalarType::Char => out.push(char_byte(v)),
        Datum::Text(v) | Datum::Json(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytea(v) => out.extend_from_slice(v),
        Datum::Interval(v) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            out.extend_from_slice(&v.days.to_be_bytes());
            out.extend_from_slice(&v.months.to_be_bytes());
        }
        Datum::Uuid(v) => out.extend_from_slice(&v),
        Datum::Jsonb(v) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(v.to_string().as_bytes());
        }
        Datum::JsonPath(v) => {
            out.push(JSONPATH_VERSION);
            out.extend_from_slice(jsonpath::shown(v).as_bytes());
        }
        Datum::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Bits(v) => bits::format_binary(v, out),
        Datum::Inet(v) => network::format_binary(&v, ty, out),
        Datum::Macaddr(v) => out.extend_from_slice(&v),
        Datum::TimeTz(v) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            out.extend_from_slice(&v.west.to_be_bytes());
        }
        Datum::Range(kind, v) => range::format_range_binary(&Range::read(kind, v), out),
        Datum::Multirange(kind, v) => range::format_multirange_binary(kind, v, out),
        Datum::Array(element, v) => array::format_binary(&ArrayRef::new(element, v), out),
        Datum::Enum(of, v) => out.extend_from_slice(enums::label(of, v).as_bytes()),
        Datum::Record(of, v) => record::format_binary(&RecordRef::new(of, v), out),
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    match bytes.first_chunk() {
        None => Err(Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")),
        Some(_) if bytes.len() > N => {
            Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format"))
        }
        Some(raw) => Ok(*raw),
    }
}

/// The text that these bytes are. Error 22021 where they are not UTF-8, or have a zero.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let fault = |at: &[u8]| {
        let shown: Vec<String> = at.iter().map(|byte| format!("0x{byte:02x}")).collect();
        Error::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
        )
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => checked_text(text),
        // The first fault counts.
        Err(e) if bytes[..e.valid_up_to()].contains(&0) => Err(fault(&[0])),
        Err(e) => {
            let rest = &bytes[e.valid_up_to()..];
            // PostgreSQL shows as many bytes as the first one promises.
            let promised = match rest[0] {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            };
            Err(fault(&rest[..promised.min(rest.len())]))
        }
    }
}

fn out_of_range(what: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
}

fn date(days: i32) -> Result<i32> {
    let infinite = days == i32::MIN || days == i32::MAX;
    if infinite || datetime::calendar::date_in_range(days.into()) {
        Ok(days)
    } else {
        Err(out_of_range("date"))
    }
}

fn timestamp(bytes: &[u8], typmod: i32) -> Result<i64> {
    let micros = i64::from_be_bytes(fixed(bytes)?);
    if micros == i64::MIN || micros == i64::MAX {
        return Ok(micros);
    }
    if !datetime::calendar::timestamp_in_range(micros) {
        return Err(out_of_range("timestamp"));
    }
    Ok(datetime::round_to_precision(micros, typmod))
}

fn jsonb<'a>(bytes: &[u8], arena: &'a Bump) -> Result<JsonbRef<'a>> {
    match bytes.split_first() {
        Some((&JSONB_VERSION, json)) => JsonbRef::parse(utf8(json)?, arena),
        Some((version, _)) => Err(Error::new(
            SqlState::INTERNAL_ERROR,
            format!("unsupported jsonb version number {version}"),
        )),
        None => Err(Error::new(SqlState::PROTOCOL_VIOLATION, "no data left in message")),
    }
}

fn jsonpath<'a>(bytes: &[u8], arena: &'a Bump) -> Result<&'a str> {
    match bytes.split_first() {
        Some((&JSONPATH_VERSION, path)) => {
            Ok(arena.alloc_str(&jsonpath::parsed(utf8(path)?)?.faithful()))
        }
        Some((version, _)) => Err(Error::new(
            SqlState::INTERNAL_ERROR,
            format!("unsupported jsonpath version number: {version}"),
        )),
        None => Err(Error::new(SqlState::PROTOCOL_VIOLATION, "no data left in message")),
    }
}
