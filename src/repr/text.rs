//! PostgreSQL's text form of every type: what clients send and are sent, and what literals say.

use std::fmt::Write;

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::repr::array;
use crate::repr::bits;
use crate::repr::bytea::{format_bytea, parse_bytea, push_hex};
use crate::repr::datetime;
use crate::repr::float::{format_f32, format_f64, parse_f32, parse_f64};
use crate::repr::jsonb::{JsonbRef, check_json};
use crate::repr::jsonpath;
use crate::repr::network;
use crate::repr::numeric::Numeric;
use crate::repr::range::{self, Range};
use crate::repr::record::{self, RecordRef};
use crate::repr::settings::FormatSettings;
use crate::repr::{ArrayRef, Datum, ScalarType, enums};

/// The bytes that a `name` has at most.
const NAME_BYTES: usize = 63;

/// What C's `isspace` takes for white space.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

pub(super) fn invalid(ty: ScalarType, text: &str) -> Error {
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {}: \"{text}\"", ty.display_name()),
    )
}

/// Reads a value of type `ty` with PostgreSQL's type modifier (−1 for none).
///
/// # Errors
///
/// 22P02, 22003, 22007, 22008, 22001 and what else PostgreSQL's input functions answer.
pub fn parse_text<'a>(
    ty: ScalarType,
    typmod: i32,
    text: &'a str,
    settings: &FormatSettings,
    arena: &'a Bump,
) -> Result<Datum<'a>> {
    Ok(match ty {
        ScalarType::Bool => Datum::Bool(parse_bool(text).ok_or_else(|| invalid(ty, text))?),
        ScalarType::Int2 => Datum::Int2(parse_integer(ty, i16::MIN.into(), text)? as i16),
        ScalarType::Int4 => Datum::Int4(parse_integer(ty, i32::MIN.into(), text)? as i32),
        ScalarType::Int8 => Datum::Int8(parse_integer(ty, i64::MIN.into(), text)? as i64),
        ScalarType::Float4 => Datum::Float4(parse_f32(text)?),
        ScalarType::Float8 => Datum::Float8(parse_f64(text)?),
        ScalarType::Numeric => {
            Datum::Numeric(Numeric::parse(text)?.with_typmod(typmod)?.encode_in(arena))
        }
        ScalarType::Text => Datum::Text(checked_text(text)?),
        ScalarType::Varchar => Datum::Text(fit_varchar(checked_text(text)?, typmod, false)?),
        ScalarType::Bpchar => Datum::Text(fit_bpchar(checked_text(text)?, typmod, false, arena)?),
        ScalarType::Name => Datum::Text(fit_name(checked_text(text)?)),
        ScalarType::Bytea => Datum::Bytea(arena.alloc_slice_copy(&parse_bytea(text)?)),
        ScalarType::Date => Datum::Date(datetime::parse_date(text, settings)?),
        ScalarType::Time => {
            Datum::Time(datetime::round_to_precision(datetime::parse_time(text, settings)?, typmod))
        }
        ScalarType::Timestamp => Datum::Timestamp(datetime::round_to_precision(
            datetime::parse_timestamp(text, settings)?,
            typmod,
        )),
        ScalarType::TimestampTz => Datum::TimestampTz(datetime::round_to_precision(
            datetime::parse_timestamptz(text, settings)?,
            typmod,
        )),
        ScalarType::TimestampNs => {
            Datum::TimestampNs(datetime::parse_timestamp_ns(text, settings)?)
        }
        ScalarType::Interval => Datum::Interval(datetime::parse_interval(text, typmod, settings)?),
        ScalarType::Uuid => Datum::Uuid(parse_uuid(text).ok_or_else(|| invalid(ty, text))?),
        ScalarType::Jsonb => Datum::Jsonb(JsonbRef::parse(text, arena)?),
        ScalarType::Oid => Datum::Oid(parse_oid(text)?),
        ScalarType::Char => Datum::Text(parse_char(checked_text(text)?, arena)),
        ScalarType::Xid => Datum::Oid(text.trim().parse().unwrap_or(0)),
        ScalarType::RegProc
        | ScalarType::RegProcedure
        | ScalarType::RegOper
        | ScalarType::RegOperator
        | ScalarType::RegClass
        | ScalarType::RegType
        | ScalarType::RegRole
        | ScalarType::RegNamespace => Datum::Oid(parse_reg(ty, text)?),
        ScalarType::Json => {
            check_json(checked_text(text)?, false)?;
            Datum::Json(text)
        }
        ScalarType::Bit | ScalarType::Varbit => {
            Datum::Bits(bits::parse_text(ty, typmod, text, arena)?)
        }
        ScalarType::Inet | ScalarType::Cidr => Datum::Inet(network::parse_text(ty, text)?),
        ScalarType::TimeTz => {
            Datum::TimeTz(datetime::parse_timetz(text, settings)?.rounded(typmod))
        }
        ScalarType::Macaddr => Datum::Macaddr(network::parse_mac(text)?),
        ScalarType::JsonPath => {
            let path = jsonpath::parsed(checked_text(text)?)?;
            Datum::JsonPath(arena.alloc_str(&path.faithful()))
        }
        ScalarType::Range(kind) => {
            range::parse_range_text(kind, checked_text(text)?, settings, arena)?.datum_in(arena)
        }
        ScalarType::Multirange(kind) => {
            let text = checked_text(text)?;
            range::parse_multirange_text(kind, text, settings, arena)?.datum_in(arena)
        }
        ScalarType::Array(element) => {
            array::parse_text(element, typmod, checked_text(text)?, settings, arena)?
        }
        ScalarType::Enum(of) => enums::parse_label(of, text, arena)?,
        ScalarType::Record(of) => record::parse_text(of, checked_text(text)?, settings, arena)?,
    })
}

