//! Reading JSON text.
//!
//! The grammar is RFC 8259's; faults are described in PostgreSQL's words, which name the token
//! that was found and what was expected there.

use bumpalo::Bump;

use super::build::JsonbBuilder;
use super::view::JsonbRef;
use crate::error::{Error, Result, SqlState};
use crate::repr::numeric::Numeric;

/// How deep arrays and objects may lie in each other.
const MAX_DEPTH: usize = 6_400;

impl<'a> JsonbRef<'a> {
    /// Reads a document from its text.
    pub fn parse(text: &str, arena: &'a Bump) -> Result<JsonbRef<'a>> {
        let mut builder = JsonbBuilder::new();
        builder.parse(text)?;
        Ok(builder.finish_in(arena))
    }
}

impl JsonbBuilder {
    /// Puts a value that is read from text.
    pub fn parse(&mut self, text: &str) -> Result<()> {
        let mut parser = Parser {
            text,
            start: 0,
            end: 0,
            token: Token::End,
            string: String::new(),
            mode: Mode::Build,
        };
        parser.whole(self)
    }
}

/// Checks that a text is JSON, as `json` takes it: numbers may have any size, and escapes need not
/// be characters unless `escapes` says so.
pub fn check_json(text: &str, escapes: bool) -> Result<()> {
    let mode = if escapes { Mode::CheckEscapes } else { Mode::Check };
    let mut parser =
        Parser { text, start: 0, end: 0, token: Token::End, string: String::new(), mode };
    parser.whole(&mut JsonbBuilder::new())
}

/// What the text is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// To build a document.
    Build,
    /// To see whether it is one.
    Check,
    /// The same, and whether its escapes are characters.
    CheckEscapes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    /// One of `{}[],:`.
    Mark(u8),
    /// A string, which lies unescaped in the parser.
    String,
    Number,
    True,
    False,
    Null,
    End,
}

/// What comes after a value, inside out.
#[derive(Clone, Copy)]
enum Open {
    Array,
    Object,
}

struct Parser<'t> {
    text: &'t str,
    /// Where the token begins and ends.
    start: usize,
    end: usize,
    token: Token,
    string: String,
    mode: Mode,
}

fn invalid(detail: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
        .with_detail(detail)
}

/// What belongs to a word, and to a bad token in a message.
fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

impl<'t> Parser<'t> {
    /// One value, and nothing behind it.
    fn whole(&mut self, out: &mut JsonbBuilder) -> Result<()> {
        self.advance()?;
        self.document(out)?;
        match self.token {
            Token::End => Ok(()),
            _ => Err(self.expected("end of input")),
        }
    }

