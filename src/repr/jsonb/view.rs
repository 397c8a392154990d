//! The encoding of a document, and reading it in place.
//!
//! The low four bits of the first byte tell what it is. A number goes on as a numeric's encoding
//! and a string as its UTF-8, both to the end of the slice. An array goes on with its length, the
//! end of each element counted from the end of this table, and the elements; an object with its
//! length, the ends of each name and value in turn, then names and values. Lengths and ends are
//! one, two or four bytes each, as bits 4 and 5 of the first byte say: the least that holds both
//! the count and the size of what follows. A document has one encoding, numbers' scales apart.

use crate::repr::numeric::NumericRef;

/// A jsonb in its value encoding.
#[derive(Clone, Copy, Debug)]
pub struct JsonbRef<'a>(pub &'a [u8]);

/// What a jsonb is.
#[derive(Clone, Copy, Debug)]
pub enum JsonbItem<'a> {
    /// JSON's `null`.
    Null,
    /// `false` or `true`.
    Bool(bool),
    /// A number.
    Number(NumericRef<'a>),
    /// A string.
    String(&'a str),
    /// An array.
    Array(JsonbArray<'a>),
    /// An object.
    Object(JsonbObject<'a>),
}

pub(super) const NULL: u8 = 0;
pub(super) const FALSE: u8 = 1;
pub(super) const TRUE: u8 = 2;
pub(super) const NUMBER: u8 = 3;
pub(super) const STRING: u8 = 4;
pub(super) const ARRAY: u8 = 5;
pub(super) const OBJECT: u8 = 6;

/// The bytes of a length or an end: 1, 2 or 4.
pub(super) fn entry_width(largest: usize) -> usize {
    match largest {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

/// The first byte of a container with entries of that width.
pub(super) fn container_tag(kind: u8, width: usize) -> u8 {
    kind | (width.trailing_zeros() as u8) << 4
}

/// The table of ends, and what they delimit.
#[derive(Clone, Copy, Debug)]
struct Slots<'a> {
    width: usize,
    count: usize,
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> Slots<'a> {
    /// Reads the header of a container with `per_entry` slots an entry.
    #[inline]
    fn new(bytes: &'a [u8], per_entry: usize) -> Slots<'a> {
        let width = 1 << (bytes[0] >> 4);
        let count = read(&bytes[1..], width, 0) * per_entry;
        let (ends, data) = bytes[1 + width..].split_at(count * width);
        Slots { width, count, ends, data }
    }

    #[inline]
    fn get(&self, slot: usize) -> &'a [u8] {
        let start = if slot == 0 { 0 } else { read(self.ends, self.width, slot - 1) };
        &self.data[start..read(self.ends, self.width, slot)]
    }
}

#[inline]
fn read(table: &[u8], width: usize, index: usize) -> usize {
    let bytes = &table[index * width..][..width];
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => 0,
    }
}

impl<'a> JsonbRef<'a> {
    /// What this is.
    #[inline]
    pub fn item(self) -> JsonbItem<'a> {
        let (&first, rest) = self.0.split_first().expect("a document is not empty");
        match first & 0x0f {
            NULL => JsonbItem::Null,
            FALSE => JsonbItem::Bool(false),
            TRUE => JsonbItem::Bool(true),
            NUMBER => JsonbItem::Number(NumericRef(rest)),
            STRING => JsonbItem::String(text(rest)),
            ARRAY => JsonbItem::Array(JsonbArray(Slots::new(self.0, 1))),
            _ => JsonbItem::Object(JsonbObject(Slots::new(self.0, 2))),
        }
    }

    /// The value of that member, where this is an object and has it.
    pub fn get(self, key: &str) -> Option<JsonbRef<'a>> {
        match self.item() {
            JsonbItem::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The element at `index`, from the end where it is negative, where this is an array.
    pub fn index(self, index: i64) -> Option<JsonbRef<'a>> {
        match self.item() {
            JsonbItem::Array(array) => array.index(index),
            _ => None,
        }
    }

    /// The value at the end of a path: names of members and, in arrays, numbers of elements.
    pub fn get_path<'k>(self, path: impl IntoIterator<Item = &'k str>) -> Option<JsonbRef<'a>> {
        path.into_iter().try_fold(self, |at, step| match at.item() {
            JsonbItem::Object(object) => object.get(step),
            JsonbItem::Array(array) => array.index(step.trim_start().parse::<i32>().ok()?.into()),
            _ => None,
        })
    }

    /// What `jsonb_typeof` answers.
    pub fn type_name(self) -> &'static str {
        match self.item() {
            JsonbItem::Null => "null",
            JsonbItem::Bool(_) => "boolean",
            JsonbItem::Number(_) => "number",
            JsonbItem::String(_) => "string",
            JsonbItem::Array(_) => "array",
            JsonbItem::Object(_) => "object",
        }
    }

    /// Whether this is neither array nor object.
    pub fn is_scalar(self) -> bool {
        !matches!(self.item(), JsonbItem::Array(_) | JsonbItem::Object(_))
    }
}

/// An array, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct JsonbArray<'a>(Slots<'a>);

impl<'a> JsonbArray<'a> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.count
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<JsonbRef<'a>> {
        (index < self.len()).then(|| JsonbRef(self.0.get(index)))
    }

    /// The element at `index`, counted from the end where it is negative.
    pub fn index(&self, index: i64) -> Option<JsonbRef<'a>> {
        let length = self.len() as i64;
        let index = if index < 0 { index.checked_add(length)? } else { index };
        self.get(usize::try_from(index).ok()?)
    }

    /// The elements, in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = JsonbRef<'a>> {
        (0..self.len()).map(move |i| JsonbRef(self.0.get(i)))
    }
}

/// An object, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct JsonbObject<'a>(Slots<'a>);

impl<'a> JsonbObject<'a> {
    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.count / 2
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }

    fn key(&self, member: usize) -> &'a str {
        text(self.0.get(2 * member))
    }

    fn value(&self, member: usize) -> JsonbRef<'a> {
        JsonbRef(self.0.get(2 * member + 1))
    }

    /// The value of that member.
    pub fn get(&self, key: &str) -> Option<JsonbRef<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let here = self.key(middle);
            match here.len().cmp(&key.len()).then_with(|| here.cmp(key)) {
                std::cmp::Ordering::Equal => return Some(self.value(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The members, by length of name, then name.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, JsonbRef<'a>)> {
        (0..self.len()).map(move |i| (self.key(i), self.value(i)))
    }
}

#[inline]
fn text(bytes: &[u8]) -> &str {
    debug_assert!(std::str::from_utf8(bytes).is_ok());
    // Sound: strings and names are encoded from `str`.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}
