//! What a function is, and where it is found.
//!
//! Functions and operators live in const tables by family (`expr/functions/`); this module has
//! their common shape and the look-up by name and by identity.

use std::fmt;
use std::hash::{Hash, Hasher};

use bumpalo::Bump;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::functions;
use crate::expr::functions::records::RecordFunction;
use crate::expr::polymorphic::{self, ElementFn};
use crate::expr::spread;
use crate::expr::table::{OpenFn, SetColumn, SetDef};
use crate::repr::settings::FormatSettings;
use crate::repr::{Datum, Element, ScalarType};

/// What evaluation needs beside the row.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// Where results that are not inline are built; freed with the row or the batch.
    pub arena: &'a Bump,
    /// How values are spelled, and the time zone.
    pub settings: &'a FormatSettings,
}

/// Computes a function. Arguments have the declared types, or any where [`FuncDef::takes_any`];
/// where the function is strict, none is NULL.
pub type EvalFn =
    for<'a> fn(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError>;

/// What computes a function.
#[derive(Clone, Copy, Debug)]
pub enum Eval {
    /// A function of its arguments alone.
    Plain(EvalFn),
    /// A function over arrays of any type, for one element type.
    Element(ElementFn, Element),
    /// An operator's function, with the elements of an array on its right: ANY, or ALL.
    Quantified(&'static FuncDef, bool),
    /// A function of one type of records.
    Record(RecordFunction),
    /// A function of any number of arguments, the last of which are the elements of an array.
    Spread(&'static FuncDef),
}

/// How far a result may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Depends on its arguments alone.
    Immutable,
    /// Depends on the session's settings too.
    Stable,
    /// May differ each time it is called.
    Volatile,
}

/// A function or the function of an operator, as `pg_proc` has it.
#[derive(Debug)]
pub struct FuncDef {
    /// PostgreSQL's `pg_proc.oid`, where it has one; ours count from 90,000.
    pub oid: u32,
    /// The name (`pg_proc.proname`).
    pub name: &'static str,
    /// The types of the arguments.
    pub args: &'static [ScalarType],
    /// The type of further arguments, as many as there are.
    pub variadic: Option<ScalarType>,
    /// Whether values of every type are taken, as they are, by the variadic arguments, or by all
    /// where none are; those without a type are text.
    pub any: bool,
    /// The type of the result.
    pub ret: ScalarType,
    /// Whether a NULL argument makes the result NULL without a call.
    pub strict: bool,
    /// Whether a call with arguments that are not NULL can answer NULL.
    pub nullable: bool,
    /// Whether a call can fail.
    pub fallible: bool,
    /// How far a result may be reused.
    pub volatility: Volatility,
    /// The computation.
    pub eval: Eval,
    /// What a function has that returns rows; such a one is not evaluated as an expression.
    pub set: Option<SetDef>,
    /// The expression that stands for a call, in SQL: the arguments are `_1`, `_2` and so on. The
    /// binder puts it in the place of the call.
    pub sql: Option<&'static str>,
}

impl FuncDef {
    /// A strict, immutable function that can fail but never answers NULL by itself.
    pub const fn new(
        oid: u32,
        name: &'static str,
        args: &'static [ScalarType],
        ret: ScalarType,
        eval: EvalFn,
    ) -> FuncDef {
        FuncDef {
            oid,
            name,
            args,
            variadic: None,
            any: false,
            ret,
            strict: true,
            nullable: false,
            fallible: true,
            volatility: Volatility::Immutable,
            eval: Eval::Plain(eval),
            set: None,
            sql: None,
        }
    }

    /// A strict, immutable function that returns rows of these columns, and can fail.
    pub const fn set(
        oid: u32,
        name: &'static str,
        args: &'static [ScalarType],
        columns: &'static [SetColumn],
        open: OpenFn,
    ) -> FuncDef {
        let ret = columns[0].ty;
        let func = FuncDef::new(oid, name, args, ret, |_, _| {
            Err(EvalError::new(SqlState::INTERNAL_ERROR, "rows in the place of a value"))
        });
        FuncDef { set: Some(SetDef { columns, open }), ..func }
    }

