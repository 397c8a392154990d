//! Taking a json text apart: every part is a slice of the whole.
//!
//! The text is known to be well formed, so that tokens are found by their first characters.

use std::borrow::Cow;

use crate::error::Result;
use crate::repr::jsonb::{JsonbBuilder, JsonbItem, JsonbRef, check_json};

/// A well-formed JSON text without white space around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonText<'a>(&'a str);

/// What a JSON text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is JSON's value of that name.
pub enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

/// How many bytes the token takes that the text begins with, up to what delimits it.
fn token(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'"') => {
            let mut at = 1;
            while let Some(c) = bytes.get(at) {
                match c {
                    b'"' => return at + 1,
                    b'\\' => at += 2,
                    _ => at += 1,
                }
            }
            bytes.len()
        }
        Some(b'{' | b'}' | b'[' | b']' | b',' | b':') => 1,
        _ => {
            let ends = |c: &u8| is_space(*c) || matches!(c, b',' | b':' | b']' | b'}');
            bytes.iter().position(ends).unwrap_or(bytes.len())
        }
    }
}

/// How many bytes the value takes that the text begins with.
fn value(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        match text.as_bytes().get(at) {
            None => return at,
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => depth -= 1,
            _ => {}
        }
        at += token(&text[at..]);
        if depth == 0 {
            return at;
        }
        at += space(&text[at..]);
    }
}

fn space(text: &str) -> usize {
    text.bytes().position(|c| !is_space(c)).unwrap_or(text.len())
}

impl<'a> JsonText<'a> {
    /// Reads what was checked when it became a json. Its escapes are looked at again, as each
    /// function does that takes a json apart.
    ///
    /// # Errors
    ///
    /// 22P05 and 22P02 for escapes that are no characters, wherever they stand.
    pub fn new(text: &'a str) -> Result<JsonText<'a>> {
        check_json(text, true)?;
        Ok(JsonText(text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))))
    }

    /// The text.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// What this is.
    pub fn kind(self) -> JsonKind {
        match self.0.as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b'n') => JsonKind::Null,
            Some(b't' | b'f') => JsonKind::Bool,
            _ => JsonKind::Number,
        }
    }

    /// The elements of an array; of anything else none.
    pub fn elements(self) -> Vec<JsonText<'a>> {
        let mut found = vec![];
        if self.kind() != JsonKind::Array {
            return found;
        }
        let mut at = 1;
        loop {
            at += space(&self.0[at..]);
            match self.0.as_bytes()[at] {
                b']' => return found,
                b',' => at += 1,
                _ => {
                    let end = at + value(&self.0[at..]);
                    found.push(JsonText(&self.0[at..end]));
                    at = end;
                }
            }
        }
    }

    /// The members of an object, as they stand; of anything else none.
    pub fn members(self) -> Vec<(Cow<'a, str>, JsonText<'a>)> {
        let mut found = vec![];
        if self.kind() != JsonKind::Object {
            return found;
        }
        let mut at = 1;
        loop {
            at += space(&self.0[at..]);
            match self.0.as_bytes()[at] {
                b'}' => return found,
                b',' => at += 1,
                _ => {
                    let end = at + token(&self.0[at..]);
                    let name = JsonText(&self.0[at..end]).unescaped();
                    // The colon, and white space on both its sides.
                    at = end + space(&self.0[end..]) + 1;
                    at += space(&self.0[at..]);
                    let end = at + value(&self.0[at..]);
                    found.push((name, JsonText(&self.0[at..end])));
                    at = end;
                }
            }
        }
    }

    /// The member of that name, the last of several.
    pub fn member(self, name: &str) -> Option<JsonText<'a>> {
        self.members().into_iter().rev().find(|(of, _)| of == name).map(|(_, value)| value)
    }

    /// The element at a place, from the end where it is negative.
    pub fn element(self, place: i64) -> Option<JsonText<'a>> {
        let elements = self.elements();
        let place = if place < 0 { place + elements.len() as i64 } else { place };
        usize::try_from(place).ok().and_then(|place| elements.get(place).copied())
    }

    /// What lies at the end of a path.
    pub fn at_path<'k>(self, path: impl IntoIterator<Item = &'k str>) -> Option<JsonText<'a>> {
        path.into_iter().try_fold(self, |at, step| match at.kind() {
            JsonKind::Object => at.member(step),
            JsonKind::Array => at.element(step.trim_start().parse::<i32>().ok()?.into()),
            _ => None,
        })
    }

    /// What `->>` answers: a string without its quotes, nothing for `null`, else the text.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        match self.kind() {
            JsonKind::Null => None,
            JsonKind::String => Some(self.unescaped()),
            _ => Some(Cow::Borrowed(self.0)),
        }
    }

    /// The characters of a string; the text of anything else.
    fn unescaped(self) -> Cow<'a, str> {
        if self.kind() != JsonKind::String {
            return Cow::Borrowed(self.0);
        }
        let inside = &self.0[1..self.0.len() - 1];
        if !inside.contains('\\') {
            return Cow::Borrowed(inside);
        }
        let mut builder = JsonbBuilder::new();
        if builder.parse(self.0).is_ok()
            && let JsonbItem::String(text) = JsonbRef(builder.finish()).item()
        {
            return Cow::Owned(text.to_owned());
        }
        Cow::Borrowed(inside)
    }
}
