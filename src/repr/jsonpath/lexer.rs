//! From text to words, as PostgreSQL's `jsonpath_scan.l` reads them.
//!
//! Each word comes with what a message shows of it. Behind a bare name that is nothing, since the
//! scanner has only looked at the character that ends it, and such a fault is "at end of input".

use crate::error::{Error, Result, SqlState};

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A bare name, which may be a keyword.
    Name(String),
    /// A string in quotes.
    String(String),
    /// `$name`.
    Variable(String),
    /// A number with a point or an exponent.
    Decimal(String),
    /// A number without.
    Integer(String),
    /// Punctuation.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Longer ones come before their beginnings.
const SYMBOLS: [&str; 31] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]",
    "{", "}", "(", ")", "|", "&", "=", "@", "#", ",", "*", ":", "-", "+",
];

/// What is not in [`SYMBOLS`] because a comment begins so.
const SLASH: &str = "/";

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// Whether a bare name may have this character.
fn is_other(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

/// Reads words one after the other.
pub(super) struct Lexer<'t> {
    rest: &'t str,
}

/// A fault of syntax: what, and where.
pub(super) fn fault(message: &str, shown: &str) -> Error {
    let place = match shown.is_empty() {
        true => "at end of jsonpath input".to_owned(),
        false => format!("at or near \"{shown}\" of jsonpath input"),
    };
    Error::new(SqlState::SYNTAX_ERROR, format!("{message} {place}"))
}

fn invalid_unicode(detail: &str) -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath")
        .with_detail(detail)
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { rest: text }
    }

    /// The next word, and what a message shows of it.
    pub(super) fn next(&mut self) -> Result<(Token, &'t str)> {
        loop {
            self.rest = self.rest.trim_start_matches(is_blank);
            let start = self.rest;
            let Some(first) = start.chars().next() else { return Ok((Token::End, "")) };
            if start.starts_with("/*") {
                self.comment()?;
                continue;
            }
            if let Some((token, length)) = number(start)? {
                self.rest = &start[length..];
                return Ok((token, &start[..length]));
            }
            if first == '"' {
                self.rest = &start[1..];
                let text = self.quoted()?;
                return Ok((Token::String(text), "\""));
            }
            if let Some(rest) = start.strip_prefix("$\"") {
                self.rest = rest;
                let text = self.quoted()?;
                return Ok((Token::Variable(text), "\""));
            }
            if let Some(rest) = start.strip_prefix('$') {
                let length = rest.find(|c| !is_other(c)).unwrap_or(rest.len());
                if length > 0 {
                    self.rest = &rest[length..];
                    let name = rest[..length].to_owned();
                    return Ok((Token::Variable(name), &start[..=length]));
                }
            }
            if is_other(first) || first == '\\' {
                match self.name()? {
                    Some((name, shown)) => return Ok((Token::Name(name), shown)),
                    None => continue,
                }
            }
            let symbol = SYMBOLS.into_iter().find(|symbol| start.starts_with(symbol));
            let symbol = symbol.unwrap_or(SLASH);
            self.rest = &start[symbol.len()..];
            return Ok((Token::Symbol(symbol), &start[..symbol.len()]));
        }
    }

    fn comment(&mut self) -> Result<()> {
        let end = self.rest[2..].find("*/");
        let end = end.ok_or_else(|| fault("unexpected end of comment", ""))?;
        self.rest = &self.rest[2 + end + 2..];
        Ok(())
    }

    /// A bare name; none where a comment ends it: PostgreSQL loses such a name.
    fn name(&mut self) -> Result<Option<(String, &'t str)>> {
        let mut name = String::new();
        loop {
            let here = self.rest;
            let length = here.find(|c| !is_other(c)).unwrap_or(here.len());
            name.push_str(&here[..length]);
            self.rest = &here[length..];
            let Some(next) = self.rest.chars().next() else { return Ok(Some((name, ""))) };
            if next == '\\' {
                self.escape(&mut name)?;
            } else if is_blank(next) {
                let blank = self.rest;
                self.rest = blank.trim_start_matches(is_blank);
                return Ok(Some((name, &blank[..blank.len() - self.rest.len()])));
            } else if self.rest.starts_with("/*") {
                return Ok(None);
            } else {
                return Ok(Some((name, "")));
            }
        }
    }

    /// What stands before the closing quote.
    fn quoted(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            let here = self.rest;
            let Some(length) = here.find(['"', '\\']) else {
                return Err(fault("unexpected end of quoted string", ""));
            };
            text.push_str(&here[..length]);
            self.rest = &here[length..];
            if let Some(rest) = self.rest.strip_prefix('"') {
                self.rest = rest;
                return Ok(text);
            }
            self.escape(&mut text)?;
        }
    }

    /// A backslash and what it stands with.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        let here = self.rest;
        let Some(letter) = here[1..].chars().next() else {
            return Err(fault("unexpected end after backslash", "\\"));
        };
        let plain = match letter {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => return self.unicode(out),
            'x' => return self.hexadecimal(out),
            other => other,
        };
        out.push(plain);
        self.rest = &here[1 + letter.len_utf8()..];
        Ok(())
    }

    fn hexadecimal(&mut self, out: &mut String) -> Result<()> {
        let here = self.rest;
        let digits = hex_digits(&here[2..], 2);
        if digits < 2 {
            return Err(fault("invalid hex character sequence", &here[..2 + digits]));
        }
        let code = u32::from_str_radix(&here[2..4], 16).unwrap_or(0);
        self.rest = &here[4..];
        push_code(code, out)
    }

    /// One or more `\uXXXX` or `\u{X…}`, since two may be one character.
    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let start = self.rest;
        let mut high = None;
        while self.rest.starts_with("\\u") {
            let body = &self.rest[2..];
            let (digits, length) = match body.strip_prefix('{') {
                Some(inner) => {
                    let digits = hex_digits(inner, 6);
                    let closed = digits > 0 && inner[digits..].starts_with('}');
                    (closed.then_some(&inner[..digits]), 1 + digits + usize::from(closed))
                }
                None => {
                    let digits = hex_digits(body, 4);
                    ((digits == 4).then_some(&body[..digits]), digits)
                }
            };
            let taken = start.len() - body.len() + length;
            let Some(digits) = digits else {
                return Err(fault("invalid unicode sequence", &start[..taken]));
            };
            let code = u32::from_str_radix(digits, 16).unwrap_or(u32::MAX);
            self.rest = &body[length..];
            match (high, code) {
                (None, 0xd800..=0xdbff) => high = Some(code),
                (Some(_), 0xd800..=0xdbff) => {
                    let detail = "Unicode high surrogate must not follow a high surrogate.";
                    return Err(invalid_unicode(detail));
                }
                (Some(first), 0xdc00..=0xdfff) => {
                    push_code(0x1_0000 + ((first & 0x3ff) << 10) + (code & 0x3ff), out)?;
                    high = None;
                }
                (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(lonely()),
                (None, code) => push_code(code, out)?,
            }
        }
        if high.is_some() { Err(lonely()) } else { Ok(()) }
    }
}

