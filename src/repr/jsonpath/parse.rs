//! From words to the tree, by PostgreSQL's grammar (`jsonpath_gram.y`).
//!
//! Expressions and predicates share their parentheses, so that one walk reads both and keeps
//! which it was; where the other kind is wanted, the fault is at the word that follows.

use crate::error::{Error, Result, SqlState};
use crate::repr::jsonb::JsonbBuilder;
use crate::repr::jsonpath::ast::{
    Chain, Item, LikeRegex, Method, Operator, Path, Subscript, XQueryFlags,
};
use crate::repr::jsonpath::lexer::{Lexer, Token, fault};
use crate::repr::numeric::Numeric;
use crate::repr::regex;

/// How deep parts may lie in each other.
const HEIGHT_MAX: usize = 1000;

/// Reads a path.
///
/// # Errors
///
/// 42601, 22P02, 22P05, 22003, 2201B, 0A000 and 54001, in PostgreSQL's words.
pub fn parse(text: &str) -> Result<Path> {
    let mut parser = Parser { lexer: Lexer::new(text), token: Token::End, shown: "", depth: 0 };
    parser.advance()?;
    if parser.token == Token::End {
        let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
    }
    let lax = !parser.is_word("strict");
    if !lax || parser.is_word("lax") {
        parser.advance()?;
    }
    let part = parser.or()?;
    if parser.token != Token::End {
        return Err(parser.unexpected());
    }
    check(&part.chain, Place { filter: false, subscript: false })?;
    Ok(Path { lax, root: part.chain })
}

/// What was read.
struct Part {
    chain: Chain,
    is_predicate: bool,
    /// How deep parts lie in each other.
    height: usize,
}

impl Part {
    fn item(item: Item) -> Part {
        Part { chain: vec![item], is_predicate: false, height: 1 }
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token,
    shown: &'t str,
    depth: usize,
}

fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
}

