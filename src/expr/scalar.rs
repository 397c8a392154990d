//! Scalar expressions over the columns of one row.
//!
//! Invariants: an expression is typed and resolved when it is made (functions, casts and implicit
//! conversions are explicit nodes), holds no name, and is the same on every worker. Evaluation is
//! lazy exactly where PostgreSQL's is: `Case` and `Coalesce` guard; in `And` false beats an error
//! and in `Or` true does, in either order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::expr::cast::Cast;
use crate::expr::error::EvalError;
use crate::expr::func::{Func, Volatility};
use crate::expr::functions::{boolean, integer};
use crate::repr::{ColumnType, Datum, Row, ScalarType, value};

/// A scalar expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// The input's column of that position.
    Column(usize),
    /// A constant.
    Literal(Literal),
    /// A function or operator; strict ones answer NULL when an argument is NULL.
    Call {
        /// What is called.
        func: Func,
        /// Its arguments, of exactly the types that it declares.
        args: Vec<Expr>,
    },
    /// A conversion to a type and modifier.
    Cast {
        /// How.
        cast: Cast,
        /// What.
        input: Box<Expr>,
        /// The type and modifier to reach (its nullability is not used).
        to: ColumnType,
        /// Whether it was written (`x::t`) or is an assignment's or operator's.
        explicit: bool,
    },
    /// Three-valued conjunction of booleans; empty is true.
    And(Vec<Expr>),
    /// Three-valued disjunction of booleans; empty is false.
    Or(Vec<Expr>),
    /// The first branch whose condition is true; all results have one type.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result where no condition is true.
        otherwise: Box<Expr>,
    },
    /// The first argument that is not NULL; not empty; all of one type.
    Coalesce(Vec<Expr>),
    /// Whether the argument is NULL.
    IsNull(Box<Expr>),
    /// A parameter of a prepared statement, from 1. None reaches the optimizer: execution puts
    /// literals in their places.
    Parameter(usize, ColumnType),
    /// Fails when it is evaluated (what a folded `1/0` becomes); has the given type.
    Raise(EvalError, ColumnType),
    /// The time of the content of a maintained query, a timestamptz. It stays in the predicates of
    /// filters, which [`crate::expr::temporal`] evaluates.
    Now,
    /// In a subquery: an argument that an enclosing query gives it. None reaches the optimizer:
    /// the front end decorrelates.
    Outer {
        /// Which of the enclosing queries, the outermost being 0.
        level: usize,
        /// Which of the arguments.
        index: usize,
        /// Its type.
        ty: ColumnType,
    },
    /// What a subquery answers for a row. None reaches the optimizer.
    Subquery {
        /// Which, to the front end.
        id: usize,
        /// What it takes from the row, as [`Expr::Outer`].
        args: Vec<Expr>,
        /// Which of its columns.
        output: usize,
        /// The type of that.
        ty: ColumnType,
    },
}

/// A constant and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Literal {
    /// The value encoding of the one datum.
    pub row: Row,
    /// Its type; nullable exactly if it is NULL.
    pub ty: ColumnType,
}

impl Literal {
    /// A constant of a type; only the datum says whether it is nullable.
    pub fn new(datum: Datum<'_>, ty: impl Into<ColumnType>) -> Literal {
        let ty = ColumnType { nullable: datum.is_null(), ..ty.into() };
        Literal { row: value::pack(&[datum]), ty }
    }

    /// The value.
    #[inline]
    pub fn datum(&self) -> Datum<'_> {
        value::decode_column(&[self.ty.scalar], 0, self.row.bytes())
    }
}

/// Runs one level of a recursion over a tree, on a new piece of stack where little is left.
#[inline]
pub(super) fn descend<R>(level: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, level)
}

/// Making expressions.
impl Expr {
    /// A constant.
    pub fn literal(datum: Datum<'_>, ty: impl Into<ColumnType>) -> Expr {
        Expr::Literal(Literal::new(datum, ty))
    }

    /// NULL of a type.
    pub fn null(ty: impl Into<ColumnType>) -> Expr {
        Expr::literal(Datum::Null, ty)
    }

    /// A boolean constant.
    pub fn bool(value: bool) -> Expr {
        Expr::literal(Datum::Bool(value), ScalarType::Bool)
    }

    /// A call of a function with arguments of exactly its types.
    pub fn call(func: Func, args: Vec<Expr>) -> Expr {
        Expr::Call { func, args }
    }

