//! Writing a number by a template.
//!
//! A number is first made into the digits that the template has places for ([`Digits`]), then a
//! [`Writer`] goes through the template and puts them into their places.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::functions::integer::out_of_range;
use crate::expr::number_template::template::{Item, Key, LocaleSign, Signs, Template};
use crate::repr::ScalarType;
use crate::repr::numeric::Numeric;

/// A spelled number, or why there is none.
pub type Spelled = Result<String, EvalError>;

/// The width of the widest Roman number.
const ROMAN_WIDTH: usize = 15;

/// The digits that are put into places.
struct Digits {
    /// Without a sign; `#` where they do not fit.
    text: String,
    negative: bool,
    /// How many places before the digits are empty.
    blanks: i32,
}

impl Digits {
    fn new(text: &str, template: &Template) -> Digits {
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let whole = text.find('.').unwrap_or(text.len()) as i32;
        if whole > template.pre {
            return Digits { text: overflown(template, 1), negative, blanks: 0 };
        }
        Digits { text: text.to_owned(), negative, blanks: template.pre - whole }
    }

    fn unsigned(text: String) -> Digits {
        Digits { text, negative: false, blanks: 0 }
    }
}

/// `#` in every place, with the point.
fn overflown(template: &Template, more: i32) -> String {
    let length = (template.pre + template.post + more) as usize;
    let mut text = "#".repeat(length);
    text.replace_range(template.pre as usize..=template.pre as usize, ".");
    text
}

/// The same for an exponent: six more places, of which the first is the sign's.
fn overflown_exponent(template: &Template) -> String {
    let length = (template.pre + template.post + 6) as usize;
    let mut text: Vec<u8> = vec![b'#'; length];
    text[0] = b' ';
    text[(template.pre + 1) as usize] = b'.';
    String::from_utf8(text).expect("ASCII is UTF-8")
}

/// A float in scientific notation, with a place for the sign.
fn scientific(value: f64, digits: i32) -> String {
    let spelled = format!("{:.*e}", digits as usize, value);
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let blank = if value.is_sign_negative() { "" } else { " " };
    format!("{blank}{mantissa}{}", exponent_part(exponent.parse().unwrap_or(0)))
}

