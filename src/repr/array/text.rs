//! The text form of arrays: `{1,NULL,"a b"}`, `[0:1]={5,6}`, `{{1,2},{3,4}}`.
//!
//! Reading is PostgreSQL's `array_in`: whether the braces are well formed is found first, as its
//! `ArrayCount` does, and then the elements are read; so a fault of the form comes before that of
//! an element. Where braces of uneven depth pass PostgreSQL's first look, Weir refuses them.

use bumpalo::Bump;

use super::build::ArrayBuilder;
use super::dims::{DIMS_MAX, Dims, too_many_dims};
use super::view::ArrayRef;
use crate::error::{Error, Result, SqlState};
use crate::repr::Datum;
use crate::repr::scalar::Element;
use crate::repr::settings::FormatSettings;
use crate::repr::text::{format_text as format_element, is_space, parse_text as parse_element};

/// What stands between elements; of all types but `box`.
const DELIMITER: char = ',';

/// Reads an array; the modifier is the elements'.
pub(in crate::repr) fn parse_text<'a>(
    element: Element,
    typmod: i32,
    text: &str,
    settings: &FormatSettings,
    arena: &'a Bump,
) -> Result<Datum<'a>> {
    let (bounds, body) = explicit_bounds(text)?;
    let lengths = shape(body)?;
    let mut lowers = vec![1; lengths.len()];
    if let Some(bounds) = bounds {
        let given: Vec<i32> = bounds.iter().map(|(_, length)| *length).collect();
        if given != lengths {
            let detail = "Specified array dimensions do not match array contents.";
            return Err(malformed(text).with_detail(detail));
        }
        lowers = bounds.iter().map(|(lower, _)| *lower).collect();
    }
    let dims = Dims::checked(&lengths, &lowers)?;
    let mut builder = ArrayBuilder::new();
    if dims.count() > 0 {
        for item in Items::new(body) {
            let datum = match item {
                None => Datum::Null,
                Some(item) => {
                    let item = arena.alloc_str(&item);
                    parse_element(element.scalar(), typmod, item, settings, arena)?
                }
            };
            builder.push(&datum);
        }
        if builder.len() != dims.items() {
            return Err(malformed(text));
        }
    }
    Ok(builder.finish_in(element, &dims, arena))
}

fn malformed(text: &str) -> Error {
    let message = format!("malformed array literal: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

/// The dimensions that stand before the braces, as lower bound and length, and the rest.
type Bounds<'t> = (Option<Vec<(i32, i32)>>, &'t str);

fn explicit_bounds(text: &str) -> Result<Bounds<'_>> {
    let fault = |detail: &str| Err(malformed(text).with_detail(detail));
    let mut bounds = vec![];
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_space);
        let Some(inside) = rest.strip_prefix('[') else { break };
        if bounds.len() >= DIMS_MAX {
            return Err(too_many_dims(bounds.len() + 1));
        }
        let (first, behind) = digits(inside);
        if first.is_empty() {
            return fault("\"[\" must introduce explicitly-specified array dimensions.");
        }
        let (lower, upper, behind) = match behind.strip_prefix(':') {
            None => (1, integer(first), behind),
            Some(behind) => {
                let (second, behind) = digits(behind);
                if second.is_empty() {
                    return fault("Missing array dimension value.");
                }
                (integer(first), integer(second), behind)
            }
        };
        let Some(behind) = behind.strip_prefix(']') else {
            return fault("Missing \"]\" after array dimensions.");
        };
        if upper < lower {
            let message = "upper bound cannot be less than lower bound";
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        }
        bounds.push((lower, upper.wrapping_sub(lower).wrapping_add(1)));
        rest = behind;
    }
    if bounds.is_empty() {
        if !rest.starts_with('{') {
            return fault("Array value must start with \"{\" or dimension information.");
        }
        return Ok((None, rest));
    }
    let Some(body) = rest.strip_prefix('=') else {
        return fault("Missing \"=\" after array dimensions.");
    };
    let body = body.trim_start_matches(is_space);
    if !body.starts_with('{') {
        return fault("Array contents must start with \"{\".");
    }
    Ok((Some(bounds), body))
}