    /// A call of the function that has an oid, which must exist.
    pub fn call_by_oid(oid: u32, args: Vec<Expr>) -> Expr {
        Expr::call(Func::by_oid(oid).expect("the oid is one of the tables'"), args)
    }

    /// A conversion.
    pub fn cast(self, cast: Cast, to: impl Into<ColumnType>, explicit: bool) -> Expr {
        Expr::Cast { cast, input: Box::new(self), to: to.into(), explicit }
    }

    /// Whether this is NULL.
    pub fn is_null(self) -> Expr {
        Expr::IsNull(Box::new(self))
    }

    /// Whether this is not NULL.
    pub fn is_not_null(self) -> Expr {
        self.is_null().not()
    }

    /// The negation of a boolean.
    #[allow(clippy::should_implement_trait)] // Builds a tree; `!e` would look like a computation.
    pub fn not(self) -> Expr {
        Expr::call_by_oid(boolean::NOT, vec![self])
    }

    /// Conjunction; the only one itself, and true where there is none.
    pub fn and(mut exprs: Vec<Expr>) -> Expr {
        match exprs.len() {
            0 => Expr::bool(true),
            1 => exprs.remove(0),
            _ => Expr::And(exprs),
        }
    }

    /// Disjunction; the only one itself, and false where there is none.
    pub fn or(mut exprs: Vec<Expr>) -> Expr {
        match exprs.len() {
            0 => Expr::bool(false),
            1 => exprs.remove(0),
            _ => Expr::Or(exprs),
        }
    }

    /// The conjuncts of this boolean, nested ones too.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        let mut conjuncts = Vec::new();
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            match expr {
                Expr::And(exprs) => rest.extend(exprs.into_iter().rev()),
                other => conjuncts.push(other),
            }
        }
        conjuncts
    }
}

/// Asking about expressions.
impl Expr {
    /// The value, where this is a constant.
    pub fn as_literal(&self) -> Option<Datum<'_>> {
        match self {
            Expr::Literal(literal) => Some(literal.datum()),
            _ => None,
        }
    }

    /// Whether this is the constant true.
    pub fn is_true(&self) -> bool {
        matches!(self.as_literal(), Some(Datum::Bool(true)))
    }

    /// Whether this is the constant false.
    pub fn is_false(&self) -> bool {
        matches!(self.as_literal(), Some(Datum::Bool(false)))
    }

    /// Whether this is a constant NULL.
    pub fn is_null_literal(&self) -> bool {
        matches!(self.as_literal(), Some(Datum::Null))
    }

    /// The type over an input of the given types.
    pub fn typ(&self, input: &[ColumnType]) -> ColumnType {
        let boolean = |exprs: &[Expr]| ColumnType {
            nullable: exprs.iter().any(|e| e.typ(input).nullable),
            ..ColumnType::nullable(ScalarType::Bool)
        };
        descend(|| match self {
            Expr::Column(column) => input[*column],
            Expr::Literal(literal) => literal.ty,
            Expr::Now => ColumnType::not_null(ScalarType::TimestampTz),
            Expr::Parameter(_, ty)
            | Expr::Raise(_, ty)
            | Expr::Outer { ty, .. }
            | Expr::Subquery { ty, .. } => *ty,
            Expr::Call { func, args } => ColumnType {
                nullable: func.nullable
                    || func.strict && args.iter().any(|a| a.typ(input).nullable),
                ..ColumnType::nullable(func.ret)
            },
            Expr::Cast { cast, input: of, to, .. } => {
                ColumnType { nullable: cast.nullable || of.typ(input).nullable, ..*to }
            }
            Expr::And(exprs) | Expr::Or(exprs) => boolean(exprs),
            Expr::IsNull(_) => ColumnType::not_null(ScalarType::Bool),
            Expr::Case { branches, otherwise } => branches
                .iter()
                .map(|(_, result)| result.typ(input))
                .fold(otherwise.typ(input), |all, one| either(all, one, |a, b| a || b)),
            Expr::Coalesce(exprs) => exprs
                .iter()
                .map(|e| e.typ(input))
                .reduce(|all, one| either(all, one, |a, b| a && b))
                .unwrap_or(ColumnType::nullable(ScalarType::Text)),
        })
    }

    /// Whether evaluation can fail.
    pub fn is_fallible(&self) -> bool {
        self.any(&mut |e| e.own_fails() || matches!(e, Expr::Subquery { .. }))
    }

    /// Whether this operation can fail, whatever its operands do.
    pub fn own_fails(&self) -> bool {
        match self {
            Expr::Call { func, args } => func.fallible && !integer::cannot_fail(func, args),
            Expr::Cast { cast, to, .. } => cast.fallible || to.typmod >= 0,
            Expr::Raise(..) => true,
            _ => false,
        }
    }

    /// Whether two evaluations over the same row may differ.
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |e| match e {
            Expr::Call { func, .. } => func.volatility == Volatility::Volatile,
            _ => false,
        })
    }

    /// Whether this depends on the time of the content.
    pub fn reads_clock(&self) -> bool {
        self.any(&mut |e| matches!(e, Expr::Now))
    }

    /// Whether this has a value that depends on no column, no parameter and no chance.
    pub fn is_constant(&self) -> bool {
        !self.any(&mut |e| match e {
            Expr::Column(_) | Expr::Parameter(..) | Expr::Outer { .. } | Expr::Subquery { .. } => {
                true
            }
            Expr::Call { func, .. } => func.volatility == Volatility::Volatile,
            _ => false,
        })
    }

    /// The columns that occur, ascending.
    pub fn columns(&self) -> BTreeSet<usize> {
        let mut columns = BTreeSet::new();
        self.visit(&mut |e| {
            if let Expr::Column(column) = e {
                columns.insert(*column);
            }
        });
        columns
    }

    /// One more than the greatest column that occurs; 0 where there is none.
    pub fn arity_needed(&self) -> usize {
        let mut needed = 0;
        self.visit(&mut |e| {
            if let Expr::Column(column) = e {
                needed = needed.max(column + 1);
            }
        });
        needed
    }
}

