//! Text as SQL: identifiers and literals in quotes, and `format`.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::text;
use crate::expr::functions::registry::Family;
use crate::expr::functions::text::{VALUE_BYTES_MAX, push_text_form};
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// PostgreSQL's key words that cannot be every kind of name.
fn is_reserved(word: &str) -> bool {
    static WORDS: OnceLock<HashSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| include_str!("reserved_words.txt").lines().collect()).contains(word)
}

/// Appends an identifier, in quotes where it needs them.
fn push_identifier(name: &str, out: &mut String) {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !is_reserved(name);
    if is_plain {
        out.push_str(name);
        return;
    }
    out.push('"');
    for c in name.chars() {
        out.push(c);
        if c == '"' {
            out.push(c);
        }
    }
    out.push('"');
}

/// Appends a literal in quotes.
fn push_literal(value: &str, out: &mut String) {
    if value.contains('\\') {
        out.push('E');
    }
    out.push('\'');
    for c in value.chars() {
        out.push(c);
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
    }
    out.push('\'');
}

/// What a conversion to text makes of a value: as the text form, but for booleans.
fn push_converted(datum: &Datum<'_>, cx: &EvalContext<'_>, out: &mut String) {
    match datum {
        Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        datum => push_text_form(datum, cx, out),
    }
}

fn literal<'a>(datum: Datum<'a>, cx: &EvalContext<'a>) -> Answer<'a> {
    let (mut value, mut quoted) = (String::new(), String::new());
    push_converted(&datum, cx, &mut value);
    push_literal(&value, &mut quoted);
    Ok(Datum::Text(cx.arena.alloc_str(&quoted)))
}

fn nullable<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[0].is_null() { Ok(Datum::Text("NULL")) } else { literal(args[0], cx) }
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(1282, "quote_ident", &[Text], Text, |args, cx| {
        let mut quoted = String::new();
        push_identifier(text(args[0]), &mut quoted);
        Ok(Datum::Text(cx.arena.alloc_str(&quoted)))
    })
    .total(),
    FuncDef::new(1283, "quote_literal", &[Text], Text, |args, cx| literal(args[0], cx)).total(),
    FuncDef::new(1285, "quote_literal", &[Text], Text, |args, cx| literal(args[0], cx))
        .any()
        .total()
        .stable(),
    FuncDef::new(1289, "quote_nullable", &[Text], Text, nullable).lax().total(),
    FuncDef::new(1290, "quote_nullable", &[Text], Text, nullable).any().lax().total().stable(),
    FuncDef::new(3540, "format", &[Text], Text, format).lax().nullable().stable(),
    FuncDef::new(3539, "format", &[Text], Text, format)
        .variadic(Text)
        .any()
        .lax()
        .nullable()
        .stable(),
];

fn invalid(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn out_of_range() -> EvalError {
    EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range")
}

fn unterminated() -> EvalError {
    let hint = "For a single \"%\" use \"%%\".";
    EvalError { hint: Some(hint.into()), ..invalid("unterminated format() type specifier") }
}

/// `format`: a text with places for values.
fn format<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let Datum::Text(template) = args[0] else { return Ok(Datum::Null) };
    let mut writer = Writer { args, cx, next: 1, rest: template, out: String::new() };
    while let Some(at) = writer.rest.find('%') {
        writer.out.push_str(&writer.rest[..at]);
        writer.rest = &writer.rest[at + 1..];
        writer.place()?;
    }
    writer.out.push_str(writer.rest);
    Ok(Datum::Text(cx.arena.alloc_str(&writer.out)))
}

struct Writer<'f, 'a> {
    args: &'f [Datum<'a>],
    cx: &'f EvalContext<'a>,
    /// The argument that is taken where none is named.
    next: usize,
    /// The template behind what is written.
    rest: &'f str,
    out: String,
}

impl<'f, 'a> Writer<'f, 'a> {
    fn peek(&self) -> Result<char, EvalError> {
        self.rest.chars().next().ok_or_else(unterminated)
    }

    fn skip(&mut self) {
        self.rest = &self.rest[self.rest.chars().next().map_or(0, char::len_utf8)..];
    }

