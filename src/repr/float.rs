//! Text forms of floating-point numbers.
//!
//! With `extra_float_digits` above zero, the default, the shortest digits that read back as the
//! same number are printed; otherwise that many fewer than fifteen, or six for `real`, as `%g`.

use crate::error::{Error, Result, SqlState};

/// What differs between `real` and `double precision`.
struct Width {
    name: &'static str,
    /// The decimal digits that every text keeps: C's `FLT_DIG` and `DBL_DIG`.
    digits: i32,
}

const REAL: Width = Width { name: "real", digits: 6 };
const DOUBLE: Width = Width { name: "double precision", digits: 15 };

/// Reads a `double precision`.
pub fn parse_f64(text: &str) -> Result<f64> {
    let body = body(text, &DOUBLE)?;
    let value: f64 = body.parse().map_err(|_| invalid(text, &DOUBLE))?;
    check_range(body, value.is_infinite(), value == 0.0, &DOUBLE)?;
    Ok(value)
}

/// Reads a `real`.
pub fn parse_f32(text: &str) -> Result<f32> {
    let body = body(text, &REAL)?;
    let value: f32 = body.parse().map_err(|_| invalid(text, &REAL))?;
    check_range(body, value.is_infinite(), value == 0.0, &REAL)?;
    Ok(value)
}

fn invalid(text: &str, width: &Width) -> Error {
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {}: \"{text}\"", width.name),
    )
}

fn body<'t>(text: &'t str, width: &Width) -> Result<&'t str> {
    let body = text.trim_matches(super::text::is_space);
    if body.is_empty() { Err(invalid(text, width)) } else { Ok(body) }
}

/// Refuses numbers that became infinite or zero by being read.
fn check_range(body: &str, infinite: bool, zero: bool, width: &Width) -> Result<()> {
    let mantissa = body.split(['e', 'E']).next().unwrap_or(body);
    let lost = infinite && body.bytes().any(|c| c.is_ascii_digit())
        || zero && mantissa.bytes().any(|c| matches!(c, b'1'..=b'9'));
    if lost {
        return Err(Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("\"{body}\" is out of range for type {}", width.name),
        ));
    }
    Ok(())
}

/// Appends a `double precision`.
pub fn format_f64(value: f64, extra_float_digits: i32, out: &mut String) {
    if push_special(value, out) {
        return;
    }
    if extra_float_digits > 0 {
        let (m, exponent) = split_f64(value);
        let reads_back = |text: &str| text.parse() == Ok(value);
        let text = shortest(value, m, exponent, reads_back);
        push_digits(&text, DOUBLE.digits, out);
    } else {
        push_general(value, DOUBLE.digits + extra_float_digits, out);
    }
}

/// Appends a `real`.
pub fn format_f32(value: f32, extra_float_digits: i32, out: &mut String) {
    if push_special(value.into(), out) {
        return;
    }
    if extra_float_digits > 0 {
        let (m, exponent) = split_f32(value);
        let reads_back = |text: &str| text.parse() == Ok(value);
        let text = shortest(value, m, exponent, reads_back);
        push_digits(&text, REAL.digits, out);
    } else {
        push_general(value.into(), REAL.digits + extra_float_digits, out);
    }
}

fn push_special(value: f64, out: &mut String) -> bool {
    let name = match value {
        v if v.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => return false,
    };
    out.push_str(name);
    true
}

/// The integer and the power of two of a finite number's absolute value.
fn split_f64(value: f64) -> (u64, i32) {
    let (fraction, exponent) = (value.to_bits() & ((1 << 52) - 1), value.to_bits() >> 52 & 0x7ff);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent as i32 - 1075) }
}

/// As [`split_f64`].
fn split_f32(value: f32) -> (u64, i32) {
    let bits = u64::from(value.to_bits());
    let (fraction, exponent) = (bits & ((1 << 23) - 1), bits >> 23 & 0xff);
    if exponent == 0 { (fraction, -149) } else { (fraction | 1 << 23, exponent as i32 - 150) }
}

