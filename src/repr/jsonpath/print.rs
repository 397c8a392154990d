//! The text of a path.
//!
//! PostgreSQL leaves out parentheses that are needed where a step follows an operator inside
//! another part: `(($ + 1).b == 2)` prints as `($ + 1."b" == 2)`. What is shown is its text; what
//! is kept has these parentheses too, so that it can be read again.

use std::fmt::{self, Write};

use crate::repr::jsonb::{JsonbItem, JsonbRef, write_string};
use crate::repr::jsonpath::ast::{Chain, Item, LikeRegex, Operator, Path, Subscript};

impl Path {
    /// The text as PostgreSQL prints it.
    pub fn shown(&self) -> String {
        self.spelled(false)
    }

    /// The text that means the same when it is read again.
    pub fn faithful(&self) -> String {
        self.spelled(true)
    }

    fn spelled(&self, faithful: bool) -> String {
        let mut printer = Printer { out: String::new(), faithful };
        if !self.lax {
            printer.out.push_str("strict ");
        }
        printer.chain(&self.root, true).expect("a string takes all text");
        printer.out
    }
}

struct Printer {
    out: String,
    faithful: bool,
}

/// How strongly operands are bound.
fn priority(item: &Item) -> u8 {
    match item {
        Item::Binary(operator, _) => match operator {
            Operator::Or => 0,
            Operator::And => 1,
            Operator::Add | Operator::Subtract => 3,
            Operator::Multiply | Operator::Divide | Operator::Remainder => 4,
            _ => 2,
        },
        Item::Plus(_) | Item::Minus(_) => 5,
        _ => 6,
    }
}

/// Whether parentheses must stand around it where a step follows.
fn needs_brackets(item: &Item) -> bool {
    matches!(
        item,
        Item::Binary(..)
            | Item::Plus(_)
            | Item::Minus(_)
            | Item::LikeRegex(_)
            | Item::Not(_)
            | Item::IsUnknown(_)
            | Item::Exists(_)
    )
}

/// Whether an item prints its own parentheses where they are wanted.
fn takes_brackets(item: &Item) -> bool {
    matches!(item, Item::Binary(..) | Item::Plus(_) | Item::Minus(_) | Item::LikeRegex(_))
}

impl Printer {
    fn chain(&mut self, chain: &Chain, brackets: bool) -> fmt::Result {
        stacker::maybe_grow(64 << 10, 1 << 20, || {
            let Some((first, steps)) = chain.split_first() else { return Ok(()) };
            let continued = !steps.is_empty();
            let must = self.faithful && continued && needs_brackets(first);
            let brackets = must || brackets && takes_brackets(first);
            self.out.push_str(if brackets { "(" } else { "" });
            self.first(first, continued)?;
            self.out.push_str(if brackets { ")" } else { "" });
            steps.iter().try_for_each(|step| self.step(step))
        })
    }

    fn operand(&mut self, operand: &Chain, of: &Item) -> fmt::Result {
        let weaker = operand.first().is_some_and(|first| priority(first) <= priority(of));
        self.chain(operand, weaker)
    }

    fn first(&mut self, item: &Item, continued: bool) -> fmt::Result {
        match item {
            Item::Constant(bytes) => {
                let value = JsonbRef(bytes);
                let brackets = continued && matches!(value.item(), JsonbItem::Number(_));
                let (open, close) = if brackets { ("(", ")") } else { ("", "") };
                write!(self.out, "{open}{value}{close}")
            }
            Item::String(text) => write_string(text, &mut self.out),
            Item::Variable(name) => {
                self.out.push('$');
                write_string(name, &mut self.out)
            }
            Item::Root => self.out.write_char('$'),
            Item::Current => self.out.write_char('@'),
            Item::Last => self.out.write_str("last"),
            Item::Binary(operator, operands) => {
                self.operand(&operands.0, item)?;
                write!(self.out, " {} ", operator.symbol())?;
                self.operand(&operands.1, item)
            }
            Item::Not(inner) => self.enclosed("!(", inner, ")"),
            Item::IsUnknown(inner) => self.enclosed("(", inner, ") is unknown"),
            Item::Exists(inner) => self.enclosed("exists (", inner, ")"),
            Item::Plus(inner) => {
                self.out.push('+');
                self.operand(inner, item)
            }
            Item::Minus(inner) => {
                self.out.push('-');
                self.operand(inner, item)
            }
            Item::LikeRegex(test) => self.like_regex(test, item),
            step => self.step(step),
        }
    }

