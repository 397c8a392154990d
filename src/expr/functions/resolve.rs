//! Which function or operator is meant: PostgreSQL's rules (its manual's chapter on type
//! conversion; `func_select_candidate`).
//!
//! Arguments without a type yet, literals and parameters, are `None`. The answer says which type
//! each argument must get; the caller gives untyped ones that type.

use crate::error::{Error, SqlState};
use crate::expr::cast::Cast;
use crate::expr::func::{Func, FuncDef};
use crate::expr::functions::generic::{self, Unresolved};
use crate::expr::functions::registry;
use crate::expr::functions::types::{Category, category, is_coercible, is_preferred};
use crate::expr::polymorphic::{self, PolyDef, Slot};
use crate::expr::scalar::Expr;
use crate::repr::ScalarType;

/// PostgreSQL's operators between types that Weir has one of at most.
const UNSUPPORTED_OPERATORS: [&str; 2] = ["@@", "<->"];

/// The type of an argument, where it has one yet.
type Untyped = Option<ScalarType>;

/// The function that is meant.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Which.
    pub func: Func,
    /// The type that each argument must have.
    pub types: Vec<ScalarType>,
    /// How each argument gets it; none where it has it, or had no type.
    pub casts: Vec<Option<Cast>>,
}

impl Resolved {
    /// The call, once untyped arguments have got their types.
    pub fn call(&self, args: Vec<Expr>) -> Expr {
        let args = args.into_iter().zip(&self.casts).map(|(arg, cast)| match cast {
            Some(cast) => arg.cast(*cast, cast.to, false),
            None => arg,
        });
        Expr::call(self.func, args.collect())
    }
}

/// Why no function is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// None fits.
    NotFound,
    /// None fits better than all others.
    Ambiguous,
    /// PostgreSQL has it, Weir does not.
    Unsupported,
    /// Nothing says what a polymorphic type stands for.
    Undetermined,
    /// The answer would be an array of arrays.
    NoArrayOf(ScalarType),
    /// What stands behind VARIADIC is no array.
    NotAnArray,
    /// Elements of this type would have to be compared, by what it does not have.
    NotComparable(&'static str, ScalarType),
}

/// Finds the function of a name that fits arguments best.
pub fn resolve_function(name: &str, args: &[Untyped]) -> Result<Resolved, ResolveError> {
    let named = registry::named(name);
    let polymorphic: Vec<_> = registry::polymorphic_named(name).map(Source::Polymorphic).collect();
    if named.is_empty() && polymorphic.is_empty() && registry::is_postgresqls(name) {
        return Err(ResolveError::Unsupported);
    }
    let plain = named.iter().map(|func| Source::Plain(func));
    let candidates = plain.chain(polymorphic).filter_map(|f| Candidate::new(f, args.len()));
    choose(candidates.collect(), args, None)
}

/// Finds the function of a name whose last arguments are the elements of the last one given.
pub fn resolve_spread(name: &str, args: &[Untyped]) -> Result<Resolved, ResolveError> {
    let Some((last, first)) = args.split_last() else { return Err(ResolveError::NotFound) };
    let fits = |func: &&&FuncDef| {
        let first = first.iter().zip(func.args).all(|(arg, ty)| is_coercible(*arg, *ty));
        func.variadic.is_some() && func.args.len() + 1 == args.len() && first
    };
    let func = registry::named(name).iter().find(fits).ok_or(ResolveError::NotFound)?;
    let element = match (func.any, *last) {
        (true, Some(ScalarType::Array(element))) => Some(element),
        (true, _) => return Err(ResolveError::NotAnArray),
        (false, _) => func.variadic.and_then(ScalarType::as_element),
    };
    let array = element.map(ScalarType::Array).filter(|array| is_coercible(*last, *array));
    let (Some(element), Some(array)) = (element, array) else {
        return Err(ResolveError::NotFound);
    };
    let func = polymorphic::spread(func, element).ok_or(ResolveError::NotFound)?;
    let types: Vec<_> = func.args[..first.len()].iter().copied().chain([array]).collect();
    let casts = args.iter().zip(&types).map(|(arg, ty)| conversion(*arg, *ty)).collect();
    Ok(Resolved { func: Func(func), types, casts })
}

