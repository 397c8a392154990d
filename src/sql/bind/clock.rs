//! Time that depends on the transaction: `now()` and its kin, and the literals `'now'`, `'today'`.
//!
//! A query that runs once sees the transaction's start. In a maintained query it is the time of
//! the content ([`Expr::Now`]).

use sqlparser::ast;

use crate::error::{Error, Result};
use crate::expr::cast::Cast;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::relation::Typed;

/// Microseconds from the Unix epoch to 2000-01-01.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// A literal that means a time relative to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Now.
    Now,
    /// Midnight, so many days from today.
    Day(i64),
}

/// What a literal means, where it is one of those words.
pub fn special_literal(text: &str, scalar: ScalarType) -> Option<Special> {
    use ScalarType::{Date, Time, TimeTz, Timestamp, TimestampTz};
    if !matches!(scalar, Date | Time | TimeTz | Timestamp | TimestampTz) {
        return None;
    }
    let of_day = matches!(scalar, Time | TimeTz);
    match text.trim().to_ascii_lowercase().as_str() {
        "now" => Some(Special::Now),
        "today" if !of_day => Some(Special::Day(0)),
        "tomorrow" if !of_day => Some(Special::Day(1)),
        "yesterday" if !of_day => Some(Special::Day(-1)),
        _ => None,
    }
}

impl Binder<'_, '_> {
    /// The transaction's start, or the time of the content.
    fn now(&self) -> Typed {
        if self.maintained {
            return Typed { expr: Expr::Now, ty: ColumnType::not_null(ScalarType::TimestampTz) };
        }
        let micros = i64::try_from(self.cx.now / 1_000).unwrap_or(i64::MAX) - EPOCH_MICROS;
        Typed::literal(Datum::TimestampTz(micros), ScalarType::TimestampTz)
    }

    /// The value of a literal that means a time relative to now.
    pub fn special_time(
        &mut self,
        special: Special,
        scalar: ScalarType,
        position: Option<u32>,
    ) -> Result<Typed> {
        let now = self.now();
        match special {
            Special::Now => self.converted(now, ColumnType::nullable(scalar)),
            Special::Day(days) => {
                let date = self.converted(now, ColumnType::nullable(ScalarType::Date))?;
                let days = Typed::literal(Datum::Int4(days as i32), ScalarType::Int4);
                let day = self.operator("+", Some(date.into()), days.into(), position)?;
                self.converted(day, ColumnType::nullable(scalar))
            }
        }
    }

    fn converted(&self, typed: Typed, ty: ColumnType) -> Result<Typed> {
        if typed.ty.scalar == ty.scalar && ty.typmod == -1 {
            return Ok(typed);
        }
        let Some(cast) = Cast::find(typed.ty.scalar, ty.scalar) else {
            return Err(Error::unsupported(
                format!(
                    "the conversion from {} to {}",
                    typed.ty.scalar.display_name(),
                    ty.scalar.display_name()
                ),
                "Convert by way of text.",
            ));
        };
        let to = ColumnType { nullable: typed.ty.nullable, ..ty };
        Ok(Typed { expr: typed.expr.cast(cast, to, true), ty: to })
    }

    /// `current_timestamp` and its kin by name, none where the name is none of them.
    ///
    /// `precision` is what may stand in parentheses behind the keyword forms.
    pub fn time_function(&mut self, name: &str, precision: Option<u64>) -> Result<Option<Bound>> {
        use ScalarType::{Date, Time, TimeTz, Timestamp, TimestampTz};
        let target = match name {
            "current_timestamp" | "now" | "transaction_timestamp" => TimestampTz,
            // PostgreSQL's statement starts later than its transaction; here a statement's reads
            // are as of the transaction's time, and the clock that tells them is the same.
            "statement_timestamp" => TimestampTz,
            "current_date" => Date,
            "localtime" => Time,
            "localtimestamp" => Timestamp,
            "current_time" => TimeTz,
            _ => return Ok(None),
        };
        let now = self.now();
        let typmod = precision.map_or(-1, |p| p.min(6) as i32);
        let ty = ColumnType { typmod, ..ColumnType::not_null(target) };
        Ok(Some(self.converted(now, ty)?.into()))
    }
}

/// The precision in `current_timestamp(3)`.
pub fn precision(args: &ast::FunctionArguments) -> Option<u64> {
    let ast::FunctionArguments::List(list) = args else { return None };
    match list.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Value(value)))] => {
            match &value.value {
                ast::Value::Number(n, _) => n.parse().ok(),
                _ => None,
            }
        }
        _ => None,
    }
}
