//! What a path finds: parts of documents, and dates and times that have no form in JSON but their
//! text.

use std::cmp::Ordering;

use bumpalo::Bump;

use crate::expr::error::EvalError;
use crate::repr::datetime::StandardTime;
use crate::repr::datetime::zone::TimeZone;
use crate::repr::jsonb::{JsonbArray, JsonbBuilder, JsonbItem, JsonbObject, JsonbRef};
use crate::repr::jsonpath::Operator;
use crate::repr::numeric::{Numeric, NumericRef};

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'v> {
    /// A document or a part of one.
    Json(JsonbRef<'v>),
    /// What `.datetime()` made.
    Time(StandardTime),
}

impl<'v> Value<'v> {
    /// The value that a builder is given.
    pub(super) fn build(arena: &'v Bump, build: impl FnOnce(&mut JsonbBuilder)) -> Value<'v> {
        let mut builder = JsonbBuilder::new();
        build(&mut builder);
        Value::Json(builder.finish_in(arena))
    }

    /// A number.
    pub(super) fn number(arena: &'v Bump, number: &Numeric) -> Value<'v> {
        Value::build(arena, |out| out.number(number))
    }

    /// The value as JSON.
    pub fn to_json(self, arena: &'v Bump) -> JsonbRef<'v> {
        match self {
            Value::Json(json) => json,
            Value::Time(time) => {
                let mut builder = JsonbBuilder::new();
                builder.string(&time.to_json_text());
                builder.finish_in(arena)
            }
        }
    }

    pub(super) fn as_array(self) -> Option<JsonbArray<'v>> {
        match self.item() {
            Some(JsonbItem::Array(array)) => Some(array),
            _ => None,
        }
    }

    pub(super) fn as_object(self) -> Option<JsonbObject<'v>> {
        match self.item() {
            Some(JsonbItem::Object(object)) => Some(object),
            _ => None,
        }
    }

    pub(super) fn as_number(self) -> Option<NumericRef<'v>> {
        match self.item() {
            Some(JsonbItem::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> Option<&'v str> {
        match self.item() {
            Some(JsonbItem::String(text)) => Some(text),
            _ => None,
        }
    }

    /// What it is, where it is JSON.
    pub(super) fn item(self) -> Option<JsonbItem<'v>> {
        match self {
            Value::Json(json) => Some(json.item()),
            Value::Time(_) => None,
        }
    }

    /// What `.type()` answers.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Value::Json(json) => json.type_name(),
            Value::Time(time) => time.type_name(),
        }
    }

    /// Whether a comparison is true; nothing where it is unknown.
    pub(super) fn is(
        self,
        operator: Operator,
        other: Value<'_>,
        zone: Option<&TimeZone>,
    ) -> Result<Option<bool>, EvalError> {
        let order = match (self, other) {
            (Value::Time(a), Value::Time(b)) => a.compare(b, zone)?,
            (Value::Json(a), Value::Json(b)) => match (a.item(), b.item()) {
                (JsonbItem::Null, JsonbItem::Null) => Some(Ordering::Equal),
                (JsonbItem::Bool(a), JsonbItem::Bool(b)) => Some(a.cmp(&b)),
                (JsonbItem::Number(a), JsonbItem::Number(b)) => Some(a.compare(b)),
                (JsonbItem::String(a), JsonbItem::String(b)) => Some(a.cmp(b)),
                (JsonbItem::Null, _) | (_, JsonbItem::Null) => {
                    return Ok(Some(operator == Operator::NotEqual));
                }
                _ => None,
            },
            (json, Value::Time(_)) | (Value::Time(_), json) => match json.item() {
                Some(JsonbItem::Null) => return Ok(Some(operator == Operator::NotEqual)),
                _ => None,
            },
        };
        Ok(order.map(|order| match operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::Greater => order.is_gt(),
            Operator::LessOrEqual => order.is_le(),
            _ => order.is_ge(),
        }))
    }
}
