//! Bytes in arbitrary pieces in, rows out.
//!
//! ```text
//! push(piece)* ── buffer ── line ── fields ── datums ── row
//! ```
//!
//! The buffer holds what is not yet a row: with the caller taking all rows after each piece, one
//! piece and one row at most. Errors carry PostgreSQL's context: the table, the line, and the
//! column with its text or the line's text. After an error the reader is of no further use.

use std::ops::Range;

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{CopyFormat, CopyHeader, CopyOptions};
use crate::repr::binary::{parse_binary, utf8};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::text::parse_text;
use crate::repr::value::encode_values;
use crate::repr::{ColumnType, Datum, Row};
use crate::session::copy::binary::{self, Span, Tuple};
use crate::session::copy::fields::Fields;
use crate::session::copy::line::{LineScanner, Scan};

/// The longest row, in bytes: what PostgreSQL can hold.
const ROW_BYTES: usize = (1 << 30) - 1;
/// How many bytes of a value or a line an error shows.
const SHOWN_BYTES: usize = 100;

/// Reads the rows of a `COPY … FROM`.
pub struct CopyReader {
    options: CopyOptions,
    columns: Vec<Column>,
    table: String,
    settings: FormatSettings,
    buffer: Vec<u8>,
    /// Where the next line or tuple begins.
    start: usize,
    /// Nothing will follow.
    finished: bool,
    /// Nothing that follows matters.
    ended: bool,
    header_is_due: bool,
    scanner: LineScanner,
    place: Place,
    work: Work,
}

/// A column of the input.
struct Column {
    name: String,
    ty: ColumnType,
    force_not_null: bool,
    force_null: bool,
}

/// Where the reader is, as errors tell it.
#[derive(Default)]
struct Place {
    /// Lines or tuples from 1.
    number: u64,
    /// The line is begun and its end is not found.
    open: bool,
    /// The line in the buffer, once it is read.
    line: Option<Range<usize>>,
}

/// Allocations that all rows use.
#[derive(Default)]
struct Work {
    fields: Fields,
    spans: Vec<Span>,
    arena: Bump,
    datums: DatumVec,
    encoded: Vec<u8>,
}

/// What looking for a line came to.
enum Found {
    More,
    Line,
    End,
}

impl CopyReader {
    /// A reader of rows of these columns, in the order of the input. Column numbers in the
    /// options count these.
    ///
    /// # Errors
    ///
    /// 54011 for more columns than a tuple can have.
    pub fn new(
        options: &CopyOptions,
        columns: Vec<(String, ColumnType)>,
        table: &str,
        settings: &FormatSettings,
    ) -> Result<CopyReader> {
        if columns.len() > i16::MAX as usize {
            return Err(Error::new(SqlState::new(b"54011"), "too many columns"));
        }
        let columns = columns.into_iter().enumerate().map(|(at, (name, ty))| Column {
            name,
            ty,
            force_not_null: options.force_not_null.contains(&at),
            force_null: options.force_null.contains(&at),
        });
        Ok(CopyReader {
            columns: columns.collect(),
            table: table.to_owned(),
            settings: settings.clone(),
            buffer: Vec::new(),
            start: 0,
            finished: false,
            ended: false,
            header_is_due: options.format == CopyFormat::Binary
                || options.header != CopyHeader::None,
            scanner: LineScanner::new(options),
            place: Place::default(),
            work: Work::default(),
            options: options.clone(),
        })
    }

