//! The tokens of a text, as PostgreSQL's lexer has them where `sqlparser` has others.
//!
//! * A literal goes on after a line feed: `'a'` and, on the next line, `'b'` are `'ab'`.
//! * Escapes in `E'…'` make bytes, and the bytes have to be UTF-8. (Those beyond ASCII are not
//!   there; `\u` is.)
//! * What sticks to a number is no alias: `0x1F` and `1_000` are not numbers of version 15.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace};

use crate::error::{Error, Result, SqlState};
use crate::sql::parse::fault::Source;
use crate::sql::parse::position::byte_offset;

/// The tokens of a text, without white space.
pub fn tokenize(source: &Source<'_>) -> Result<Vec<TokenWithSpan>> {
    let all = Tokenizer::new(&PostgreSqlDialect {}, source.text)
        .tokenize_with_location()
        .map_err(|e| escape_fault(source, &e).unwrap_or_else(|| source.tokenizer_error(&e)))?;
    let mut tokens: Vec<TokenWithSpan> = Vec::with_capacity(all.len());
    let mut goes_on = Gap::None;
    let mut place = Place { rest: source.text, at: Location::new(1, 1) };
    for token in all {
        match token.token {
            Token::EOF => {}
            Token::Whitespace(space) => goes_on = goes_on.and(&space),
            Token::SingleQuotedString(ref more) if goes_on == Gap::LineFeed => {
                match tokens.last_mut() {
                    Some(TokenWithSpan { token: Token::SingleQuotedString(text), span }) => {
                        text.push_str(more);
                        span.end = token.span.end;
                    }
                    _ => tokens.push(token),
                }
                goes_on = Gap::None;
            }
            _ => {
                check(source, &mut place, &token)?;
                tokens.push(token);
                goes_on = Gap::None;
            }
        }
    }
    Ok(tokens)
}

/// A place that only moves on, so that all tokens are found in one walk over the text.
struct Place<'a> {
    rest: &'a str,
    at: Location,
}

impl<'a> Place<'a> {
    fn text_from(&mut self, place: Location) -> &'a str {
        let mut chars = self.rest.chars();
        while (self.at.line, self.at.column) < (place.line, place.column) {
            match chars.next() {
                Some('\n') => self.at = Location::new(self.at.line + 1, 1),
                Some(_) => self.at.column += 1,
                None => break,
            }
        }
        self.rest = chars.as_str();
        self.rest
    }
}

/// What stands between a token and the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Nothing, or white space on one line.
    None,
    /// White space with a line feed.
    LineFeed,
    /// A comment that may not stand between the parts of a literal.
    Comment,
}

impl Gap {
    fn and(self, space: &Whitespace) -> Gap {
        match (self, space) {
            (Gap::Comment, _) | (_, Whitespace::MultiLineComment(_)) => Gap::Comment,
            (_, Whitespace::Newline | Whitespace::SingleLineComment { .. }) => Gap::LineFeed,
            (gap, Whitespace::Space | Whitespace::Tab) => gap,
        }
    }
}

fn check(source: &Source<'_>, place: &mut Place<'_>, token: &TokenWithSpan) -> Result<()> {
    match &token.token {
        Token::Number(..) | Token::HexStringLiteral(_) => {
            check_number(source, place.text_from(token.span.start), token)
        }
        _ => Ok(()),
    }
}

/// Refuses a number that something sticks to.
fn check_number(source: &Source<'_>, rest: &str, token: &TokenWithSpan) -> Result<()> {
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        // X'1F' is a literal of another kind.
        return Ok(());
    }
    let number = number_end(rest);
    let sticks = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
    if !rest[number..].starts_with(sticks) {
        return Ok(());
    }
    let goes_on = |c: char| sticks(c) || c.is_ascii_digit() || c == '$';
    let end = rest[number..].find(|c| !goes_on(c)).map_or(rest.len(), |at| number + at);
    let what = format!("trailing junk after numeric literal at or near \"{}\"", &rest[..end]);
    Err(Error::new(SqlState::SYNTAX_ERROR, what).at(source.lines.of_span(token.span)))
}

/// Where a number ends: digits, a fraction, an exponent.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        match bytes.get(end + 1 + sign..).map_or(0, |_| digits(end + 1 + sign)) {
            0 => {}
            exponent => end += 1 + sign + exponent,
        }
    }
    end
}

