//! Reading the syntax of regular expressions.

use regex_syntax::hir::Look;

use crate::repr::regex::bracket::{class_escape, single, wildcard};
use crate::repr::regex::fault::Fault;
use crate::repr::regex::flags::Flags;
use crate::repr::regex::syntax::{Node, Repeat, Wants};

/// The largest count of repetitions.
const REPETITIONS_MAX: u32 = 255;
/// How deep parentheses may be nested, so that nothing that walks the tree runs out of stack.
const DEPTH_MAX: usize = 200;

/// An expression that was read.
pub(super) struct Parsed {
    pub node: Node,
    /// How many groups keep what they match.
    pub groups: u32,
}

/// Reads an expression.
pub(super) fn parse(text: &str, flags: Flags) -> Result<Parsed, Fault> {
    let mut parser =
        Parser { chars: text.chars().collect(), at: 0, flags, groups: 0, closed: vec![], depth: 0 };
    parser.prefixes()?;
    if parser.flags.literal {
        let nodes =
            parser.chars[parser.at..].iter().map(|c| Node::Set(single(*c, parser.flags))).collect();
        return Ok(Parsed { node: Node::Sequence(nodes), groups: 0 });
    }
    let node = parser.choice()?;
    if parser.peek().is_some() {
        return Err(Fault::Parentheses);
    }
    Ok(Parsed { node, groups: parser.groups })
}

