//! Enums: labels in an order that a user gave.
//!
//! What stands in a row is the *key* of a label, never its place among the others, so that a label
//! can be added before another, or renamed, while every row stays as it is. Keys are strings over
//! the printable ASCII characters that compare as the labels are ordered. Between any two of them
//! there is another: a string is read as the digits of a fraction, and none ends in the digit 0.

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::repr::Datum;
use crate::repr::text::checked_text;
use crate::repr::user_type::{Label, UserType};

/// The digit 0 of keys.
const LEAST: u8 = b'!';
/// How many digits there are.
const BASE: u8 = b'~' - LEAST + 1;
/// What stands for a label that is not there, which no row should have.
const UNKNOWN: &str = "???";

/// The value of a label's text. Error 22P02 where there is no such label.
pub(super) fn parse_label<'a>(ty: UserType, text: &str, arena: &'a Bump) -> Result<Datum<'a>> {
    let text = checked_text(text)?;
    let facts = ty.facts();
    match facts.labels.iter().find(|label| label.label == text) {
        Some(label) => Ok(Datum::Enum(ty, arena.alloc_str(&label.key))),
        None => Err(Error::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input value for enum {}: \"{text}\"", facts.display),
        )),
    }
}

/// The label of a key.
pub fn label(ty: UserType, key: &str) -> String {
    let facts = ty.facts();
    let found = facts.labels.binary_search_by(|label| label.key.as_str().cmp(key));
    found.map_or(UNKNOWN.to_owned(), |at| facts.labels[at].label.clone())
}

/// Appends the label of a key.
pub(super) fn push_label(ty: UserType, key: &str, out: &mut String) {
    out.push_str(&label(ty, key));
}

/// The keys of the labels of a new enum: as far apart as equally long ones can be.
pub fn first_keys(count: usize) -> Vec<String> {
    let mut width = 1;
    let mut room = usize::from(BASE);
    while room <= count {
        width += 1;
        room *= usize::from(BASE);
    }
    let spell = |number: usize| {
        let mut digits = vec![];
        let mut rest = number;
        for _ in 0..width {
            digits.push((rest % usize::from(BASE)) as u8);
            rest /= usize::from(BASE);
        }
        digits.reverse();
        key_of(&digits)
    };
    (0..count).map(|i| spell((i + 1) * room / (count + 1))).collect()
}

/// A key above `below` and under `above`; none stands for no bound.
pub fn key_between(below: Option<&str>, above: Option<&str>) -> String {
    let digit = |key: Option<&str>, at: usize| {
        key.and_then(|key| key.as_bytes().get(at)).map(|byte| byte - LEAST)
    };
    let mut digits = vec![];
    // Whether what was taken so far is the beginning of the upper bound too.
    let mut bounded = above.is_some();
    for at in 0.. {
        let low = digit(below, at).unwrap_or(0);
        let high = if bounded { digit(above, at).unwrap_or(0) } else { BASE };
        if high > low + 1 {
            // Labels that are added at the end take small steps, so that keys stay short.
            digits.push(if above.is_some() { low + (high - low) / 2 } else { low + 1 });
            break;
        }
        digits.push(low);
        bounded = bounded && low == high;
    }
    key_of(&digits)
}

fn key_of(digits: &[u8]) -> String {
    let end = digits.iter().rposition(|digit| *digit != 0).map_or(0, |at| at + 1);
    digits[..end].iter().map(|digit| char::from(LEAST + digit)).collect()
}

/// The labels with another one at a place.
pub fn with_label(labels: &[Label], at: usize, label: &str) -> Vec<Label> {
    let key = |at: Option<usize>| at.and_then(|at| labels.get(at)).map(|l| l.key.as_str());
    let key = key_between(key(at.checked_sub(1)), key(Some(at)));
    let mut labels = labels.to_vec();
    labels.insert(at, Label { key, label: label.to_owned() });
    labels
}

#[cfg(test)]
mod tests {
    use rand::prelude::*;

    use super::*;

    #[test]
    fn keys_have_the_order_of_labels_wherever_one_is_added() {
        for count in [0, 1, 2, 92, 93, 94, 5000] {
            let keys = first_keys(count);
            assert!(keys.len() == count && keys.is_sorted_by(|a, b| a < b), "{count}");
            assert!(keys.iter().all(|key| !key.is_empty() && !key.ends_with('!')));
        }
        let mut rng = StdRng::seed_from_u64(7);
        for mode in 0..3 {
            let mut labels: Vec<Label> = vec![];
            for i in 0..400 {
                let at = match mode {
                    0 => rng.random_range(0..=labels.len()),
                    1 => 0,
                    _ => labels.len().min(1),
                };
                labels = with_label(&labels, at, &i.to_string());
                assert_eq!(labels[at].label, i.to_string());
                assert!(labels.is_sorted_by(|a, b| a.key < b.key), "{labels:?}");
                assert!(!labels[at].key.is_empty() && !labels[at].key.ends_with('!'));
            }
        }
    }
}