    /// Digits, where there are some.
    fn number(&mut self) -> Result<Option<i32>, EvalError> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().map_err(|_| out_of_range())?;
        self.peek()?;
        Ok(Some(number))
    }

    /// A number with a `$` behind it: the argument at that place.
    fn reference(&mut self, number: i32) -> Result<usize, EvalError> {
        if number == 0 {
            return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
        }
        self.skip();
        self.peek()?;
        // Digits of an int4 without a sign.
        Ok(number as usize)
    }

    fn argument(&self, place: usize) -> Result<Datum<'a>, EvalError> {
        self.args.get(place).copied().ok_or_else(|| invalid("too few arguments for format()"))
    }

    /// What stands behind a `%`.
    fn place(&mut self) -> Result<(), EvalError> {
        if self.peek()? == '%' {
            self.skip();
            self.out.push('%');
            return Ok(());
        }
        let (mut chosen, mut width, mut left) = (None, 0, false);
        let number = self.number()?;
        if let Some(number) = number
            && self.peek()? != '$'
        {
            width = i64::from(number);
        } else {
            if let Some(number) = number {
                chosen = Some(self.reference(number)?);
            }
            while self.peek()? == '-' {
                left = true;
                self.skip();
            }
            if self.peek()? == '*' {
                self.skip();
                width = self.indirect_width()?;
            } else if let Some(number) = self.number()? {
                width = i64::from(number);
            }
        }
        let kind = self.peek()?;
        self.skip();
        if !matches!(kind, 's' | 'I' | 'L') {
            let error = invalid(format!("unrecognized format() type specifier \"{kind}\""));
            let hint = "For a single \"%\" use \"%%\".";
            return Err(EvalError { hint: Some(hint.into()), ..error });
        }
        let place = chosen.unwrap_or(self.next);
        self.next = place + 1;
        let value = self.argument(place)?;
        self.write(kind, value, width, left)
    }

    /// `*` or `*n$`: a width that is an argument.
    fn indirect_width(&mut self) -> Result<i64, EvalError> {
        let place = match self.number()? {
            Some(number) => {
                if self.peek()? != '$' {
                    return Err(invalid("width argument position must be ended by \"$\""));
                }
                self.reference(number)?
            }
            None => self.next,
        };
        self.next = place + 1;
        let width = match self.argument(place)? {
            Datum::Null => 0,
            Datum::Int2(width) => width.into(),
            Datum::Int4(width) => width.into(),
            other => {
                let mut spelled = String::new();
                push_text_form(&other, self.cx, &mut spelled);
                let width = crate::repr::text::parse_text(
                    Int4,
                    -1,
                    &spelled,
                    self.cx.settings,
                    self.cx.arena,
                );
                match width? {
                    Datum::Int4(width) => width.into(),
                    _ => 0,
                }
            }
        };
        if width == i64::from(i32::MIN) {
            return Err(out_of_range());
        }
        Ok(width)
    }

    fn write(
        &mut self,
        kind: char,
        value: Datum<'a>,
        width: i64,
        left: bool,
    ) -> Result<(), EvalError> {
        let (mut plain, mut shown) = (String::new(), String::new());
        push_text_form(&value, self.cx, &mut plain);
        match (kind, value) {
            ('I', Datum::Null) => {
                return Err(EvalError::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            ('L', Datum::Null) => shown.push_str("NULL"),
            ('I', _) => push_identifier(&plain, &mut shown),
            ('L', _) => push_literal(&plain, &mut shown),
            _ => shown = plain,
        }
        let blanks = width.unsigned_abs() as usize;
        let blanks = blanks.saturating_sub(shown.chars().count());
        if self.out.len() + blanks > VALUE_BYTES_MAX {
            return Err(EvalError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "out of memory"));
        }
        if left || width < 0 {
            self.out.push_str(&shown);
        }
        self.out.extend(std::iter::repeat_n(' ', blanks));
        if !(left || width < 0) {
            self.out.push_str(&shown);
        }
        Ok(())
    }
}
