//! Reading a template.

use crate::error::SqlState;
use crate::expr::error::EvalError;

/// A pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Nine,
    Zero,
    Point,
    LocalePoint,
    Comma,
    Group,
    Blank,
    Exponent,
    Fill,
    Currency,
    Minus,
    Plus,
    Sign,
    Bracket,
    LocaleSign,
    Roman {
        upper: bool,
    },
    Ordinal {
        upper: bool,
    },
    Shift,
    /// What is read and means nothing.
    Nothing,
}

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Key(Key),
    Literal(char),
}

/// Which signs a template has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    pub plus: bool,
    pub minus: bool,
    pub bracket: bool,
    /// `S`.
    pub locale: bool,
}

/// Where `S` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocaleSign {
    None,
    Before,
    After,
}

/// A template that was read.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub items: Vec<Item>,
    /// Digits before and behind the point.
    pub pre: i32,
    pub post: i32,
    /// Digits behind `V`.
    pub multi: i32,
    /// The place of the first `0`, from 1, and of the last; 0 where there is none.
    pub zero_start: i32,
    pub zero_end: i32,
    pub locale_sign: LocaleSign,
    /// How many digits stand before `S`.
    pub digits_before_sign: i32,
    pub signs: Signs,
    pub has_zero: bool,
    pub has_point: bool,
    pub has_shift: bool,
    pub is_blank: bool,
    pub is_filled: bool,
    pub is_roman: bool,
    pub is_exponent: bool,
}

/// Longer spellings come before their beginnings.
const KEYS: [(&str, Key); 19] = [
    (",", Key::Comma),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Nine),
    ("B", Key::Blank),
    ("C", Key::Nothing),
    ("D", Key::LocalePoint),
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("G", Key::Group),
    ("L", Key::Currency),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Bracket),
    ("SG", Key::Sign),
    ("SP", Key::Nothing),
    ("S", Key::LocaleSign),
    ("V", Key::Shift),
    ("RN", Key::Roman { upper: true }),
];