    /// One value with all that it holds; on a stack of our own, so that depth costs no stack.
    fn document(&mut self, out: &mut JsonbBuilder) -> Result<()> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            match self.token {
                Token::Mark(b'[') => {
                    out.begin_array();
                    self.advance()?;
                    open.push(Open::Array);
                    if self.token != Token::Mark(b']') {
                        self.check_depth(&open)?;
                        continue;
                    }
                }
                Token::Mark(b'{') => {
                    out.begin_object();
                    self.advance()?;
                    open.push(Open::Object);
                    if self.token != Token::Mark(b'}') {
                        self.check_depth(&open)?;
                        self.name("string or \"}\"", out)?;
                        continue;
                    }
                }
                _ => self.scalar(out)?,
            }
            if !self.close(&mut open, out)? {
                return Ok(());
            }
        }
    }

    /// After a value, closes what ends there; false where the document ends.
    fn close(&mut self, open: &mut Vec<Open>, out: &mut JsonbBuilder) -> Result<bool> {
        while let Some(inner) = open.last() {
            let end = match inner {
                Open::Array => b']',
                Open::Object => b'}',
            };
            match (self.token, inner) {
                (Token::Mark(mark), _) if mark == end => {
                    out.end();
                    open.pop();
                    self.advance()?;
                }
                (Token::Mark(b','), Open::Array) => {
                    self.advance()?;
                    return Ok(true);
                }
                (Token::Mark(b','), Open::Object) => {
                    self.advance()?;
                    self.name("string", out)?;
                    return Ok(true);
                }
                (_, Open::Array) => return Err(self.expected("\",\" or \"]\"")),
                (_, Open::Object) => return Err(self.expected("\",\" or \"}\"")),
            }
        }
        Ok(false)
    }

    fn check_depth(&self, open: &[Open]) -> Result<()> {
        if open.len() <= MAX_DEPTH {
            return Ok(());
        }
        Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"))
    }

    /// The name of a member and the colon.
    fn name(&mut self, expected: &str, out: &mut JsonbBuilder) -> Result<()> {
        if self.token != Token::String {
            return Err(self.expected(expected));
        }
        out.key(&self.string);
        self.advance()?;
        if self.token != Token::Mark(b':') {
            return Err(self.expected("\":\""));
        }
        self.advance()
    }

    fn scalar(&mut self, out: &mut JsonbBuilder) -> Result<()> {
        match self.token {
            _ if self.mode != Mode::Build && self.is_scalar() => out.null(),
            Token::String => out.string(&self.string),
            Token::Number => out.number(&Numeric::parse(self.found())?),
            Token::True => out.bool(true),
            Token::False => out.bool(false),
            Token::Null => out.null(),
            Token::Mark(_) | Token::End => return Err(self.expected("JSON value")),
        }
        self.advance()
    }

    fn is_scalar(&self) -> bool {
        !matches!(self.token, Token::Mark(_) | Token::End)
    }

    fn found(&self) -> &'t str {
        &self.text[self.start..self.end]
    }

    fn expected(&self, what: &str) -> Error {
        match self.token {
            Token::End => invalid("The input string ended unexpectedly."),
            _ => invalid(format!("Expected {what}, but found \"{}\".", self.found())),
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The first place from `at` on where `test` fails.
    fn skip(&self, at: usize, test: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[at..];
        at + rest.iter().position(|c| !test(*c)).unwrap_or(rest.len())
    }

    fn advance(&mut self) -> Result<()> {
        self.start = self.skip(self.end, |c| matches!(c, b' ' | b'\t' | b'\n' | b'\r'));
        self.end = self.start;
        self.token = match self.byte(self.start) {
            None => Token::End,
            Some(mark @ (b'{' | b'}' | b'[' | b']' | b',' | b':')) => {
                self.end += 1;
                Token::Mark(mark)
            }
            Some(b'"') => self.read_string()?,
            Some(c) if c == b'-' || c.is_ascii_digit() => self.read_number()?,
            Some(_) => self.read_word()?,
        };
        Ok(())
    }

    fn bad_token(&mut self, end: usize) -> Error {
        self.end = end;
        invalid(format!("Token \"{}\" is invalid.", self.found()))
    }

    fn read_word(&mut self) -> Result<Token> {
        self.end = self.skip(self.start, is_word);
        match self.found() {
            "true" => Ok(Token::True),
            "false" => Ok(Token::False),
            "null" => Ok(Token::Null),
            // A character that begins nothing stands alone.
            "" => Err(self.bad_token(self.start + 1)),
            _ => Err(self.bad_token(self.end)),
        }
    }

    fn read_number(&mut self) -> Result<Token> {
        let digits = |at: usize| self.skip(at, |c| c.is_ascii_digit());
        let mut at = self.start + usize::from(self.byte(self.start) == Some(b'-'));
        let whole = at;
        at = if self.byte(at) == Some(b'0') { at + 1 } else { digits(at) };
        let mut valid = at > whole;
        if valid && self.byte(at) == Some(b'.') {
            let fraction = at + 1;
            at = digits(fraction);
            valid = at > fraction;
        }
        if valid && matches!(self.byte(at), Some(b'e' | b'E')) {
            let sign = matches!(self.byte(at + 1), Some(b'+' | b'-'));
            let exponent = at + 1 + usize::from(sign);
            at = digits(exponent);
            valid = at > exponent;
        }
        let end = self.skip(at, is_word);
        if !valid || end > at {
            return Err(self.bad_token(end));
        }
        self.end = end;
        Ok(Token::Number)
    }

    fn read_string(&mut self) -> Result<Token> {
        self.string.clear();
        let mut at = self.start + 1;
        loop {
            let run = self.skip(at, |c| c >= 0x20 && c != b'"' && c != b'\\');
            self.string.push_str(&self.text[at..run]);
            at = run;
            match self.byte(at) {
                None => return Err(self.bad_token(at)),
                Some(b'"') => {
                    self.end = at + 1;
                    return Ok(Token::String);
                }
                Some(b'\\') => at = self.read_escape(at + 1)?,
                Some(control) => {
                    return Err(invalid(format!(
                        "Character with value 0x{control:02x} must be escaped."
                    )));
                }
            }
        }
    }

    /// What follows a backslash; the place behind it.
    fn read_escape(&mut self, at: usize) -> Result<usize> {
        let Some(c) = self.text[at..].chars().next() else { return Err(self.bad_token(at)) };
        self.string.push(match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.read_unicode(at + 1),
            _ => return Err(invalid(format!("Escape sequence \"\\{c}\" is invalid."))),
        });
        Ok(at + 1)
    }

    fn read_unicode(&mut self, at: usize) -> Result<usize> {
        const LOW: &str = "Unicode low surrogate must follow a high surrogate.";
        let unit = self.read_hex(at)?;
        let end = at + 4;
        if self.mode == Mode::Check {
            return Ok(end);
        }
        let (code, end) = match unit {
            0 => {
                return Err(Error::new(
                    SqlState::new(b"22P05"),
                    "unsupported Unicode escape sequence",
                )
                .with_detail("\\u0000 cannot be converted to text."));
            }
            0xdc00..=0xdfff => return Err(invalid(LOW)),
            0xd800..=0xdbff => {
                if !self.text[end..].starts_with("\\u") {
                    return Err(invalid(LOW));
                }
                match self.read_hex(end + 2)? {
                    low @ 0xdc00..=0xdfff => {
                        (0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff), end + 6)
                    }
                    0xd800..=0xdbff => {
                        return Err(invalid(
                            "Unicode high surrogate must not follow a high surrogate.",
                        ));
                    }
                    _ => return Err(invalid(LOW)),
                }
            }
            unit => (unit, end),
        };
        self.string.push(char::from_u32(code).expect("surrogates are joined above"));
        Ok(end)
    }

    fn read_hex(&mut self, at: usize) -> Result<u32> {
        let mut value = 0;
        for i in at..at + 4 {
            match self.byte(i).map(|c| char::from(c).to_digit(16)) {
                Some(Some(digit)) => value = value << 4 | digit,
                Some(None) => {
                    return Err(invalid("\"\\u\" must be followed by four hexadecimal digits."));
                }
                None => return Err(self.bad_token(i)),
            }
        }
        Ok(value)
    }
}
