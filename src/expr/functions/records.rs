//! Records: made of values, taken apart, compared, and spelled as JSON.
//!
//! `ROW(…)` and the fields of a type are functions of that type, made when they are first asked
//! for: see [`crate::expr::polymorphic::record_function`].

use std::cmp::Ordering;

use crate::expr::error::EvalError;
use crate::expr::func::{Eval, EvalContext, FuncDef, Volatility};
use crate::expr::functions::access::{bool, record};
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot};
use crate::repr::ScalarType::{self, Bool, Json};
use crate::repr::json::format_record;
use crate::repr::{Datum, Element, RecordRef, RecordType};

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
        };
        FuncDef {
            oid,
            name,
            args: args.leak(),
            variadic: None,
            any: false,
            ret,
            strict,
            nullable,
            fallible: false,
            volatility: Volatility::Immutable,
            eval: Eval::Record(self),
            set: None,
            sql: None,
        }
    }

    /// The result for arguments; those of a field are not NULL.
    pub(in crate::expr) fn compute<'a>(
        self,
        args: &[Datum<'a>],
        cx: &EvalContext<'a>,
    ) -> Datum<'a> {
        match (self, args) {
            (RecordFunction::Row(ty), args) => RecordRef::build(ty, args, cx.arena).datum(),
            (RecordFunction::Field(_, field), [Datum::Record(ty, bytes), ..]) => {
                RecordRef::new(*ty, bytes).field(field)
            }
            (RecordFunction::Field(..), _) => Datum::Null,
        }
    }
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