/// Appends the text form of a value of type `ty`; nothing for NULL.
pub fn format_text(datum: &Datum<'_>, ty: ScalarType, settings: &FormatSettings, out: &mut String) {
    debug_assert!(ty.admits(datum), "a {} is not {datum:?}", ty.display_name());
    match *datum {
        Datum::Null => {}
        Datum::Bool(v) => out.push(if v { 't' } else { 'f' }),
        Datum::Int2(v) => push_display(v, out),
        Datum::Int4(v) => push_display(v, out),
        Datum::Int8(v) => push_display(v, out),
        Datum::Float4(v) => format_f32(v, settings.extra_float_digits, out),
        Datum::Float8(v) => format_f64(v, settings.extra_float_digits, out),
        Datum::Numeric(v) => push_display(v, out),
        Datum::Text(v) if ty == ScalarType::Char => format_char(v, out),
        Datum::Text(v) | Datum::Json(v) => out.push_str(v),
        Datum::JsonPath(v) => out.push_str(&jsonpath::shown(v)),
        Datum::Bytea(v) => format_bytea(v, settings.bytea_output, out),
        Datum::Date(v) => datetime::format_date(v, settings, out),
        Datum::Time(v) => datetime::format_time(v, out),
        Datum::Timestamp(v) => datetime::format_timestamp(v, settings, out),
        Datum::TimestampTz(v) => datetime::format_timestamptz(v, settings, out),
        Datum::TimestampNs(v) => datetime::format_timestamp_ns(v, settings, out),
        Datum::Interval(v) => datetime::format_interval(&v, settings, out),
        Datum::Uuid(v) => push_uuid(&v, out),
        Datum::Jsonb(v) => push_display(v, out),
        Datum::Oid(0) if ty.is_reg() && !ty.is_operator() => out.push('-'),
        Datum::Oid(v) => push_display(v, out),
        Datum::Bits(v) => bits::format_text(v, out),
        Datum::Inet(v) => network::push_network(&v, ty == ScalarType::Cidr, out),
        Datum::Macaddr(v) => network::format_mac(v, out),
        Datum::TimeTz(v) => v.format(out),
        Datum::Range(kind, v) => {
            range::format_range_text(&Range::read(kind, v), settings, out);
        }
        Datum::Multirange(kind, v) => range::format_multirange_text(kind, v, settings, out),
        Datum::Array(element, v) => {
            array::format_text(&ArrayRef::new(element, v), settings, out);
        }
        Datum::Enum(of, v) => enums::push_label(of, v, out),
        Datum::Record(of, v) => record::format_text(&RecordRef::new(of, v), settings, out),
    }
}