/// The pattern that a text begins with, and its length.
fn key(text: &str) -> Option<(Key, usize)> {
    for upper in [true, false] {
        let cased = |name: &str| if upper { name.to_owned() } else { name.to_ascii_lowercase() };
        if text.starts_with(&cased("TH")) {
            return Some((Key::Ordinal { upper }, 2));
        }
        let found = KEYS.iter().find(|(name, _)| text.starts_with(&cased(name)));
        if let Some((name, key)) = found {
            let key = match key {
                Key::Roman { .. } => Key::Roman { upper },
                key => *key,
            };
            return Some((key, name.len()));
        }
    }
    None
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// 42601 where patterns do not go together.
    pub fn parse(text: &str) -> Result<Template, EvalError> {
        let mut template = Template {
            items: vec![],
            pre: 0,
            post: 0,
            multi: 0,
            zero_start: 0,
            zero_end: 0,
            locale_sign: LocaleSign::None,
            digits_before_sign: 0,
            signs: Signs::default(),
            has_zero: false,
            has_point: false,
            has_shift: false,
            is_blank: false,
            is_filled: false,
            is_roman: false,
            is_exponent: false,
        };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some((key, length)) = key(rest) {
                template.add(key)?;
                template.items.push(Item::Key(key));
                rest = &rest[length..];
            } else if c == '"' {
                rest = template.quoted(&rest[1..]);
            } else {
                let after = if c == '\\' && rest[1..].starts_with('"') { &rest[1..] } else { rest };
                rest = template.literal(after);
            }
        }
        Ok(template)
    }

    /// Takes one character; answers the rest.
    fn literal<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(c) = text.chars().next() else { return text };
        self.items.push(Item::Literal(c));
        &text[c.len_utf8()..]
    }

    /// Takes characters up to the quote; a backslash quotes the next one.
    fn quoted<'t>(&mut self, mut rest: &'t str) -> &'t str {
        while let Some(c) = rest.chars().next() {
            match c {
                '"' => return &rest[1..],
                '\\' if rest.len() > 1 => rest = &rest[1..],
                _ => {}
            }
            rest = self.literal(rest);
        }
        rest
    }

    fn add(&mut self, key: Key) -> Result<(), EvalError> {
        if self.is_exponent && key != Key::Exponent {
            return Err(fault("\"EEEE\" must be the last pattern used"));
        }
        match key {
            Key::Nine | Key::Zero => self.add_digit(key),
            Key::Point | Key::LocalePoint => {
                self.refuse(self.has_point, "multiple decimal points")?;
                self.refuse(self.has_shift, "cannot use \"V\" and decimal point together")?;
                self.has_point = true;
                Ok(())
            }
            Key::Shift => {
                self.refuse(self.has_point, "cannot use \"V\" and decimal point together")?;
                self.has_shift = true;
                Ok(())
            }
            Key::LocaleSign | Key::Minus | Key::Plus | Key::Sign | Key::Bracket => {
                self.add_sign(key)
            }
            Key::Blank => {
                self.is_blank |= self.pre == 0 && self.post == 0 && !self.has_zero;
                Ok(())
            }
            Key::Fill => {
                self.is_filled = true;
                Ok(())
            }
            Key::Roman { .. } => {
                self.is_roman = true;
                Ok(())
            }
            Key::Exponent => self.add_exponent(),
            Key::Comma | Key::Group | Key::Currency | Key::Ordinal { .. } | Key::Nothing => Ok(()),
        }
    }

    fn refuse(&self, wrong: bool, message: &'static str) -> Result<(), EvalError> {
        if wrong { Err(fault(message)) } else { Ok(()) }
    }

    fn add_digit(&mut self, key: Key) -> Result<(), EvalError> {
        if key == Key::Nine {
            self.refuse(self.signs.bracket, "\"9\" must be ahead of \"PR\"")?;
            match (self.has_shift, self.has_point) {
                (true, _) => self.multi += 1,
                (false, true) => self.post += 1,
                (false, false) => self.pre += 1,
            }
            return Ok(());
        }
        self.refuse(self.signs.bracket, "\"0\" must be ahead of \"PR\"")?;
        if !self.has_zero && !self.has_point {
            self.has_zero = true;
            self.zero_start = self.pre + 1;
        }
        if self.has_point {
            self.post += 1;
        } else {
            self.pre += 1;
        }
        self.zero_end = self.pre + self.post;
        Ok(())
    }

    fn add_sign(&mut self, key: Key) -> Result<(), EvalError> {
        let Signs { plus, minus, bracket, locale } = self.signs;
        match key {
            Key::LocaleSign => {
                self.refuse(locale, "cannot use \"S\" twice")?;
                let together = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
                self.refuse(plus || minus || bracket, together)?;
                if !self.has_point {
                    self.locale_sign = LocaleSign::Before;
                    self.digits_before_sign = self.pre;
                } else {
                    self.locale_sign = LocaleSign::After;
                }
                self.signs.locale = true;
            }
            Key::Minus => {
                self.refuse(locale, "cannot use \"S\" and \"MI\" together")?;
                self.signs.minus = true;
            }
            Key::Plus => {
                self.refuse(locale, "cannot use \"S\" and \"PL\" together")?;
                self.signs.plus = true;
            }
            Key::Sign => {
                self.refuse(locale, "cannot use \"S\" and \"SG\" together")?;
                (self.signs.plus, self.signs.minus) = (true, true);
            }
            _ => {
                let together = "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
                self.refuse(locale || plus || minus, together)?;
                self.signs.bracket = true;
            }
        }
        Ok(())
    }

    fn add_exponent(&mut self) -> Result<(), EvalError> {
        self.refuse(self.is_exponent, "cannot use \"EEEE\" twice")?;
        let mixed = self.is_blank
            || self.is_filled
            || self.is_roman
            || self.has_shift
            || self.signs != Signs::default();
        if mixed {
            let detail =
                "\"EEEE\" may only be used together with digit and decimal point patterns.";
            let error = fault("\"EEEE\" is incompatible with other formats");
            return Err(EvalError { detail: Some(detail.into()), ..error });
        }
        self.is_exponent = true;
        Ok(())
    }
}

#[cold]
fn fault(message: &'static str) -> EvalError {
    EvalError::new(SqlState::SYNTAX_ERROR, message)
}