/// `e` with a sign and at least two digits.
fn exponent_part(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn roman(number: i64) -> String {
    if !(1..=3999).contains(&number) {
        return "#".repeat(ROMAN_WIDTH);
    }
    const STEPS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let (mut rest, mut spelled) = (number, String::new());
    for (value, letters) in STEPS {
        while rest >= value {
            spelled.push_str(letters);
            rest -= value;
        }
    }
    spelled
}

/// An integer with the zeros of a fraction.
fn whole(value: impl std::fmt::Display, template: &Template) -> Digits {
    let zeros = "0".repeat(template.post as usize);
    let point = if template.post > 0 { "." } else { "" };
    Digits::new(&format!("{value}{point}{zeros}"), template)
}

/// `to_char(int4, template)`.
pub fn int4(value: i32, template: &str) -> Spelled {
    let mut template = Template::parse(template)?;
    let digits = if template.is_roman {
        Digits::unsigned(roman(value.into()))
    } else if template.is_exponent {
        Digits::unsigned(scientific(value.into(), template.post))
    } else if template.has_shift {
        // What is too large for an int4 saturates at its end.
        let factor = 10_i32.saturating_pow(template.multi as u32);
        template.pre += template.multi;
        let value = value.checked_mul(factor).ok_or_else(|| out_of_range(ScalarType::Int4))?;
        whole(value, &template)
    } else {
        whole(value, &template)
    };
    Writer::new(&template, digits).write()
}

/// `to_char(int8, template)`.
pub fn int8(value: i64, template: &str) -> Spelled {
    let mut template = Template::parse(template)?;
    let digits = if template.is_roman {
        let value = i32::try_from(value).map_err(|_| out_of_range(ScalarType::Int4))?;
        Digits::unsigned(roman(value.into()))
    } else if template.is_exponent {
        Digits::unsigned(scientific_numeric(&Numeric::from(value), template.post)?)
    } else if template.has_shift {
        let factor = 10_i64.checked_pow(template.multi as u32);
        template.pre += template.multi;
        let value = factor.and_then(|factor| value.checked_mul(factor));
        whole(value.ok_or_else(|| out_of_range(ScalarType::Int8))?, &template)
    } else {
        whole(value, &template)
    };
    Writer::new(&template, digits).write()
}

/// `to_char(numeric, template)`.
pub fn numeric(value: &Numeric, template: &str) -> Spelled {
    let mut template = Template::parse(template)?;
    let digits = if template.is_roman {
        Digits::unsigned(roman(value.round(0)?.to_i32()?.into()))
    } else if template.is_exponent {
        Digits::unsigned(match value {
            Numeric::Finite(_) => scientific_numeric(value, template.post)?,
            _ => overflown_exponent(&template),
        })
    } else {
        let mut value = value.clone();
        if template.has_shift {
            let factor = Numeric::from_i128(10).power(&Numeric::from(template.multi))?;
            value = value.mul(&factor)?;
            template.pre += template.multi;
        }
        Digits::new(&value.round(template.post)?.to_string(), &template)
    };
    Writer::new(&template, digits).write()
}

/// A numeric in scientific notation, with a place for the sign. The mantissa is rounded after it
/// was cut, so that it can become ten.
fn scientific_numeric(value: &Numeric, digits: i32) -> Result<String, EvalError> {
    let plain = value.abs().to_string();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let exponent = match whole.trim_start_matches('0').len() {
        0 => match fraction.find(|c| c != '0') {
            Some(zeros) => -(zeros as i32) - 1,
            None => 0,
        },
        length => length as i32 - 1,
    };
    let shift = Numeric::parse(&format!("1e{}", -exponent))?;
    let mantissa = value.mul(&shift)?.round(digits)?.to_string();
    let blank = if mantissa.starts_with('-') { "" } else { " " };
    Ok(format!("{blank}{mantissa}{}", exponent_part(exponent)))
}

/// A float of so many significant digits.
fn float(value: f64, template: &str, precision: i32, single: bool) -> Spelled {
    let mut template = Template::parse(template)?;
    let digits = if template.is_roman {
        // What is no int4 is no Roman number either.
        let rounded = value.round_ties_even();
        Digits::unsigned(roman(if rounded.is_nan() { 0 } else { rounded as i64 }))
    } else if template.is_exponent {
        Digits::unsigned(match value.is_finite() {
            true => scientific(value, template.post),
            false => overflown_exponent(&template),
        })
    } else {
        let mut value = value;
        if template.has_shift {
            value *= 10_f64.powi(template.multi);
            value = if single { f64::from(value as f32) } else { value };
            template.pre += template.multi;
        }
        let whole = special(value.abs()).unwrap_or_else(|| format!("{:.0}", value.abs()));
        let length = whole.len() as i32;
        template.post = template.post.min((precision - length).max(0));
        let plain = format!("{:.*}", template.post as usize, value);
        Digits::new(&special(value).unwrap_or(plain), &template)
    };
    Writer::new(&template, digits).write()
}

/// How PostgreSQL spells what is not finite.
fn special(value: f64) -> Option<String> {
    match value {
        value if value.is_nan() => Some("NaN".to_owned()),
        f64::INFINITY => Some("Infinity".to_owned()),
        f64::NEG_INFINITY => Some("-Infinity".to_owned()),
        _ => None,
    }
}

/// `to_char(float4, template)`.
pub fn float4(value: f32, template: &str) -> Spelled {
    float(value.into(), template, 6, true)
}

/// `to_char(float8, template)`.
pub fn float8(value: f64, template: &str) -> Spelled {
    float(value, template, 15, false)
}

/// Puts digits into the places of a template.
struct Writer<'t> {
    template: &'t Template,
    digits: Vec<u8>,
    /// None for a Roman number.
    sign: Option<u8>,
    blanks: i32,
    is_filled: bool,
    is_roman: bool,
    has_zero: bool,
    has_point: bool,
    signs: Signs,
    locale_sign: LocaleSign,
    post: i32,
    zero_start: i32,
    sign_written: bool,
    /// Whether the last place had a digit.
    in_number: bool,
    /// The place that is written next, of how many.
    place: i32,
    last_place: i32,
    /// The digit that is written next.
    next: usize,
    /// The last digit that is written where there is no fill.
    last_relevant: Option<usize>,
    out: String,
    /// Where the answer ends, if not behind everything.
    end: Option<usize>,
}