impl ScalarType {
    /// Whether `datum` may stand for a value of this type; NULL always may.
    pub fn admits(self, datum: &Datum<'_>) -> bool {
        match datum {
            Datum::Null => true,
            Datum::Bool(_) => self == ScalarType::Bool,
            Datum::Int2(_) => self == ScalarType::Int2,
            Datum::Int4(_) => self == ScalarType::Int4,
            Datum::Int8(_) => self == ScalarType::Int8,
            Datum::Float4(_) => self == ScalarType::Float4,
            Datum::Float8(_) => self == ScalarType::Float8,
            Datum::Numeric(_) => self == ScalarType::Numeric,
            // What an oid names, spelled.
            Datum::Text(_) if self.is_reg() => true,
            Datum::Text(_) => matches!(
                self,
                ScalarType::Text
                    | ScalarType::Varchar
                    | ScalarType::Bpchar
                    | ScalarType::Name
                    | ScalarType::Char
            ),
            Datum::Bytea(_) => self == ScalarType::Bytea,
            Datum::Date(_) => self == ScalarType::Date,
            Datum::Time(_) => self == ScalarType::Time,
            Datum::Timestamp(_) => self == ScalarType::Timestamp,
            Datum::TimestampTz(_) => self == ScalarType::TimestampTz,
            Datum::TimestampNs(_) => self == ScalarType::TimestampNs,
            Datum::Interval(_) => self == ScalarType::Interval,
            Datum::Uuid(_) => self == ScalarType::Uuid,
            Datum::Jsonb(_) => self == ScalarType::Jsonb,
            Datum::Oid(_) => self.is_oid(),
            Datum::Json(_) => self == ScalarType::Json,
            Datum::Bits(_) => matches!(self, ScalarType::Bit | ScalarType::Varbit),
            Datum::Inet(_) => matches!(self, ScalarType::Inet | ScalarType::Cidr),
            Datum::Macaddr(_) => self == ScalarType::Macaddr,
            Datum::TimeTz(_) => self == ScalarType::TimeTz,
            Datum::JsonPath(_) => self == ScalarType::JsonPath,
            Datum::Range(kind, _) => self == ScalarType::Range(*kind),
            Datum::Multirange(kind, _) => self == ScalarType::Multirange(*kind),
            Datum::Array(element, _) => self == ScalarType::Array(*element),
            Datum::Enum(of, _) => self == ScalarType::Enum(*of),
            Datum::Record(of, _) => self == ScalarType::Record(*of),
        }
    }
}

fn push_display(value: impl std::fmt::Display, out: &mut String) {
    write!(out, "{value}").expect("a string takes all text");
}

/// Text as PostgreSQL can hold it: without zero bytes.
pub(super) fn checked_text(text: &str) -> Result<&str> {
    if text.as_bytes().contains(&0) {
        return Err(Error::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ));
    }
    Ok(text)
}

/// A `"char"` from its text: a byte, as the character of that number, or none. `\\377` is read as
/// the byte that it spells; of other texts the first byte counts.
pub(crate) fn parse_char<'a>(text: &'a str, arena: &'a Bump) -> &'a str {
    let octal = |c: &u8| (b'0'..=b'7').contains(c);
    let byte = match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', rest @ ..] if rest.len() == 2 && rest.iter().all(octal) => {
            rest.iter().fold(a - b'0', |byte, digit| byte * 8 + (digit - b'0'))
        }
        [first, ..] => *first,
        [] => 0,
    };
    char_of(byte, arena)
}

