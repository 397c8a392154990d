//! The text form of expressions, for EXPLAIN: columns are `#0`, operators stand between operands.
//!
//! It is for people: what it prints is not read again.

use std::fmt;

use crate::expr::functions::registry::operator_of;
use crate::expr::scalar::{Expr, Literal, descend};
use crate::repr::settings::FormatSettings;
use crate::repr::text::format_text;
use crate::repr::{ColumnType, Datum, ScalarType};

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        descend(|| self.write(f))
    }
}

impl Expr {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Column(column) => write!(f, "#{column}"),
            Expr::Literal(literal) => write!(f, "{literal}"),
            Expr::Parameter(number, _) => write!(f, "${number}"),
            Expr::Raise(error, _) => write!(f, "raise({:?})", error.message),
            Expr::Now => f.write_str("now()"),
            Expr::Outer { level, index, .. } => write!(f, "outer({level}, {index})"),
            Expr::Subquery { id, .. } => write!(f, "subquery({id})"),
            Expr::Call { func, args } => write_call(func.oid, func.name, args, f),
            Expr::Cast { input, to, .. } => {
                write!(f, "{}::{}", Operand(input), type_name(*to))
            }
            Expr::And(exprs) => write_list(f, exprs, " AND "),
            Expr::Or(exprs) => write_list(f, exprs, " OR "),
            Expr::Case { branches, otherwise } => {
                f.write_str("CASE")?;
                for (condition, result) in branches {
                    write!(f, " WHEN {condition} THEN {result}")?;
                }
                write!(f, " ELSE {otherwise} END")
            }
            Expr::Coalesce(exprs) => {
                f.write_str("COALESCE(")?;
                write_list(f, exprs, ", ")?;
                f.write_str(")")
            }
            Expr::IsNull(expr) => write!(f, "{} IS NULL", Operand(expr)),
        }
    }
}

/// An expression in parentheses, where it needs them beside an operator.
struct Operand<'a>(&'a Expr);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = match self.0 {
            Expr::Column(_)
            | Expr::Parameter(..)
            | Expr::Raise(..)
            | Expr::Now
            | Expr::Coalesce(_) => true,
            Expr::Literal(literal) => !is_negative(literal.datum()),
            Expr::Call { func, .. } => operator_of(func.oid).is_none() && !is_syntax(func.name),
            Expr::Cast { .. } => true,
            _ => false,
        };
        if bare { write!(f, "{}", self.0) } else { write!(f, "({})", self.0) }
    }
}

fn is_negative(datum: Datum<'_>) -> bool {
    match datum {
        Datum::Int2(v) => v < 0,
        Datum::Int4(v) => v < 0,
        Datum::Int8(v) => v < 0,
        _ => false,
    }
}

/// Whether a function is a word before or behind its operand: ours have capitals and no list.
fn is_syntax(name: &str) -> bool {
    name.starts_with("IS ") || name == "NOT"
}

fn write_call(oid: u32, name: &str, args: &[Expr], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (operator_of(oid).map(|o| o.symbol), args) {
        (Some(symbol), [a]) => write!(f, "{symbol} {}", Operand(a)),
        (Some(symbol), [a, b]) => write!(f, "{} {symbol} {}", Operand(a), Operand(b)),
        (None, [Expr::IsNull(of)]) if name == "NOT" => write!(f, "{} IS NOT NULL", Operand(of)),
        (None, [a]) if name == "NOT" => write!(f, "NOT {}", Operand(a)),
        (None, [a]) if is_syntax(name) => write!(f, "{} {name}", Operand(a)),
        (None, [a, b]) if is_syntax(name) => write!(f, "{} {name} {}", Operand(a), Operand(b)),
        (None, [a, b]) if name.ends_with(" ANY") || name.ends_with(" ALL") => {
            write!(f, "{} {name} ({b})", Operand(a))
        }
        (None, [a, subscripts @ ..]) if name == "subscript" => {
            write!(f, "{}", Operand(a))?;
            subscripts.iter().try_for_each(|subscript| write!(f, "[{subscript}]"))
        }
        (None, items) if name == "ARRAY" => {
            f.write_str("ARRAY[")?;
            write_list(f, items, ", ")?;
            f.write_str("]")
        }
        _ => {
            write!(f, "{name}(")?;
            for (i, arg) in args.iter().enumerate() {
                write!(f, "{}{arg}", if i == 0 { "" } else { ", " })?;
            }
            f.write_str(")")
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, exprs: &[Expr], between: &str) -> fmt::Result {
    for (i, expr) in exprs.iter().enumerate() {
        if i > 0 {
            f.write_str(between)?;
        }
        match between {
            ", " => write!(f, "{expr}")?,
            _ => write!(f, "{}", Operand(expr))?,
        }
    }
    Ok(())
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (datum, ty) = (self.datum(), self.ty);
        if datum.is_null() {
            return write!(f, "NULL::{}", type_name(ty));
        }
        let mut spelled = String::new();
        format_text(&datum, ty.scalar, &FormatSettings::default(), &mut spelled);
        match ty.scalar {
            ScalarType::Bool => f.write_str(if spelled == "t" { "true" } else { "false" }),
            ScalarType::Int4 => f.write_str(&spelled),
            ScalarType::Text => write!(f, "'{}'", spelled.replace('\'', "''")),
            _ => write!(f, "'{}'::{}", spelled.replace('\'', "''"), type_name(ty)),
        }
    }
}

fn type_name(ty: ColumnType) -> &'static str {
    ty.scalar.display_name()
}