/// Digits and signs, as many as there are, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let is_digit = |c: char| c.is_ascii_digit() || c == '-' || c == '+';
    text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()))
}

/// C's `atoi`, as glibc has it: a sign, digits up to what is none; only the low 32 bits count.
fn integer(text: &str) -> i32 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0i64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    (if negative { -value } else { value }) as i32
}

/// What came last while the form is looked at: PostgreSQL's `ArrayParseState`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NoLevel,
    LevelStarted,
    ElementStarted,
    QuotedStarted,
    QuotedCompleted,
    ElementDelimited,
    LevelCompleted,
    LevelDelimited,
}

/// The lengths of the dimensions of what stands in braces; none for an empty array.
fn shape(body: &str) -> Result<Vec<i32>> {
    let mut scan = Shape { body, state: State::NoLevel, depth: 0, levels: vec![], quoted: false };
    let mut is_empty = true;
    let mut chars = body.char_indices();
    loop {
        is_empty &= !matches!(scan.state, State::ElementStarted | State::QuotedStarted);
        let Some((at, c)) = chars.next() else { return Err(scan.unexpected_end()) };
        match c {
            '\\' => {
                scan.escape()?;
                if chars.next().is_none() {
                    return Err(scan.unexpected_end());
                }
            }
            '"' => scan.quote()?,
            _ if scan.quoted => {}
            '{' => scan.open()?,
            '}' => {
                scan.close()?;
                if scan.depth == 0 {
                    if body[at + 1..].contains(|c| !is_space(c)) {
                        return Err(scan.fault("Junk after closing right brace."));
                    }
                    break;
                }
            }
            DELIMITER => scan.delimit()?,
            c if is_space(c) => {}
            _ => scan.plain()?,
        }
    }
    match is_empty {
        true => Ok(vec![]),
        false => Ok(scan.levels.iter().map(|level| level.length.unwrap_or(0)).collect()),
    }
}

/// A level of braces.
#[derive(Default)]
struct Level {
    /// Elements or inner levels since the last opening brace, less one.
    delimiters: i32,
    /// How many the first closed one had.
    length: Option<i32>,
}

struct Shape<'t> {
    body: &'t str,
    state: State,
    depth: usize,
    levels: Vec<Level>,
    quoted: bool,
}

impl Shape<'_> {
    fn fault(&self, detail: impl Into<String>) -> Error {
        malformed(self.body).with_detail(detail)
    }

    fn unexpected_end(&self) -> Error {
        self.fault("Unexpected end of input.")
    }

    fn unexpected(&self, c: char) -> Error {
        self.fault(format!("Unexpected \"{c}\" character."))
    }

    fn escape(&mut self) -> Result<()> {
        use State::*;
        match self.state {
            QuotedStarted => Ok(()),
            LevelStarted | ElementStarted | ElementDelimited => {
                self.state = ElementStarted;
                Ok(())
            }
            _ => Err(self.unexpected('\\')),
        }
    }

    fn quote(&mut self) -> Result<()> {
        use State::*;
        if !matches!(self.state, LevelStarted | QuotedStarted | ElementDelimited) {
            return Err(self.fault("Unexpected array element."));
        }
        self.quoted = !self.quoted;
        self.state = if self.quoted { QuotedStarted } else { QuotedCompleted };
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        use State::*;
        if !matches!(self.state, NoLevel | LevelStarted | LevelDelimited) {
            return Err(self.unexpected('{'));
        }
        self.state = LevelStarted;
        if self.depth >= DIMS_MAX {
            return Err(too_many_dims(self.depth + 1));
        }
        self.depth += 1;
        if self.levels.len() < self.depth {
            self.levels.push(Level::default());
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        use State::*;
        let outer_empty = self.depth == 1 && self.state == LevelStarted;
        if !outer_empty && !matches!(self.state, ElementStarted | QuotedCompleted | LevelCompleted)
        {
            return Err(self.unexpected('}'));
        }
        self.state = LevelCompleted;
        self.depth -= 1;
        let level = &mut self.levels[self.depth];
        let length = std::mem::take(&mut level.delimiters) + 1;
        if *level.length.get_or_insert(length) != length {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return Err(self.fault(detail));
        }
        Ok(())
    }

    fn delimit(&mut self) -> Result<()> {
        use State::*;
        self.state = match self.state {
            LevelCompleted => LevelDelimited,
            ElementStarted | QuotedCompleted => ElementDelimited,
            _ => return Err(self.unexpected(DELIMITER)),
        };
        self.levels[self.depth - 1].delimiters += 1;
        Ok(())
    }

    fn plain(&mut self) -> Result<()> {
        use State::*;
        if !matches!(self.state, LevelStarted | ElementStarted | ElementDelimited) {
            return Err(self.fault("Unexpected array element."));
        }
        self.state = ElementStarted;
        Ok(())
    }
}

