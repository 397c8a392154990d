//! Functions that return rows: what `FROM generate_series(1, 3)` calls.
//!
//! An entry of the function tables that returns rows has a [`SetDef`]: the names and types of its
//! columns, and how a call is opened. An open call is an iterator ([`SetRows`]) that owns what it
//! needs, so that a dataflow can take a million rows from it, do something else, and go on.
//!
//! A [`TableFunc`] is what plans hold: one or more calls side by side. As many rows come as the
//! longest of them has; the others go on with NULL. PostgreSQL does so in `ROWS FROM (…)` and with
//! several functions in a select list.

use serde::{Deserialize, Serialize};

use crate::expr::error::EvalError;
use crate::expr::func::{Eval, EvalContext, Func, Volatility};
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnType, Datum, Row, ScalarType};

/// The rows of a call, in value encoding of the function's columns. Nothing comes after an error.
pub type SetRows = Box<dyn Iterator<Item = Result<Row, EvalError>>>;

/// Opens a call. Arguments have the declared types; where the function is strict, none is NULL.
pub type OpenFn = fn(args: &[Datum<'_>], cx: &EvalContext<'_>) -> Result<SetRows, EvalError>;

/// A column of what a function returns.
#[derive(Clone, Copy, Debug)]
pub struct SetColumn {
    /// Its name, where the function gives it one; otherwise it is called as the function is, or
    /// its alias.
    pub name: Option<&'static str>,
    /// Its type.
    pub ty: ScalarType,
    /// Whether it can be NULL.
    pub nullable: bool,
}

impl SetColumn {
    /// A column without a name of its own that is never NULL.
    pub const fn value(ty: ScalarType) -> SetColumn {
        SetColumn { name: None, ty, nullable: false }
    }

    /// A column with a name that is never NULL.
    pub const fn named(name: &'static str, ty: ScalarType) -> SetColumn {
        SetColumn { name: Some(name), ty, nullable: false }
    }

    /// The same, but it can be NULL.
    pub const fn nullable(self) -> SetColumn {
        SetColumn { nullable: true, ..self }
    }
}

/// What a function has that returns rows.
#[derive(Clone, Copy, Debug)]
pub struct SetDef {
    /// The columns of a row, of which there is at least one.
    pub columns: &'static [SetColumn],
    /// Opens a call.
    pub open: OpenFn,
}

/// One call of a [`TableFunc`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// What is called; none: the one argument is the one row.
    pub func: Option<Func>,
    /// How many arguments it takes.
    pub args: usize,
    /// The columns that it returns.
    pub columns: Vec<ColumnType>,
}

/// Calls side by side, whose arguments follow one another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableFunc {
    /// The calls, of which there is at least one.
    pub parts: Vec<Part>,
    /// Whether the rows are numbered from 1, in a last column of type int8.
    pub ordinality: bool,
}

impl Part {
    /// A call of a function that returns rows, with the columns that it declares.
    pub fn of(func: Func) -> Part {
        let columns = func.set.iter().flat_map(|set| set.columns);
        let columns = columns.map(|c| ColumnType { nullable: c.nullable, ..c.ty.into() });
        Part { columns: columns.collect(), args: func.args.len(), func: Some(func) }
    }

    /// One row of one value.
    pub fn value(ty: ColumnType) -> Part {
        Part { func: None, args: 1, columns: vec![ty] }
    }

    fn open(&self, args: &[Datum<'_>], cx: &EvalContext<'_>) -> Result<SetRows, EvalError> {
        let Some(func) = self.func else {
            return Ok(Box::new(std::iter::once(Ok(pack(args)))));
        };
        if func.strict && args.iter().any(Datum::is_null) {
            return Ok(Box::new(std::iter::empty()));
        }
        match (&func.set, func.eval) {
            (_, Eval::Record(function)) => function.open(args, cx),
            (Some(set), _) => (set.open)(args, cx),
            (None, _) => Ok(Box::new(std::iter::empty())),
        }
    }
}

impl TableFunc {
    /// One call.
    pub fn call(func: Func) -> TableFunc {
        TableFunc { parts: vec![Part::of(func)], ordinality: false }
    }

    /// The columns of its rows.
    pub fn columns(&self) -> Vec<ColumnType> {
        let padded = self.parts.len() > 1;
        let columns = self.parts.iter().flat_map(|part| &part.columns);
        let columns = columns.map(|ty| ColumnType { nullable: ty.nullable || padded, ..*ty });
        let ordinal = self.ordinality.then_some(ColumnType::not_null(ScalarType::Int8));
        columns.chain(ordinal).collect()
    }

    /// The number of columns.
    pub fn arity(&self) -> usize {
        self.parts.iter().map(|part| part.columns.len()).sum::<usize>()
            + usize::from(self.ordinality)
    }

    /// Whether a call can fail, its arguments apart.
    pub fn is_fallible(&self) -> bool {
        self.parts.iter().any(|part| part.func.is_some_and(|func| func.fallible))
    }

    /// Whether a call may answer differently each time.
    pub fn is_volatile(&self) -> bool {
        let volatile = |func: Func| func.volatility == Volatility::Volatile;
        self.parts.iter().any(|part| part.func.is_some_and(volatile))
    }

    /// Begins to list the rows for these arguments.
    pub fn open(&self, args: &[Datum<'_>], cx: &EvalContext<'_>) -> Result<TableRows, EvalError> {
        let mut rest = args;
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let (own, others) = rest.split_at(part.args);
            rest = others;
            let types = part.columns.iter().map(|c| c.scalar).collect();
            parts.push((Some(part.open(own, cx)?), types));
        }
        Ok(TableRows { parts, ordinal: self.ordinality.then_some(0) })
    }
}

/// The rows of a call that are still to come.
pub struct TableRows {
    /// Each part's rows, as long as there are any, and its types.
    parts: Vec<(Option<SetRows>, Vec<ScalarType>)>,
    /// The number of the row before.
    ordinal: Option<i64>,
}

impl Iterator for TableRows {
    type Item = Result<Row, EvalError>;

    fn next(&mut self) -> Option<Result<Row, EvalError>> {
        if let ([(Some(rows), _)], None) = (self.parts.as_mut_slice(), self.ordinal) {
            return rows.next();
        }
        let mut found = Vec::with_capacity(self.parts.len());
        for (rows, _) in &mut self.parts {
            let row = match rows.as_mut().and_then(Iterator::next) {
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(row)) => Some(row),
                None => None,
            };
            if row.is_none() {
                *rows = None;
            }
            found.push(row);
        }
        if found.iter().all(Option::is_none) {
            return None;
        }
        let mut datums = Vec::new();
        for (row, (_, types)) in found.iter().zip(&self.parts) {
            match row {
                Some(row) => decode_values(types, row.bytes(), &mut datums),
                None => datums.extend(types.iter().map(|_| Datum::Null)),
            }
        }
        if let Some(ordinal) = &mut self.ordinal {
            *ordinal += 1;
            datums.push(Datum::Int8(*ordinal));
        }
        Some(Ok(pack(&datums)))
    }
}

/// Rows that are there already.
pub fn listed(rows: Vec<Row>) -> SetRows {
    Box::new(rows.into_iter().map(Ok))
}
