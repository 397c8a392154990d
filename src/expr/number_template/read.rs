//! Reading a number by a template.

use crate::error::{Error, SqlState};
use crate::expr::error::EvalError;
use crate::expr::number_template::template::{Item, Key, LocaleSign, Template};
use crate::repr::numeric::Numeric;

/// `to_number(text, template)`; NULL of an empty template.
///
/// # Errors
///
/// 42601 for a template that makes no sense, 22P02 where there is no number, 22003.
pub fn to_number(text: &str, template: &str) -> Result<Option<Numeric>, EvalError> {
    if template.is_empty() {
        return Ok(None);
    }
    let template = Template::parse(template)?;
    if template.is_exponent || template.is_roman {
        let pattern = if template.is_exponent { "EEEE" } else { "RN" };
        let message = format!("\"{pattern}\" not supported for input");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).into());
    }
    let mut reader = Reader {
        template: &template,
        text: text.as_bytes(),
        at: 0,
        sign: b' ',
        digits: String::new(),
        whole: 0,
        fraction: 0,
        has_point: false,
    };
    reader.read();
    let mut spelled = format!("{}{}", char::from(reader.sign), reader.digits);
    if spelled.ends_with('.') {
        spelled.pop();
    }
    let scale = reader.fraction;
    let precision = template.pre + template.multi + scale;
    let number = Numeric::parse(&spelled)?.with_typmod((precision << 16 | scale) + 4)?;
    if !template.has_shift {
        return Ok(Some(number));
    }
    let factor = Numeric::from_i128(10).power(&Numeric::from(-template.multi))?;
    Ok(Some(number.mul(&factor)?))
}

struct Reader<'r> {
    template: &'r Template,
    text: &'r [u8],
    at: usize,
    /// `-`, `+`, or a blank.
    sign: u8,
    digits: String,
    /// How many digits were read before the point and behind it.
    whole: i32,
    fraction: i32,
    has_point: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn is_digit(&self, at: usize) -> bool {
        self.text.get(at).is_some_and(u8::is_ascii_digit)
    }

    /// Steps over a character.
    fn skip(&mut self) {
        self.at += match self.peek() {
            Some(0xf0..) => 4,
            Some(0xe0..) => 3,
            Some(0xc0..) => 2,
            _ => 1,
        };
    }

    fn read(&mut self) {
        for item in &self.template.items {
            if self.at >= self.text.len() {
                return;
            }
            match item {
                Item::Literal(_) => self.skip(),
                Item::Key(key) => self.read_key(*key),
            }
        }
    }

    fn read_key(&mut self, key: Key) {
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::LocalePoint => {
                self.read_place(key);
                self.at += 1;
            }
            Key::Comma | Key::Group if !self.template.is_filled && self.peek() == Some(b',') => {
                self.at += 1;
            }
            Key::Currency => self.skip_other(1),
            Key::Ordinal { .. } if self.sign != b'-' && !self.template.has_point => {
                self.skip_other(2);
            }
            Key::Minus => self.read_sign(b"-"),
            Key::Plus => self.read_sign(b"+"),
            Key::Sign => self.read_sign(b"-+"),
            _ => {}
        }
    }

    /// Steps over characters that no number has.
    fn skip_other(&mut self, count: usize) {
        for _ in 0..count {
            match self.peek() {
                None | Some(b'0'..=b'9' | b'.' | b',' | b'+' | b'-') => return,
                Some(_) => self.skip(),
            }
        }
    }

    fn read_sign(&mut self, signs: &[u8]) {
        match self.peek().filter(|sign| signs.contains(sign)) {
            Some(sign) => {
                self.sign = sign;
                self.at += 1;
            }
            None => self.skip_other(1),
        }
    }

    /// A digit or the point; what was read is stepped over by the caller.
    fn read_place(&mut self, key: Key) {
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        let is_digit_place = matches!(key, Key::Zero | Key::Nine);
        if self.sign == b' ' && is_digit_place && self.whole + self.fraction == 0 {
            self.read_sign_before();
        }
        let mut was_read = false;
        match self.peek() {
            None => return,
            Some(digit @ b'0'..=b'9') => {
                if self.has_point && self.fraction == self.template.post {
                    return;
                }
                self.digits.push(digit.into());
                match self.has_point {
                    true => self.fraction += 1,
                    false => self.whole += 1,
                }
                was_read = true;
            }
            Some(b'.') if self.template.has_point && !self.has_point => {
                self.digits.push('.');
                self.has_point = true;
                was_read = true;
            }
            Some(_) => {}
        }
        if self.sign == b' ' && self.whole + self.fraction > 0 {
            self.read_sign_behind(was_read);
        }
    }

    fn read_sign_before(&mut self) {
        let signs = self.template.signs;
        if signs.locale && self.template.locale_sign == LocaleSign::Before {
            if let Some(sign @ (b'-' | b'+')) = self.peek() {
                self.sign = sign;
                self.at += 1;
            }
            return;
        }
        match self.peek() {
            Some(b'-') => self.sign = b'-',
            Some(b'<') if signs.bracket => self.sign = b'-',
            Some(b'+') => self.sign = b'+',
            _ => return,
        }
        self.at += 1;
    }

    /// A sign behind the last digit.
    fn read_sign_behind(&mut self, was_read: bool) {
        let signs = self.template.signs;
        if signs.locale && was_read && self.at + 1 < self.text.len() && !self.is_digit(self.at + 1)
        {
            if let Some(sign @ (b'-' | b'+')) = self.text.get(self.at + 1).copied() {
                self.sign = sign;
                self.at += 1;
            }
        } else if !was_read
            && !signs.locale
            && (signs.plus || signs.minus)
            && let Some(sign @ (b'-' | b'+')) = self.peek()
        {
            self.sign = sign;
        }
    }
}
