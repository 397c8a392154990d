//! Records: made of values, taken apart, compared, and spelled as JSON.
//!
//! `ROW(…)` and the fields of a type are functions of that type, made when they are first asked
//! for: see [`crate::expr::polymorphic::record_function`].

use std::cmp::Ordering;

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{Eval, EvalContext, FuncDef, Volatility};
use crate::expr::functions::access::{bool, record};
use crate::expr::functions::json_records::Filling;
use crate::expr::functions::registry;
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot};
use crate::expr::table::{SetColumn, SetDef, SetRows};
use crate::repr::ScalarType::{self, Bool, Json};
use crate::repr::json::format_record;
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnDesc, Datum, Element, RecordRef, RecordType};

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// `=` of records.
pub const EQUALITY: u32 = 2981;

/// A function of one type of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordFunction {
    /// `ROW(…)`.
    Row(RecordType),
    /// `(r).f`: which field.
    Field(RecordType, usize),
    /// A record that a JSON object fills, as a value.
    Filled(Filling),
    /// The fields of records that a JSON document fills, as the columns of rows.
    FilledRows(Filling),
    /// The rows of a function with several columns (by its oid), each as one record.
    Rows(RecordType, u32),
}

impl RecordFunction {
    /// The function itself, under an oid.
    pub(in crate::expr) fn make(self, oid: u32) -> FuncDef {
        let (name, args, ret, strict, nullable) = match self {
            RecordFunction::Row(ty) => {
                ("ROW", ty.scalars().to_vec(), ScalarType::Record(ty), false, false)
            }
            RecordFunction::Field(ty, field) => {
                let name = ty.fields()[field].name.as_str();
                (name, vec![ScalarType::Record(ty)], ty.scalars()[field], true, true)
            }
            RecordFunction::Filled(of) | RecordFunction::FilledRows(of) => {
                (of.name, of.args(), ScalarType::Record(of.ty), false, true)
            }
            RecordFunction::Rows(ty, inner) => {
                let inner = registry::by_oid(inner).expect("the call that it wraps was bound");
                (inner.name, inner.args.to_vec(), ScalarType::Record(ty), inner.strict, false)
            }
        };
        let reads_text = matches!(self, RecordFunction::Filled(_) | RecordFunction::FilledRows(_));
        FuncDef {
            oid,
            name,
            args: args.leak(),
            variadic: None,
            any: false,
            ret,
            strict,
            nullable,
            fallible: !matches!(self, RecordFunction::Row(_) | RecordFunction::Field(..)),
            // Dates, for one, are read as the session writes them.
            volatility: if reads_text { Volatility::Stable } else { self.inner_volatility() },
            eval: Eval::Record(self),
            set: self.columns().map(|columns| SetDef { columns, open: not_opened }),
            sql: None,
        }
    }

    fn inner_volatility(self) -> Volatility {
        match self {
            RecordFunction::Rows(_, inner) => {
                registry::by_oid(inner).map_or(Volatility::Volatile, |inner| inner.volatility)
            }
            _ => Volatility::Immutable,
        }
    }

    /// The columns of its rows, where it returns rows.
    fn columns(self) -> Option<&'static [SetColumn]> {
        let column = |of: &'static ColumnDesc| SetColumn::named(&of.name, of.ty.scalar).nullable();
        match self {
            RecordFunction::FilledRows(of) => {
                Some(of.ty.fields().iter().map(column).collect::<Vec<_>>().leak())
            }
            RecordFunction::Rows(ty, _) => {
                Some(vec![SetColumn::value(ScalarType::Record(ty))].leak())
            }
            _ => None,
        }
    }

    /// The result for arguments; those of a field are not NULL.
    pub(in crate::expr) fn compute<'a>(
        self,
        args: &[Datum<'a>],
        cx: &EvalContext<'a>,
    ) -> Answer<'a> {
        Ok(match (self, args) {
            (RecordFunction::Row(ty), args) => RecordRef::build(ty, args, cx.arena).datum(),
            (RecordFunction::Field(_, field), [Datum::Record(ty, bytes), ..]) => {
                RecordRef::new(*ty, bytes).field(field)
            }
            (RecordFunction::Filled(of), args) => of.record(args, cx)?,
            _ => Datum::Null,
        })
    }

    /// The rows for arguments, where it returns rows.
    pub(in crate::expr) fn open(
        self,
        args: &[Datum<'_>],
        cx: &EvalContext<'_>,
    ) -> Result<SetRows, EvalError> {
        let (ty, inner) = match self {
            RecordFunction::FilledRows(of) => return of.open(args, cx),
            RecordFunction::Rows(ty, inner) => (ty, inner),
            _ => return not_opened(args, cx),
        };
        let inner = registry::by_oid(inner);
        let rows = match inner.map(|inner| (inner.eval, inner.set)) {
            Some((Eval::Record(inner), _)) => inner.open(args, cx)?,
            Some((_, Some(set))) => (set.open)(args, cx)?,
            _ => return not_opened(args, cx),
        };
        Ok(Box::new(rows.map(move |row| {
            let row = row?;
            let arena = Bump::new();
            let mut values = Vec::with_capacity(ty.scalars().len());
            decode_values(ty.scalars(), row.bytes(), &mut values);
            Ok(pack(&[RecordRef::build(ty, &values, &arena).datum()]))
        })))
    }
}

fn not_opened(_: &[Datum<'_>], _: &EvalContext<'_>) -> Result<SetRows, EvalError> {
    Err(EvalError::new(SqlState::INTERNAL_ERROR, "a record function that returns no rows"))
}

fn same(args: &[Datum<'_>], element: Element) -> Ordering {
    args[0].compare_as(element.scalar(), &args[1])
}

macro_rules! comparison {
    ($oid:expr, $name:literal, $test:ident) => {
        PolyDef::new(
            $oid,
            $name,
            &[Slot::AnyRecord, Slot::AnyRecord],
            Slot::Is(Bool),
            |element, args, _| Ok(Datum::Bool(same(args, element).$test())),
        )
        .total()
    };
}

fn as_json<'a>(args: &[Datum<'a>], pretty: bool, cx: &EvalContext<'a>) -> Answer<'a> {
    let mut out = String::new();
    format_record(&record(args[0]), pretty, cx.settings, &mut out);
    Ok(Datum::Json(cx.arena.alloc_str(&out)))
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    comparison!(EQUALITY, "record_eq", is_eq),
    comparison!(2982, "record_ne", is_ne),
    comparison!(2983, "record_lt", is_lt),
    comparison!(2984, "record_gt", is_gt),
    comparison!(2985, "record_le", is_le),
    comparison!(2986, "record_ge", is_ge),
    PolyDef::new(3155, "row_to_json", &[Slot::AnyRecord], Slot::Is(Json), |_, args, cx| {
        as_json(args, false, cx)
    })
    .total()
    .stable(),
    PolyDef::new(
        3156,
        "row_to_json",
        &[Slot::AnyRecord, Slot::Is(Bool)],
        Slot::Is(Json),
        |_, args, cx| as_json(args, bool(args[1]), cx),
    )
    .total()
    .stable(),
];

pub(super) const OPERATORS: &[PolyOperator] = &[
    PolyOperator { symbol: "=", func: EQUALITY },
    PolyOperator { symbol: "<>", func: 2982 },
    PolyOperator { symbol: "<", func: 2983 },
    PolyOperator { symbol: ">", func: 2984 },
    PolyOperator { symbol: "<=", func: 2985 },
    PolyOperator { symbol: ">=", func: 2986 },
];
