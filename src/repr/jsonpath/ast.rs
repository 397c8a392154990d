//! The tree of a path.

use crate::error::{Error, Result};
use crate::repr::regex::Flags;

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Whether structural faults are forgiven, and arrays unwrapped and wrapped.
    pub lax: bool,
    /// The expression.
    pub root: Chain,
}

/// Something, and what is reached from it step by step. It is never empty.
pub type Chain = Vec<Item>;

/// What begins a chain, or a step in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A constant that is no string, with its encoding as jsonb.
    Constant(Box<[u8]>),
    /// A string.
    String(Box<str>),
    /// `$name`.
    Variable(Box<str>),
    /// `$`.
    Root,
    /// `@`.
    Current,
    /// `last`.
    Last,
    /// `.name`.
    Member(Box<str>),
    /// `.*`.
    AnyMember,
    /// `[*]`.
    AnyElement,
    /// `[1, 2 to 3]`.
    Elements(Vec<Subscript>),
    /// `.**{first to last}`; the largest number is `last`.
    Any(u32, u32),
    /// `?(…)`.
    Filter(Chain),
    /// `.size()` and its like.
    Method(Method),
    /// `.datetime("template")`.
    Datetime(Option<Box<str>>),
    /// Two operands.
    Binary(Operator, Box<(Chain, Chain)>),
    /// `!(…)`.
    Not(Chain),
    /// `(…) is unknown`.
    IsUnknown(Chain),
    /// `exists (…)`.
    Exists(Chain),
    /// `+…`.
    Plus(Chain),
    /// `-…`.
    Minus(Chain),
    /// `… like_regex "pattern" flag "flags"`.
    LikeRegex(Box<LikeRegex>),
}

/// One or several elements of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscript {
    /// The first.
    pub from: Chain,
    /// The last, where it is a range.
    pub to: Option<Chain>,
}

/// A method without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants are called as the methods are.
pub enum Method {
    Abs,
    Ceiling,
    Double,
    Floor,
    KeyValue,
    Size,
    Type,
}

impl Method {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Abs => "abs",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::Floor => "floor",
            Method::KeyValue => "keyvalue",
            Method::Size => "size",
            Method::Type => "type",
        }
    }
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // What they are their symbols say.
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    StartsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::Greater => ">",
            Operator::LessOrEqual => "<=",
            Operator::GreaterOrEqual => ">=",
            Operator::StartsWith => "starts with",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }

    /// Whether it answers a number.
    pub fn is_arithmetic(self) -> bool {
        use Operator::*;
        matches!(self, Add | Subtract | Multiply | Divide | Remainder)
    }
}

/// A test of strings against a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikeRegex {
    /// What is tested.
    pub operand: Chain,
    /// The expression.
    pub pattern: Box<str>,
    /// Its options.
    pub flags: XQueryFlags,
}

/// XQuery's options of regular expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XQueryFlags {
    /// `i`: upper and lower case are the same.
    pub ignore_case: bool,
    /// `s`: a dot matches a line's end too.
    pub dot_all: bool,
    /// `m`: `^` and `$` match at every line's ends.
    pub multiline: bool,
    /// `x`: white space does not count.
    pub expanded: bool,
    /// `q`: the text means itself.
    pub literal: bool,
}

impl XQueryFlags {
    /// The same for PostgreSQL's regular expressions.
    ///
    /// # Errors
    ///
    /// 0A000 for `x`, in PostgreSQL's words.
    pub fn of_regex(self) -> Result<Flags> {
        let mut flags = Flags::default();
        flags.ignore_case = self.ignore_case;
        if self.literal {
            flags.literal = true;
            return Ok(flags);
        }
        if self.expanded {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(Error::new(crate::error::SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        flags.stop_at_newline = !self.dot_all;
        flags.anchor_at_newline = self.multiline;
        Ok(flags)
    }
}
