//! Numbers inside a field: an integer and what follows it, and fractions of a second.

use crate::repr::datetime::fault::Fault;

/// The integer at the start of a text, with a sign or without, and the rest. A text that does not
/// start with one is 0 and a rest, as the C library reads it.
pub(super) fn leading_int(text: &str) -> Result<(i64, &str), Fault> {
    let trimmed = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let signed = trimmed.starts_with(['+', '-']);
    let digits = &trimmed[usize::from(signed)..];
    let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if count == 0 {
        return Ok((0, text));
    }
    let end = usize::from(signed) + count;
    let value = trimmed[..end].parse().map_err(|_| Fault::FieldOverflow)?;
    Ok((value, &trimmed[end..]))
}

/// As [`leading_int`], in 32 bits.
pub(super) fn leading_i32(text: &str) -> Result<(i32, &str), Fault> {
    let (value, rest) = leading_int(text)?;
    Ok((i32::try_from(value).map_err(|_| Fault::FieldOverflow)?, rest))
}

/// The value of `.5`, a point and digits; a lone point is 0.
pub(super) fn fraction(text: &str) -> Result<f64, Fault> {
    if text == "." {
        return Ok(0.0);
    }
    let digits = text.strip_prefix('.').ok_or(Fault::BadFormat)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::BadFormat);
    }
    text.parse().map_err(|_| Fault::BadFormat)
}

/// Microseconds of a fraction of a second, rounded half to even; may be a whole million.
pub(super) fn fractional_micros(text: &str) -> Result<i32, Fault> {
    Ok((fraction(text)? * 1_000_000.0).round_ties_even() as i32)
}
