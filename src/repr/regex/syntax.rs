//! The tree of a regular expression, and its form for the engine.

use regex_syntax::hir::{Class, ClassUnicode, Hir, Look, Repetition};

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Nothing.
    Empty,
    /// One of a set of characters.
    Set(ClassUnicode),
    /// A place.
    Look(Look),
    /// Parentheses; their number where what they match is kept.
    Group(Option<u32>, Box<Node>),
    /// One after the other.
    Sequence(Vec<Node>),
    /// One or the other.
    Choice(Vec<Node>),
    /// So many times.
    Repeat(Box<Repeat>),
}

/// A part with a quantifier.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    pub node: Node,
    pub min: u32,
    /// None where there is no limit.
    pub max: Option<u32>,
    /// Whether it wants much or little; `{n}` wants nothing.
    pub wants: Option<Wants>,
}

/// How much a part wants to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Most,
    Least,
}

impl Node {
    /// How much this wants to match, where it has a preference: that of its first part with one;
    /// a choice always wants most.
    pub fn wants(&self) -> Option<Wants> {
        match self {
            Node::Empty | Node::Set(_) | Node::Look(_) => None,
            Node::Group(_, node) => node.wants(),
            Node::Sequence(nodes) => nodes.iter().find_map(Node::wants),
            Node::Choice(_) => Some(Wants::Most),
            Node::Repeat(repeat) => repeat.wants.or_else(|| repeat.node.wants()),
        }
    }

    /// The same for the engine; its own preferences are those of Perl.
    pub fn to_hir(&self) -> Hir {
        match self {
            Node::Empty => Hir::empty(),
            Node::Set(set) => Hir::class(Class::Unicode(set.clone())),
            Node::Look(look) => Hir::look(*look),
            Node::Group(None, node) => node.to_hir(),
            Node::Group(Some(index), node) => Hir::capture(regex_syntax::hir::Capture {
                index: *index,
                name: None,
                sub: Box::new(node.to_hir()),
            }),
            Node::Sequence(nodes) => Hir::concat(nodes.iter().map(Node::to_hir).collect()),
            Node::Choice(nodes) => Hir::alternation(nodes.iter().map(Node::to_hir).collect()),
            Node::Repeat(repeat) => Hir::repetition(Repetition {
                min: repeat.min,
                max: repeat.max,
                greedy: repeat.wants != Some(Wants::Least),
                sub: Box::new(repeat.node.to_hir()),
            }),
        }
    }

    /// Whether what the groups hold may depend on more than each part's wish in turn: where there
    /// are choices, repetitions of more than a character, or wishes of both kinds.
    pub fn is_ambiguous(&self) -> bool {
        fn walk(node: &Node, seen: &mut [bool; 2]) -> bool {
            match node {
                Node::Empty | Node::Set(_) | Node::Look(_) => false,
                Node::Group(_, node) => walk(node, seen),
                Node::Sequence(nodes) => nodes.iter().any(|node| walk(node, seen)),
                Node::Choice(_) => true,
                Node::Repeat(repeat) => {
                    if let Some(wants) = repeat.wants {
                        seen[wants as usize] = true;
                    }
                    !matches!(repeat.node, Node::Set(_)) || *seen == [true, true]
                }
            }
        }
        walk(self, &mut [false, false])
    }
}
