//! Aggregate functions by name.

use crate::expr::aggregate::AggFunc;
use crate::expr::cast::Cast;
use crate::expr::functions::resolve::ResolveError;
use crate::expr::functions::types::{is_coercible, is_preferred};
use crate::repr::ScalarType;

/// An aggregate as `pg_proc` has it.
#[derive(Clone, Copy, Debug)]
pub struct AggregateDef {
    /// PostgreSQL's `pg_proc.oid`.
    pub oid: u32,
    /// The name.
    pub name: &'static str,
    /// The type of the argument; none where it may be any.
    pub arg: Option<ScalarType>,
    /// What it computes.
    pub func: AggFunc,
}

/// The aggregate that is meant.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedAggregate {
    /// What it computes.
    pub func: AggFunc,
    /// The type that the argument must have; none for `count`.
    pub ty: Option<ScalarType>,
    /// How the argument gets it; none where it has it, or had no type.
    pub cast: Option<Cast>,
}

/// Every aggregate but `count(*)`, which is oid 2803.
pub static AGGREGATES: &[AggregateDef] = &{
    use AggFunc::*;
    use ScalarType::*;
    const fn def(oid: u32, name: &'static str, arg: ScalarType, func: AggFunc) -> AggregateDef {
        AggregateDef { oid, name, arg: Some(arg), func }
    }
    [
        AggregateDef { oid: 2147, name: "count", arg: None, func: Count },
        def(2109, "sum", Int2, Sum(Int2)),
        def(2108, "sum", Int4, Sum(Int4)),
        def(2107, "sum", Int8, Sum(Int8)),
        def(2110, "sum", Float4, Sum(Float4)),
        def(2111, "sum", Float8, Sum(Float8)),
        def(2114, "sum", Numeric, Sum(Numeric)),
        def(2113, "sum", Interval, Sum(Interval)),
        def(2102, "avg", Int2, Avg(Int2)),
        def(2101, "avg", Int4, Avg(Int4)),
        def(2100, "avg", Int8, Avg(Int8)),
        def(2104, "avg", Float4, Avg(Float4)),
        def(2105, "avg", Float8, Avg(Float8)),
        def(2103, "avg", Numeric, Avg(Numeric)),
        def(2106, "avg", Interval, Avg(Interval)),
        def(2131, "min", Int8, Min(Int8)),
        def(2133, "min", Int2, Min(Int2)),
        def(2132, "min", Int4, Min(Int4)),
        def(2145, "min", Text, Min(Text)),
        def(2134, "min", Oid, Min(Oid)),
        def(2135, "min", Float4, Min(Float4)),
        def(2136, "min", Float8, Min(Float8)),
        def(2245, "min", Bpchar, Min(Bpchar)),
        def(2138, "min", Date, Min(Date)),
        def(2139, "min", Time, Min(Time)),
        def(2142, "min", Timestamp, Min(Timestamp)),
        def(2143, "min", TimestampTz, Min(TimestampTz)),
        def(2144, "min", Interval, Min(Interval)),
        def(2146, "min", Numeric, Min(Numeric)),
        def(2115, "max", Int8, Max(Int8)),
        def(2117, "max", Int2, Max(Int2)),
        def(2116, "max", Int4, Max(Int4)),
        def(2129, "max", Text, Max(Text)),
        def(2118, "max", Oid, Max(Oid)),
        def(2119, "max", Float4, Max(Float4)),
        def(2120, "max", Float8, Max(Float8)),
        def(2244, "max", Bpchar, Max(Bpchar)),
        def(2122, "max", Date, Max(Date)),
        def(2123, "max", Time, Max(Time)),
        def(2126, "max", Timestamp, Max(Timestamp)),
        def(2127, "max", TimestampTz, Max(TimestampTz)),
        def(2128, "max", Interval, Max(Interval)),
        def(2130, "max", Numeric, Max(Numeric)),
        def(2517, "bool_and", Bool, BoolAnd),
        def(2519, "every", Bool, BoolAnd),
        def(2518, "bool_or", Bool, BoolOr),
    ]
};

/// PostgreSQL's other aggregates.
const ABSENT: &[&str] = &[
    "any_value",
    "array_agg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "corr",
    "covar_pop",
    "covar_samp",
    "cume_dist",
    "json_agg",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_object_agg",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "range_agg",
    "range_intersect_agg",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "var_pop",
    "var_samp",
    "variance",
    "xmlagg",
];

/// Whether a name is that of an aggregate, of PostgreSQL's or ours.
pub fn is_aggregate(name: &str) -> bool {
    ABSENT.contains(&name) || AGGREGATES.iter().any(|a| a.name == name)
}

/// `min` and `max` of arrays, as far as they can be ordered by their keys.
fn extreme_array(name: &str, ty: ScalarType) -> Result<ResolvedAggregate, ResolveError> {
    if !ty.key_is_ordered() {
        return Err(ResolveError::Unsupported);
    }
    let func = if name == "min" { AggFunc::Min(ty) } else { AggFunc::Max(ty) };
    Ok(ResolvedAggregate { func, ty: Some(ty), cast: None })
}

/// Finds the aggregate of a name that fits its arguments best; none is `count(*)`.
pub fn resolve_aggregate(
    name: &str,
    args: &[Option<ScalarType>],
) -> Result<ResolvedAggregate, ResolveError> {
    if ABSENT.contains(&name) {
        return Err(ResolveError::Unsupported);
    }
    let arg = match (name, args) {
        ("count", []) => {
            return Ok(ResolvedAggregate { func: AggFunc::CountStar, ty: None, cast: None });
        }
        ("count", [_]) => {
            return Ok(ResolvedAggregate { func: AggFunc::Count, ty: None, cast: None });
        }
        ("min" | "max", [Some(ty @ ScalarType::Array(_))]) => return extreme_array(name, *ty),
        (_, [arg]) => *arg,
        _ => return Err(ResolveError::NotFound),
    };
    let named = || AGGREGATES.iter().filter(|a| a.name == name).filter_map(|a| Some((a, a.arg?)));
    let exact = named().find(|(_, ty)| Some(*ty) == arg);
    let found = match (exact, arg) {
        (Some(found), _) => found,
        // A literal: text if that is among them, as for functions.
        (None, None) => {
            let text = named().find(|(_, ty)| *ty == ScalarType::Text);
            let mut all = named();
            match (text, all.next(), all.next()) {
                (Some(found), _, _) | (None, Some(found), None) => found,
                (None, None, _) => return Err(ResolveError::NotFound),
                (None, Some(_), Some(_)) => return Err(ResolveError::Ambiguous),
            }
        }
        (None, Some(_)) => {
            let fitting: Vec<_> = named().filter(|(_, ty)| is_coercible(arg, *ty)).collect();
            let preferred: Vec<_> =
                fitting.iter().copied().filter(|(_, ty)| is_preferred(*ty)).collect();
            match (fitting.as_slice(), preferred.as_slice()) {
                ([found], _) | (_, [found]) => *found,
                ([], _) => return Err(ResolveError::NotFound),
                _ => return Err(ResolveError::Ambiguous),
            }
        }
    };
    let (def, ty) = found;
    let cast = arg.filter(|from| *from != ty).and_then(|from| Cast::find(from, ty));
    Ok(ResolvedAggregate { func: def.func, ty: Some(ty), cast })
}
