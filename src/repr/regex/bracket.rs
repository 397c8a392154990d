//! Sets of characters: `[…]`, classes and their escapes.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

use crate::repr::regex::fault::Fault;
use crate::repr::regex::flags::Flags;
use crate::repr::regex::parse::Parser;

fn ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(start, end)| ClassUnicodeRange::new(*start, *end)))
}

/// A set as the engine's own syntax has it.
fn property(pattern: &str) -> ClassUnicode {
    let hir = regex_syntax::parse(pattern).expect("the pattern is one of this file's");
    match hir.into_kind() {
        HirKind::Class(regex_syntax::hir::Class::Unicode(set)) => set,
        _ => unreachable!("the patterns of this file are sets"),
    }
}

/// The characters of a POSIX class, as C libraries have them for UTF-8.
fn named(name: &str) -> Option<ClassUnicode> {
    Some(match name {
        "alnum" => property(r"[\p{Alphabetic}\p{Nd}]"),
        // All digits but the ten of ASCII count as letters.
        "alpha" => property(r"[\p{Alphabetic}\p{Nd}--0-9]"),
        "blank" => property(r"[\t\p{Zs}--\x{a0}\x{2007}\x{202f}]"),
        "cntrl" => property(r"[\p{Cc}\u{2028}\u{2029}]"),
        "digit" => ranges(&[('0', '9')]),
        "graph" => property(r"[^\p{Cc}\p{Cs}\p{Cn}\p{Zs}\u{2028}\u{2029}]"),
        "lower" => property(r"[\p{Lowercase}]"),
        "print" => property(r"[^\p{Cc}\p{Cs}\p{Cn}\u{2028}\u{2029}]"),
        "punct" => {
            property(r"[[^\p{Cc}\p{Cs}\p{Cn}\p{Zs}\u{2028}\u{2029}]--[\p{Alphabetic}\p{Nd}]]")
        }
        "space" => property(r"[\s--\x{85}\x{a0}\x{2007}\x{202f}]"),
        "upper" => property(r"[\p{Uppercase}]"),
        "xdigit" => ranges(&[('0', '9'), ('A', 'F'), ('a', 'f')]),
        "word" => property(r"[\p{Alphabetic}\p{Nd}_]"),
        _ => return None,
    })
}

/// The set of `\d`, `\s`, `\w` and, in capitals, of their opposites.
pub(super) fn class_escape(letter: char) -> Option<ClassUnicode> {
    let name = match letter.to_ascii_lowercase() {
        'd' => "digit",
        's' => "space",
        'w' => "word",
        _ => return None,
    };
    let mut set = named(name)?;
    if letter.is_ascii_uppercase() {
        set.negate();
    }
    Some(set)
}

/// A set of one character, or of both its cases.
pub(super) fn single(c: char, flags: Flags) -> ClassUnicode {
    let mut set = ranges(&[(c, c)]);
    fold(&mut set, flags);
    set
}

fn fold(set: &mut ClassUnicode, flags: Flags) {
    if flags.ignore_case {
        set.try_case_fold_simple().expect("the tables of cases are built in");
    }
}

/// What a wildcard matches.
pub(super) fn wildcard(flags: Flags) -> ClassUnicode {
    let mut set = ranges(&[('\0', char::MAX)]);
    if flags.stop_at_newline {
        set.difference(&ranges(&[('\n', '\n')]));
    }
    set
}

/// What stands in brackets.
enum Item {
    Character(char),
    Set(ClassUnicode),
}

impl Parser {
    /// A set in brackets, of which the first is read.
    pub(super) fn bracket(&mut self) -> Result<ClassUnicode, Fault> {
        let negated = self.eat('^');
        let mut set = ClassUnicode::empty();
        let mut first = true;
        loop {
            match self.peek() {
                None => return Err(Fault::Brackets),
                Some(']') if !first => break,
                // A hyphen stands for itself at either end.
                Some('-') if !first && self.peek_at(1) != Some(']') => return Err(Fault::Range),
                _ => {}
            }
            match self.bracket_item()? {
                Item::Set(part) if self.is_range() => {
                    drop(part);
                    return Err(Fault::Range);
                }
                Item::Set(part) => set.union(&part),
                Item::Character(start) => {
                    let end = if self.is_range() { self.range_end()? } else { start };
                    if start > end {
                        return Err(Fault::Range);
                    }
                    set.push(ClassUnicodeRange::new(start, end));
                }
            }
            first = false;
        }
        self.eat(']');
        fold(&mut set, self.flags);
        if negated {
            set.negate();
            if self.flags.stop_at_newline {
                set.difference(&ranges(&[('\n', '\n')]));
            }
        }
        Ok(set)
    }

    /// Whether a hyphen follows that makes a range.
    fn is_range(&self) -> bool {
        self.peek() == Some('-') && self.peek_at(1) != Some(']')
    }

    fn range_end(&mut self) -> Result<char, Fault> {
        self.eat('-');
        match self.peek() {
            None => Err(Fault::Brackets),
            _ => match self.bracket_item()? {
                Item::Character(end) => Ok(end),
                Item::Set(_) => Err(Fault::Range),
            },
        }
    }

    fn bracket_item(&mut self) -> Result<Item, Fault> {
        match (self.next(), self.peek()) {
            (Some('\\'), _) => match self.peek().and_then(class_escape) {
                Some(set) => {
                    self.next();
                    Ok(Item::Set(set))
                }
                None => self.character_escape()?.map(Item::Character).ok_or(Fault::Escape),
            },
            (Some('['), Some(kind @ ('.' | '=' | ':'))) => {
                self.next();
                let name = self.bracket_name(kind)?;
                if kind == ':' {
                    let is_case = matches!(name.as_str(), "lower" | "upper");
                    let name = if is_case && self.flags.ignore_case { "alpha" } else { &name };
                    return named(name).map(Item::Set).ok_or(Fault::CharacterClass);
                }
                let mut chars = name.chars();
                match (chars.next(), chars.next(), kind) {
                    (Some(c), None, '.') => Ok(Item::Character(c)),
                    (Some(c), None, _) => Ok(Item::Set(ranges(&[(c, c)]))),
                    _ => Err(Fault::Unsupported("a named collating element")),
                }
            }
            (Some(c), _) => Ok(Item::Character(c)),
            (None, _) => Err(Fault::Brackets),
        }
    }

    /// What stands between `[:` and `:]`, and the like.
    fn bracket_name(&mut self, kind: char) -> Result<String, Fault> {
        let mut name = String::new();
        loop {
            match self.next().ok_or(Fault::Brackets)? {
                c if c == kind && self.eat(']') => return Ok(name),
                c => name.push(c),
            }
        }
    }
}
