//! The walk along a chain.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::jsonpath::value::Value;
use crate::repr::datetime::zone::TimeZone;
use crate::repr::jsonb::{JsonbBuilder, JsonbItem, JsonbRef};
use crate::repr::jsonpath::{Chain, Item, Method, Operator, Path, Subscript};

/// Why a walk ends.
#[derive(Debug)]
pub(super) enum Fault {
    /// A fault that is told.
    Raised(EvalError),
    /// A fault that nobody wants to hear of.
    Silent,
}

impl From<EvalError> for Fault {
    fn from(error: EvalError) -> Fault {
        Fault::Raised(error)
    }
}

impl From<crate::error::Error> for Fault {
    fn from(error: crate::error::Error) -> Fault {
        Fault::Raised(error.into())
    }
}

/// Whether something was found.
pub(super) type Step = Result<bool, Fault>;

/// Where finds go; none where only whether there is one matters.
pub(super) type Finds<'f, 'v> = Option<&'f mut Vec<Value<'v>>>;

/// What is asked of a document.
#[derive(Clone, Copy)]
pub struct Query<'v> {
    /// The document.
    pub document: JsonbRef<'v>,
    /// The path.
    pub path: &'v Path,
    /// The values of its variables, where it may have any; each is null otherwise.
    pub variables: Option<JsonbRef<'v>>,
    /// Whether faults are kept silent.
    pub silent: bool,
    /// The zone, where offsets may be taken from it.
    pub zone: Option<&'v TimeZone>,
    /// Where what is made is put.
    pub arena: &'v Bump,
}

/// Where the walk is.
pub(super) struct Run<'v> {
    pub query: Query<'v>,
    pub lax: bool,
    pub throws: bool,
    /// What `@` is.
    pub current: Value<'v>,
    /// The document that a part lies in, and its number.
    pub base: (JsonbRef<'v>, i64),
    /// The number of the next document that is made.
    pub next_base: i64,
    /// Whether structural faults are passed over.
    forgives: bool,
    /// The length of the array whose subscripts are computed.
    length: Option<i64>,
}

/// Everything that a path finds, up to a fault that is kept silent.
///
/// # Errors
///
/// What PostgreSQL answers: 2203x and others.
pub fn found<'v>(query: Query<'v>) -> Result<Vec<Value<'v>>, EvalError> {
    let mut finds = vec![];
    let mut run = Run::new(query)?;
    match run.chain(&query.path.root, Value::Json(query.document), Some(&mut finds)) {
        Err(Fault::Raised(error)) => Err(error),
        Ok(_) | Err(Fault::Silent) => Ok(finds),
    }
}

/// The first find.
///
/// # Errors
///
/// As [`found`].
pub fn first<'v>(query: Query<'v>) -> Result<Option<Value<'v>>, EvalError> {
    Ok(found(query)?.first().copied())
}

/// Whether anything is found; nothing where a fault is kept silent.
///
/// # Errors
///
/// As [`found`].
pub fn exists(query: Query<'_>) -> Result<Option<bool>, EvalError> {
    let mut run = Run::new(query)?;
    match run.any(&query.path.root, Value::Json(query.document)) {
        Err(Fault::Raised(error)) => Err(error),
        Err(Fault::Silent) => Ok(None),
        Ok(found) => Ok(Some(found)),
    }
}

