//! Polymorphic functions: those of arrays and of ranges of any type.
//!
//! A [`PolyDef`] is declared over [`Slot`]s, some of which stand for one element type, or for
//! arrays or ranges of it, that a call decides. Once it is decided there is an *instance*: an
//! ordinary [`FuncDef`] with those types, made once and kept, whose oid is the declaration's with
//! the element type in higher bits. So nothing behind resolution knows of polymorphism, and an
//! instance travels by its oid as every function does.
//!
//! Instances for types that users create, and the functions of one type of records, have an oid
//! that holds for this process alone.
//!
//! `x op ANY (array)` and `x op ALL (array)` are instances too: of the operator's function, with
//! the quantifier in the highest bits.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{Eval, EvalContext, FuncDef, OperatorDef, Volatility};
use crate::expr::functions::records::RecordFunction;
use crate::expr::functions::registry;
use crate::expr::spread;
use crate::expr::table::{OpenFn, SetColumn, SetDef};
use crate::repr::ScalarType;
use crate::repr::{ArrayRef, Datum, Element};

/// Computes a function of arrays; the element type is told, since NULLs do not say it.
pub type ElementFn = for<'a> fn(
    element: Element,
    args: &[Datum<'a>],
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError>;

/// The declared type of an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Always the same type.
    Is(ScalarType),
    /// `anyelement`.
    AnyElement,
    /// `anyarray`.
    AnyArray,
    /// `anynonarray`.
    AnyNonArray,
    /// `anyrange`: the range of the element type.
    AnyRange,
    /// `anymultirange`.
    AnyMultirange,
    /// `anycompatible`.
    AnyCompatible,
    /// `anycompatiblearray`.
    AnyCompatibleArray,
    /// `anyenum`.
    AnyEnum,
    /// `record`, of any fields.
    AnyRecord,
}

impl Slot {
    /// The type, once the element type is decided; none where that has no ranges.
    pub fn with(self, element: Element) -> Option<ScalarType> {
        Some(match self {
            Slot::Is(ty) => ty,
            Slot::AnyElement | Slot::AnyNonArray | Slot::AnyCompatible => element.scalar(),
            Slot::AnyEnum | Slot::AnyRecord => element.scalar(),
            Slot::AnyArray | Slot::AnyCompatibleArray => ScalarType::Array(element),
            Slot::AnyRange => ScalarType::Range(element.scalar().range_kind()?),
            Slot::AnyMultirange => ScalarType::Multirange(element.scalar().range_kind()?),
        })
    }

    /// What the elements or bounds are of an argument that stands for it; none where it cannot.
    pub fn part_of(self, arg: ScalarType) -> Option<ScalarType> {
        match self {
            Slot::AnyArray | Slot::AnyCompatibleArray => arg.element(),
            Slot::AnyRange => arg.range_subtype(),
            Slot::AnyMultirange => arg.multirange_subtype(),
            _ => Some(arg),
        }
    }

    /// Whether it may stand for a type.
    pub fn admits(self, ty: ScalarType) -> bool {
        match self {
            Slot::AnyEnum => matches!(ty, ScalarType::Enum(_)),
            Slot::AnyRecord => matches!(ty, ScalarType::Record(_)),
            _ => true,
        }
    }

    /// Whether it stands for a range or a multirange.
    pub fn is_range(self) -> bool {
        matches!(self, Slot::AnyRange | Slot::AnyMultirange)
    }

    /// Whether a call decides the type.
    pub fn is_polymorphic(self) -> bool {
        !matches!(self, Slot::Is(_))
    }

    /// Whether it stands for an array.
    pub fn is_array(self) -> bool {
        matches!(self, Slot::AnyArray | Slot::AnyCompatibleArray)
    }

    /// Whether it is of the family whose actual types need only have a common one.
    pub fn is_compatible(self) -> bool {
        matches!(self, Slot::AnyCompatible | Slot::AnyCompatibleArray)
    }
}

/// A polymorphic function, as `pg_proc` has it.
#[derive(Debug)]
pub struct PolyDef {
    /// PostgreSQL's `pg_proc.oid`, where it has one; ours count from 91,000.
    pub oid: u32,
    /// The name.
    pub name: &'static str,
    /// The types of the arguments.
    pub args: &'static [Slot],
    /// The type of further arguments, as many as there are.
    pub variadic: Option<Slot>,
    /// The type of the result.
    pub ret: Slot,
    /// As [`FuncDef::strict`].
    pub strict: bool,
    /// As [`FuncDef::nullable`].
    pub nullable: bool,
    /// As [`FuncDef::fallible`].
    pub fallible: bool,
    /// As [`FuncDef::volatility`].
    pub volatility: Volatility,
    /// The computation.
    pub eval: ElementFn,
    /// Opens a call, where the function returns rows of one column.
    pub set: Option<OpenFn>,
}