/// The shortest digits inside the interval of numbers that read back as `value`, m · 2^exponent.
///
/// The ends of the interval lie in the middle between two floats, and reading them back relies on
/// halves going to even; so PostgreSQL passes over them, and 1e23 has sixteen digits.
fn shortest<T: std::fmt::LowerExp>(
    value: T,
    m: u64,
    exponent: i32,
    reads_back: impl Fn(&str) -> bool,
) -> String {
    let mut text = format!("{value:e}");
    if may_be_halved(m, exponent) {
        let mantissa = text.split('e').next().unwrap_or(&text);
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).count() - 1;
        let even = format!("{value:.digits$e}");
        if reads_back(&even) {
            text = even;
        }
    }
    if exponent <= 0 || !is_midpoint(&text, m, exponent) {
        return text;
    }
    (1..=16)
        .map(|digits| format!("{value:.digits$e}"))
        .find(|longer| reads_back(longer) && !is_midpoint(longer, m, exponent))
        .unwrap_or(text)
}

/// Whether the number, written out, could be short and end in 5, so that one digit less is as near
/// above as below: then PostgreSQL takes the even one.
fn may_be_halved(m: u64, exponent: i32) -> bool {
    let zeros = m.trailing_zeros();
    if m == 0 {
        return false;
    }
    let (odd, exponent) = (m >> zeros, exponent + zeros as i32);
    match exponent {
        0..=22 => odd.is_multiple_of(5u64.pow(exponent as u32 + 1).max(1)),
        -25..0 => u128::from(odd) * 5u128.pow(-exponent as u32) < 1_000_000_000_000_000_000,
        _ => false,
    }
}

/// Whether the text is in the middle between m · 2^exponent and one of its neighbours.
fn is_midpoint(scientific: &str, m: u64, exponent: i32) -> bool {
    let Some((mantissa, power)) = scientific.split_once('e') else { return false };
    let mut digits: u128 = 0;
    let mut power: i32 = power.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    for digit in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
        digits = 10 * digits + u128::from(digit - b'0');
    }
    power -= fraction.len() as i32;
    // Beyond 5^24 no odd number of 54 bits is a multiple.
    if !(0..24).contains(&power) {
        return false;
    }
    let odd = digits * 5u128.pow(power as u32);
    // The middle is (2m ± 1) · 2^(exponent − 1).
    let shift = odd.trailing_zeros() as i32 + power - (exponent - 1);
    let odd = odd >> odd.trailing_zeros();
    shift == 0 && odd.abs_diff(2 * u128::from(m)) == 1
}

/// As C's `%.*g`.
fn push_general(value: f64, precision: i32, out: &mut String) {
    let precision = precision.max(1);
    let scientific = format!("{:.*e}", precision as usize - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    push_digits(&format!("{mantissa}e{exponent}"), precision, out);
}

/// Appends `-d.ddde-x` in plain digits where the exponent is at least −4 and below `plain`,
/// otherwise with an exponent of a sign and at least two digits.
fn push_digits(scientific: &str, plain: i32, out: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    if !(-4..plain).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(mantissa);
        out.push_str(&format!("e{sign}{:02}", exponent.abs()));
        return;
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    out.push_str(sign);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).map(char::from);
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.extend(digits);
        return;
    }
    let whole = exponent as usize + 1;
    let mut count = 0;
    for digit in digits {
        if count == whole {
            out.push('.');
        }
        out.push(digit);
        count += 1;
    }
    out.extend(std::iter::repeat_n('0', whole.saturating_sub(count)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_digits_are_those_of_printf() {
        let cases = [
            (0.1, 0, "0.1"),
            (1.0 / 3.0, 0, "0.333333333333333"),
            (1.0 / 3.0, -10, "0.33333"),
            (123456.789, -12, "1.23e+05"),
            (1e15, 0, "1e+15"),
            (1e14, 0, "100000000000000"),
            (1e-5, 0, "1e-05"),
            (100.0, -15, "1e+02"),
            (0.1 + 0.2, 0, "0.3"),
            (0.1 + 0.2, 1, "0.30000000000000004"),
            (-0.0, 0, "-0"),
        ];
        for (value, extra, expected) in cases {
            let mut out = String::new();
            format_f64(value, extra, &mut out);
            assert_eq!(out, expected, "{value} {extra}");
        }
    }
}