impl<'t> Writer<'t> {
    fn new(template: &'t Template, digits: Digits) -> Writer<'t> {
        let roman = template.is_roman;
        let mut writer = Writer {
            template,
            digits: digits.text.into_bytes(),
            sign: (!roman).then_some(if digits.negative { b'-' } else { b'+' }),
            blanks: digits.blanks,
            is_filled: template.is_filled,
            is_roman: roman,
            has_zero: template.has_zero && !roman,
            has_point: template.has_point && !roman,
            signs: if roman { Signs::default() } else { template.signs },
            locale_sign: if roman { LocaleSign::None } else { template.locale_sign },
            post: if roman { 0 } else { template.post },
            zero_start: (template.zero_start - 1).max(0),
            sign_written: false,
            in_number: false,
            place: 0,
            last_place: if roman { -1 } else { template.post + template.pre - 1 },
            next: 0,
            last_relevant: None,
            out: String::new(),
            end: None,
        };
        writer.prepare_sign();
        if writer.is_filled && writer.has_point {
            writer.find_last_relevant();
        }
        if !writer.sign_written && writer.blanks == 0 {
            writer.last_place += 1;
        }
        writer
    }

    fn prepare_sign(&mut self) {
        if self.signs.plus || self.signs.minus {
            self.sign_written = !self.signs.plus || self.signs.minus;
            return;
        }
        if self.sign != Some(b'-') && self.is_filled {
            self.signs.bracket = false;
        }
        self.sign_written = self.sign == Some(b'+') && self.is_filled && !self.signs.locale;
        let behind_digits = self.template.pre == self.template.digits_before_sign;
        if self.locale_sign == LocaleSign::Before && behind_digits {
            self.locale_sign = LocaleSign::After;
        }
    }

    /// The last digit of the fraction that is no zero, but none before the last `0`'s place.
    fn find_last_relevant(&mut self) {
        let Some(point) = self.digits.iter().position(|d| *d == b'.') else { return };
        let nonzero = self.digits[point + 1..].iter().rposition(|d| *d != b'0');
        let mut last = nonzero.map_or(point, |at| point + 1 + at);
        if self.template.zero_end > self.blanks {
            let zero = (self.template.zero_end - self.blanks) as usize;
            last = last.max(zero.min(self.digits.len() - 1));
        }
        self.last_relevant = Some(last);
    }

    fn digit(&self, at: usize) -> Option<u8> {
        self.digits.get(at).copied()
    }

    fn write(mut self) -> Spelled {
        if self.template.is_exponent {
            return Ok(String::from_utf8(self.digits).expect("digits are ASCII"));
        }
        for item in &self.template.items {
            match item {
                Item::Literal(c) => self.out.push(*c),
                Item::Key(Key::Ordinal { upper }) => self.write_ordinal(*upper)?,
                Item::Key(key) => self.write_key(*key),
            }
        }
        self.out.truncate(self.end.unwrap_or(self.out.len()));
        Ok(self.out)
    }

    fn write_key(&mut self, key: Key) {
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::LocalePoint => self.write_place(key),
            Key::Comma | Key::Group if self.in_number => self.out.push(','),
            Key::Comma | Key::Group if !self.is_filled => self.out.push(' '),
            Key::Currency => self.out.push(' '),
            Key::Roman { upper } => self.write_roman(upper),
            Key::Minus => self.write_own_sign(b'-'),
            Key::Plus => self.write_own_sign(b'+'),
            Key::Sign => self.out.extend(self.sign.map(char::from)),
            _ => {}
        }
    }

    /// `MI` and `PL`: their sign, or a blank.
    fn write_own_sign(&mut self, sign: u8) {
        if self.sign == Some(sign) {
            self.out.push(sign.into());
        } else if !self.is_filled {
            self.out.push(' ');
        }
    }

