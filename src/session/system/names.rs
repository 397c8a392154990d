//! Names as PostgreSQL spells them in definitions: quoted only where they must be.

use crate::catalog::item::Index;
use crate::repr::RelationDesc;

/// Words that are quoted though they look like names: PostgreSQL's keywords but the unreserved.
const RESERVED: &str = include_str!("reserved.txt");

/// An identifier, quoted where it would not be read as it is.
pub(in crate::session) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if starts && name.chars().all(plain) && !RESERVED.lines().any(|word| word == name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name behind its schema.
pub(in crate::session) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// What the text of an index's key names: a column, by its number from 1, or an expression (0).
pub(in crate::session) fn key_columns(index: &Index, desc: &RelationDesc) -> Vec<i16> {
    let named = |text: &String| {
        let name = match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) => inner.replace("\"\"", "\""),
            None => text.to_ascii_lowercase(),
        };
        let at = desc.columns.iter().position(|column| column.name == name);
        at.map_or(0, |at| at as i16 + 1)
    };
    index.key.iter().map(named).collect()
}

/// The key of an index as its definition spells it.
pub(super) fn key_texts(index: &Index, desc: &RelationDesc) -> Vec<String> {
    let columns = key_columns(index, desc);
    let spelled = columns.iter().zip(&index.key).map(|(column, text)| match column {
        0 if text.ends_with(')') && !text.starts_with('(') => text.clone(),
        0 => format!("({text})"),
        at => quoted(&desc.columns[*at as usize - 1].name),
    });
    spelled.collect()
}
