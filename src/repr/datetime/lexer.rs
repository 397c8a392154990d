//! Splits a date, time or interval input into the fields that the decoders work on.
//!
//! The split is by the shape of the text alone and the same for every type: `1999-01-08` is one
//! field and `04:05:06` another, while `Jan 8, 1999` is three. Letters come out in lower case.

use crate::repr::datetime::fault::Fault;
use crate::repr::datetime::keywords::date_word;

/// The most fields that an input has.
const MAX_FIELDS: usize = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// Digits, perhaps with one decimal point.
    Number,
    /// Letters.
    Word,
    /// A date, or a name of a zone with punctuation in it.
    Date,
    /// Digits with a colon.
    Time,
    /// A sign and digits.
    Zone,
    /// A sign and letters.
    Signed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub kind: FieldKind,
    pub text: String,
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// The byte so far ahead; 0 beyond the end.
    fn peek_at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn take(&mut self, out: &mut String) {
        out.push(self.peek().to_ascii_lowercase() as char);
        self.at += 1;
    }

    fn take_while(&mut self, out: &mut String, test: impl Fn(u8) -> bool) {
        while test(self.peek()) {
            self.take(out);
        }
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_alpha(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// The fields of a text. `limit` is the most bytes that they have, each with one to end it.
pub(super) fn split(text: &str, limit: usize) -> Result<Vec<Field>, Fault> {
    let mut cursor = Cursor { bytes: text.as_bytes(), at: 0 };
    let mut fields: Vec<Field> = Vec::with_capacity(4);
    let mut used = 0;
    while cursor.at < cursor.bytes.len() {
        let first = cursor.peek();
        if is_space(first) {
            cursor.at += 1;
            continue;
        }
        let mut text = String::new();
        let kind = if is_digit(first) {
            number_or_date(&mut cursor, &mut text)
        } else if first == b'.' {
            cursor.take(&mut text);
            cursor.take_while(&mut text, is_digit);
            FieldKind::Number
        } else if is_alpha(first) {
            word(&mut cursor, &mut text)
        } else if first == b'+' || first == b'-' {
            signed(&mut cursor, &mut text)?
        } else if first.is_ascii_punctuation() {
            cursor.at += 1;
            continue;
        } else {
            return Err(Fault::BadFormat);
        };
        used += text.len() + 1;
        if fields.len() == MAX_FIELDS || used > limit {
            return Err(Fault::BadFormat);
        }
        fields.push(Field { kind, text });
    }
    Ok(fields)
}

fn number_or_date(cursor: &mut Cursor<'_>, out: &mut String) -> FieldKind {
    cursor.take_while(out, is_digit);
    let delimiter = cursor.peek();
    match delimiter {
        b':' => {
            cursor.take_while(out, |byte| is_digit(byte) || byte == b':' || byte == b'.');
            FieldKind::Time
        }
        b'-' | b'/' | b'.' => {
            cursor.take(out);
            if !is_digit(cursor.peek()) {
                // A text month; what follows it may be a zone, so that more than one shape of
                // delimiter is not insisted on.
                cursor.take_while(out, |byte| byte.is_ascii_alphanumeric() || byte == delimiter);
                return FieldKind::Date;
            }
            cursor.take_while(out, is_digit);
            if cursor.peek() == delimiter {
                cursor.take_while(out, |byte| is_digit(byte) || byte == delimiter);
                FieldKind::Date
            } else if delimiter == b'.' {
                FieldKind::Number
            } else {
                FieldKind::Date
            }
        }
        _ => FieldKind::Number,
    }
}

fn word(cursor: &mut Cursor<'_>, out: &mut String) -> FieldKind {
    cursor.take_while(out, is_alpha);
    let next = cursor.peek();
    let is_date = match next {
        b'-' | b'/' | b'.' => true,
        // `GMT-2` and `Etc/GMT+5` are zones, but `t040506` is the word `t` and a time.
        b'+' => date_word(out).is_none(),
        _ => is_digit(next) && date_word(out).is_none(),
    };
    if !is_date {
        return FieldKind::Word;
    }
    cursor.take_while(out, |byte| byte.is_ascii_alphanumeric() || b"+-/_.:".contains(&byte));
    FieldKind::Date
}

fn signed(cursor: &mut Cursor<'_>, out: &mut String) -> Result<FieldKind, Fault> {
    cursor.take(out);
    while is_space(cursor.peek()) {
        cursor.at += 1;
    }
    if is_digit(cursor.peek()) {
        cursor.take_while(out, |byte| is_digit(byte) || b":.-".contains(&byte));
        Ok(FieldKind::Zone)
    } else if is_alpha(cursor.peek()) {
        cursor.take_while(out, is_alpha);
        Ok(FieldKind::Signed)
    } else {
        Err(Fault::BadFormat)
    }
}