    fn write_roman(&mut self, upper: bool) {
        let mut spelled = String::from_utf8_lossy(&self.digits).into_owned();
        if !upper {
            spelled.make_ascii_lowercase();
        }
        if self.is_filled {
            self.out.push_str(&spelled);
        } else {
            self.out.push_str(&format!("{spelled:>ROMAN_WIDTH$}"));
        }
    }

    fn write_ordinal(&mut self, upper: bool) -> Result<(), EvalError> {
        if self.is_roman || self.digit(0) == Some(b'#') || self.sign == Some(b'-') || self.has_point
        {
            return Ok(());
        }
        if !self.digits.last().is_some_and(u8::is_ascii_digit) {
            let message = format!("\"{}\" is not a number", String::from_utf8_lossy(&self.digits));
            return Err(EvalError::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
        }
        let is_teen = self.digits.len() > 1 && self.digits[self.digits.len() - 2] == b'1';
        let suffix = match self.digits.last() {
            Some(b'1') if !is_teen => "st",
            Some(b'2') if !is_teen => "nd",
            Some(b'3') if !is_teen => "rd",
            _ => "th",
        };
        self.out.push_str(&if upper { suffix.to_ascii_uppercase() } else { suffix.to_owned() });
        Ok(())
    }

    fn point_is_last(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.digit(last) == Some(b'.'))
    }

    /// Whether the next digit is the zero of `0.1` that the template leaves out.
    fn is_leading_zero(&self) -> bool {
        !self.has_zero && self.next == 0 && self.digit(0) == Some(b'0') && self.post != 0
    }

    fn write_place(&mut self, key: Key) {
        if self.is_roman {
            return;
        }
        self.in_number = false;
        let in_zeros = self.has_zero && self.zero_start <= self.place;
        let is_due = self.place >= self.blanks || self.has_zero && self.zero_start == self.place;
        if !self.sign_written && is_due && (!self.is_leading_zero() || self.point_is_last()) {
            self.write_sign();
        }
        if self.place < self.blanks && !in_zeros {
            if !self.is_filled {
                self.out.push(' ');
            }
        } else if self.place < self.blanks {
            self.out.push('0');
            self.in_number = true;
        } else {
            self.write_digit(key);
        }
        let more = i32::from(self.blanks != 0) + i32::from(self.has_point);
        let mut end = self.last_place + more;
        if self.last_relevant == Some(self.next) {
            end = self.place;
        }
        if self.place + 1 == end {
            self.write_sign_behind();
        }
        self.place += 1;
    }

    fn write_sign(&mut self) {
        if self.signs.locale {
            if self.locale_sign == LocaleSign::Before {
                self.out.extend(self.sign.map(char::from));
                self.sign_written = true;
            }
        } else if self.signs.bracket {
            self.out.push(if self.sign == Some(b'+') { ' ' } else { '<' });
            self.sign_written = true;
        } else {
            match self.sign {
                Some(b'-') => self.out.push('-'),
                _ if !self.is_filled => self.out.push(' '),
                _ => {}
            }
            self.sign_written = true;
        }
    }

    fn write_digit(&mut self, key: Key) {
        match self.digit(self.next) {
            Some(b'.') => {
                if !self.point_is_last() || self.is_filled {
                    self.out.push('.');
                }
            }
            _ if self.last_relevant.is_some_and(|last| self.next > last) && key != Key::Zero => {}
            _ if self.is_leading_zero() => {
                if !self.is_filled {
                    self.out.push(' ');
                } else if self.point_is_last() {
                    self.out.push('0');
                }
            }
            Some(digit) => {
                self.out.push(digit.into());
                self.in_number = true;
            }
            None => {
                // PostgreSQL writes the end of its string here, which ends the answer.
                self.end.get_or_insert(self.out.len());
                self.in_number = true;
            }
        }
        if self.next < self.digits.len() {
            self.next += 1;
        }
    }

    fn write_sign_behind(&mut self) {
        if self.sign_written && self.signs.bracket {
            self.out.push(if self.sign == Some(b'+') { ' ' } else { '>' });
        } else if self.signs.locale && self.locale_sign == LocaleSign::After {
            self.out.extend(self.sign.map(char::from));
        }
    }
}
