//! Options of a regular expression, embedded or given beside it.

use crate::error::{Error, SqlState};
use crate::repr::regex::fault::Fault;

/// The options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `i`: upper and lower case are the same.
    pub ignore_case: bool,
    /// `n`, `p`: a wildcard and `[^…]` do not match a line's end.
    pub stop_at_newline: bool,
    /// `n`, `w`: `^` and `$` match at every line's ends.
    pub anchor_at_newline: bool,
    /// `x`: white space and comments are passed over.
    pub expanded: bool,
    /// `q`: the text means itself.
    pub literal: bool,
    /// `g`: every match; no option of the expression itself.
    pub global: bool,
    /// `b`, `e`: a syntax that is not supported.
    basic: bool,
}

impl Flags {
    /// Without regard to case.
    pub const IGNORE_CASE: Flags = Flags {
        ignore_case: true,
        stop_at_newline: false,
        anchor_at_newline: false,
        expanded: false,
        literal: false,
        global: false,
        basic: false,
    };

    /// Reads the argument of a function.
    ///
    /// # Errors
    ///
    /// 22023 for a letter that is no option, 0A000 for those that are not supported.
    pub fn parse(text: &str) -> Result<Flags, Error> {
        let mut flags = Flags::default();
        for letter in text.chars() {
            if letter == 'g' {
                flags.global = true;
            } else if !flags.apply(letter) {
                let message = format!("invalid regular expression option: \"{letter}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
        flags.checked().map_err(Error::from)
    }

    /// Applies an option; false where there is none of that letter.
    pub(super) fn apply(&mut self, letter: char) -> bool {
        let newline = match letter {
            'm' | 'n' => Some((true, true)),
            'p' => Some((true, false)),
            'w' => Some((false, true)),
            's' => Some((false, false)),
            _ => None,
        };
        if let Some((stop, anchor)) = newline {
            (self.stop_at_newline, self.anchor_at_newline) = (stop, anchor);
            return true;
        }
        match letter {
            'i' => self.ignore_case = true,
            'c' => self.ignore_case = false,
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.literal = true,
            'b' | 'e' => self.basic = true,
            _ => return false,
        }
        true
    }

    /// The options, where they are supported.
    pub(super) fn checked(self) -> Result<Flags, Fault> {
        if self.basic {
            return Err(Fault::Unsupported("the basic syntax of regular expressions"));
        }
        Ok(self)
    }
}