    fn enclosed(&mut self, open: &str, inner: &Chain, close: &str) -> fmt::Result {
        self.out.push_str(open);
        self.chain(inner, false)?;
        self.out.write_str(close)
    }

    fn like_regex(&mut self, test: &LikeRegex, item: &Item) -> fmt::Result {
        self.operand(&test.operand, item)?;
        self.out.push_str(" like_regex ");
        write_string(&test.pattern, &mut self.out)?;
        let flags = test.flags;
        let flags: String = [
            (flags.ignore_case, 'i'),
            (flags.dot_all, 's'),
            (flags.multiline, 'm'),
            (flags.expanded, 'x'),
            (flags.literal, 'q'),
        ]
        .into_iter()
        .filter_map(|(set, letter)| set.then_some(letter))
        .collect();
        if flags.is_empty() { Ok(()) } else { write!(self.out, " flag \"{flags}\"") }
    }

    fn step(&mut self, item: &Item) -> fmt::Result {
        match item {
            Item::Member(name) => {
                self.out.push('.');
                write_string(name, &mut self.out)
            }
            Item::AnyMember => self.out.write_str(".*"),
            Item::AnyElement => self.out.write_str("[*]"),
            Item::Elements(subscripts) => self.subscripts(subscripts),
            Item::Any(first, last) => match (*first, *last) {
                (0, u32::MAX) => self.out.write_str(".**"),
                (u32::MAX, u32::MAX) => self.out.write_str(".**{last}"),
                (first, last) if first == last => write!(self.out, ".**{{{first}}}"),
                (u32::MAX, last) => write!(self.out, ".**{{last to {last}}}"),
                (first, u32::MAX) => write!(self.out, ".**{{{first} to last}}"),
                (first, last) => write!(self.out, ".**{{{first} to {last}}}"),
            },
            Item::Filter(inner) => self.enclosed("?(", inner, ")"),
            Item::Method(method) => write!(self.out, ".{}()", method.name()),
            Item::Datetime(template) => {
                self.out.push_str(".datetime(");
                if let Some(template) = template {
                    write_string(template, &mut self.out)?;
                }
                self.out.write_char(')')
            }
            // What begins a chain is no step.
            _ => Ok(()),
        }
    }

    fn subscripts(&mut self, subscripts: &[Subscript]) -> fmt::Result {
        for (i, subscript) in subscripts.iter().enumerate() {
            self.out.push(if i == 0 { '[' } else { ',' });
            self.chain(&subscript.from, false)?;
            if let Some(to) = &subscript.to {
                self.out.push_str(" to ");
                self.chain(to, false)?;
            }
        }
        self.out.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use crate::repr::jsonpath::parse::parse;

    #[test]
    fn what_is_kept_is_read_again() {
        let paths = [
            "strict $.a[*] ? (@.b > 1 && (@.c == 2 || !(@.d < 3)))",
            "(($ + 1).b == 2)",
            "(!($ == 1)).type()",
            "(($ == 1) is unknown).type()",
            "(exists($)).type()",
            "(-$.a).b + 1",
            "-(1).abs()",
            "(-1).abs()",
            "1 - (2 - 3)",
            "- - $",
            "$.**{2 to last} . *[last - 1, 0 to $i] ? (($ like_regex \"a\" flag \"iq\"))",
            "(($ like_regex \"a\") && $ starts with $\"v w\").type()",
            "($.x.datetime(\"HH24:MI\") < $y).type() . \"\\u0001\\\"\"",
            "(($ == 1) is unknown) is unknown",
            "$[$ + 1, ($ + 1).b to (1).size()]",
        ];
        for text in paths {
            let path = parse(text).unwrap();
            assert_eq!(parse(&path.faithful()).unwrap(), path, "{text}: {}", path.faithful());
        }
        assert_eq!(parse("(($ + 1).b == 2)").unwrap().shown(), "($ + 1.\"b\" == 2)");
    }
}
