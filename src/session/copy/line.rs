//! Where a line of text or CSV ends.
//!
//! The first line decides whether lines end in `\n`, `\r` or `\r\n`; later ones must agree. In
//! text a backslash hides the byte behind it, also a newline; in CSV quotes hide newlines. `\.`
//! ends the data: anywhere in text, alone on a line in CSV.
//!
//! Data comes in pieces, so a scan may stop anywhere and go on where it stopped. A byte that is
//! understood only with those behind it is not looked at before they are there.

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{CopyFormat, CopyOptions};

/// Finds the ends of lines.
#[derive(Debug)]
pub struct LineScanner {
    csv: bool,
    quote: u8,
    /// 0 where it is the quote, which then is its own escape.
    escape: u8,
    ending: Option<Ending>,
    /// How far the line is scanned.
    at: usize,
    in_quote: bool,
    after_escape: bool,
    /// Newlines passed within quotes since [`LineScanner::take_newlines`].
    newlines: u64,
    /// The bytes that mean something.
    stops: [bool; 256],
}

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Newline,
    Return,
    Both,
}

/// What a scan came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// The line does not end in what is there.
    More,
    /// The line is the first `end` bytes, the next one begins at `next`.
    Line {
        /// Where the line ends.
        end: usize,
        /// Where the next one begins.
        next: usize,
        /// There is no next one, whatever follows.
        last: bool,
    },
}

fn fault(message: &str) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

impl LineScanner {
    /// A scanner for the text or CSV format.
    pub fn new(options: &CopyOptions) -> LineScanner {
        let csv = options.format == CopyFormat::Csv;
        let mut stops = [false; 256];
        for byte in [b'\r', b'\n', b'\\'] {
            stops[usize::from(byte)] = true;
        }
        if csv {
            stops[usize::from(options.quote)] = true;
            stops[usize::from(options.escape)] = true;
        }
        let escape = if options.escape == options.quote { 0 } else { options.escape };
        LineScanner {
            csv,
            quote: options.quote,
            escape,
            ending: None,
            at: 0,
            in_quote: false,
            after_escape: false,
            newlines: 0,
            stops,
        }
    }

    /// How far the line is scanned: after an error, up to what is wrong.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Newlines within quotes since this was last asked. As in PostgreSQL, only those count that
    /// look like the ends of lines known so far.
    pub fn take_newlines(&mut self) -> u64 {
        std::mem::take(&mut self.newlines)
    }

    /// Looks for the end of the line that `line` begins with. `finished`: nothing will follow.
    ///
    /// After [`Scan::More`] it is called again with the same bytes and more; after
    /// [`Scan::Line`], with those from `next` on.
    ///
    /// # Errors
    ///
    /// 22P04: ends of lines that do not agree, or a damaged end of data.
    pub fn scan(&mut self, line: &[u8], finished: bool) -> Result<Scan> {
        loop {
            let plain = line[self.at..].iter().position(|c| self.stops[usize::from(*c)]);
            let plain = plain.unwrap_or(line.len() - self.at);
            self.at += plain;
            self.after_escape &= plain == 0;
            let at = self.at;
            let Some(&c) = line.get(at) else {
                return Ok(if finished { self.found(at, at, true) } else { Scan::More });
            };
            if !finished && line.len() < at + self.needs(c, &line[at..]) {
                return Ok(Scan::More);
            }
            if self.csv {
                self.toggle(c);
            }
            match c {
                b'\r' if !self.in_quote => {
                    let width = self.carriage_return(line.get(at + 1) == Some(&b'\n'))?;
                    return Ok(self.found(at, at + width, false));
                }
                b'\n' if !self.in_quote => {
                    if !matches!(self.ending, None | Some(Ending::Newline)) {
                        return Err(self.stray("newline", "\\n"));
                    }
                    self.ending = Some(Ending::Newline);
                    return Ok(self.found(at, at + 1, false));
                }
                b'\\' if !self.csv || at == 0 => match line.get(at + 1) {
                    None => return Ok(self.found(line.len(), line.len(), true)),
                    Some(b'.') if self.is_end(&line[at + 2..])? => {
                        return Ok(self.found(at, line.len(), true));
                    }
                    // What a backslash hides is no end of anything.
                    Some(_) if !self.csv => self.at += 2,
                    Some(_) => self.at += 1,
                },
                _ => self.at += 1,
            }
        }
    }

    fn found(&mut self, end: usize, next: usize, last: bool) -> Scan {
        self.at = 0;
        self.in_quote = false;
        self.after_escape = false;
        Scan::Line { end, next, last }
    }

    /// How many bytes must be there for the first of them, `c`, to be understood.
    fn needs(&self, c: u8, rest: &[u8]) -> usize {
        match c {
            b'\r' => 2,
            b'\\' if rest.get(1) == Some(&b'.') && (!self.csv || self.at == 0) => {
                if self.ending == Some(Ending::Both) { 4 } else { 3 }
            }
            b'\\' => 2,
            _ => 1,
        }
    }