impl PolyDef {
    /// A strict, immutable function that can fail but never answers NULL by itself.
    pub const fn new(
        oid: u32,
        name: &'static str,
        args: &'static [Slot],
        ret: Slot,
        eval: ElementFn,
    ) -> PolyDef {
        PolyDef {
            oid,
            name,
            args,
            variadic: None,
            ret,
            strict: true,
            nullable: false,
            fallible: true,
            volatility: Volatility::Immutable,
            eval,
            set: None,
        }
    }

    /// A strict, immutable function that returns rows of one column.
    pub const fn set(
        oid: u32,
        name: &'static str,
        args: &'static [Slot],
        column: Slot,
        open: OpenFn,
    ) -> PolyDef {
        let def = PolyDef::new(oid, name, args, column, |_, _, _| {
            Err(EvalError::new(SqlState::INTERNAL_ERROR, "rows in the place of a value"))
        });
        PolyDef { set: Some(open), ..def }
    }

    /// The same, but it never fails.
    pub const fn total(self) -> PolyDef {
        PolyDef { fallible: false, ..self }
    }

    /// The same, but it can answer NULL where no argument is NULL.
    pub const fn nullable(self) -> PolyDef {
        PolyDef { nullable: true, ..self }
    }

    /// The same, but it is called with NULLs too.
    pub const fn lax(self) -> PolyDef {
        PolyDef { strict: false, ..self }
    }

    /// The same, but it depends on the session's settings.
    pub const fn stable(self) -> PolyDef {
        PolyDef { volatility: Volatility::Stable, ..self }
    }

    /// The same, with any number of further arguments of a type.
    pub const fn variadic(self, slot: Slot) -> PolyDef {
        PolyDef { variadic: Some(slot), ..self }
    }

    /// The function for one element type, which has ranges if the function is about them.
    pub fn instance(&self, element: Element) -> &'static FuncDef {
        let oid = match element.is_built_in() {
            true => self.oid | (element.index() as u32 + 1) << ELEMENT_SHIFT,
            false => made_oid(Made::Instance(self.oid, element)),
        };
        by_oid(oid).expect("a polymorphic function has an instance of all that it is about")
    }

    fn make(&self, oid: u32, element: Element) -> Option<FuncDef> {
        let ret = self.ret.with(element)?;
        let column = SetColumn { name: None, ty: ret, nullable: self.nullable };
        let set = self.set.map(|open| SetDef { columns: vec![column].leak(), open });
        let args: Option<Vec<_>> = self.args.iter().map(|slot| slot.with(element)).collect();
        Some(FuncDef {
            oid,
            name: self.name,
            args: args?.leak(),
            variadic: self.variadic.and_then(|slot| slot.with(element)),
            any: false,
            ret,
            strict: self.strict,
            nullable: self.nullable,
            fallible: self.fallible,
            volatility: self.volatility,
            eval: Eval::Element(self.eval, element),
            set,
            sql: None,
        })
    }
}

/// An operator whose function is polymorphic.
#[derive(Debug)]
pub struct PolyOperator {
    /// How it is written.
    pub symbol: &'static str,
    /// The oid of its function.
    pub func: u32,
}

/// Where the element type stands in an instance's oid, one more than its place; 0 is none.
const ELEMENT_SHIFT: u32 = 20;
const ELEMENT_MASK: u32 = 0xff << ELEMENT_SHIFT;
/// The bit of `ANY` in an instance's oid.
const ANY: u32 = 1 << 30;
/// The bit of `ALL`.
const ALL: u32 = 1 << 31;

/// The bit of what is made for types that are not built in; below it stands a number that this
/// process gave it.
const MADE: u32 = 1 << 29;

/// What is made for types that are not built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Made {
    /// An instance of a declaration, which has this oid.
    Instance(u32, Element),
    /// A function of a type of records.
    Record(RecordFunction),
    /// A function of this oid, the last arguments of which are the elements of an array.
    Spread(u32, Element),
}

/// A function of a type of records.
pub fn record_function(function: RecordFunction) -> &'static FuncDef {
    by_oid(made_oid(Made::Record(function))).expect("it can be made for every type")
}

fn made_oid(made: Made) -> u32 {
    if let Some(known) = instances().read().expect(UNPOISONED).numbers.get(&made) {
        return MADE | known;
    }
    let mut instances = instances().write().expect(UNPOISONED);
    let next = instances.made.len() as u32;
    let number = *instances.numbers.entry(made).or_insert(next);
    if number == next {
        instances.made.push(made);
    }
    MADE | number
}

fn made(oid: u32) -> Option<Made> {
    let number = usize::try_from(oid & !MADE).ok()?;
    instances().read().expect(UNPOISONED).made.get(number).copied()
}

/// The oid of the declaration that an oid is an instance of.
fn declared(oid: u32) -> Option<u32> {
    if oid & MADE == 0 {
        return Some(oid & !ELEMENT_MASK);
    }
    match made(oid)? {
        Made::Instance(oid, _) => Some(oid),
        Made::Record(_) | Made::Spread(..) => None,
    }
}

/// Whether an oid is an instance's.
pub(super) fn is_instance(oid: u32) -> bool {
    oid >> ELEMENT_SHIFT != 0
}

