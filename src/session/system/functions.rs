//! `pg_proc`, `pg_operator`, `pg_cast`, `pg_aggregate`: the tables by which calls are resolved.
//!
//! Functions that the engine has for itself are left out: their names are not those of functions.

use std::collections::HashSet;

use bumpalo::Bump;

use crate::catalog::system::oids::{OWNER, PG_CATALOG};
use crate::error::Result;
use crate::expr::cast::CastContext;
use crate::expr::func::{FuncDef, Volatility};
use crate::expr::functions::aggregates::AGGREGATES;
use crate::expr::functions::catalog_names::{WINDOW_FUNCTIONS, slot_oid};
use crate::expr::functions::io::io_functions;
use crate::expr::functions::{self, Category, casts as conversions, category, registry};
use crate::expr::polymorphic::PolyDef;
use crate::repr::array::{ArrayBuilder, Dims};
use crate::repr::{Datum, ScalarType};
use crate::session::system::rows::Rows;

const OPERATORS: &str = include_str!("../../catalog/system/operators.tsv");

/// The type `"any"`.
const ANY: u32 = 2276;
/// The language `internal`.
const INTERNAL: u32 = 12;

/// What a row of `pg_proc` says that differs between functions.
struct Proc<'f> {
    oid: u32,
    name: &'f str,
    kind: &'static str,
    args: Vec<u32>,
    variadic: u32,
    ret: u32,
    strict: bool,
    set: bool,
    volatility: &'static str,
    /// The columns of its rows, where it has several.
    columns: Vec<(&'static str, u32)>,
}

/// `pg_proc`.
pub(super) fn functions(rows: &mut Rows<'_>) -> Result<()> {
    for func in functions::functions().filter(|func| is_callable(func.name)) {
        add(rows, &plain(func))?;
    }
    for def in registry::polymorphic_functions().filter(|def| is_callable(def.name)) {
        add(rows, &polymorphic(def))?;
    }
    for io in io_functions() {
        let volatility = io.volatility;
        let (args, strict) = (io.args.clone(), io.strict);
        add(rows, &Proc { args, strict, volatility, ..bare(io.oid, io.name, io.ret) })?;
    }
    for (oid, name, args, ret) in WINDOW_FUNCTIONS {
        let args = args.iter().map(|slot| slot_oid(*slot)).collect();
        let proc = Proc { kind: "w", args, ..bare(*oid, name, slot_oid(*ret)) };
        add(rows, &proc)?;
    }
    add(rows, &Proc { kind: "a", ..bare(2803, "count", ScalarType::Int8.oid()) })?;
    let mut seen = HashSet::new();
    for def in AGGREGATES.iter().filter(|def| seen.insert(def.oid)) {
        let args = def.args.iter().map(|arg| arg.map_or(ANY, ScalarType::oid)).collect();
        let ret = def.func.output_type().scalar.oid();
        add(rows, &Proc { kind: "a", args, strict: false, ..bare(def.oid, def.name, ret) })?;
    }
    Ok(())
}

/// Whether a name is one that calls can name.
fn is_callable(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn bare(oid: u32, name: &str, ret: u32) -> Proc<'_> {
    Proc {
        oid,
        name,
        kind: "f",
        args: vec![],
        variadic: 0,
        ret,
        strict: true,
        set: false,
        volatility: "i",
        columns: vec![],
    }
}

fn volatility(volatility: Volatility) -> &'static str {
    match volatility {
        Volatility::Immutable => "i",
        Volatility::Stable => "s",
        Volatility::Volatile => "v",
    }
}

fn plain(func: &'static FuncDef) -> Proc<'static> {
    let mut args: Vec<u32> = func.args.iter().map(|ty| ty.oid()).collect();
    let mut variadic = 0;
    if func.any && func.variadic.is_none() {
        args.iter_mut().for_each(|arg| *arg = ANY);
    }
    if let Some(ty) = func.variadic {
        variadic = if func.any { ANY } else { ty.oid() };
        args.push(if func.any { ANY } else { ty.array().unwrap_or(ty).oid() });
    }
    let columns = func.set.iter().flat_map(|set| set.columns);
    let columns: Vec<_> = columns.filter_map(|c| c.name.map(|name| (name, c.ty.oid()))).collect();
    let columns = if columns.len() > 1 { columns } else { vec![] };
    let record = 2249;
    Proc {
        args,
        variadic,
        ret: if columns.is_empty() { func.ret.oid() } else { record },
        strict: func.strict,
        set: func.set.is_some(),
        volatility: volatility(func.volatility),
        columns,
        ..bare(func.oid, func.name, 0)
    }
}

fn polymorphic(def: &'static PolyDef) -> Proc<'static> {
    let args = def.args.iter().chain(&def.variadic).map(|slot| slot_oid(*slot)).collect();
    Proc {
        args,
        variadic: def.variadic.map_or(0, slot_oid),
        ret: slot_oid(def.ret),
        strict: def.strict,
        set: def.set.is_some(),
        volatility: volatility(def.volatility),
        ..bare(def.oid, def.name, 0)
    }
}

fn add(rows: &mut Rows<'_>, proc: &Proc<'_>) -> Result<()> {
    let arena = Bump::new();
    let oids =
        |oids: &mut dyn Iterator<Item = u32>| array(ScalarType::Oid, oids.map(Datum::Oid), &arena);
    let types = vector(ScalarType::Oid, proc.args.iter().copied().map(Datum::Oid), &arena);
    let (mut all, mut modes, mut names) = (Datum::Null, Datum::Null, Datum::Null);
    if !proc.columns.is_empty() {
        let columns = || proc.columns.iter();
        let ins = proc.args.len();
        all = oids(&mut proc.args.iter().copied().chain(columns().map(|(_, ty)| *ty)));
        let mode = (0..ins + columns().len()).map(|at| if at < ins { "i" } else { "o" });
        modes = array(ScalarType::Char, mode.map(Datum::Text), &arena);
        let name = std::iter::repeat_n("", ins).chain(columns().map(|(name, _)| *name));
        names = array(ScalarType::Text, name.map(Datum::Text), &arena);
    }
    rows.add(&[
        ("oid", Datum::Oid(proc.oid)),
        ("proname", Datum::Text(proc.name)),
        ("pronamespace", Datum::Oid(PG_CATALOG)),
        ("proowner", Datum::Oid(OWNER)),
        ("prolang", Datum::Oid(INTERNAL)),
        ("procost", Datum::Float4(1.0)),
        ("prorows", Datum::Float4(if proc.set { 1000.0 } else { 0.0 })),
        ("provariadic", Datum::Oid(proc.variadic)),
        ("prokind", Datum::Text(proc.kind)),
        ("proisstrict", Datum::Bool(proc.strict && proc.kind == "f")),
        ("proretset", Datum::Bool(proc.set)),
        ("provolatile", Datum::Text(proc.volatility)),
        ("proparallel", Datum::Text("s")),
        ("pronargs", Datum::Int2(proc.args.len() as i16)),
        ("prorettype", Datum::Oid(proc.ret)),
        ("proargtypes", types),
        ("proallargtypes", all),
        ("proargmodes", modes),
        ("proargnames", names),
        ("prosrc", Datum::Text(proc.name)),
    ])
}

/// An array of datums in an arena.
pub(super) fn array<'a>(
    element: ScalarType,
    datums: impl Iterator<Item = Datum<'a>>,
    arena: &'a Bump,
) -> Datum<'a> {
    let mut builder = ArrayBuilder::new();
    builder.extend(datums);
    element.as_element().map_or(Datum::Null, |element| builder.vector_in(element, arena))
}