    /// Takes the next piece of data.
    pub fn push(&mut self, data: &[u8]) {
        if self.ended {
            return;
        }
        self.place.line = None;
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// There is no more data.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The next row, value-encoded. None: the data so far holds no more, or no more follow.
    ///
    /// # Errors
    ///
    /// 22P04 for what is not in the format, 22021 for what is not UTF-8, and what the types say
    /// about values.
    #[allow(clippy::should_implement_trait)] // It goes on after none.
    pub fn next(&mut self) -> Result<Option<Row>> {
        match self.options.format {
            CopyFormat::Binary => self.next_tuple(),
            CopyFormat::Text | CopyFormat::Csv => self.next_line(),
        }
    }

    /// Where the reader is: the line of the row that was read last.
    pub fn context(&self) -> String {
        match self.place.line.clone() {
            None => self.line_context(self.place.number),
            Some(line) => {
                let text = String::from_utf8_lossy(&self.buffer[line]);
                format!("{}: \"{}\"", self.line_context(self.place.number), shown(&text))
            }
        }
    }

    /// The number of the row that was read last: lines or tuples from 1, with the header's.
    pub fn line_number(&self) -> u64 {
        self.place.number
    }

    /// The context of an error about the row of that number.
    pub fn line_context(&self, number: u64) -> String {
        format!("COPY {}, line {number}", self.table)
    }

    fn next_line(&mut self) -> Result<Option<Row>> {
        if self.header_is_due {
            let found = self.find_line()?;
            if matches!(found, Found::More) {
                return Ok(None);
            }
            self.header_is_due = false;
            if self.options.header == CopyHeader::Match {
                self.check_header().map_err(|error| error.with_context(self.context()))?;
            }
        }
        match self.find_line()? {
            Found::Line => self.read_line().map(Some),
            Found::More | Found::End => Ok(None),
        }
    }

    /// Looks for the next line; at its end the place is there.
    fn find_line(&mut self) -> Result<Found> {
        if self.ended {
            return Ok(Found::End);
        }
        if !self.place.open {
            self.place = Place { number: self.place.number + 1, open: true, line: None };
        }
        let rest = &self.buffer[self.start..];
        let scan = self.scanner.scan(rest, self.finished);
        let length = rest.len();
        self.place.number += self.scanner.take_newlines();
        match scan {
            Ok(Scan::More) if length > ROW_BYTES => Err(too_long(length)),
            Ok(Scan::More) => Ok(Found::More),
            Ok(Scan::Line { end, next, last }) => {
                self.place.open = false;
                self.ended = last;
                self.check_utf8(end).map(|()| {
                    self.place.line = Some(self.start..self.start + end);
                    self.start += next;
                    if last && end == 0 { Found::End } else { Found::Line }
                })
            }
            // Bytes that are no text come before what is wrong with the text.
            Err(error) => self.check_utf8(self.scanner.position()).and(Err(error)),
        }
        .map_err(|error| error.with_context(self.context()))
    }

    /// Checks that bytes of the buffer are text.
    fn check_utf8(&self, length: usize) -> Result<()> {
        let rest = &self.buffer[self.start..];
        match utf8(&rest[..length]) {
            Ok(_) => Ok(()),
            // The error shows bytes behind the line, too.
            Err(error) => utf8(rest).and(Err(error)),
        }
    }

    /// The line that was found.
    fn line(&self) -> &[u8] {
        self.place.line.clone().map_or(&[], |line| &self.buffer[line])
    }

    fn check_header(&mut self) -> Result<()> {
        let fault = |message| Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        let mut split = std::mem::take(&mut self.work.fields);
        split.split(self.line(), &self.options)?;
        let (got, expected) = (split.fields.len(), self.columns.len());
        if got != expected {
            return fault(format!(
                "wrong number of fields in header line: got {got}, expected {expected}"
            ));
        }
        let line = utf8(self.line())?;
        for (at, (field, column)) in split.fields.iter().zip(&self.columns).enumerate() {
            let got = match split.text(*field, line)? {
                Some(name) if name == column.name => continue,
                Some(name) => format!("\"{name}\""),
                None => format!("null value (\"{}\")", self.options.null),
            };
            return fault(format!(
                "column name mismatch in header line field {}: got {got}, expected \"{}\"",
                at + 1,
                column.name
            ));
        }
        self.work.fields = split;
        Ok(())
    }

    /// Makes a row of the line that was found.
    fn read_line(&mut self) -> Result<Row> {
        let mut work = std::mem::take(&mut self.work);
        let row = self.convert_line(&mut work);
        self.work = work;
        row
    }

    fn convert_line(&self, work: &mut Work) -> Result<Row> {
        let Work { fields, arena, datums, encoded, .. } = work;
        let line = self.line();
        let fault = |message: String| {
            let error = Error::new(SqlState::BAD_COPY_FILE_FORMAT, message);
            error.with_context(self.context())
        };
        let extra = || fault("extra data after last expected column".to_owned());
        if self.columns.is_empty() {
            return if line.is_empty() { Ok(Row::EMPTY) } else { Err(extra()) };
        }
        fields.split(line, &self.options).map_err(|e| e.with_context(self.context()))?;
        if fields.fields.len() > self.columns.len() {
            return Err(extra());
        }
        // Sound: it was checked when the line was found.
        let line = unsafe { std::str::from_utf8_unchecked(line) };
        arena.reset();
        let mut datums = datums.borrow();
        for (at, column) in self.columns.iter().enumerate() {
            let Some(field) = fields.fields.get(at) else {
                return Err(fault(format!("missing data for column \"{}\"", column.name)));
            };
            let text = column.forced(fields.text(*field, line)?, &self.options.null);
            datums.push(match text {
                None => Datum::Null,
                Some(text) => {
                    parse_text(column.ty.scalar, column.ty.typmod, text, &self.settings, arena)
                        .map_err(|error| error.with_context(self.value_context(column, text)))?
                }
            });
        }
        encoded.clear();
        encode_values(&datums, encoded);
        Ok(Row::new(encoded))
    }

    fn value_context(&self, column: &Column, text: &str) -> String {
        format!("{}: \"{}\"", self.column_context(column), shown(text))
    }

    fn column_context(&self, column: &Column) -> String {
        format!("{}, column {}", self.line_context(self.place.number), column.name)
    }

    fn next_tuple(&mut self) -> Result<Option<Row>> {
        if self.header_is_due {
            let rest = &self.buffer[self.start..];
            let Some(length) = binary::header(rest, self.finished)? else { return Ok(None) };
            self.start += length;
            self.header_is_due = false;
        }
        if !self.place.open {
            self.place.number += 1;
            self.place.open = true;
        }
        let data = &self.buffer[self.start..];
        let length = data.len();
        let mut work = std::mem::take(&mut self.work);
        let found = binary::tuple(data, self.finished, self.columns.len(), &mut work.spans);
        let row = match found {
            Ok(Tuple::More) if length > 2 * ROW_BYTES => Err(too_long(length)),
            Ok(Tuple::More | Tuple::End) => Ok(None),
            Ok(Tuple::Broken(message)) => self.convert_tuple(message, &mut work).map(Some),
            Ok(Tuple::Whole(length)) => {
                let row = self.convert_tuple("", &mut work).map(Some);
                self.start += length;
                self.place.open = false;
                row
            }
            Err(error) => Err(error),
        };
        self.work = work;
        row.map_err(|error| error.with_context(self.context()))
    }

    /// `fault`: what is wrong with the first field that is not there.
    fn convert_tuple(&self, fault: &str, work: &mut Work) -> Result<Row> {
        let Work { spans, arena, datums, encoded, .. } = work;
        let data = &self.buffer[self.start..];
        arena.reset();
        let mut datums = datums.borrow();
        for (at, column) in self.columns.iter().enumerate() {
            let value = match spans.get(at) {
                Some(None) => Ok(Datum::Null),
                Some(Some((from, to))) => {
                    parse_binary(column.ty.scalar, column.ty.typmod, &data[*from..*to], arena)
                }
                None => Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, fault)),
            };
            let value = value.map_err(|error| error.with_context(self.column_context(column)));
            datums.push(value?);
        }
        encoded.clear();
        encode_values(&datums, encoded);
        Ok(Row::new(encoded))
    }
}

