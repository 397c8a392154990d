//! `macaddr`: six bytes of hardware.

use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;
use crate::repr::text::{invalid, is_space};

/// PostgreSQL's forms in the order in which it tries them (`macaddr_in`): what stands between the
/// bytes, and whether a byte has two digits at most.
const FORMS: [([&str; 5], bool); 7] = [
    ([":", ":", ":", ":", ":"], false),
    (["-", "-", "-", "-", "-"], false),
    (["", "", ":", "", ""], true),
    (["", "", "-", "", ""], true),
    (["", ".", "", ".", ""], true),
    (["", "-", "", "-", ""], true),
    (["", "", "", "", ""], true),
];

/// Reads six bytes in hexadecimal digits.
pub(in crate::repr) fn parse_mac(text: &str) -> Result<[u8; 6]> {
    let mut read = FORMS.iter().filter_map(|(between, is_short)| scan(text, between, *is_short));
    let octets = read.next().ok_or_else(|| invalid(ScalarType::Macaddr, text))?;
    let mut mac = [0; 6];
    for (byte, octet) in mac.iter_mut().zip(octets) {
        *byte = u8::try_from(octet).map_err(|_| {
            let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
    }
    Ok(mac)
}

/// Six numbers with that between them, as C's `sscanf` reads them: white space may stand before
/// each, and behind the last, and a number may have a sign.
fn scan(text: &str, between: &[&str; 5], is_short: bool) -> Option<[i64; 6]> {
    let mut octets = [0; 6];
    let mut rest = text;
    for (at, octet) in octets.iter_mut().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(between[at - 1])?;
        }
        rest = rest.trim_start_matches(is_space);
        let sign = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let digits = if is_short { digits.min(2 - sign) } else { digits };
        let (number, behind) = rest.split_at(sign + digits);
        let magnitude = number[sign..]
            .chars()
            .try_fold(0i64, |value, c| Some((16 * value + i64::from(c.to_digit(16)?)).min(1 << 40)))
            .filter(|_| digits > 0)?;
        *octet = if number.starts_with('-') { -magnitude } else { magnitude };
        rest = behind;
    }
    rest.trim_start_matches(is_space).is_empty().then_some(octets)
}

/// Appends pairs of digits with colons between them.
pub(in crate::repr) fn format_mac(mac: [u8; 6], out: &mut String) {
    for (at, byte) in mac.iter().enumerate() {
        out.push_str(if at > 0 { ":" } else { "" });
        crate::repr::bytea::push_hex(&[*byte], out);
    }
}