impl<'v> Run<'v> {
    fn new(query: Query<'v>) -> Result<Run<'v>, EvalError> {
        if query.variables.is_some_and(|v| !matches!(v.item(), JsonbItem::Object(_))) {
            return Err(EvalError {
                code: SqlState::INVALID_PARAMETER_VALUE,
                message: "\"vars\" argument is not an object".into(),
                detail: Some(
                    "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."
                        .into(),
                ),
                hint: None,
            });
        }
        Ok(Run {
            query,
            lax: query.path.lax,
            throws: !query.silent,
            current: Value::Json(query.document),
            base: (query.document, 0),
            next_base: if query.variables.is_some() { 2 } else { 1 },
            forgives: query.path.lax,
            length: None,
        })
    }

    /// A fault, told or not.
    pub(super) fn fault<T>(
        &self,
        code: SqlState,
        message: impl FnOnce() -> String,
    ) -> Result<T, Fault> {
        Err(match self.throws {
            true => Fault::Raised(EvalError::new(code, message())),
            false => Fault::Silent,
        })
    }

    /// A structural fault, unless these are forgiven.
    pub(super) fn structural(&self, code: SqlState, message: impl FnOnce() -> String) -> Step {
        if self.forgives { Ok(false) } else { self.fault(code, message) }
    }

    /// Whether a chain finds anything.
    pub(super) fn any(&mut self, chain: &'v [Item], value: Value<'v>) -> Step {
        if self.lax {
            return self.chain(chain, value, None);
        }
        let mut finds = vec![];
        self.chain(chain, value, Some(&mut finds))?;
        Ok(!finds.is_empty())
    }

    /// Goes on along a chain.
    pub(super) fn chain(
        &mut self,
        chain: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        self.item(chain, value, finds, self.lax)
    }

    /// Goes on behind an item that has been done.
    pub(super) fn next(
        &mut self,
        rest: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        if !rest.is_empty() {
            return self.chain(rest, value, finds);
        }
        if let Some(finds) = finds {
            finds.push(value);
        }
        Ok(true)
    }

    /// The finds of a chain, arrays among them taken apart in lax mode where that is wanted.
    pub(super) fn operand(
        &mut self,
        chain: &'v [Item],
        value: Value<'v>,
        unwrap: bool,
    ) -> Result<Vec<Value<'v>>, Fault> {
        let mut finds = vec![];
        self.chain(chain, value, Some(&mut finds))?;
        if unwrap && self.lax && finds.iter().any(|find| find.as_array().is_some()) {
            let parts = finds.into_iter().flat_map(|find| match find.as_array() {
                Some(array) => array.iter().map(Value::Json).collect(),
                None => vec![find],
            });
            return Ok(parts.collect());
        }
        Ok(finds)
    }

    /// Does the first item of a chain; `unwrap` says whether arrays are taken apart for it.
    fn item(
        &mut self,
        chain: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
        unwrap: bool,
    ) -> Step {
        stacker::maybe_grow(128 << 10, 1 << 20, || self.dispatch(chain, value, finds, unwrap))
    }

    fn dispatch(
        &mut self,
        chain: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
        unwrap: bool,
    ) -> Step {
        let Some((item, rest)) = chain.split_first() else { return Ok(false) };
        if unwrap && takes_elements(item) && value.as_array().is_some() {
            return self.parts(Some(chain), value, finds, Parts::ELEMENTS, false);
        }
        match item {
            Item::Constant(_) | Item::String(_) if rest.is_empty() && finds.is_none() => Ok(true),
            Item::Constant(bytes) => self.next(rest, Value::Json(JsonbRef(bytes)), finds),
            Item::String(text) => {
                let value = Value::build(self.query.arena, |out| out.string(text));
                self.next(rest, value, finds)
            }
            Item::Variable(name) => self.variable(name, rest, finds),
            Item::Root => {
                let base = std::mem::replace(&mut self.base, (self.query.document, 0));
                let found = self.next(rest, Value::Json(self.query.document), finds);
                self.base = base;
                found
            }
            Item::Current => self.next(rest, self.current, finds),
            Item::Last => {
                let last = self.length.unwrap_or(0) - 1;
                let last = Value::number(self.query.arena, &last.into());
                self.next(rest, last, finds)
            }
            Item::Member(name) => self.member(name, rest, value, finds),
            Item::AnyMember => self.any_member(rest, value, finds),
            Item::AnyElement => self.any_element(rest, value, finds),
            Item::Elements(subscripts) => self.elements(subscripts, rest, value, finds),
            Item::Any(first, last) => self.descend((*first, *last), rest, value, finds),
            Item::Filter(condition) => {
                let outer = std::mem::replace(&mut self.current, value);
                let holds = self.predicate(condition, value);
                self.current = outer;
                if holds? == Some(true) { self.next(rest, value, finds) } else { Ok(false) }
            }
            Item::Method(_) | Item::Datetime(_) => self.method(item, rest, value, finds),
            Item::Binary(operator, operands) if operator.is_arithmetic() => {
                self.arithmetic(*operator, operands, rest, value, finds)
            }
            Item::Plus(operand) | Item::Minus(operand) => {
                self.signed(matches!(item, Item::Minus(_)), operand, rest, value, finds)
            }
            _ => self.answer(item, rest, value, finds),
        }
    }