    /// A function that an expression in SQL stands for.
    pub const fn in_sql(
        oid: u32,
        name: &'static str,
        args: &'static [ScalarType],
        ret: ScalarType,
        sql: &'static str,
    ) -> FuncDef {
        let func = FuncDef::new(oid, name, args, ret, |_, _| {
            Err(EvalError::new(SqlState::INTERNAL_ERROR, "a call that was not put into SQL"))
        });
        FuncDef { sql: Some(sql), ..func }.nullable().stable()
    }

    /// The same, but it never fails.
    pub const fn total(self) -> FuncDef {
        FuncDef { fallible: false, ..self }
    }

    /// The same, but it can answer NULL where no argument is NULL.
    pub const fn nullable(self) -> FuncDef {
        FuncDef { nullable: true, ..self }
    }

    /// The same, but it is called with NULLs too.
    pub const fn lax(self) -> FuncDef {
        FuncDef { strict: false, ..self }
    }

    /// The same, but it depends on the session's settings.
    pub const fn stable(self) -> FuncDef {
        FuncDef { volatility: Volatility::Stable, ..self }
    }

    /// The same, but each call may answer differently.
    pub const fn volatile(self) -> FuncDef {
        FuncDef { volatility: Volatility::Volatile, ..self }
    }

    /// The same, with any number of further arguments of a type.
    pub const fn variadic(self, ty: ScalarType) -> FuncDef {
        FuncDef { variadic: Some(ty), ..self }
    }

    /// The same, but values of every type are taken by the variadic arguments, or by all where
    /// none are.
    pub const fn any(self) -> FuncDef {
        FuncDef { any: true, ..self }
    }

    /// Whether the argument at a position may be of every type.
    pub fn takes_any(&self, position: usize) -> bool {
        self.any && (self.variadic.is_none() || position >= self.args.len())
    }

    /// The result for arguments of the declared types, none of them NULL where it is strict.
    #[inline]
    pub fn compute<'a>(
        &self,
        args: &[Datum<'a>],
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        match self.eval {
            Eval::Plain(eval) => eval(args, cx),
            Eval::Element(eval, element) => eval(element, args, cx),
            Eval::Quantified(op, every) => polymorphic::quantify(op, every, args, cx),
            Eval::Record(function) => function.compute(args, cx),
            Eval::Spread(func) => spread::compute(func, args, cx),
        }
    }

    /// The type of the argument at a position, counting variadic ones.
    pub fn arg_type(&self, position: usize) -> Option<ScalarType> {
        self.args.get(position).copied().or(self.variadic)
    }
}

/// An operator: a spelling and the function behind it.
#[derive(Debug)]
pub struct OperatorDef {
    /// How it is written.
    pub symbol: &'static str,
    /// The type of the left operand; none where the operator is prefix.
    pub left: Option<ScalarType>,
    /// The type of the right operand.
    pub right: ScalarType,
    /// The oid of its function.
    pub func: u32,
}

impl OperatorDef {
    /// An operator between two operands.
    pub const fn infix(
        left: ScalarType,
        symbol: &'static str,
        right: ScalarType,
        func: u32,
    ) -> OperatorDef {
        OperatorDef { symbol, left: Some(left), right, func }
    }

    /// An operator before its operand.
    pub const fn prefix(symbol: &'static str, right: ScalarType, func: u32) -> OperatorDef {
        OperatorDef { symbol, left: None, right, func }
    }
}

/// A reference to a [`FuncDef`]; equal when the oids are, and travels as the oid.
#[derive(Clone, Copy)]
pub struct Func(pub &'static FuncDef);

impl Func {
    /// The function of that oid.
    pub fn by_oid(oid: u32) -> Option<Func> {
        functions::by_oid(oid).map(Func)
    }
}

impl std::ops::Deref for Func {
    type Target = FuncDef;
    fn deref(&self) -> &FuncDef {
        self.0
    }
}

impl fmt::Debug for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.oid)
    }
}

impl PartialEq for Func {
    fn eq(&self, other: &Func) -> bool {
        self.oid == other.oid
    }
}

impl Eq for Func {}

impl Hash for Func {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

impl Serialize for Func {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.oid)
    }
}

impl<'de> Deserialize<'de> for Func {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Func, D::Error> {
        let oid = u32::deserialize(deserializer)?;
        Func::by_oid(oid).ok_or_else(|| D::Error::custom(format!("no function with oid {oid}")))
    }
}