/// The type that a call converts to, if it is `type(argument)`, as `text(42)` is: what a name
/// means that is no function's. An argument without a type becomes a literal of that type.
pub fn conversion_by_call(name: &str, arg: Untyped) -> Option<(ScalarType, Option<Cast>)> {
    let to = ScalarType::ALL.into_iter().find(|ty| ty.name() == name)?;
    match arg {
        Some(from) if from != to => Cast::find(from, to).map(|cast| (to, Some(cast))),
        _ => Some((to, None)),
    }
}

/// Finds the operator of a spelling that fits operands best; `left` is `None` where it is prefix.
pub fn resolve_operator(
    symbol: &str,
    left: Option<Untyped>,
    right: Untyped,
) -> Result<Resolved, ResolveError> {
    let symbol = if symbol == "!=" { "<>" } else { symbol };
    let candidates: Vec<_> = registry::spelled(symbol)
        .iter()
        .filter(|o| o.left.is_some() == left.is_some())
        .filter_map(|o| registry::by_oid(o.func))
        .map(Source::Plain)
        .chain(registry::polymorphic_spelled(symbol).map(Source::Polymorphic))
        .filter_map(|f| Candidate::new(f, 1 + usize::from(left.is_some())))
        .collect();
    let Some(left) = left else { return choose(candidates, &[right], None) };
    // A literal beside a value is first taken to be of that value's type.
    let same = [left.or(right), right.or(left)];
    if candidates.is_empty() && UNSUPPORTED_OPERATORS.contains(&symbol) {
        return Err(ResolveError::Unsupported);
    }
    choose(candidates, &[left, right], Some(&same))
}

