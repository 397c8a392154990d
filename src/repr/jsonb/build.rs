//! Building documents.
//!
//! Calls follow the document's text: a container is begun, filled, ended; in an object each value
//! follows its name. Values are encoded at once, one behind the other; at the end of a container
//! they are moved once into its slots, sorted and made unique in objects.

use bumpalo::Bump;

use super::view::{
    ARRAY, FALSE, JsonbRef, NULL, NUMBER, OBJECT, STRING, TRUE, container_tag, entry_width,
};
use crate::repr::numeric::{Numeric, NumericRef};

/// Builds one document; see the module.
#[derive(Debug, Default)]
pub struct JsonbBuilder {
    /// Encoded values, one behind the other; names lie before theirs.
    bytes: Vec<u8>,
    /// Where in `bytes` the parts of the containers that are open lie, outer ones first.
    parts: Vec<Part>,
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    key: (usize, usize),
    value: (usize, usize),
}

#[derive(Debug)]
struct Open {
    object: bool,
    /// Where in `bytes` its first part begins.
    start: usize,
    /// Where in `parts` its first part is.
    first: usize,
    /// The name that waits for its value.
    key: (usize, usize),
}

impl JsonbBuilder {
    /// An empty builder.
    pub fn new() -> JsonbBuilder {
        JsonbBuilder::default()
    }

    /// The document, once it is complete.
    ///
    /// # Panics
    ///
    /// Where no value, or not the end of a container, was given.
    pub fn finish(&self) -> &[u8] {
        assert!(self.open.is_empty() && !self.bytes.is_empty(), "the document is complete");
        &self.bytes
    }

    /// The document, copied to an arena.
    pub fn finish_in<'a>(&self, arena: &'a Bump) -> JsonbRef<'a> {
        JsonbRef(arena.alloc_slice_copy(self.finish()))
    }

    /// Forgets everything but the allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        self.open.clear();
    }

    /// How many containers are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// JSON's `null`.
    pub fn null(&mut self) {
        self.value(|out| out.push(NULL));
    }

    /// `false` or `true`.
    pub fn bool(&mut self, value: bool) {
        self.value(|out| out.push(if value { TRUE } else { FALSE }));
    }

    /// A number.
    pub fn number(&mut self, value: &Numeric) {
        self.value(|out| {
            out.push(NUMBER);
            value.encode(out);
        });
    }

    /// A number, encoded.
    pub fn number_ref(&mut self, value: NumericRef<'_>) {
        self.value(|out| {
            out.push(NUMBER);
            out.extend_from_slice(value.0);
        });
    }

    /// A string.
    pub fn string(&mut self, value: &str) {
        self.value(|out| {
            out.push(STRING);
            out.extend_from_slice(value.as_bytes());
        });
    }

    /// A whole document, as a part.
    pub fn raw(&mut self, value: JsonbRef<'_>) {
        self.value(|out| out.extend_from_slice(value.0));
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        self.begin(false);
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        self.begin(true);
    }

    /// The name of the value that follows, in an object.
    pub fn key(&mut self, key: &str) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key.as_bytes());
        let end = self.bytes.len();
        self.open.last_mut().expect("a name stands in an object").key = (start, end);
    }

    /// Closes the container opened last.
    pub fn end(&mut self) {
        let open = self.open.pop().expect("a container is open");
        if open.object {
            self.sort_members(open.first);
        }
        let closed = self.close(&open);
        self.bytes.truncate(open.start);
        self.parts.truncate(open.first);
        self.value(|out| out.extend_from_slice(&closed));
    }

    fn begin(&mut self, object: bool) {
        let (start, first) = (self.bytes.len(), self.parts.len());
        self.open.push(Open { object, start, first, key: (0, 0) });
    }

    fn value(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        encode(&mut self.bytes);
        let value = (start, self.bytes.len());
        if let Some(open) = self.open.last() {
            self.parts.push(Part { key: open.key, value });
        }
    }

    /// Sorts the members by length of name, then name, and keeps the last of each name.
    fn sort_members(&mut self, first: usize) {
        let bytes = &self.bytes;
        let name = |part: &Part| &bytes[part.key.0..part.key.1];
        let members = &mut self.parts[first..];
        // Stable, so that of equal names the last given comes last.
        members.sort_by(|a, b| {
            let (a, b) = (name(a), name(b));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        });
        let mut kept = 0;
        for i in 0..members.len() {
            let last = members.get(i + 1).is_none_or(|next| name(next) != name(&members[i]));
            if last {
                members[kept] = members[i];
                kept += 1;
            }
        }
        self.parts.truncate(first + kept);
    }

    /// The encoding of a container.
    fn close(&self, open: &Open) -> Vec<u8> {
        let parts = &self.parts[open.first..];
        let size = |(start, end): (usize, usize)| end - start;
        let data: usize =
            parts.iter().map(|p| size(p.value) + if open.object { size(p.key) } else { 0 }).sum();
        let width = entry_width(data.max(parts.len()));
        let mut out = Vec::with_capacity(1 + width * (1 + 2 * parts.len()) + data);
        out.push(container_tag(if open.object { OBJECT } else { ARRAY }, width));
        let put = |n: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(&(n as u64).to_le_bytes()[..width]);
        };
        put(parts.len(), &mut out);
        let mut end = 0;
        for part in parts {
            if open.object {
                end += size(part.key);
                put(end, &mut out);
            }
            end += size(part.value);
            put(end, &mut out);
        }
        for part in parts {
            if open.object {
                out.extend_from_slice(&self.bytes[part.key.0..part.key.1]);
            }
            out.extend_from_slice(&self.bytes[part.value.0..part.value.1]);
        }
        out
    }
}