impl Column {
    /// What FORCE_NOT_NULL and FORCE_NULL make of a field.
    #[inline]
    fn forced<'a>(&self, text: Option<&'a str>, null: &'a str) -> Option<&'a str> {
        match text {
            None if self.force_not_null => Some(null),
            Some(text) if self.force_null && text == null => None,
            text => text,
        }
    }
}

fn too_long(length: usize) -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "out of memory")
        .with_detail(format!("Cannot enlarge string buffer containing {length} bytes."))
}

/// As much of a value as an error shows.
fn shown(text: &str) -> String {
    match text.len() <= SHOWN_BYTES {
        true => text.to_owned(),
        false => format!("{}...", &text[..text.floor_char_boundary(SHOWN_BYTES)]),
    }
}

#[cfg(test)]
pub(in crate::session::copy) mod tests {
    use super::*;
    use crate::repr::ScalarType;
    use crate::repr::text::format_text;
    use crate::repr::value::decode_values;

    /// The options that PostgreSQL takes where none are given.
    pub fn options(format: CopyFormat) -> CopyOptions {
        let csv = format == CopyFormat::Csv;
        CopyOptions {
            format,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { "" } else { "\\N" }.to_owned(),
            header: CopyHeader::None,
            quote: b'"',
            escape: b'"',
            force_quote: None,
            force_not_null: vec![],
            force_null: vec![],
        }
    }

