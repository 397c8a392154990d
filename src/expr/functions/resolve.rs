//! Which function or operator is meant: PostgreSQL's rules (its manual's chapter on type
//! conversion; `func_select_candidate`).
//!
//! Arguments without a type yet, literals and parameters, are `None`. The answer says which type
//! each argument must get; the caller gives untyped ones that type.

use crate::error::{Error, SqlState};
use crate::expr::cast::Cast;
use crate::expr::func::{Func, FuncDef};
use crate::expr::functions::registry;
use crate::expr::functions::types::{Category, category, is_coercible, is_preferred};
use crate::expr::scalar::Expr;
use crate::repr::ScalarType;

/// PostgreSQL's operators between types that Weir has one of at most.
const UNSUPPORTED_OPERATORS: [&str; 12] =
    ["#>", "#>>", "#-", "?|", "?&", "@?", "@@", "&&", "<->", "&<", "&>", "-|-"];

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
}

/// Finds the function of a name that fits arguments best.
pub fn resolve_function(name: &str, args: &[Untyped]) -> Result<Resolved, ResolveError> {
    let named = registry::named(name);
    if named.is_empty() && registry::is_postgresqls(name) {
        return Err(ResolveError::Unsupported);
    }
    choose(named.iter().filter_map(|f| Candidate::new(f, args.len())).collect(), args, None)
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
        .filter_map(|f| Candidate::new(f, 1 + usize::from(left.is_some())))
        .collect();
    let Some(left) = left else { return choose(candidates, &[right], None) };
    // A literal beside a value is first taken to be of that value's type.
    let same = [left.or(right), right.or(left)];
    if candidates.is_empty() && UNSUPPORTED_OPERATORS.contains(&symbol) {
        return Err(ResolveError::Unsupported);
    }
    let found = choose(candidates, &[left, right], Some(&same));
    match found {
        Err(ResolveError::NotFound) if symbol == "||" => concatenate_any(left, right),
        found => found,
    }
}

/// Text beside a value of any other type: the value's text form (`textanycat`).
fn concatenate_any(left: Untyped, right: Untyped) -> Result<Resolved, ResolveError> {
    let is_text = |ty: Untyped| ty.is_none_or(|ty| category(ty) == Category::String);
    if !is_text(left) && !is_text(right) {
        return Err(ResolveError::NotFound);
    }
    let text = Some(ScalarType::Text);
    let mut found = resolve_operator("||", Some(text), text)?;
    found.casts = [left, right].map(|ty| conversion(ty, ScalarType::Text)).into();
    Ok(found)
}

/// A function with the types of as many arguments as there are.
#[derive(Clone)]
struct Candidate {
    func: &'static FuncDef,
    types: Vec<ScalarType>,
}

impl Candidate {
    fn new(func: &'static FuncDef, count: usize) -> Option<Candidate> {
        let fits = match func.variadic {
            None => func.args.len() == count,
            Some(_) => func.args.len() < count,
        };
        let types = (0..count).map(|i| func.arg_type(i)).collect::<Option<Vec<_>>>();
        types.filter(|_| fits).map(|types| Candidate { func, types })
    }

    fn accepts(&self, args: &[Untyped]) -> bool {
        args.iter()
            .zip(&self.types)
            .enumerate()
            .all(|(i, (arg, ty))| is_coercible(*arg, *ty) || self.func.takes_any(i))
    }

    fn count(&self, args: &[Untyped], good: impl Fn(ScalarType, ScalarType) -> bool) -> usize {
        let slots = args.iter().zip(&self.types).enumerate();
        let known = slots
            .filter(|(i, _)| !self.func.takes_any(*i))
            .filter_map(|(_, (arg, ty))| arg.map(|a| (a, *ty)));
        known.filter(|(arg, ty)| good(*arg, *ty)).count()
    }

    fn resolve(&self, args: &[Untyped]) -> Resolved {
        let mut types = self.types.clone();
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| self.func.takes_any(*i)) {
            types[i] = arg.unwrap_or(types[i]);
        }
        let casts = args.iter().zip(&types).map(|(arg, ty)| conversion(*arg, *ty)).collect();
        Resolved { func: Func(self.func), types, casts }
    }
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
    let is_exact = |c: &&Candidate| c.types.iter().map(|ty| Some(*ty)).eq(exact.iter().copied());
    if let Some(candidate) = candidates.iter().find(is_exact) {
        return Ok(candidate.resolve(args));
    }
    let mut fitting: Vec<_> = candidates.into_iter().filter(|c| c.accepts(args)).collect();
    match fitting.len() {
        0 => Err(ResolveError::NotFound),
        1 => Ok(fitting.remove(0).resolve(args)),
        _ => select(fitting, args).map(|c| c.resolve(args)).ok_or(ResolveError::Ambiguous),
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
        let mut types = candidates.iter().map(|c| c.types[slot]);
        let first = types.clone().next().map(category);
        let chosen = match first {
            _ if types.any(|ty| category(ty) == Category::String) => Category::String,
            Some(first) if candidates.iter().all(|c| category(c.types[slot]) == first) => first,
            _ => return candidates,
        };
        let mut of_category = candidates.iter().map(|c| c.types[slot]);
        let preferred = of_category.any(|ty| category(ty) == chosen && is_preferred(ty));
        likely.push((slot, chosen, preferred));
    }
    let fits = |c: &Candidate| {
        likely.iter().all(|(slot, chosen, preferred)| {
            let ty = c.types[*slot];
            !c.func.takes_any(*slot) && category(ty) == *chosen && (!preferred || is_preferred(ty))
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
        }
    }
}

fn type_names(types: &[Untyped]) -> Vec<&'static str> {
    types.iter().map(|ty| ty.map_or("unknown", ScalarType::display_name)).collect()
}