/// The `"char"` of a byte; that of 0 is empty.
pub(crate) fn char_of(byte: u8, arena: &Bump) -> &str {
    match byte {
        0 => "",
        byte => arena.alloc_str(char::from(byte).encode_utf8(&mut [0; 4])),
    }
}

/// The byte of a `"char"`.
pub(crate) fn char_byte(char: &str) -> u8 {
    char.chars().next().map_or(0, |c| c as u32 as u8)
}

/// Appends the text of a `"char"`.
pub(crate) fn format_char(char: &str, out: &mut String) {
    match char_byte(char) {
        0 => {}
        byte if byte < 0x80 => out.push(byte.into()),
        byte => {
            let digits = [byte >> 6, byte >> 3 & 7, byte & 7].map(|d| char::from(b'0' + d));
            out.push('\\');
            out.extend(digits);
        }
    }
}

/// The number of what has a name. Names themselves are the catalog's to look up.
fn parse_reg(ty: ScalarType, text: &str) -> Result<u32> {
    match text.trim_matches(is_space) {
        "-" => Ok(0),
        digits => digits.parse().map_err(|_| {
            Error::unsupported(
                format!("\"{text}\" as a {} that is not written in the query", ty.name()),
                "Write it as a literal, or give its oid.",
            )
        }),
    }
}

/// Any beginning of `true`, `false`, `yes`, `no`, or `on`, `off`, `1`, `0`, in any case.
fn parse_bool(text: &str) -> Option<bool> {
    let word = text.trim_matches(is_space).to_ascii_lowercase();
    let begins = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || word == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

/// An integer from `least` to `-least - 1`.
fn parse_integer(ty: ScalarType, least: i128, text: &str) -> Result<i128> {
    let too_large = || {
        Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type {}", ty.display_name()),
        )
    };
    let body = text.trim_start_matches(is_space);
    let (negative, digits) = match body.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let end = digits.bytes().position(|c| !c.is_ascii_digit()).unwrap_or(digits.len());
    let mut value = 0i128;
    for digit in digits[..end].bytes() {
        // Downwards, because there is one more below zero than above.
        value = 10 * value - i128::from(digit - b'0');
        if value < least {
            return Err(too_large());
        }
    }
    if end == 0 || !digits[end..].trim_start_matches(is_space).is_empty() {
        return Err(invalid(ty, text));
    }
    match negative {
        true => Ok(value),
        false if value == least => Err(too_large()),
        false => Ok(-value),
    }
}

/// An oid; negative numbers of 32 bits wrap, as in PostgreSQL.
fn parse_oid(text: &str) -> Result<u32> {
    let ty = ScalarType::Oid;
    let too_large = || {
        Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type oid"),
        )
    };
    let body = text.trim_matches(is_space);
    let digits = body.strip_prefix(['-', '+']).unwrap_or(body);
    let (digits, rest) =
        digits.split_at(digits.bytes().position(|c| !c.is_ascii_digit()).unwrap_or(digits.len()));
    let magnitude = digits.bytes().fold(0i128, |v, d| (10 * v + i128::from(d - b'0')).min(1 << 80));
    if magnitude > u64::MAX.into() {
        return Err(too_large());
    }
    if digits.is_empty() || !rest.is_empty() {
        return Err(invalid(ty, text));
    }
    let value = if body.starts_with('-') { -magnitude } else { magnitude };
    if value < i32::MIN.into() || value > u32::MAX.into() {
        return Err(too_large());
    }
    Ok(value as u32)
}

/// 32 hexadecimal digits, perhaps in braces, perhaps with a hyphen behind any group of four.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let mut rest = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}')?.as_bytes(),
        None => text.as_bytes(),
    };
    let mut uuid = [0; 16];
    for (i, byte) in uuid.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else { return None };
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = (digit(*high)? << 4 | digit(*low)?) as u8;
        rest = match after {
            [b'-', after @ ..] if i % 2 == 1 && i < 15 => after,
            _ => after,
        };
    }
    rest.is_empty().then_some(uuid)
}

