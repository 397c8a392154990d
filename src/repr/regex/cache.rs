//! Compiled expressions, kept for the next row.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::Error;
use crate::repr::regex::flags::Flags;
use crate::repr::regex::program::Regex;

/// How many expressions a thread keeps.
const EXPRESSIONS_MAX: usize = 64;

struct Entry {
    text: Box<str>,
    flags: Flags,
    regex: Rc<Regex>,
}

thread_local! {
    /// Those used last come first. Each thread has its own, since an expression has scratch memory.
    static CACHE: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// The compiled expression.
///
/// # Errors
///
/// Those of [`Regex::new`].
pub fn compiled(text: &str, mut flags: Flags) -> Result<Rc<Regex>, Error> {
    flags.global = false;
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|entry| entry.flags == flags && *entry.text == *text);
        if let Some(place) = known {
            cache[..=place].rotate_right(1);
        } else {
            let regex = Rc::new(Regex::new(text, flags)?);
            cache.truncate(EXPRESSIONS_MAX - 1);
            cache.insert(0, Entry { text: text.into(), flags, regex });
        }
        Ok(Rc::clone(&cache[0].regex))
    })
}