    /// Whether a predicate holds, as a value.
    fn answer(
        &mut self,
        predicate: &'v Item,
        rest: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        let holds = self.holds(predicate, value)?;
        if rest.is_empty() && finds.is_none() {
            return Ok(true);
        }
        let answer = Value::build(self.query.arena, |out| match holds {
            Some(holds) => out.bool(holds),
            None => out.null(),
        });
        self.next(rest, answer, finds)
    }

    fn any_member(&mut self, rest: &'v [Item], value: Value<'v>, finds: Finds<'_, 'v>) -> Step {
        if value.as_object().is_some() {
            let rest = (!rest.is_empty()).then_some(rest);
            return self.parts(rest, value, finds, Parts::ELEMENTS, self.lax);
        }
        self.structural(SqlState::SQL_JSON_OBJECT_NOT_FOUND, || {
            "jsonpath wildcard member accessor can only be applied to an object".to_owned()
        })
    }

    fn any_element(&mut self, rest: &'v [Item], value: Value<'v>, finds: Finds<'_, 'v>) -> Step {
        if value.as_array().is_some() {
            let rest = (!rest.is_empty()).then_some(rest);
            return self.parts(rest, value, finds, Parts::ELEMENTS, self.lax);
        }
        if self.lax {
            return self.next(rest, value, finds);
        }
        self.structural(SqlState::SQL_JSON_ARRAY_NOT_FOUND, || {
            "jsonpath wildcard array accessor can only be applied to an array".to_owned()
        })
    }

    fn variable(&mut self, name: &str, rest: &'v [Item], finds: Finds<'_, 'v>) -> Step {
        let Some(variables) = self.query.variables else {
            return self.next(rest, Value::build(self.query.arena, JsonbBuilder::null), finds);
        };
        let Some(found) = variables.get(name) else {
            let message = format!("could not find jsonpath variable \"{name}\"");
            return Err(EvalError::new(SqlState::UNDEFINED_OBJECT, message).into());
        };
        let base = std::mem::replace(&mut self.base, (variables, 1));
        let step = self.next(rest, Value::Json(found), finds);
        self.base = base;
        step
    }

    fn member(
        &mut self,
        name: &str,
        rest: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        let code = SqlState::SQL_JSON_MEMBER_NOT_FOUND;
        let Some(object) = value.as_object() else {
            return self.structural(code, || {
                "jsonpath member accessor can only be applied to an object".to_owned()
            });
        };
        match object.get(name) {
            Some(member) => self.next(rest, Value::Json(member), finds),
            None => {
                self.structural(code, || format!("JSON object does not contain key \"{name}\""))
            }
        }
    }

    fn elements(
        &mut self,
        subscripts: &'v [Subscript],
        rest: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        let array = value.as_array();
        if array.is_none() && !self.lax {
            return self.structural(SqlState::SQL_JSON_ARRAY_NOT_FOUND, || {
                "jsonpath array accessor can only be applied to an array".to_owned()
            });
        }
        let length = array.map_or(1, |array| array.len() as i64);
        let outer = self.length.replace(length);
        let found = self.subscripts(subscripts, rest, value, length, finds);
        self.length = outer;
        found
    }

