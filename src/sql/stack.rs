//! Stacks for deep trees.
//!
//! A statement may nest as deep as [`crate::sql::parse::limits`] lets it. The parser's recursion is
//! not ours to interrupt, nor is the drop of its trees, so both run on one large stack where the
//! text looks deep; our own recursion looks at each level whether there is room.

/// The stack that holds the deepest tree that the limits let through.
const LARGE: usize = 512 << 20;

/// What one level of our own recursion may use before it looks again.
const RED_ZONE: usize = 256 << 10;

/// What a stack grows by.
const STEP: usize = 4 << 20;

/// Runs `f` on a stack that holds the deepest tree.
pub fn large<R>(f: impl FnOnce() -> R) -> R {
    stacker::grow(LARGE, f)
}

/// Runs one level of a recursion, on a new piece of stack where the old one is nearly used up.
pub fn level<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, STEP, f)
}
