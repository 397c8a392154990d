//! What ends in parentheses: `.size()`, `.double()`, `.datetime()` and their like.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::jsonpath::identity::offset_in;
use crate::expr::jsonpath::run::{Fault, Finds, Run, Step};
use crate::expr::jsonpath::value::Value;
use crate::repr::datetime::{StandardTemplate, StandardTime};
use crate::repr::float::parse_f64;
use crate::repr::jsonb::JsonbItem;
use crate::repr::jsonpath::{Item, Method};
use crate::repr::numeric::Numeric;

/// What the numbers of documents are multiplied with, in the numbers of their parts.
const BASE_STEP: i64 = 10_000_000_000;

impl<'v> Run<'v> {
    pub(super) fn method(
        &mut self,
        item: &'v Item,
        rest: &'v [Item],
        value: Value<'v>,
        finds: Finds<'_, 'v>,
    ) -> Step {
        let method = match item {
            Item::Method(method) => *method,
            Item::Datetime(template) => {
                let time = self.datetime(value, template.as_deref())?;
                return self.next(rest, Value::Time(time), finds);
            }
            _ => return Ok(false),
        };
        let answer = match method {
            Method::Type => {
                let name = value.type_name();
                Value::build(self.query.arena, |out| out.string(name))
            }
            Method::Size => match self.size(value)? {
                Some(size) => Value::number(self.query.arena, &size.into()),
                None => return Ok(false),
            },
            Method::Abs | Method::Ceiling | Method::Floor => {
                let Some(number) = value.as_number() else {
                    return self.fault(SqlState::NON_NUMERIC_SQL_JSON_ITEM, || {
                        wrong(method, "a numeric value")
                    });
                };
                let number = number.to_owned();
                let answer = match method {
                    Method::Abs => number.abs(),
                    Method::Ceiling => number.ceil()?,
                    _ => number.floor()?,
                };
                Value::number(self.query.arena, &answer)
            }
            Method::Double => self.double(value)?,
            Method::KeyValue => return self.key_value(rest, value, finds),
        };
        self.next(rest, answer, finds)
    }

    fn size(&mut self, value: Value<'v>) -> Result<Option<i32>, Fault> {
        match value.as_array() {
            Some(array) => Ok(Some(array.len() as i32)),
            None if self.lax => Ok(Some(1)),
            None => {
                self.structural(SqlState::SQL_JSON_ARRAY_NOT_FOUND, || {
                    wrong(Method::Size, "an array")
                })?;
                Ok(None)
            }
        }
    }

    fn double(&mut self, value: Value<'v>) -> Result<Value<'v>, Fault> {
        let code = SqlState::NON_NUMERIC_SQL_JSON_ITEM;
        match value.item() {
            Some(JsonbItem::Number(number)) => match number.to_owned().to_f64() {
                Ok(_) => Ok(value),
                Err(_) => self.fault(code, || {
                    "numeric argument of jsonpath item method .double() is out of range for type \
                     double precision"
                        .to_owned()
                }),
            },
            Some(JsonbItem::String(text)) => match parse_f64(text) {
                Ok(double) if double.is_finite() => {
                    Ok(Value::number(self.query.arena, &Numeric::from_f64(double)))
                }
                _ => self.fault(code, || {
                    "string argument of jsonpath item method .double() is not a valid \
                     representation of a double precision number"
                        .to_owned()
                }),
            },
            _ => self.fault(code, || wrong(Method::Double, "a string or numeric value")),
        }
    }

    fn datetime(
        &mut self,
        value: Value<'v>,
        template: Option<&str>,
    ) -> Result<StandardTime, Fault> {
        let code = SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION;
        let Some(text) = value.as_str() else {
            return self.fault(code, || {
                "jsonpath item method .datetime() can only be applied to a string".to_owned()
            });
        };
        match template {
            // A template that is none is always told.
            Some(template) => {
                match StandardTime::parse(text, &StandardTemplate::parse(template)?) {
                    Ok(time) => Ok(time),
                    Err(error) if self.throws => Err(error.into()),
                    Err(_) => Err(Fault::Silent),
                }
            }
            None => match StandardTime::recognise(text) {
                Some(time) => Ok(time),
                None if self.throws => Err(Fault::Raised(EvalError {
                    code,
                    message: format!("datetime format is not recognized: \"{text}\"").into(),
                    detail: None,
                    hint: Some(
                        "Use a datetime template argument to specify the input data format.".into(),
                    ),
                })),
                None => Err(Fault::Silent),
            },
        }
    }

    fn key_value(&mut self, rest: &'v [Item], value: Value<'v>, mut finds: Finds<'_, 'v>) -> Step {
        let (Some(object), Value::Json(json)) = (value.as_object(), value) else {
            return self.fault(SqlState::SQL_JSON_OBJECT_NOT_FOUND, || {
                wrong(Method::KeyValue, "an object")
            });
        };
        if rest.is_empty() && finds.is_none() {
            return Ok(!object.is_empty());
        }
        let (document, number) = self.base;
        let offset = offset_in(document, json).unwrap_or(0);
        let id = Numeric::from_i128(i128::from(number * BASE_STEP) + i128::from(offset));
        let mut found = false;
        for (key, member) in object.iter() {
            let made = Value::build(self.query.arena, |out| {
                out.begin_object();
                out.key("key");
                out.string(key);
                out.key("value");
                out.raw(member);
                out.key("id");
                out.number(&id);
                out.end();
            });
            let base = (made.to_json(self.query.arena), self.next_base);
            self.next_base += 1;
            let outer = std::mem::replace(&mut self.base, base);
            let step = self.next(rest, made, finds.as_deref_mut());
            self.base = outer;
            found = step?;
            if found && finds.is_none() {
                return Ok(true);
            }
        }
        Ok(found)
    }
}

fn wrong(method: Method, what: &str) -> String {
    format!("jsonpath item method .{}() can only be applied to {what}", method.name())
}