    fn subscripts(
        &mut self,
        subscripts: &'v [Subscript],
        rest: &'v [Item],
        value: Value<'v>,
        length: i64,
        mut finds: Finds<'_, 'v>,
    ) -> Step {
        let mut found = false;
        for subscript in subscripts {
            let from = self.subscript(&subscript.from, value)?;
            let to = subscript.to.as_ref().map_or(Ok(from), |to| self.subscript(to, value))?;
            if !self.forgives && (from < 0 || from > to || to >= length) {
                return self.fault(SqlState::INVALID_SQL_JSON_SUBSCRIPT, || {
                    "jsonpath array subscript is out of bounds".to_owned()
                });
            }
            found = false;
            for index in from.max(0)..=to.min(length - 1) {
                let element = match value.as_array() {
                    None => Some(value),
                    Some(array) => array.index(index).map(Value::Json),
                };
                let Some(element) = element else { continue };
                found = self.next(rest, element, finds.as_deref_mut())?;
                if found && finds.is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(found)
    }

    fn subscript(&mut self, chain: &'v [Item], value: Value<'v>) -> Result<i64, Fault> {
        let mut finds = vec![];
        self.chain(chain, value, Some(&mut finds))?;
        let number = match finds.as_slice() {
            [find] => find.as_number(),
            _ => None,
        };
        let code = SqlState::INVALID_SQL_JSON_SUBSCRIPT;
        let Some(number) = number else {
            return self.fault(code, || {
                "jsonpath array subscript is not a single numeric value".to_owned()
            });
        };
        match number.to_owned().trunc(0).and_then(|whole| whole.to_i32()) {
            Ok(index) => Ok(index.into()),
            Err(_) => {
                self.fault(code, || "jsonpath array subscript is out of integer range".to_owned())
            }
        }
    }

    /// `**`.
    fn descend(
        &mut self,
        (first, last): (u32, u32),
        rest: &'v [Item],
        value: Value<'v>,
        mut finds: Finds<'_, 'v>,
    ) -> Step {
        let mut found = false;
        if first == 0 {
            let forgave = std::mem::replace(&mut self.forgives, true);
            let step = self.next(rest, value, finds.as_deref_mut());
            self.forgives = forgave;
            found = step?;
            if found && finds.is_none() {
                return Ok(true);
            }
        }
        if value.as_array().is_none() && value.as_object().is_none() {
            return Ok(found);
        }
        let rest = (!rest.is_empty()).then_some(rest);
        let parts = Parts { level: 1, first, last, forgives: true };
        self.parts(rest, value, finds, parts, self.lax)
    }

    /// Goes on with each part of an array or object, and with their parts where those are wanted.
    fn parts(
        &mut self,
        rest: Option<&'v [Item]>,
        value: Value<'v>,
        mut finds: Finds<'_, 'v>,
        wanted: Parts,
        unwrap: bool,
    ) -> Step {
        let mut found = false;
        if wanted.level > wanted.last {
            return Ok(false);
        }
        let leaves = (wanted.first, wanted.last) == (u32::MAX, u32::MAX);
        let deeper = Parts { level: wanted.level + 1, ..wanted };
        for part in parts_of(value) {
            let is_leaf = part.is_scalar();
            let part = Value::Json(part);
            if wanted.level >= wanted.first || leaves && is_leaf {
                match (rest, finds.as_deref_mut()) {
                    (Some(rest), mut finds) => {
                        let forgave = self.forgives;
                        self.forgives |= wanted.forgives;
                        let step = self.item(rest, part, finds.as_deref_mut(), unwrap);
                        self.forgives = forgave;
                        found = step?;
                        if found && finds.is_none() {
                            return Ok(true);
                        }
                    }
                    (None, Some(finds)) => finds.push(part),
                    (None, None) => return Ok(true),
                }
            }
            if wanted.level < wanted.last && !is_leaf {
                let finds = finds.as_deref_mut();
                let wants_all = finds.is_some();
                let step = stacker::maybe_grow(128 << 10, 1 << 20, || {
                    self.parts(rest, part, finds, deeper, unwrap)
                });
                found = step?;
                if found && !wants_all {
                    return Ok(true);
                }
            }
        }
        Ok(found)
    }

    fn arithmetic(
        &mut self,
        operator: Operator,
        operands: &'v (Chain, Chain),
        rest: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        let left = self.operand(&operands.0, value, true)?;
        let right = self.operand(&operands.1, value, true)?;
        let single = |run: &Self, finds: &[Value<'v>], side: &str| {
            let number = match finds {
                [find] => find.as_number(),
                _ => None,
            };
            let symbol = operator.symbol();
            number.map_or_else(
                || {
                    run.fault(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, || {
                        let what = format!("{side} operand of jsonpath operator {symbol}");
                        format!("{what} is not a single numeric value")
                    })
                },
                |number| Ok(number.to_owned()),
            )
        };
        let left = single(self, &left, "left")?;
        let right = single(self, &right, "right")?;
        let answer = match operator {
            Operator::Add => left.add(&right),
            Operator::Subtract => left.sub(&right),
            Operator::Multiply => left.mul(&right),
            Operator::Divide => left.div(&right),
            _ => left.rem(&right),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if self.throws => return Err(error.into()),
            Err(_) => return Err(Fault::Silent),
        };
        let answer = Value::number(self.query.arena, &answer);
        self.next(rest, answer, finds)
    }

    fn signed(
        &mut self,
        negative: bool,
        operand: &'v [Item],
        rest: &'v [Item],
        value: Value<'v>,
        mut finds: Finds<'_, 'v>,
    ) -> Step {
        let mut found = false;
        let ends = rest.is_empty() && finds.is_none();
        for find in self.operand(operand, value, true)? {
            let answer = match find.as_number() {
                Some(_) if ends => return Ok(true),
                None if ends => continue,
                None => {
                    let symbol = if negative { '-' } else { '+' };
                    return self.fault(SqlState::SQL_JSON_NUMBER_NOT_FOUND, || {
                        let what = format!("operand of unary jsonpath operator {symbol}");
                        format!("{what} is not a numeric value")
                    });
                }
                Some(number) if negative => {
                    Value::number(self.query.arena, &number.to_owned().neg())
                }
                Some(_) => find,
            };
            if self.next(rest, answer, finds.as_deref_mut())? {
                if finds.is_none() {
                    return Ok(true);
                }
                found = true;
            }
        }
        Ok(found)
    }
}

/// Which parts of a document are wanted, by how deep they lie.
#[derive(Clone, Copy)]
struct Parts {
    /// How deep the next ones do.
    level: u32,
    first: u32,
    last: u32,
    /// Whether structural faults behind them are forgiven.
    forgives: bool,
}

impl Parts {
    /// Those of an array or object, and no deeper ones.
    const ELEMENTS: Parts = Parts { level: 1, first: 1, last: 1, forgives: false };
}

/// Whether in lax mode an item is done for each element where it meets an array.
fn takes_elements(item: &Item) -> bool {
    match item {
        Item::Member(_) | Item::AnyMember | Item::Filter(_) | Item::Datetime(_) => true,
        Item::Method(method) => !matches!(method, Method::Type | Method::Size),
        _ => false,
    }
}

/// The elements of an array, or the values of an object's members.
fn parts_of(value: Value<'_>) -> impl Iterator<Item = JsonbRef<'_>> {
    let elements = value.as_array().into_iter().flat_map(|array| array.iter());
    let members = value.as_object().into_iter().flat_map(|object| object.iter());
    elements.chain(members.map(|(_, member)| member))
}