fn lonely() -> Error {
    invalid_unicode("Unicode low surrogate must follow a high surrogate.")
}

fn push_code(code: u32, out: &mut String) -> Result<()> {
    if code == 0 {
        let message = "unsupported Unicode escape sequence";
        return Err(Error::new(SqlState::new(b"22P05"), message)
            .with_detail("\\u0000 cannot be converted to text."));
    }
    let Some(c) = char::from_u32(code) else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode code point"));
    };
    out.push(c);
    Ok(())
}

/// How many of the first characters are hexadecimal digits.
fn hex_digits(text: &str, at_most: usize) -> usize {
    text.bytes().take(at_most).take_while(u8::is_ascii_hexdigit).count()
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// A number that a text begins with. A longer bare name wins over it, as over the fault of a
/// number that a letter ends.
fn number(text: &str) -> Result<Option<(Token, usize)>> {
    let name = text.find(|c| !is_other(c)).unwrap_or(text.len());
    let whole = match text.starts_with('0') {
        true => 1,
        false => digits(text),
    };
    let mut end = whole;
    if text[end..].starts_with('.') {
        let fraction = digits(&text[end + 1..]);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if end == 0 {
        return Ok(None);
    }
    let is_integer = end == whole;
    let mut is_real = false;
    if text[end..].starts_with(['e', 'E']) {
        let signed = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[end + 1 + signed..]);
        if exponent > 0 {
            end += 1 + signed + exponent;
            is_real = true;
        } else if signed > 0 && end + 2 > name {
            return Err(fault("invalid numeric literal", &text[..end + 2]));
        }
    }
    if let Some(next) = text[end..].chars().next().filter(|c| is_other(*c)) {
        let junk = end + next.len_utf8();
        return match name > junk {
            true => Ok(None),
            false => Err(fault("trailing junk after numeric literal", &text[..junk])),
        };
    }
    if name > end {
        return Ok(None);
    }
    let spelled = text[..end].to_owned();
    let token = match is_integer && !is_real {
        true => Token::Integer(spelled),
        false => Token::Decimal(spelled),
    };
    Ok(Some((token, end)))
}