fn push_uuid(uuid: &[u8; 16], out: &mut String) {
    for (i, group) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        out.push_str(if i > 0 { "-" } else { "" });
        push_hex(&uuid[group], out);
    }
}

/// The length that a type modifier of `varchar` or `char` asks for, in characters.
fn length_of(typmod: i32) -> Option<usize> {
    usize::try_from(typmod - 4).ok()
}

/// The first `length` characters, and the rest.
fn split_chars(text: &str, length: usize) -> (&str, &str) {
    if text.len() <= length {
        return (text, "");
    }
    match text.char_indices().nth(length) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    }
}

fn too_long(ty: ScalarType, length: usize) -> Error {
    Error::new(
        SqlState::STRING_DATA_RIGHT_TRUNCATION,
        format!("value too long for type {}({length})", ty.display_name()),
    )
}

/// `text` as `varchar` with that modifier keeps it: only spaces are cut off, unless by an
/// explicit cast.
pub fn fit_varchar(text: &str, typmod: i32, explicit: bool) -> Result<&str> {
    let Some(length) = length_of(typmod) else { return Ok(text) };
    let (kept, rest) = split_chars(text, length);
    if !explicit && rest.bytes().any(|c| c != b' ') {
        return Err(too_long(ScalarType::Varchar, length));
    }
    Ok(kept)
}

/// `text` as `char` with that modifier keeps it: cut off as by [`fit_varchar`], or padded.
pub fn fit_bpchar<'a>(
    text: &'a str,
    typmod: i32,
    explicit: bool,
    arena: &'a Bump,
) -> Result<&'a str> {
    let Some(length) = length_of(typmod) else { return Ok(text) };
    let (kept, rest) = split_chars(text, length);
    if !explicit && rest.bytes().any(|c| c != b' ') {
        return Err(too_long(ScalarType::Bpchar, length));
    }
    let missing = length - kept.chars().count();
    if missing == 0 {
        return Ok(kept);
    }
    let mut padded = bumpalo::collections::String::with_capacity_in(kept.len() + missing, arena);
    padded.push_str(kept);
    padded.extend(std::iter::repeat_n(' ', missing));
    Ok(padded.into_bump_str())
}

/// `text` as a `name` keeps it: cut off behind 63 bytes, between characters.
pub fn fit_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repr::binary::{format_binary, parse_binary};

    /// What PostgreSQL 15 answered, line by line: type, modifier, text and answer as JSON.
    const ANSWERS: [&str; 3] = [
        include_str!("text.tsv"),
        include_str!("text_addresses.tsv"),
        include_str!("text_ranges.tsv"),
    ];

    fn answer(ty: ScalarType, typmod: i32, text: &str) -> String {
        let arena = Bump::new();
        let settings = FormatSettings::default();
        let mut out = String::new();
        match parse_text(ty, typmod, text, &settings, &arena) {
            Err(Error { code, message, detail, .. }) => {
                let detail = detail.map(|d| format!(" | {d}")).unwrap_or_default();
                return format!("ERROR {code} {message}{detail}");
            }
            Ok(datum) => {
                format_text(&datum, ty, &settings, &mut out);
                let mut wire = Vec::new();
                format_binary(&datum, ty, &mut wire);
                let back = parse_binary(ty, -1, &wire, &arena).unwrap();
                assert_eq!(back, datum, "the binary form comes back");
            }
        }
        out
    }

    #[test]
    fn answers_are_those_of_postgresql() {
        let mut wrong = Vec::new();
        for line in ANSWERS.into_iter().flat_map(str::lines) {
            let fields: Vec<&str> = line.split('\t').collect();
            let ty = ScalarType::ALL.into_iter().find(|t| t.name() == fields[0]).unwrap();
            let text: String = serde_json::from_str(fields[2]).unwrap();
            let expected: String = serde_json::from_str(fields[3]).unwrap();
            let got = answer(ty, fields[1].parse().unwrap(), &text);
            if got != expected {
                wrong.push(format!("{} {text:?}:\n  {got}\n  {expected}", fields[0]));
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}
