//! Paths that were read, kept for the next row.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::Result;
use crate::repr::jsonpath::ast::Path;
use crate::repr::jsonpath::parse::parse;

/// How many paths a thread keeps.
const PATHS_MAX: usize = 64;

struct Entry {
    text: Box<str>,
    path: Rc<Path>,
}

thread_local! {
    /// Those used last come first.
    static CACHE: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// The tree of a path.
///
/// # Errors
///
/// 42601 and what else PostgreSQL's input function answers.
pub fn parsed(text: &str) -> Result<Rc<Path>> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|entry| *entry.text == *text);
        if let Some(place) = known {
            cache[..=place].rotate_right(1);
        } else {
            let path = Rc::new(parse(text)?);
            cache.truncate(PATHS_MAX - 1);
            cache.insert(0, Entry { text: text.into(), path });
        }
        Ok(Rc::clone(&cache[0].path))
    })
}

/// What is printed of a path that is kept as its [`Path::faithful`] text.
pub fn shown(kept: &str) -> String {
    parsed(kept).map_or_else(|_| kept.to_owned(), |path| path.shown())
}