    /// Reads `data` in pieces; rows and an error as text.
    pub fn read(
        options: &CopyOptions,
        types: &[ColumnType],
        data: &[u8],
        piece: usize,
    ) -> Vec<String> {
        let columns = types.iter().enumerate();
        let columns = columns.map(|(at, ty)| {
            let name = char::from(b'a' + at as u8).to_string();
            (name, *ty)
        });
        let scalars: Vec<_> = types.iter().map(|ty| ty.scalar).collect();
        let settings = FormatSettings::default();
        let mut reader = CopyReader::new(options, columns.collect(), "t", &settings).unwrap();
        let mut out = Vec::new();
        let mut pieces = data.chunks(piece);
        loop {
            match reader.next() {
                Ok(Some(row)) => out.push(print(&scalars, &row)),
                Ok(None) => match pieces.next() {
                    Some(piece) => reader.push(piece),
                    None if reader.finished => return out,
                    None => reader.finish(),
                },
                Err(error) => {
                    let Error { code, message, hint, context, .. } = error;
                    let context = context.unwrap_or_default();
                    let hint = hint.map(|hint| format!(" hint {hint}")).unwrap_or_default();
                    out.push(format!("{code} {message} [{context}]{hint}"));
                    return out;
                }
            }
        }
    }

    fn print(types: &[ScalarType], row: &Row) -> String {
        let mut datums = Vec::new();
        decode_values(types, row.bytes(), &mut datums);
        let settings = FormatSettings::default();
        let texts = datums.iter().zip(types).map(|(datum, ty)| {
            let mut text = String::new();
            format_text(datum, *ty, &settings, &mut text);
            if datum.is_null() { "NULL".to_owned() } else { format!("<{text}>") }
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_become_rows() {
        let types = [ScalarType::Int4, ScalarType::Text].map(ColumnType::nullable);
        let text = options(CopyFormat::Text);
        let expected = ["<1> <a\tb\\N>", "NULL NULL", "<3> <\u{e9}A>"];
        let data = b"1\ta\\tb\\\\N\n\\N\t\\N\n3\t\\303\\251\\x41\n\\.\nignored";
        for piece in [1, 3, 100] {
            assert_eq!(read(&text, &types, data, piece), expected);
        }
        let csv = options(CopyFormat::Csv);
        let data = b"1,\"a,\"\"b\"\"\nc\"\n,\n3,\"\"\n4,\"x\n";
        let expected = [
            "<1> <a,\"b\"\nc>",
            "NULL NULL",
            "<3> <>",
            "22P04 unterminated CSV quoted field [COPY t, line 5: \"4,\"x\n\"]",
        ];
        assert_eq!(read(&csv, &types, data, 1), expected);
    }
}