    /// Follows quotes. An escape counts only within quotes, and not when it is escaped itself.
    fn toggle(&mut self, c: u8) {
        if self.in_quote && c == self.escape {
            self.after_escape = !self.after_escape;
        }
        if c == self.quote && !self.after_escape {
            self.in_quote = !self.in_quote;
        }
        if c != self.escape {
            self.after_escape = false;
        }
        let counted = if self.ending == Some(Ending::Newline) { b'\n' } else { b'\r' };
        self.newlines += u64::from(self.in_quote && c == counted);
    }

    /// The width of a line's end that begins with `\r`.
    fn carriage_return(&mut self, newline_follows: bool) -> Result<usize> {
        match self.ending {
            None | Some(Ending::Both) if newline_follows => {
                self.ending = Some(Ending::Both);
                Ok(2)
            }
            None | Some(Ending::Return) => {
                self.ending = Some(Ending::Return);
                Ok(1)
            }
            _ => Err(self.stray("carriage return", "\\r")),
        }
    }

    fn stray(&self, what: &str, spelled: &str) -> Error {
        let (place, hint) = match self.csv {
            true => ("unquoted", format!("Use quoted CSV field to represent {what}.")),
            false => ("literal", format!("Use \"{spelled}\" to represent {what}.")),
        };
        fault(&format!("{place} {what} found in data")).with_hint(hint)
    }

    /// Whether `\.` before these bytes ends the data. In CSV it may be a value.
    fn is_end(&self, after: &[u8]) -> Result<bool> {
        let corrupt = || match self.csv {
            true => Ok(false),
            false => Err(fault("end-of-copy marker corrupt")),
        };
        let mismatch = || fault("end-of-copy marker does not match previous newline style");
        let mut rest = after.iter().copied();
        let mut end = rest.next();
        if self.ending == Some(Ending::Both) {
            match end {
                Some(b'\r') => end = rest.next(),
                Some(b'\n') if !self.csv => return Err(mismatch()),
                _ => return corrupt(),
            }
        }
        match (end, self.ending) {
            (Some(b'\n'), None | Some(Ending::Newline | Ending::Both))
            | (Some(b'\r'), None | Some(Ending::Return)) => Ok(true),
            (Some(b'\n' | b'\r'), _) => Err(mismatch()),
            _ => corrupt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::copy::reader::tests::options;

    /// The lines of `data`, which comes in pieces of `piece` bytes.
    fn lines(format: CopyFormat, data: &str, piece: usize) -> String {
        let mut scanner = LineScanner::new(&options(format));
        let (mut start, mut there) = (0, 0);
        let mut out = Vec::new();
        loop {
            let finished = there == data.len();
            match scanner.scan(&data.as_bytes()[start..there], finished) {
                Ok(Scan::More) => there = data.len().min(there + piece),
                Ok(Scan::Line { end, next, last }) => {
                    if !last || end > 0 {
                        out.push(data[start..start + end].to_owned());
                    }
                    start += next;
                    if last {
                        return out.join("|");
                    }
                }
                Err(error) => return format!("{}!{}", out.join("|"), error.message),
            }
        }
    }

    #[test]
    fn lines_end_alike_however_they_arrive() {
        use CopyFormat::{Csv, Text};
        for (format, data, expected) in [
            (Text, "a\nb\n", "a|b"),
            (Text, "a\r\nb\r\nc", "a|b|c"),
            (Text, "a\rb\r", "a|b"),
            (Text, "a\\\nb\nc", "a\\\nb|c"),
            (Text, "a\nb\r\n", "a!literal carriage return found in data"),
            (Text, "a\r\nb\n", "a!literal newline found in data"),
            (Text, "a\\.\nb\n", "a"),
            (Text, "a\n\\.\nb\n", "a"),
            (Text, "a\n\\.", "a!end-of-copy marker corrupt"),
            (Text, "a\r\n\\.\n", "a!end-of-copy marker does not match previous newline style"),
            (Text, "a\r\n\\.\r\nb", "a"),
            (Text, "a\\\\.\nb", "a\\\\.|b"),
            (Text, "a\\", "a\\"),
            (Csv, "\"a\nb\"\nc", "\"a\nb\"|c"),
            (Csv, "\"a\"\"\nb\"\nc", "\"a\"\"\nb\"|c"),
            (Csv, "\\.x\n\\.\nb", "\\.x"),
            (Csv, "a\\.\n\\.\nb", "a\\."),
            (Csv, "\"\n", "\"\n"),
            (Csv, "a\r\nb\n", "a!unquoted newline found in data"),
        ] {
            for piece in [1, 2, 3, 100] {
                assert_eq!(lines(format, data, piece), expected, "{data:?} by {piece}");
            }
        }
    }
}
