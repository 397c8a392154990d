//! The fields of one line, with quotes and escapes resolved.

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{CopyFormat, CopyOptions};
use crate::repr::binary::utf8;

/// A field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// It is spelled as NULL is.
    Null,
    /// These bytes of the line.
    Line(usize, usize),
    /// These bytes of [`Fields::scratch`].
    Scratch(usize, usize),
}

/// Splits lines; the allocations are used for all of them.
#[derive(Debug, Default)]
pub struct Fields {
    /// The fields of the line that was split last.
    pub fields: Vec<Field>,
    /// What fields say that are not simply a part of the line.
    pub scratch: Vec<u8>,
}

impl Fields {
    /// Splits a line; of a table without columns, only an empty one.
    ///
    /// # Errors
    ///
    /// 22P04 for quotes that do not end, 22021 for escapes that do not make UTF-8.
    pub fn split(&mut self, line: &[u8], options: &CopyOptions) -> Result<()> {
        self.fields.clear();
        self.scratch.clear();
        match options.format {
            CopyFormat::Csv => self.split_csv(line, options),
            _ => self.split_text(line, options),
        }
    }

    /// The text of a field of that line; none: NULL.
    pub fn text<'a>(&'a self, field: Field, line: &'a str) -> Result<Option<&'a str>> {
        match field {
            Field::Null => Ok(None),
            Field::Line(start, end) => match line.get(start..end) {
                Some(text) => Ok(Some(text)),
                None => Err(Error::internal("a field ends within a character")),
            },
            Field::Scratch(start, end) => utf8(&self.scratch[start..end]).map(Some),
        }
    }

    fn split_text(&mut self, line: &[u8], options: &CopyOptions) -> Result<()> {
        let (delimiter, null) = (options.delimiter, options.null.as_bytes());
        let mut start = 0;
        loop {
            let plain = line[start..].iter().position(|c| *c == delimiter || *c == b'\\');
            let end = plain.map_or(line.len(), |plain| start + plain);
            let (field, end) = if line.get(end) == Some(&b'\\') {
                self.unescape(line, start, end, delimiter)?
            } else {
                (Field::Line(start, end), end)
            };
            // NULL is known by its raw spelling, before escapes.
            self.fields.push(if line[start..end] == *null { Field::Null } else { field });
            // A lone backslash at the end of the line belongs to no field.
            if line.get(end) != Some(&delimiter) {
                return Ok(());
            }
            start = end + 1;
        }
    }

    /// The field from `start`, whose first backslash is at `at`; and where it ends.
    fn unescape(
        &mut self,
        line: &[u8],
        start: usize,
        at: usize,
        delimiter: u8,
    ) -> Result<(Field, usize)> {
        let from = self.scratch.len();
        self.scratch.extend_from_slice(&line[start..at]);
        let mut at = at;
        let mut by_number = false;
        while let Some(&c) = line.get(at)
            && c != delimiter
        {
            if c != b'\\' {
                self.scratch.push(c);
                at += 1;
                continue;
            }
            let Some(&escaped) = line.get(at + 1) else { break };
            let (byte, width) = match escaped {
                b'0'..=b'7' => number(&line[at + 1..], 3, 8),
                b'x' => match number(&line[at + 2..], 2, 16) {
                    (_, 0) => (b'x', 1),
                    (byte, width) => (byte, width + 1),
                },
                b'b' => (8, 1),
                b'f' => (12, 1),
                b'n' => (b'\n', 1),
                b'r' => (b'\r', 1),
                b't' => (b'\t', 1),
                b'v' => (11, 1),
                other => (other, 1),
            };
            by_number |= byte == 0 || (byte >= 0x80 && (width > 1 || escaped != byte));
            self.scratch.push(byte);
            at += 1 + width;
        }
        if by_number {
            utf8(&self.scratch[from..])?;
        }
        Ok((Field::Scratch(from, self.scratch.len()), at))
    }

    fn split_csv(&mut self, line: &[u8], options: &CopyOptions) -> Result<()> {
        let CopyOptions { delimiter, quote, null, .. } = options;
        let mut start = 0;
        loop {
            let plain = line[start..].iter().position(|c| c == delimiter || c == quote);
            let mut end = plain.map_or(line.len(), |plain| start + plain);
            let field = if end == line.len() || line[end] == *delimiter {
                match line[start..end] == *null.as_bytes() {
                    true => Field::Null,
                    false => Field::Line(start, end),
                }
            } else if let Some(field) = simply_quoted(line, start, options) {
                end = field.1 + 1;
                Field::Line(field.0, field.1)
            } else {
                let from = self.scratch.len();
                end = self.unquote(line, start, options)?;
                Field::Scratch(from, self.scratch.len())
            };
            self.fields.push(field);
            if end == line.len() {
                return Ok(());
            }
            start = end + 1;
        }
    }

    /// Resolves the field from `start`, parts of which are quoted; answers where it ends.
    fn unquote(&mut self, line: &[u8], start: usize, options: &CopyOptions) -> Result<usize> {
        let CopyOptions { delimiter, quote, escape, .. } = options;
        let mut at = start;
        let mut quoted = false;
        loop {
            let Some(c) = line.get(at) else {
                if !quoted {
                    return Ok(at);
                }
                return Err(Error::new(
                    SqlState::BAD_COPY_FILE_FORMAT,
                    "unterminated CSV quoted field",
                ));
            };
            if !quoted && c == delimiter {
                return Ok(at);
            }
            let next = line.get(at + 1).filter(|next| *next == escape || *next == quote);
            match next {
                Some(next) if quoted && c == escape => {
                    self.scratch.push(*next);
                    at += 1;
                }
                _ if c == quote => quoted = !quoted,
                _ => self.scratch.push(*c),
            }
            at += 1;
        }
    }
}

/// The inside of a field that is one pair of quotes without anything special in it.
fn simply_quoted(line: &[u8], start: usize, options: &CopyOptions) -> Option<(usize, usize)> {
    if line.get(start) != Some(&options.quote) {
        return None;
    }
    let inside = &line[start + 1..];
    let end = inside.iter().position(|c| *c == options.quote || *c == options.escape)?;
    let closes = inside[end] == options.quote
        && inside.get(end + 1).is_none_or(|after| *after == options.delimiter);
    closes.then_some((start + 1, start + 1 + end))
}

/// The byte that up to `most` digits mean, and how many there are. Higher bits are cut off.
fn number(text: &[u8], most: usize, radix: u32) -> (u8, usize) {
    let digits = text.iter().take(most).map_while(|c| char::from(*c).to_digit(radix));
    digits.fold((0u8, 0), |(value, width), digit| {
        (value.wrapping_mul(radix as u8).wrapping_add(digit as u8), width + 1)
    })
}