/// Something with parts inside.
fn over(item: Item, inner: &[usize], is_predicate: bool) -> Result<Part> {
    let height = 1 + inner.iter().max().copied().unwrap_or(0);
    if height > HEIGHT_MAX {
        return Err(too_deep());
    }
    Ok(Part { chain: vec![item], is_predicate, height })
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token> {
        let (token, shown) = self.lexer.next()?;
        self.shown = shown;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn unexpected(&self) -> Error {
        fault("syntax error", self.shown)
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(s) if s == symbol)
    }

    /// Whether the word is a keyword; those that are values are written in small letters.
    fn is_word(&self, word: &str) -> bool {
        match &self.token {
            Token::Name(name) => match word {
                "null" | "true" | "false" => name == word,
                _ => name.eq_ignore_ascii_case(word),
            },
            _ => false,
        }
    }

    fn take(&mut self, symbol: &str) -> Result<bool> {
        let found = self.is(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.take(symbol)? { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if !self.is_word(word) {
            return Err(self.unexpected());
        }
        self.advance().map(|_| ())
    }

    /// The part, where it is of the kind that is wanted.
    fn wanted(&self, part: Part, predicate: bool) -> Result<Part> {
        if part.is_predicate == predicate { Ok(part) } else { Err(self.unexpected()) }
    }

    /// Reads something in a place that lies deeper.
    fn deeper(&mut self, read: fn(&mut Self) -> Result<Part>) -> Result<Part> {
        if self.depth == HEIGHT_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let part = stacker::maybe_grow(64 << 10, 1 << 20, || read(self));
        self.depth -= 1;
        part
    }

    fn binary(&self, operator: Operator, left: Part, right: Part) -> Result<Part> {
        let heights = [left.height, right.height];
        let item = Item::Binary(operator, Box::new((left.chain, right.chain)));
        over(item, &heights, !operator.is_arithmetic())
    }

    fn or(&mut self) -> Result<Part> {
        let mut left = self.and()?;
        while self.is("||") {
            left = self.wanted(left, true)?;
            self.advance()?;
            let right = self.and()?;
            let right = self.wanted(right, true)?;
            left = self.binary(Operator::Or, left, right)?;
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Part> {
        let mut left = self.test()?;
        while self.is("&&") {
            left = self.wanted(left, true)?;
            self.advance()?;
            let right = self.test()?;
            let right = self.wanted(right, true)?;
            left = self.binary(Operator::And, left, right)?;
        }
        Ok(left)
    }

    /// A predicate without `&&` and `||`, or an expression.
    fn test(&mut self) -> Result<Part> {
        if self.take("!")? {
            let operand = match self.is_word("exists") {
                true => self.exists()?,
                false => {
                    self.expect("(")?;
                    let inner = self.deeper(Self::or)?;
                    let inner = self.wanted(inner, true)?;
                    self.expect(")")?;
                    inner
                }
            };
            return over(Item::Not(operand.chain), &[operand.height], true);
        }
        if self.is_word("exists") {
            return self.exists();
        }
        let left = self.sum()?;
        if left.is_predicate {
            return Ok(left);
        }
        if let Some(operator) = self.comparison() {
            self.advance()?;
            let right = self.sum()?;
            let right = self.wanted(right, false)?;
            return self.binary(operator, left, right);
        }
        if self.is_word("starts") {
            self.advance()?;
            self.expect_word("with")?;
            let initial = match &self.token {
                Token::String(text) => Item::String(text.as_str().into()),
                Token::Variable(name) => Item::Variable(name.as_str().into()),
                _ => return Err(self.unexpected()),
            };
            self.advance()?;
            return self.binary(Operator::StartsWith, left, Part::item(initial));
        }
        if self.is_word("like_regex") {
            self.advance()?;
            return self.like_regex(left);
        }
        Ok(left)
    }

    fn comparison(&self) -> Option<Operator> {
        let Token::Symbol(symbol) = self.token else { return None };
        Some(match symbol {
            "==" => Operator::Equal,
            "!=" | "<>" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return None,
        })
    }

    fn exists(&mut self) -> Result<Part> {
        self.expect_word("exists")?;
        self.expect("(")?;
        let inner = self.deeper(Self::or)?;
        let inner = self.wanted(inner, false)?;
        self.expect(")")?;
        over(Item::Exists(inner.chain), &[inner.height], true)
    }

    fn string(&mut self) -> Result<String> {
        let Token::String(text) = &mut self.token else { return Err(self.unexpected()) };
        let text = std::mem::take(text);
        self.advance()?;
        Ok(text)
    }

    fn like_regex(&mut self, operand: Part) -> Result<Part> {
        let pattern = self.string()?;
        let mut flags = XQueryFlags::default();
        if self.is_word("flag") {
            self.advance()?;
            for letter in self.string()?.chars() {
                match letter {
                    'i' => flags.ignore_case = true,
                    's' => flags.dot_all = true,
                    'm' => flags.multiline = true,
                    'x' => flags.expanded = true,
                    'q' => flags.literal = true,
                    other => {
                        let message = "invalid input syntax for type jsonpath";
                        return Err(Error::new(SqlState::SYNTAX_ERROR, message).with_detail(
                            format!(
                                "Unrecognized flag character \"{other}\" in LIKE_REGEX predicate."
                            ),
                        ));
                    }
                }
            }
        }
        regex::compiled(&pattern, flags.of_regex()?)?;
        let height = operand.height;
        let test = LikeRegex { operand: operand.chain, pattern: pattern.into(), flags };
        over(Item::LikeRegex(Box::new(test)), &[height], true)
    }

    fn sum(&mut self) -> Result<Part> {
        let mut left = self.product()?;
        loop {
            let operator = match self.token {
                Token::Symbol("+") => Operator::Add,
                Token::Symbol("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            left = self.wanted(left, false)?;
            self.advance()?;
            let right = self.product()?;
            let right = self.wanted(right, false)?;
            left = self.binary(operator, left, right)?;
        }
    }

    fn product(&mut self) -> Result<Part> {
        let mut left = self.sign()?;
        loop {
            let operator = match self.token {
                Token::Symbol("*") => Operator::Multiply,
                Token::Symbol("/") => Operator::Divide,
                Token::Symbol("%") => Operator::Remainder,
                _ => return Ok(left),
            };
            left = self.wanted(left, false)?;
            self.advance()?;
            let right = self.sign()?;
            let right = self.wanted(right, false)?;
            left = self.binary(operator, left, right)?;
        }
    }

    fn sign(&mut self) -> Result<Part> {
        let negative = self.is("-");
        if !negative && !self.is("+") {
            return self.accessors();
        }
        self.advance()?;
        let operand = self.deeper(Self::sign)?;
        let operand = self.wanted(operand, false)?;
        let height = operand.height;
        match (number_of(&operand.chain), negative) {
            (Some(_), false) => Ok(operand),
            (Some(number), true) => Ok(Part::item(constant(|out| out.number(&number.neg())))),
            (None, false) => over(Item::Plus(operand.chain), &[height], false),
            (None, true) => over(Item::Minus(operand.chain), &[height], false),
        }
    }

    fn accessors(&mut self) -> Result<Part> {
        let mut part = self.primary()?;
        if part.is_predicate && self.is_word("is") {
            self.advance()?;
            self.expect_word("unknown")?;
            return over(Item::IsUnknown(part.chain), &[part.height], true);
        }
        loop {
            let (step, height) = if self.take(".")? {
                (self.member()?, 1)
            } else if self.take("[")? {
                self.elements()?
            } else if self.take("?")? {
                self.expect("(")?;
                let inner = self.deeper(Self::or)?;
                let inner = self.wanted(inner, true)?;
                self.expect(")")?;
                (Item::Filter(inner.chain), inner.height)
            } else {
                return Ok(part);
            };
            part.is_predicate = false;
            part.chain.push(step);
            part.height = part.height.max(height + 1);
            if part.height > HEIGHT_MAX {
                return Err(too_deep());
            }
        }
    }

    fn primary(&mut self) -> Result<Part> {
        if self.take("(")? {
            let inner = self.deeper(Self::or)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let item = match &self.token {
            Token::Symbol("$") => Item::Root,
            Token::Symbol("@") => Item::Current,
            Token::String(text) => Item::String(text.as_str().into()),
            Token::Variable(name) => Item::Variable(name.as_str().into()),
            Token::Integer(number) | Token::Decimal(number) => {
                let number = Numeric::parse(number)?;
                constant(|out| out.number(&number))
            }
            Token::Name(_) if self.is_word("last") => Item::Last,
            Token::Name(_) if self.is_word("null") => constant(JsonbBuilder::null),
            Token::Name(_) if self.is_word("true") => constant(|out| out.bool(true)),
            Token::Name(_) if self.is_word("false") => constant(|out| out.bool(false)),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(Part::item(item))
    }

    /// What stands behind a point.
    fn member(&mut self) -> Result<Item> {
        if self.take("*")? {
            return Ok(Item::AnyMember);
        }
        if self.take("**")? {
            return self.levels();
        }
        match self.advance_if_name()? {
            Token::Name(name) => {
                if !self.is("(") {
                    return Ok(Item::Member(name.into()));
                }
                let lower = name.to_ascii_lowercase();
                let method = match lower.as_str() {
                    "abs" => Method::Abs,
                    "ceiling" => Method::Ceiling,
                    "double" => Method::Double,
                    "floor" => Method::Floor,
                    "keyvalue" => Method::KeyValue,
                    "size" => Method::Size,
                    "type" => Method::Type,
                    "datetime" => return self.datetime(),
                    _ => return Err(self.unexpected()),
                };
                self.expect("(")?;
                self.expect(")")?;
                Ok(Item::Method(method))
            }
            Token::String(name) => Ok(Item::Member(name.into())),
            _ => Err(self.unexpected()),
        }
    }

    fn advance_if_name(&mut self) -> Result<Token> {
        match self.token {
            Token::Name(_) | Token::String(_) => self.advance(),
            _ => Err(self.unexpected()),
        }
    }

    fn datetime(&mut self) -> Result<Item> {
        self.expect("(")?;
        let template = match self.token {
            Token::String(_) => Some(self.string()?.into()),
            _ => None,
        };
        self.expect(")")?;
        Ok(Item::Datetime(template))
    }

    /// What may stand behind `**`.
    fn levels(&mut self) -> Result<Item> {
        if !self.take("{")? {
            return Ok(Item::Any(0, u32::MAX));
        }
        let first = self.level()?;
        let last = match self.is_word("to") {
            true => {
                self.advance()?;
                self.level()?
            }
            false => first,
        };
        self.expect("}")?;
        Ok(Item::Any(first, last))
    }

    fn level(&mut self) -> Result<u32> {
        let level = match &self.token {
            Token::Integer(number) => match number.parse::<i32>() {
                Ok(level) => level as u32,
                Err(_) => {
                    let message = format!("value \"{number}\" is out of range for type integer");
                    return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
                }
            },
            Token::Name(_) if self.is_word("last") => u32::MAX,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(level)
    }

    /// What stands between brackets, and how deep its parts lie.
    fn elements(&mut self) -> Result<(Item, usize)> {
        if self.take("*")? {
            self.expect("]")?;
            return Ok((Item::AnyElement, 1));
        }
        let (mut subscripts, mut height) = (vec![], 1);
        loop {
            let from = self.deeper(Self::sum)?;
            let from = self.wanted(from, false)?;
            height = height.max(from.height);
            let mut to = None;
            if self.is_word("to") {
                self.advance()?;
                let last = self.deeper(Self::sum)?;
                let last = self.wanted(last, false)?;
                height = height.max(last.height);
                to = Some(last.chain);
            }
            subscripts.push(Subscript { from: from.chain, to });
            if !self.take(",")? {
                self.expect("]")?;
                return Ok((Item::Elements(subscripts), height));
            }
        }
    }
}

fn constant(build: impl FnOnce(&mut JsonbBuilder)) -> Item {
    let mut builder = JsonbBuilder::new();
    build(&mut builder);
    Item::Constant(builder.finish().into())
}

/// The number, where a chain is nothing but one.
fn number_of(chain: &Chain) -> Option<Numeric> {
    use crate::repr::jsonb::{JsonbItem, JsonbRef};
    match chain.as_slice() {
        [Item::Constant(bytes)] => match JsonbRef(bytes).item() {
            JsonbItem::Number(number) => Some(number.to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// Where a part stands.
#[derive(Clone, Copy)]
struct Place {
    filter: bool,
    subscript: bool,
}

/// Checks that `@` stands in filters and `last` in subscripts.
fn check(chain: &Chain, place: Place) -> Result<()> {
    let fault = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
    let within = |chain, place| stacker::maybe_grow(64 << 10, 1 << 20, || check(chain, place));
    for item in chain {
        match item {
            Item::Current if !place.filter => return fault("@ is not allowed in root expressions"),
            Item::Last if !place.subscript => {
                return fault("LAST is allowed only in array subscripts");
            }
            Item::Binary(_, operands) => {
                within(&operands.0, place)?;
                within(&operands.1, place)?;
            }
            Item::Not(inner) | Item::IsUnknown(inner) | Item::Exists(inner) => {
                within(inner, place)?;
            }
            Item::Plus(inner) | Item::Minus(inner) => within(inner, place)?,
            Item::LikeRegex(test) => within(&test.operand, place)?,
            Item::Filter(inner) => within(inner, Place { filter: true, ..place })?,
            Item::Elements(subscripts) => {
                for subscript in subscripts {
                    let place = Place { subscript: true, ..place };
                    within(&subscript.from, place)?;
                    subscript.to.as_ref().map_or(Ok(()), |to| within(to, place))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