/// The elements of what stands in well-formed braces: without quotes, escapes and the white space
/// around them; none for NULL.
struct Items<'t> {
    chars: std::str::Chars<'t>,
}

impl<'t> Items<'t> {
    fn new(body: &'t str) -> Items<'t> {
        Items { chars: body.chars() }
    }
}

impl Iterator for Items<'_> {
    type Item = Option<String>;

    fn next(&mut self) -> Option<Option<String>> {
        let mut item = String::new();
        // How much of the item is not trailing space.
        let mut solid = 0;
        let (mut quoted, mut is_quoted, mut begun) = (false, false, false);
        loop {
            let c = self.chars.next()?;
            match c {
                '\\' => {
                    item.push(self.chars.next()?);
                    solid = item.len();
                    (is_quoted, begun) = (true, true);
                }
                '"' => {
                    quoted = !quoted;
                    solid = item.len();
                    (is_quoted, begun) = (true, true);
                }
                c if quoted => item.push(c),
                '{' => {}
                DELIMITER | '}' if begun => break,
                DELIMITER | '}' => {}
                c if is_space(c) && !begun => {}
                c => {
                    item.push(c);
                    if !is_space(c) {
                        begun = true;
                        solid = item.len();
                    }
                }
            }
        }
        item.truncate(solid);
        let is_null = !is_quoted && item.eq_ignore_ascii_case("null");
        Some((!is_null).then_some(item))
    }
}

/// Appends an array's text form.
pub(in crate::repr) fn format_text(
    array: &ArrayRef<'_>,
    settings: &FormatSettings,
    out: &mut String,
) {
    let dims = &array.dims;
    if dims.count() == 0 {
        return out.push_str("{}");
    }
    if dims.lowers().iter().any(|lower| *lower != 1) {
        for (dim, lower) in dims.lowers().iter().enumerate() {
            out.push_str(&format!("[{lower}:{}]", dims.upper(dim)));
        }
        out.push('=');
    }
    // How many elements the dimensions from each on have together.
    let mut spans = [1; DIMS_MAX];
    for (dim, length) in dims.lengths().iter().enumerate() {
        spans[..=dim].iter_mut().for_each(|span| *span *= *length as usize);
    }
    let spans = &spans[..dims.count()];
    let mut item = String::new();
    for (place, datum) in array.iter().enumerate() {
        let opened = spans.iter().filter(|span| place % **span == 0).count();
        if place > 0 {
            (0..opened).for_each(|_| out.push('}'));
            out.push(DELIMITER);
        }
        (0..opened).for_each(|_| out.push('{'));
        if datum.is_null() {
            out.push_str("NULL");
            continue;
        }
        item.clear();
        format_element(&datum, array.element.scalar(), settings, &mut item);
        push_item(&item, out);
    }
    (0..dims.count()).for_each(|_| out.push('}'));
}

/// An element, quoted where it would be read as something else.
fn push_item(item: &str, out: &mut String) {
    let special = |c| matches!(c, '"' | '\\' | '{' | '}' | DELIMITER) || is_space(c);
    if !item.is_empty() && !item.contains(special) && !item.eq_ignore_ascii_case("null") {
        return out.push_str(item);
    }
    out.push('"');
    for c in item.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}