/// What is wrong with the escapes of a literal that the tokenizer could not read; none where it has
/// no end.
fn escape_fault(source: &Source<'_>, error: &TokenizerError) -> Option<Error> {
    let position = source.lines.position(error.location)?;
    let rest = &source.text[byte_offset(source.text, position.checked_sub(1)?)..];
    let bytes = unescaped(rest.strip_prefix("E'").or(rest.strip_prefix("e'"))?)?;
    if let Some(zero) = bytes.iter().position(|byte| *byte == 0)
        && std::str::from_utf8(&bytes[..zero]).is_ok()
    {
        return Some(invalid_bytes(&bytes[zero..=zero]).at(Some(position)));
    }
    Some(match std::str::from_utf8(&bytes) {
        Err(fault) => {
            let from = &bytes[fault.valid_up_to()..];
            let wanted = match from[0] {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            };
            invalid_bytes(&from[..from.len().min(wanted)])
        }
        Ok(_) => Error::unsupported(
            "an escape of bytes beyond ASCII",
            "Write the character itself, or its number as \\uXXXX.",
        )
        .at(Some(position)),
    })
}

fn invalid_bytes(bytes: &[u8]) -> Error {
    let mut what = String::from("invalid byte sequence for encoding \"UTF8\":");
    for byte in bytes {
        what.push_str(&format!(" 0x{byte:02x}"));
    }
    Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, what)
}

/// The bytes of a literal up to its closing quote; none where there is no such quote, or where a
/// Unicode escape is none.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        match rest.next()? {
            '\'' if rest.next_if_eq(&'\'').is_none() => return Some(bytes),
            '\\' => match rest.next()? {
                'x' => match digits(&mut rest, 2, 16) {
                    Some(byte) => bytes.push(byte as u8),
                    None => bytes.push(b'x'),
                },
                digit @ '0'..='7' => {
                    let first = digit.to_digit(8)?;
                    let mut value = first;
                    for _ in 0..2 {
                        let Some(next) = rest.next_if(|c| c.is_digit(8)) else { break };
                        value = value * 8 + next.to_digit(8)?;
                    }
                    bytes.push(value as u8);
                }
                'u' | 'U' => return None,
                other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
            },
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

fn digits(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    most: usize,
    radix: u32,
) -> Option<u32> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = rest.next_if(|c| c.is_digit(radix)) else { break };
        value = Some(value.unwrap_or(0) * radix + digit.to_digit(radix)?);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse::position::Lines;

    fn tokens(text: &str) -> std::result::Result<Vec<String>, String> {
        let lines = Lines::of(text);
        let found = tokenize(&Source { text, lines: &lines });
        let found = found.map_err(|e| format!("{} {}", e.code, e.message))?;
        Ok(found.iter().map(|token| token.token.to_string()).collect())
    }

    #[test]
    fn literals_go_on_after_a_line_feed_only() {
        let one = |text: &str| tokens(text).map(|found| found.len() == 1);
        assert_eq!(tokens("'a' \n\t'b'\n-- and\n'c'"), Ok(vec!["'abc'".into()]));
        assert_eq!(one("'a' 'b'"), Ok(false));
        assert_eq!(one("'a' /* \n */ 'b'"), Ok(false));
        assert_eq!(one("'a'\n, 'b'"), Ok(false));
    }

    #[test]
    fn nothing_sticks_to_a_number() {
        for text in ["0x1F", "1_000", "1abc", "1.5é", "2e5x", "1e", "7$"] {
            let junk = format!("42601 trailing junk after numeric literal at or near \"{text}\"");
            let expected = if text == "7$" { tokens(text) } else { Err(junk) };
            assert_eq!(
                tokens(&format!("select {text} + 1")).map(|_| ()),
                expected.map(|_| ()),
                "{text}"
            );
        }
        for text in ["1.5e-3", "1.", ".5", "a1_0", "X'1F'", "1 a", "1::int", "t.a1e5x"] {
            assert!(tokens(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn escapes_make_bytes() {
        let fault = |text: &str| tokens(text).unwrap_err();
        let invalid = "22021 invalid byte sequence for encoding \"UTF8\":";
        assert_eq!(fault("E'\\xff'"), format!("{invalid} 0xff"));
        assert_eq!(fault("select e'a\\0'"), format!("{invalid} 0x00"));
        assert_eq!(fault("E'\\xc3('"), format!("{invalid} 0xc3 0x28"));
        assert!(fault("E'\\xc3\\xa9'").starts_with("0A000"));
        assert!(fault("E'\\xff").starts_with("42601"));
        assert!(tokens("E'\\x41\\u00e9'").is_ok());
    }
}
