//! Constants as they are written.

use bumpalo::Bump;
use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::repr::text::parse_text;
use crate::repr::{Datum, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::relation::Typed;

impl Binder<'_, '_> {
    /// A constant or a parameter.
    pub fn value(&mut self, value: &ast::ValueWithSpan) -> Result<Bound> {
        use ast::Value::*;
        let position = self.position(value.span);
        let text = |text: &str| Ok(Bound::Unknown { text: Some(text.to_owned()), position });
        match &value.value {
            Number(digits, _) => self.number(digits, position).map(Bound::from),
            SingleQuotedString(s)
            | EscapedStringLiteral(s)
            | UnicodeStringLiteral(s)
            | NationalStringLiteral(s) => text(s),
            DollarQuotedString(s) => text(&s.value),
            Boolean(value) => Ok(Typed::boolean(*value).into()),
            Null => Ok(Bound::Unknown { text: None, position }),
            Placeholder(name) => {
                let number = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok());
                match number {
                    Some(number @ 1..=65_535) => Ok(self.parameter(number, position)),
                    Some(_) => Err(Error::new(
                        SqlState::UNDEFINED_PARAMETER,
                        format!("there is no parameter {name}"),
                    )
                    .at(position)),
                    None => Err(near(name).at(position)),
                }
            }
            HexStringLiteral(digits) => self.bits(&format!("x{digits}"), position),
            SingleQuotedByteStringLiteral(digits) => self.bits(&format!("b{digits}"), position),
            other => Err(near(&other.to_string()).at(position)),
        }
    }

    /// `B'101'`, `X'1F'`: bits, as many as there are.
    fn bits(&self, spelled: &str, position: Option<u32>) -> Result<Bound> {
        let arena = Bump::new();
        let datum = parse_text(ScalarType::Bit, -1, spelled, self.cx.settings, &arena)
            .map_err(|e| e.at(position))?;
        Ok(Typed::literal(datum, ScalarType::Bit).into())
    }

    /// A number: the smallest of integer, bigint and numeric that holds it.
    ///
    /// `digits` may begin with a sign, so that the least integers are integers.
    pub fn number(&self, digits: &str, position: Option<u32>) -> Result<Typed> {
        if let Ok(value) = digits.parse::<i32>() {
            return Ok(Typed::literal(Datum::Int4(value), ScalarType::Int4));
        }
        if let Ok(value) = digits.parse::<i64>() {
            return Ok(Typed::literal(Datum::Int8(value), ScalarType::Int8));
        }
        let arena = Bump::new();
        let numeric = ScalarType::Numeric;
        let datum = parse_text(numeric, -1, digits, self.cx.settings, &arena)
            .map_err(|e| e.at(position))?;
        Ok(Typed::literal(datum, numeric))
    }
}

fn near(token: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{token}\""))
}