/// A place in an expression.
pub(super) struct Parser {
    chars: Vec<char>,
    at: usize,
    pub(super) flags: Flags,
    groups: u32,
    /// The groups that are complete, to which a reference may be made.
    closed: Vec<u32>,
    depth: usize,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.peek_at(i) == Some(c))
    }

    /// Directors and embedded options, which stand at the very front.
    fn prefixes(&mut self) -> Result<(), Fault> {
        if self.flags.literal {
            return Ok(());
        }
        if self.looking_at("***") {
            match self.peek_at(3) {
                Some('=') => self.flags.literal = true,
                Some(':') => {}
                Some('?') => return Err(Fault::Pattern),
                _ => return Err(Fault::Quantifier),
            }
            self.at += 4;
            if self.flags.literal {
                return Ok(());
            }
        }
        if self.looking_at("(?") && self.peek_at(2).is_some_and(char::is_alphabetic) {
            self.at += 2;
            while let Some(letter) = self.peek().filter(|c| c.is_alphabetic()) {
                if !self.flags.apply(letter) {
                    return Err(Fault::Option);
                }
                self.at += 1;
            }
            if !self.eat(')') {
                return Err(Fault::Option);
            }
            self.flags = self.flags.checked()?;
        }
        Ok(())
    }

    /// Passes over comments, and over white space where it does not count.
    fn skip(&mut self) {
        loop {
            if self.looking_at("(?#") {
                self.skip_to(')');
            } else if self.flags.expanded && self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            } else if self.flags.expanded && self.peek() == Some('#') {
                self.skip_to('\n');
            } else {
                return;
            }
        }
    }

    fn skip_to(&mut self, last: char) {
        while self.next().is_some_and(|c| c != last) {}
    }

    fn choice(&mut self) -> Result<Node, Fault> {
        let mut branches = vec![self.sequence()?];
        while self.eat('|') {
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Choice(branches) })
    }

    fn sequence(&mut self) -> Result<Node, Fault> {
        let mut nodes = vec![];
        loop {
            self.skip();
            match self.peek() {
                None | Some('|' | ')') => break,
                _ => nodes.push(self.quantified()?),
            }
        }
        Ok(match nodes.len() {
            0 => Node::Empty,
            1 => nodes.remove(0),
            _ => Node::Sequence(nodes),
        })
    }

    fn quantified(&mut self) -> Result<Node, Fault> {
        let node = self.atom()?;
        // A quantifier behind a place is taken for an atom, and refused there.
        if matches!(node, Node::Look(_)) {
            return Ok(node);
        }
        self.skip();
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') if self.peek_at(1).is_some_and(|c| c.is_ascii_digit()) => {
                self.at += 1;
                let (min, max, is_range) = self.bound()?;
                let wants = if is_range { Some(self.wish()) } else { None };
                if !is_range {
                    self.wish();
                }
                return Ok(Node::Repeat(Box::new(Repeat { node, min, max, wants })));
            }
            _ => return Ok(node),
        };
        self.at += 1;
        let wants = Some(self.wish());
        Ok(Node::Repeat(Box::new(Repeat { node, min, max, wants })))
    }

    /// The `?` behind a quantifier that wants little.
    fn wish(&mut self) -> Wants {
        if self.eat('?') { Wants::Least } else { Wants::Most }
    }

    /// `m}`, `m,}` or `m,n}`, and whether there was a comma.
    fn bound(&mut self) -> Result<(u32, Option<u32>, bool), Fault> {
        let min = self.count()?;
        let (mut max, is_range) = (Some(min), self.eat(','));
        if is_range {
            let has_end = self.peek().is_some_and(|c| c.is_ascii_digit());
            max = if has_end { Some(self.count()?) } else { None };
        }
        match self.next() {
            None => Err(Fault::Braces),
            Some('}') if max.is_none_or(|max| min <= max) => Ok((min, max, is_range)),
            Some(_) => Err(Fault::RepetitionCount),
        }
    }

    fn count(&mut self) -> Result<u32, Fault> {
        let mut count = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            count = count * 10 + digit;
            if count > REPETITIONS_MAX {
                return Err(Fault::RepetitionCount);
            }
        }
        Ok(count)
    }

    fn atom(&mut self) -> Result<Node, Fault> {
        let Some(c) = self.next() else { return Ok(Node::Empty) };
        Ok(match c {
            '*' | '+' | '?' => return Err(Fault::Quantifier),
            '{' if self.peek().is_some_and(|c| c.is_ascii_digit()) => {
                return Err(Fault::Quantifier);
            }
            '^' if self.flags.anchor_at_newline => Node::Look(Look::StartLF),
            '^' => Node::Look(Look::Start),
            '$' if self.flags.anchor_at_newline => Node::Look(Look::EndLF),
            '$' => Node::Look(Look::End),
            '.' => Node::Set(wildcard(self.flags)),
            '(' => return self.group(),
            '[' if self.looking_at("[:<:]]") || self.looking_at("[:>:]]") => {
                let start = self.peek_at(2) == Some('<');
                self.at += 6;
                Node::Look(if start { Look::WordStartUnicode } else { Look::WordEndUnicode })
            }
            '[' => Node::Set(self.bracket()?),
            '\\' => return self.escape(),
            c => Node::Set(single(c, self.flags)),
        })
    }

    /// Parentheses, of which the first is read.
    fn group(&mut self) -> Result<Node, Fault> {
        let mut index = None;
        if self.eat('?') {
            match self.next() {
                Some(':') => {}
                Some('=' | '!') => return Err(Fault::Unsupported("a lookahead constraint")),
                Some('<') if matches!(self.peek(), Some('=' | '!')) => {
                    return Err(Fault::Unsupported("a lookbehind constraint"));
                }
                _ => return Err(Fault::Quantifier),
            }
        } else {
            self.groups += 1;
            index = Some(self.groups);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Fault::TooComplex);
        }
        let node = self.choice()?;
        self.depth -= 1;
        if !self.eat(')') {
            return Err(Fault::Parentheses);
        }
        self.closed.extend(index);
        Ok(Node::Group(index, Box::new(node)))
    }

    /// What stands behind a backslash, outside brackets.
    fn escape(&mut self) -> Result<Node, Fault> {
        let look = match self.peek() {
            Some('A') => Some(Look::Start),
            Some('Z') => Some(Look::End),
            Some('m') => Some(Look::WordStartUnicode),
            Some('M') => Some(Look::WordEndUnicode),
            Some('y') => Some(Look::WordUnicode),
            Some('Y') => Some(Look::WordUnicodeNegate),
            _ => None,
        };
        if let Some(look) = look {
            self.at += 1;
            return Ok(Node::Look(look));
        }
        if let Some(set) = self.peek().and_then(class_escape) {
            self.at += 1;
            return Ok(Node::Set(set));
        }
        if self.peek().is_some_and(|c| matches!(c, '1'..='9')) {
            self.back_reference()?;
        }
        let c = self.character_escape()?.ok_or(Fault::Escape)?;
        Ok(Node::Set(single(c, self.flags)))
    }

    /// A number behind a backslash: a reference where it is one digit or a group's number,
    /// otherwise a character's code, which is left to be read.
    fn back_reference(&mut self) -> Result<(), Fault> {
        let digits: String =
            self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).collect();
        let number: u32 = digits.parse().unwrap_or(u32::MAX);
        if digits.len() > 1 && number > self.groups {
            return Ok(());
        }
        if !self.closed.contains(&number) {
            return Err(Fault::BackReference);
        }
        Err(Fault::Unsupported("a back reference"))
    }

    /// A character behind a backslash; none where the letter means something else.
    pub(super) fn character_escape(&mut self) -> Result<Option<char>, Fault> {
        let letter = self.next().ok_or(Fault::Escape)?;
        if !letter.is_alphanumeric() {
            return Ok(Some(letter));
        }
        Ok(Some(match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => {
                let c = self.next().ok_or(Fault::Escape)?;
                char::from((u32::from(c) & 0x1f) as u8)
            }
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => self.code(16, 4, 4)?,
            'U' => self.code(16, 8, 8)?,
            'x' => self.code(16, 1, 255)?,
            '0'..='9' => {
                self.at -= 1;
                self.octal()?
            }
            _ => return Ok(None),
        }))
    }

    /// A character by the digits of its code.
    fn code(&mut self, radix: u32, min: usize, max: usize) -> Result<char, Fault> {
        let (mut code, mut digits) = (0_u32, 0);
        while digits < max
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(radix))
        {
            self.at += 1;
            digits += 1;
            code = code.saturating_mul(radix).saturating_add(digit);
        }
        if digits < min {
            return Err(Fault::Escape);
        }
        char::from_u32(code).ok_or(Fault::Escape)
    }

    /// Up to three octal digits, of a code below 256.
    fn octal(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let c = self.code(8, 1, 3)?;
        if u32::from(c) <= 0xff {
            return Ok(c);
        }
        self.at = start;
        self.code(8, 1, 2)
    }
}
