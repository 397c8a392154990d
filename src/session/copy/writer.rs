//! Rows in, bytes out.

use crate::plan::statement::{CopyFormat, CopyHeader, CopyOptions};
use crate::repr::binary::format_binary;
use crate::repr::settings::FormatSettings;
use crate::repr::text::format_text;
use crate::repr::{ColumnType, Datum};
use crate::session::copy::binary::SIGNATURE;

/// Writes the rows of a `COPY … TO`.
pub struct CopyWriter {
    options: CopyOptions,
    columns: Vec<Column>,
    settings: FormatSettings,
    /// The bytes that are escaped in text, or that want quotes in CSV.
    special: [bool; 256],
    text: String,
}

struct Column {
    name: String,
    ty: ColumnType,
    force_quote: bool,
}

impl CopyWriter {
    /// A writer of rows of these columns, which the column numbers in the options count.
    pub fn new(
        options: &CopyOptions,
        columns: Vec<(String, ColumnType)>,
        settings: &FormatSettings,
    ) -> CopyWriter {
        let forced = |at: usize| match &options.force_quote {
            None => false,
            Some(columns) => columns.is_empty() || columns.contains(&at),
        };
        let columns = columns.into_iter().enumerate();
        let columns = columns.map(|(at, (name, ty))| Column { name, ty, force_quote: forced(at) });
        let mut special = [false; 256];
        let bytes: &[u8] = match options.format {
            CopyFormat::Csv => &[options.delimiter, options.quote, b'\n', b'\r'],
            _ => &[options.delimiter, b'\\', 8, 9, 10, 11, 12, 13],
        };
        for byte in bytes {
            special[usize::from(*byte)] = true;
        }
        CopyWriter {
            columns: columns.collect(),
            settings: settings.clone(),
            special,
            text: String::new(),
            options: options.clone(),
        }
    }

    /// Appends what comes before the rows.
    pub fn header(&mut self, out: &mut Vec<u8>) {
        if self.options.format == CopyFormat::Binary {
            out.extend_from_slice(SIGNATURE);
            // Flags, and the length of what follows the header.
            out.extend_from_slice(&[0; 8]);
        } else if self.options.header != CopyHeader::None {
            for (at, column) in self.columns.iter().enumerate() {
                if at > 0 {
                    out.push(self.options.delimiter);
                }
                self.field(&column.name, false, out);
            }
            out.push(b'\n');
        }
    }

    /// Appends a row of the columns.
    pub fn row(&mut self, datums: &[Datum<'_>], out: &mut Vec<u8>) {
        debug_assert_eq!(datums.len(), self.columns.len());
        if self.options.format == CopyFormat::Binary {
            return self.tuple(datums, out);
        }
        let mut scratch = std::mem::take(&mut self.text);
        for (at, (datum, column)) in datums.iter().zip(&self.columns).enumerate() {
            if at > 0 {
                out.push(self.options.delimiter);
            }
            match datum {
                Datum::Null => out.extend_from_slice(self.options.null.as_bytes()),
                Datum::Text(text) => self.field(text, column.force_quote, out),
                _ => {
                    scratch.clear();
                    format_text(datum, column.ty.scalar, &self.settings, &mut scratch);
                    self.field(&scratch, column.force_quote, out);
                }
            }
        }
        out.push(b'\n');
        self.text = scratch;
    }

    /// Appends what comes after the rows.
    pub fn trailer(&mut self, out: &mut Vec<u8>) {
        if self.options.format == CopyFormat::Binary {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }

    fn tuple(&self, datums: &[Datum<'_>], out: &mut Vec<u8>) {
        out.extend_from_slice(&(datums.len() as u16).to_be_bytes());
        for (datum, column) in datums.iter().zip(&self.columns) {
            if datum.is_null() {
                out.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            format_binary(datum, column.ty.scalar, out);
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    fn field(&self, text: &str, force_quote: bool, out: &mut Vec<u8>) {
        match self.options.format {
            CopyFormat::Csv => self.csv_field(text, force_quote, out),
            _ => self.text_field(text.as_bytes(), out),
        }
    }

    fn text_field(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut rest = text;
        while let Some(at) = rest.iter().position(|c| self.special[usize::from(*c)]) {
            out.extend_from_slice(&rest[..at]);
            let letter = match rest[at] {
                8 => b'b',
                9 => b't',
                10 => b'n',
                11 => b'v',
                12 => b'f',
                13 => b'r',
                other => other,
            };
            out.extend_from_slice(&[b'\\', letter]);
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
    }

    fn csv_field(&self, text: &str, force_quote: bool, out: &mut Vec<u8>) {
        let CopyOptions { quote, escape, null, .. } = &self.options;
        // `\.` alone on a line would end the data.
        let needs_quote = force_quote
            || text == null
            || (self.columns.len() == 1 && text == "\\.")
            || text.bytes().any(|c| self.special[usize::from(c)]);
        if !needs_quote {
            return out.extend_from_slice(text.as_bytes());
        }
        out.push(*quote);
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|c| c == quote || c == escape) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(&[*escape, rest[at]]);
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
        out.push(*quote);
    }
}