/// An `int2vector` or `oidvector`: an array that counts from 0.
pub(super) fn vector<'a>(
    element: ScalarType,
    datums: impl Iterator<Item = Datum<'a>>,
    arena: &'a Bump,
) -> Datum<'a> {
    let mut builder = ArrayBuilder::new();
    builder.extend(datums);
    let mut dims = Dims::EMPTY;
    if !builder.is_empty() {
        dims.push(builder.len() as i32, 0);
    }
    element.as_element().map_or(Datum::Null, |element| builder.finish_in(element, &dims, arena))
}

/// `pg_operator`: PostgreSQL's, as far as they are here.
pub(super) fn operators(rows: &mut Rows<'_>) -> Result<()> {
    let plain = functions::operators()
        .map(|o| (o.symbol, o.left.map_or(0, ScalarType::oid), o.right.oid()));
    let polymorphic = registry::polymorphic_operators().filter_map(|(symbol, def)| {
        let types: Vec<u32> = def.args.iter().map(|slot| slot_oid(*slot)).collect();
        match types.as_slice() {
            [left, right] => Some((symbol, *left, *right)),
            _ => None,
        }
    });
    let known: HashSet<_> = plain.chain(polymorphic).collect();
    for line in OPERATORS.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let oid = |at: usize| fields[at].parse::<u32>().unwrap_or(0);
        if !known.contains(&(fields[1], oid(2), oid(3))) {
            continue;
        }
        rows.add(&[
            ("oid", Datum::Oid(oid(0))),
            ("oprname", Datum::Text(fields[1])),
            ("oprnamespace", Datum::Oid(PG_CATALOG)),
            ("oprowner", Datum::Oid(OWNER)),
            ("oprkind", Datum::Text(fields[8])),
            ("oprcanmerge", Datum::Bool(fields[9] == "1")),
            ("oprcanhash", Datum::Bool(fields[10] == "1")),
            ("oprleft", Datum::Oid(oid(2))),
            ("oprright", Datum::Oid(oid(3))),
            ("oprresult", Datum::Oid(oid(4))),
            ("oprcom", Datum::Oid(oid(6))),
            ("oprnegate", Datum::Oid(oid(7))),
            ("oprcode", Datum::Oid(oid(5))),
        ])?;
    }
    Ok(())
}

/// `pg_cast`: conversions through the text form are not listed there.
pub(super) fn casts(rows: &mut Rows<'_>) -> Result<()> {
    let is_text = |ty| category(ty) == Category::String;
    let listed = conversions::all().filter(|cast| {
        let is_array = cast.from.element().is_some() || cast.to.element().is_some();
        let through_text = is_text(cast.from) != is_text(cast.to);
        !is_array && !through_text
    });
    for (at, cast) in listed.enumerate() {
        let context = match cast.context {
            CastContext::Implicit => "i",
            CastContext::Assignment => "a",
            CastContext::Explicit => "e",
        };
        rows.add(&[
            ("oid", Datum::Oid(10_000 + at as u32)),
            ("castsource", Datum::Oid(cast.from.oid())),
            ("casttarget", Datum::Oid(cast.to.oid())),
            ("castcontext", Datum::Text(context)),
            ("castmethod", Datum::Text("f")),
        ])?;
    }
    Ok(())
}

/// `pg_aggregate`.
pub(super) fn aggregates(rows: &mut Rows<'_>) -> Result<()> {
    let mut seen = HashSet::new();
    let oids = AGGREGATES.iter().map(|def| def.oid).chain([2803]);
    for oid in oids.filter(|oid| seen.insert(*oid)) {
        rows.add(&[
            ("aggfnoid", Datum::Oid(oid)),
            ("aggkind", Datum::Text("n")),
            ("aggfinalmodify", Datum::Text("r")),
            ("aggmfinalmodify", Datum::Text("r")),
        ])?;
    }
    Ok(())
}