/// `x op ANY (array)`, or `ALL` where `every`; none for an operator over arrays of arrays.
pub fn quantified(op: &FuncDef, every: bool) -> Option<&'static FuncDef> {
    by_oid(op.oid | if every { ALL } else { ANY })
}

/// A function whose last arguments are the elements of an array.
pub fn spread(func: &FuncDef, element: Element) -> Option<&'static FuncDef> {
    by_oid(made_oid(Made::Spread(func.oid, element)))
}

#[derive(Default)]
struct Instances {
    funcs: HashMap<u32, &'static FuncDef>,
    operators: HashMap<u32, Option<&'static OperatorDef>>,
    made: Vec<Made>,
    numbers: HashMap<Made, u32>,
}

const UNPOISONED: &str = "nothing panics while it holds the instances";

fn instances() -> &'static RwLock<Instances> {
    static INSTANCES: OnceLock<RwLock<Instances>> = OnceLock::new();
    INSTANCES.get_or_init(RwLock::default)
}

/// The instance of an oid. Each is made once and never freed: there are as many as the tables and
/// the element types allow.
pub(super) fn by_oid(oid: u32) -> Option<&'static FuncDef> {
    if let Some(func) = instances().read().expect(UNPOISONED).funcs.get(&oid) {
        return Some(func);
    }
    let made = make(oid)?;
    let mut instances = instances().write().expect(UNPOISONED);
    Some(instances.funcs.entry(oid).or_insert_with(|| Box::leak(Box::new(made))))
}

fn make(oid: u32) -> Option<FuncDef> {
    if oid & (ANY | ALL) != 0 {
        let op = registry::by_oid(oid & !(ANY | ALL))?;
        return make_quantified(oid, op, oid & ALL != 0);
    }
    if oid & MADE != 0 {
        return Some(match made(oid)? {
            Made::Instance(def, element) => registry::polymorphic(def)?.make(oid, element)?,
            Made::Record(function) => function.make(oid),
            Made::Spread(func, element) => {
                return spread::make(oid, registry::by_oid(func)?, element);
            }
        });
    }
    let place = (oid & ELEMENT_MASK) >> ELEMENT_SHIFT;
    let place = usize::try_from(place).ok()?.checked_sub(1)?;
    if place >= ScalarType::ELEMENT_COUNT {
        return None;
    }
    let def = registry::polymorphic(oid & !ELEMENT_MASK)?;
    def.make(oid, Element::at(place))
}

fn make_quantified(oid: u32, op: &'static FuncDef, every: bool) -> Option<FuncDef> {
    let [left, right] = *op.args else { return None };
    let symbol = operator_symbol(op.oid)?;
    let args = vec![left, right.array()?];
    Some(FuncDef {
        oid,
        name: format!("{symbol} {}", if every { "ALL" } else { "ANY" }).leak(),
        args: args.leak(),
        variadic: None,
        any: false,
        ret: ScalarType::Bool,
        strict: false,
        nullable: true,
        fallible: op.fallible,
        volatility: op.volatility,
        eval: Eval::Quantified(op, every),
        set: None,
        sql: None,
    })
}

fn operator_symbol(oid: u32) -> Option<&'static str> {
    registry::operator_of(oid).map(|operator| operator.symbol)
}

/// The operator that an instance is behind, if any.
pub(super) fn operator_of(oid: u32) -> Option<&'static OperatorDef> {
    if oid & (ANY | ALL) != 0 {
        return None;
    }
    if let Some(operator) = instances().read().expect(UNPOISONED).operators.get(&oid) {
        return *operator;
    }
    let made = declared(oid)
        .and_then(registry::polymorphic_symbol)
        .zip(by_oid(oid))
        .and_then(|(symbol, func)| match *func.args {
            [left, right] => Some(OperatorDef::infix(left, symbol, right, oid)),
            _ => None,
        })
        .map(|operator| &*Box::leak(Box::new(operator)));
    instances().write().expect(UNPOISONED).operators.insert(oid, made);
    made
}

/// `x op ANY (array)`: PostgreSQL's `ExecEvalScalarArrayOp`. NULL is what is not known: the array,
/// or whether an element decides where the others do not.
pub(super) fn quantify<'a>(
    op: &FuncDef,
    every: bool,
    args: &[Datum<'a>],
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let Datum::Array(element, bytes) = args[1] else { return Ok(Datum::Null) };
    let array = ArrayRef::new(element, bytes);
    if array.is_empty() {
        return Ok(Datum::Bool(every));
    }
    if args[0].is_null() && op.strict {
        return Ok(Datum::Null);
    }
    let mut unknown = false;
    for item in array.iter() {
        if item.is_null() && op.strict {
            unknown = true;
            continue;
        }
        match op.compute(&[args[0], item], cx)? {
            Datum::Bool(decides) if decides != every => return Ok(Datum::Bool(!every)),
            Datum::Bool(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Datum::Null } else { Datum::Bool(every) })
}