/// Walking over expressions.
impl Expr {
    /// Calls `f` for each operand, in order.
    pub fn for_each_child<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        match self {
            Expr::Column(_)
            | Expr::Literal(_)
            | Expr::Parameter(..)
            | Expr::Raise(..)
            | Expr::Now
            | Expr::Outer { .. } => {}
            Expr::Call { args: exprs, .. }
            | Expr::Subquery { args: exprs, .. }
            | Expr::And(exprs)
            | Expr::Or(exprs)
            | Expr::Coalesce(exprs) => exprs.iter().for_each(f),
            Expr::Cast { input, .. } | Expr::IsNull(input) => f(input),
            Expr::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    f(condition);
                    f(result);
                }
                f(otherwise);
            }
        }
    }

    /// Calls `f` for each operand, in order.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Column(_)
            | Expr::Literal(_)
            | Expr::Parameter(..)
            | Expr::Raise(..)
            | Expr::Now
            | Expr::Outer { .. } => {}
            Expr::Call { args: exprs, .. }
            | Expr::Subquery { args: exprs, .. }
            | Expr::And(exprs)
            | Expr::Or(exprs)
            | Expr::Coalesce(exprs) => exprs.iter_mut().for_each(f),
            Expr::Cast { input, .. } | Expr::IsNull(input) => f(input),
            Expr::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    f(condition);
                    f(result);
                }
                f(otherwise);
            }
        }
    }

    /// Calls `f` for this and everything in it, outermost first.
    pub fn visit<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        f(self);
        self.for_each_child(&mut |child| descend(|| child.visit(f)));
    }

    /// Calls `f` for everything in this and then for this: innermost first.
    pub fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.for_each_child_mut(&mut |child| descend(|| child.visit_mut(f)));
        f(self);
    }

    /// Replaces each column by the one that `f` names.
    pub fn map_columns(&mut self, mut f: impl FnMut(usize) -> usize) {
        self.visit_mut(&mut |e| {
            if let Expr::Column(column) = e {
                *column = f(*column);
            }
        });
    }

    /// Whether `f` holds for this or anything in it.
    pub fn any(&self, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let mut found = f(self);
        self.for_each_child(&mut |child| found = found || descend(|| child.any(f)));
        found
    }
}

/// What a value that comes from one of two expressions of a type can be.
fn either(a: ColumnType, b: ColumnType, nullable: fn(bool, bool) -> bool) -> ColumnType {
    ColumnType {
        scalar: a.scalar,
        typmod: if a.typmod == b.typmod { a.typmod } else { -1 },
        nullable: nullable(a.nullable, b.nullable),
    }
}