/// What a candidate is.
#[derive(Clone, Copy)]
enum Source {
    Plain(&'static FuncDef),
    Polymorphic(&'static PolyDef),
}

/// A function with the types of as many arguments as there are.
#[derive(Clone)]
struct Candidate {
    source: Source,
    slots: Vec<Slot>,
}

impl Candidate {
    fn new(source: Source, count: usize) -> Option<Candidate> {
        let (declared, is_variadic) = match source {
            Source::Plain(func) => (func.args.len(), func.variadic.is_some()),
            Source::Polymorphic(def) => (def.args.len(), def.variadic.is_some()),
        };
        let slot = |i| match source {
            Source::Plain(func) => func.arg_type(i).map(Slot::Is),
            Source::Polymorphic(def) => def.args.get(i).copied().or(def.variadic),
        };
        let fits = if is_variadic { declared < count } else { declared == count };
        let slots = (0..count).map(slot).collect::<Option<Vec<_>>>();
        slots.filter(|_| fits).map(|slots| Candidate { source, slots })
    }

    fn takes_any(&self, slot: usize) -> bool {
        matches!(self.source, Source::Plain(func) if func.takes_any(slot))
    }

    fn accepts(&self, args: &[Untyped]) -> bool {
        let each = args.iter().zip(&self.slots).enumerate().all(|(i, (arg, slot))| match slot {
            Slot::Is(ty) => is_coercible(*arg, *ty) || self.takes_any(i),
            _ => true,
        });
        let is_consistent = || match self.source {
            Source::Plain(_) => true,
            Source::Polymorphic(_) => {
                generic::element(&self.slots, args) != Err(Unresolved::Inconsistent)
            }
        };
        each && is_consistent()
    }

    fn count(&self, args: &[Untyped], good: impl Fn(ScalarType, ScalarType) -> bool) -> usize {
        let slots = args.iter().zip(&self.slots).enumerate();
        let known = slots.filter(|(i, _)| !self.takes_any(*i)).filter_map(|(_, pair)| match pair {
            (Some(arg), Slot::Is(ty)) => Some((*arg, *ty)),
            _ => None,
        });
        known.filter(|(arg, ty)| good(*arg, *ty)).count()
    }

    fn resolve(&self, args: &[Untyped]) -> Result<Resolved, ResolveError> {
        let (func, mut types) = match self.source {
            Source::Plain(func) => {
                (func, (0..args.len()).map_while(|i| func.arg_type(i)).collect())
            }
            Source::Polymorphic(def) => {
                let element = generic::element(&self.slots, args).map_err(|e| match e {
                    Unresolved::Inconsistent => ResolveError::NotFound,
                    Unresolved::Unknown => ResolveError::Undetermined,
                    Unresolved::NoArrayOf(ty) => ResolveError::NoArrayOf(ty),
                })?;
                if let Some(needed) = registry::comparison_needed(def)
                    && !element.scalar().is_comparable()
                {
                    return Err(ResolveError::NotComparable(needed, element.scalar()));
                }
                let types: Option<Vec<_>> =
                    self.slots.iter().map(|slot| slot.with(element)).collect();
                let types = types.ok_or(ResolveError::NotFound)?;
                (def.instance(element), types)
            }
        };
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| self.takes_any(*i)) {
            types[i] = arg.unwrap_or(types[i]);
        }
        let casts = args.iter().zip(&types).map(|(arg, ty)| conversion(*arg, *ty)).collect();
        Ok(Resolved { func: Func(func), types, casts })
    }
}

/// The category of what an argument is declared as; none for the polymorphic types.
fn slot_category(slot: Slot) -> Option<Category> {
    match slot {
        Slot::Is(ty) => Some(category(ty)),
        _ => None,
    }
}

fn slot_is_preferred(slot: Slot) -> bool {
    matches!(slot, Slot::Is(ty) if is_preferred(ty))
}

fn conversion(from: Untyped, to: ScalarType) -> Option<Cast> {
    from.filter(|from| *from != to).and_then(|from| Cast::find(from, to))
}

/// Chooses the best of the candidates; `exact` are the types to try first, if not `args`.
fn choose(
    candidates: Vec<Candidate>,
    args: &[Untyped],
    exact: Option<&[Untyped]>,
) -> Result<Resolved, ResolveError> {
    let exact = exact.unwrap_or(args);
    let is_exact = |c: &&Candidate| {
        c.slots.iter().zip(exact).all(|(slot, ty)| ty.is_some_and(|ty| *slot == Slot::Is(ty)))
    };
    if let Some(candidate) = candidates.iter().find(is_exact) {
        return candidate.resolve(args);
    }
    let mut fitting: Vec<_> = candidates.into_iter().filter(|c| c.accepts(args)).collect();
    match fitting.len() {
        0 => Err(ResolveError::NotFound),
        1 => fitting.remove(0).resolve(args),
        _ => select(fitting, args).ok_or(ResolveError::Ambiguous)?.resolve(args),
    }
}

/// PostgreSQL's `func_select_candidate`.
fn select(candidates: Vec<Candidate>, args: &[Untyped]) -> Option<Candidate> {
    let same = |arg, ty| arg == ty;
    let mut candidates = keep_best(candidates, |c| c.count(args, same));
    if candidates.len() > 1 {
        let good = |arg, ty| arg == ty || is_preferred(ty) && category(ty) == category(arg);
        candidates = keep_best(candidates, |c| c.count(args, good));
    }
    if candidates.len() > 1 {
        if !args.contains(&None) {
            return None;
        }
        candidates = keep_likely(candidates, args);
    }
    if candidates.len() > 1 {
        candidates = keep_uniform(candidates, args);
    }
    match candidates.len() {
        1 => candidates.pop(),
        _ => None,
    }
}

fn keep_best(candidates: Vec<Candidate>, score: impl Fn(&Candidate) -> usize) -> Vec<Candidate> {
    let best = candidates.iter().map(&score).max();
    candidates.into_iter().filter(|c| Some(score(c)) == best).collect()
}

/// Keeps the candidates that take untyped arguments as the category most likely meant.
fn keep_likely(candidates: Vec<Candidate>, args: &[Untyped]) -> Vec<Candidate> {
    let mut likely = Vec::new();
    for slot in (0..args.len()).filter(|i| args[*i].is_none()) {
        let mut slots = candidates.iter().map(|c| c.slots[slot]);
        let first = slots.clone().next().map(slot_category);
        let chosen = match first {
            _ if slots.any(|slot| slot_category(slot) == Some(Category::String)) => {
                Some(Category::String)
            }
            Some(first) if candidates.iter().all(|c| slot_category(c.slots[slot]) == first) => {
                first
            }
            _ => return candidates,
        };
        let mut of_category = candidates.iter().map(|c| c.slots[slot]);
        let preferred =
            of_category.any(|slot| slot_category(slot) == chosen && slot_is_preferred(slot));
        likely.push((slot, chosen, preferred));
    }
    let fits = |c: &Candidate| {
        likely.iter().all(|(slot, chosen, preferred)| {
            let of = c.slots[*slot];
            !c.takes_any(*slot)
                && slot_category(of) == *chosen
                && (!preferred || slot_is_preferred(of))
        })
    };
    let kept: Vec<_> = candidates.iter().filter(|c| fits(c)).cloned().collect();
    if kept.is_empty() { candidates } else { kept }
}

/// Keeps the candidates that fit if untyped arguments have the one type of all others.
fn keep_uniform(candidates: Vec<Candidate>, args: &[Untyped]) -> Vec<Candidate> {
    let mut known = args.iter().flatten();
    let Some(first) = known.next() else { return candidates };
    if !known.all(|ty| ty == first) {
        return candidates;
    }
    let uniform = vec![Some(*first); args.len()];
    candidates.into_iter().filter(|c| c.accepts(&uniform)).collect()
}

impl ResolveError {
    /// What is said of polymorphic types in any call.
    fn of_polymorphic(self) -> Error {
        match self {
            ResolveError::NoArrayOf(ty) => Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find array type for data type {}", ty.display_name()),
            ),
            ResolveError::NotComparable(needed, ty) => Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify {needed} for type {}", ty.display_name()),
            ),
            ResolveError::NotAnArray => {
                Error::new(SqlState::DATATYPE_MISMATCH, "VARIADIC argument must be an array")
            }
            _ => Error::new(
                SqlState::DATATYPE_MISMATCH,
                "could not determine polymorphic type because input has type unknown",
            ),
        }
    }

    /// What a client is told about a function.
    pub fn of_function(self, name: &str, args: &[Untyped]) -> Error {
        let call = format!("{name}({})", type_names(args).join(", "));
        match self {
            ResolveError::NotFound => {
                Error::new(SqlState::UNDEFINED_FUNCTION, format!("function {call} does not exist"))
                    .with_hint(
                        "No function matches the given name and argument types. \
                         You might need to add explicit type casts.",
                    )
            }
            ResolveError::Ambiguous => {
                Error::new(SqlState::AMBIGUOUS_FUNCTION, format!("function {call} is not unique"))
                    .with_hint(
                        "Could not choose a best candidate function. \
                         You might need to add explicit type casts.",
                    )
            }
            ResolveError::Unsupported => Error::unsupported(
                format!("function {call}"),
                "weir_catalog and pg_catalog.pg_proc list the functions that there are.",
            ),
            other => other.of_polymorphic(),
        }
    }

    /// What a client is told about an operator.
    pub fn of_operator(self, symbol: &str, left: Option<Untyped>, right: Untyped) -> Error {
        let operands: Vec<_> = left.into_iter().chain([right]).collect();
        let names = type_names(&operands);
        let call = match names.as_slice() {
            [left, right] => format!("{left} {symbol} {right}"),
            names => format!("{symbol} {}", names.join(" ")),
        };
        match self {
            ResolveError::NotFound => {
                let hint = match left {
                    Some(_) => {
                        "No operator matches the given name and argument types. \
                         You might need to add explicit type casts."
                    }
                    None => {
                        "No operator matches the given name and argument type. \
                         You might need to add an explicit type cast."
                    }
                };
                let message = format!("operator does not exist: {call}");
                Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(hint)
            }
            ResolveError::Ambiguous => {
                Error::new(SqlState::AMBIGUOUS_FUNCTION, format!("operator is not unique: {call}"))
                    .with_hint(
                        "Could not choose a best candidate operator. \
                         You might need to add explicit type casts.",
                    )
            }
            ResolveError::Unsupported => Error::unsupported(
                format!("operator {call}"),
                "pg_catalog.pg_operator lists the operators that there are.",
            ),
            other => other.of_polymorphic(),
        }
    }
}

fn type_names(types: &[Untyped]) -> Vec<&'static str> {
    types.iter().map(|ty| ty.map_or("unknown", ScalarType::display_name)).collect()
}
