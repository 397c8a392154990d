//! Functions and operators that look into jsonb along a jsonpath.
//!
//! Those whose names end in `_tz` may take offsets from the session's time zone. The variables
//! and whether to be silent may be left out; without variables none is known, while operators
//! take each for null.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef, OperatorDef};
use crate::expr::functions::access::{bool, jsonb, jsonpath};
use crate::expr::functions::registry::Family;
use crate::expr::jsonpath::{Query, exists, first, found};
use crate::expr::table::{SetColumn, SetRows, listed};
use crate::repr::Datum;
use crate::repr::ScalarType::{Bool, JsonPath, Jsonb};
use crate::repr::jsonb::{JsonbBuilder, JsonbItem, JsonbRef};
use crate::repr::jsonpath::{Path, parsed};
use crate::repr::value::pack;

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// The encoding of `{}`, what variables are by default.
const NO_VARIABLES: JsonbRef<'static> = JsonbRef(&[6, 0]);

/// How a function asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Function,
    /// One that may use the time zone.
    Zoned,
    Operator,
}

/// Asks what the arguments say.
fn ask<'a, T>(
    args: &[Datum<'a>],
    caller: Caller,
    cx: &EvalContext<'a>,
    run: impl FnOnce(Query<'_>) -> Result<T, EvalError>,
) -> Result<T, EvalError> {
    let path = parsed(jsonpath(args[1]))?;
    let path: &Path = &path;
    let given = args.get(2).map_or(NO_VARIABLES, |variables| jsonb(*variables));
    run(Query {
        document: jsonb(args[0]),
        path,
        variables: (caller != Caller::Operator).then_some(given),
        silent: caller == Caller::Operator || args.get(3).is_some_and(|silent| bool(*silent)),
        zone: (caller == Caller::Zoned).then_some(&cx.settings.time_zone),
        arena: cx.arena,
    })
}

fn path_exists<'a>(args: &[Datum<'a>], caller: Caller, cx: &EvalContext<'a>) -> Answer<'a> {
    Ok(ask(args, caller, cx, exists)?.map_or(Datum::Null, Datum::Bool))
}

fn path_match<'a>(args: &[Datum<'a>], caller: Caller, cx: &EvalContext<'a>) -> Answer<'a> {
    ask(args, caller, cx, |query| {
        if let [find] = found(query)?.as_slice() {
            match find.to_json(query.arena).item() {
                JsonbItem::Bool(holds) => return Ok(Datum::Bool(holds)),
                JsonbItem::Null => return Ok(Datum::Null),
                _ => {}
            }
        }
        match query.silent {
            true => Ok(Datum::Null),
            false => Err(EvalError::new(
                SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED,
                "single boolean result is expected",
            )),
        }
    })
}

fn path_first<'a>(args: &[Datum<'a>], caller: Caller, cx: &EvalContext<'a>) -> Answer<'a> {
    let copied = |json: JsonbRef<'_>| JsonbRef(cx.arena.alloc_slice_copy(json.0));
    let found = ask(args, caller, cx, |query| {
        Ok(first(query)?.map(|find| copied(find.to_json(query.arena))))
    });
    Ok(found?.map_or(Datum::Null, Datum::Jsonb))
}

fn path_array<'a>(args: &[Datum<'a>], caller: Caller, cx: &EvalContext<'a>) -> Answer<'a> {
    let mut builder = JsonbBuilder::new();
    ask(args, caller, cx, |query| {
        builder.begin_array();
        found(query)?.iter().for_each(|find| builder.raw(find.to_json(query.arena)));
        builder.end();
        Ok(())
    })?;
    Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
}

fn path_rows(
    args: &[Datum<'_>],
    caller: Caller,
    cx: &EvalContext<'_>,
) -> Result<SetRows, EvalError> {
    let rows = ask(args, caller, cx, |query| {
        let rows = found(query)?.into_iter();
        Ok(rows.map(|find| pack(&[Datum::Jsonb(find.to_json(query.arena))])).collect())
    });
    Ok(listed(rows?))
}

/// A function with two, three and four arguments; its own oid is that of the longest.
macro_rules! each {
    (@args 2) => { &[Jsonb, JsonPath] };
    (@args 3) => { &[Jsonb, JsonPath, Jsonb] };
    (@args 4) => { &[Jsonb, JsonPath, Jsonb, Bool] };
    (@ret $name:literal $oid:literal $count:tt Rows $run:ident $caller:ident) => {
        FuncDef::set($oid, $name, each!(@args $count), &[SetColumn::value(Jsonb)], |args, cx| {
            $run(args, Caller::$caller, cx)
        })
    };
    (@ret $name:literal $oid:literal $count:tt $ret:ident $run:ident $caller:ident) => {
        FuncDef::new($oid, $name, each!(@args $count), $ret, |args, cx| {
            $run(args, Caller::$caller, cx)
        })
        .nullable()
    };
    (@volatility Function $def:expr) => { $def };
    (@volatility Zoned $def:expr) => { $def.stable() };
    ($(
        $name:literal $two:literal $three:literal $four:literal
        $ret:ident $run:ident $caller:ident
    )*) => {
        const FUNCTIONS: &[FuncDef] = &[
            $(
                each!(@volatility $caller each!(@ret $name $two 2 $ret $run $caller)),
                each!(@volatility $caller each!(@ret $name $three 3 $ret $run $caller)),
                each!(@volatility $caller each!(@ret $name $four 4 $ret $run $caller)),
            )*
            FuncDef::new(4010, "jsonb_path_exists_opr", &[Jsonb, JsonPath], Bool, |args, cx| {
                path_exists(args, Caller::Operator, cx)
            })
            .nullable(),
            FuncDef::new(4011, "jsonb_path_match_opr", &[Jsonb, JsonPath], Bool, |args, cx| {
                path_match(args, Caller::Operator, cx)
            })
            .nullable(),
        ];
    };
}

each! {
    "jsonb_path_exists" 90_801 90_802 4005 Bool path_exists Function
    "jsonb_path_match" 90_803 90_804 4009 Bool path_match Function
    "jsonb_path_query" 90_805 90_806 4006 Rows path_rows Function
    "jsonb_path_query_array" 90_807 90_808 4007 Jsonb path_array Function
    "jsonb_path_query_first" 90_809 90_810 4008 Jsonb path_first Function
    "jsonb_path_exists_tz" 90_811 90_812 1177 Bool path_exists Zoned
    "jsonb_path_match_tz" 90_813 90_814 2030 Bool path_match Zoned
    "jsonb_path_query_tz" 90_815 90_816 1179 Rows path_rows Zoned
    "jsonb_path_query_array_tz" 90_817 90_818 1180 Jsonb path_array Zoned
    "jsonb_path_query_first_tz" 90_819 90_820 2023 Jsonb path_first Zoned
}

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Jsonb, "@?", JsonPath, 4010),
    OperatorDef::infix(Jsonb, "@@", JsonPath, 4011),
];
