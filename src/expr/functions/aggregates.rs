//! Aggregate functions by name.

use crate::expr::aggregate::{AggFunc, Hypothetical, Paired as Statistic, Spread};
use crate::expr::cast::Cast;
use crate::expr::functions::resolve::ResolveError;
use crate::expr::functions::types::{is_coercible, is_preferred};
use crate::repr::ScalarType;
use crate::repr::ScalarType::Text;

/// An aggregate as `pg_proc` has it.
#[derive(Clone, Copy, Debug)]
pub struct AggregateDef {
    /// PostgreSQL's `pg_proc.oid`.
    pub oid: u32,
    /// The name.
    pub name: &'static str,
    /// The types of the arguments; none where one may be of any type.
    pub args: &'static [Option<ScalarType>],
    /// What it computes.
    pub func: AggFunc,
}

/// The aggregate that is meant.
#[derive(Clone, Debug)]
pub struct ResolvedAggregate {
    /// What it computes.
    pub func: AggFunc,
    /// The type that each argument must have; none where it may be any.
    pub types: Vec<Option<ScalarType>>,
    /// How each argument gets it; none where it has it, or had no type.
    pub casts: Vec<Option<Cast>>,
}

/// Every aggregate but `count(*)`, which is oid 2803, and those that need WITHIN GROUP.
pub static AGGREGATES: &[AggregateDef] = &{
    use AggFunc::*;
    use ScalarType::*;
    type Args = &'static [Option<ScalarType>];
    const fn def(oid: u32, name: &'static str, args: Args, func: AggFunc) -> AggregateDef {
        AggregateDef { oid, name, args, func }
    }
    const ANY: Args = &[None];
    const ANY_TWO: Args = &[None, None];
    const BOOL: Args = &[Some(Bool)];
    const INT2: Args = &[Some(Int2)];
    const INT4: Args = &[Some(Int4)];
    const INT8: Args = &[Some(Int8)];
    const OID: Args = &[Some(Oid)];
    const FLOAT4: Args = &[Some(Float4)];
    const FLOAT8: Args = &[Some(Float8)];
    const NUMERIC: Args = &[Some(Numeric)];
    const TEXT: Args = &[Some(Text)];
    const BPCHAR: Args = &[Some(Bpchar)];
    const DATE: Args = &[Some(Date)];
    const TIME: Args = &[Some(Time)];
    const TIMETZ: Args = &[Some(TimeTz)];
    const TIMESTAMP: Args = &[Some(Timestamp)];
    const TIMESTAMPTZ: Args = &[Some(TimestampTz)];
    const TIMESTAMP_NS: Args = &[Some(TimestampNs)];
    const INTERVAL: Args = &[Some(Interval)];
    const INET: Args = &[Some(Inet)];
    const BIT: Args = &[Some(Bit)];
    const FLOATS: Args = &[Some(Float8), Some(Float8)];
    const TEXTS: Args = &[Some(Text), Some(Text)];
    const BYTEAS: Args = &[Some(Bytea), Some(Bytea)];
    const fn var(ty: ScalarType, sample: bool) -> AggFunc {
        Variance(Spread { ty, sample })
    }
    const fn dev(ty: ScalarType, sample: bool) -> AggFunc {
        Stddev(Spread { ty, sample })
    }
    [
        def(2147, "count", ANY, Count),
        def(2109, "sum", INT2, Sum(Int2)),
        def(2108, "sum", INT4, Sum(Int4)),
        def(2107, "sum", INT8, Sum(Int8)),
        def(2110, "sum", FLOAT4, Sum(Float4)),
        def(2111, "sum", FLOAT8, Sum(Float8)),
        def(2114, "sum", NUMERIC, Sum(Numeric)),
        def(2113, "sum", INTERVAL, Sum(Interval)),
        def(2102, "avg", INT2, Avg(Int2)),
        def(2101, "avg", INT4, Avg(Int4)),
        def(2100, "avg", INT8, Avg(Int8)),
        def(2104, "avg", FLOAT4, Avg(Float4)),
        def(2105, "avg", FLOAT8, Avg(Float8)),
        def(2103, "avg", NUMERIC, Avg(Numeric)),
        def(2106, "avg", INTERVAL, Avg(Interval)),
        def(2131, "min", INT8, Min(Int8)),
        def(2133, "min", INT2, Min(Int2)),
        def(2132, "min", INT4, Min(Int4)),
        def(2145, "min", TEXT, Min(Text)),
        def(2134, "min", OID, Min(Oid)),
        def(2135, "min", FLOAT4, Min(Float4)),
        def(2136, "min", FLOAT8, Min(Float8)),
        def(2245, "min", BPCHAR, Min(Bpchar)),
        def(2138, "min", DATE, Min(Date)),
        def(2139, "min", TIME, Min(Time)),
        def(2140, "min", TIMETZ, Min(TimeTz)),
        def(2142, "min", TIMESTAMP, Min(Timestamp)),
        def(2143, "min", TIMESTAMPTZ, Min(TimestampTz)),
        def(90_860, "min", TIMESTAMP_NS, Min(TimestampNs)),
        def(2144, "min", INTERVAL, Min(Interval)),
        def(2146, "min", NUMERIC, Min(Numeric)),
        def(3565, "min", INET, Min(Inet)),
        def(2115, "max", INT8, Max(Int8)),
        def(2117, "max", INT2, Max(Int2)),
        def(2116, "max", INT4, Max(Int4)),
        def(2129, "max", TEXT, Max(Text)),
        def(2118, "max", OID, Max(Oid)),
        def(2119, "max", FLOAT4, Max(Float4)),
        def(2120, "max", FLOAT8, Max(Float8)),
        def(2244, "max", BPCHAR, Max(Bpchar)),
        def(2122, "max", DATE, Max(Date)),
        def(2123, "max", TIME, Max(Time)),
        def(2124, "max", TIMETZ, Max(TimeTz)),
        def(2126, "max", TIMESTAMP, Max(Timestamp)),
        def(2127, "max", TIMESTAMPTZ, Max(TimestampTz)),
        def(90_861, "max", TIMESTAMP_NS, Max(TimestampNs)),
        def(2128, "max", INTERVAL, Max(Interval)),
        def(2130, "max", NUMERIC, Max(Numeric)),
        def(3564, "max", INET, Max(Inet)),
        def(2517, "bool_and", BOOL, BoolAnd),
        def(2519, "every", BOOL, BoolAnd),
        def(2518, "bool_or", BOOL, BoolOr),
        def(2718, "var_pop", INT8, var(Int8, false)),
        def(2719, "var_pop", INT4, var(Int4, false)),
        def(2720, "var_pop", INT2, var(Int2, false)),
        def(2721, "var_pop", FLOAT4, var(Float4, false)),
        def(2722, "var_pop", FLOAT8, var(Float8, false)),
        def(2723, "var_pop", NUMERIC, var(Numeric, false)),
        def(2641, "var_samp", INT8, var(Int8, true)),
        def(2642, "var_samp", INT4, var(Int4, true)),
        def(2643, "var_samp", INT2, var(Int2, true)),
        def(2644, "var_samp", FLOAT4, var(Float4, true)),
        def(2645, "var_samp", FLOAT8, var(Float8, true)),
        def(2646, "var_samp", NUMERIC, var(Numeric, true)),
        def(2148, "variance", INT8, var(Int8, true)),
        def(2149, "variance", INT4, var(Int4, true)),
        def(2150, "variance", INT2, var(Int2, true)),
        def(2151, "variance", FLOAT4, var(Float4, true)),
        def(2152, "variance", FLOAT8, var(Float8, true)),
        def(2153, "variance", NUMERIC, var(Numeric, true)),
        def(2724, "stddev_pop", INT8, dev(Int8, false)),
        def(2725, "stddev_pop", INT4, dev(Int4, false)),
        def(2726, "stddev_pop", INT2, dev(Int2, false)),
        def(2727, "stddev_pop", FLOAT4, dev(Float4, false)),
        def(2728, "stddev_pop", FLOAT8, dev(Float8, false)),
        def(2729, "stddev_pop", NUMERIC, dev(Numeric, false)),
        def(2712, "stddev_samp", INT8, dev(Int8, true)),
        def(2713, "stddev_samp", INT4, dev(Int4, true)),
        def(2714, "stddev_samp", INT2, dev(Int2, true)),
        def(2715, "stddev_samp", FLOAT4, dev(Float4, true)),
        def(2716, "stddev_samp", FLOAT8, dev(Float8, true)),
        def(2717, "stddev_samp", NUMERIC, dev(Numeric, true)),
        def(2154, "stddev", INT8, dev(Int8, true)),
        def(2155, "stddev", INT4, dev(Int4, true)),
        def(2156, "stddev", INT2, dev(Int2, true)),
        def(2157, "stddev", FLOAT4, dev(Float4, true)),
        def(2158, "stddev", FLOAT8, dev(Float8, true)),
        def(2159, "stddev", NUMERIC, dev(Numeric, true)),
        def(2236, "bit_and", INT2, BitAnd(Int2)),
        def(2238, "bit_and", INT4, BitAnd(Int4)),
        def(2240, "bit_and", INT8, BitAnd(Int8)),
        def(2242, "bit_and", BIT, BitAnd(Bit)),
        def(2237, "bit_or", INT2, BitOr(Int2)),
        def(2239, "bit_or", INT4, BitOr(Int4)),
        def(2241, "bit_or", INT8, BitOr(Int8)),
        def(2243, "bit_or", BIT, BitOr(Bit)),
        def(6164, "bit_xor", INT2, BitXor(Int2)),
        def(6165, "bit_xor", INT4, BitXor(Int4)),
        def(6166, "bit_xor", INT8, BitXor(Int8)),
        def(6167, "bit_xor", BIT, BitXor(Bit)),
        def(2829, "corr", FLOATS, Paired(Statistic::Corr)),
        def(2827, "covar_pop", FLOATS, Paired(Statistic::CovarPop)),
        def(2828, "covar_samp", FLOATS, Paired(Statistic::CovarSamp)),
        def(2818, "regr_count", FLOATS, Paired(Statistic::RegrCount)),
        def(2819, "regr_sxx", FLOATS, Paired(Statistic::RegrSxx)),
        def(2820, "regr_syy", FLOATS, Paired(Statistic::RegrSyy)),
        def(2821, "regr_sxy", FLOATS, Paired(Statistic::RegrSxy)),
        def(2822, "regr_avgx", FLOATS, Paired(Statistic::RegrAvgX)),
        def(2823, "regr_avgy", FLOATS, Paired(Statistic::RegrAvgY)),
        def(2824, "regr_r2", FLOATS, Paired(Statistic::RegrR2)),
        def(2825, "regr_slope", FLOATS, Paired(Statistic::RegrSlope)),
        def(2826, "regr_intercept", FLOATS, Paired(Statistic::RegrIntercept)),
        def(3538, "string_agg", TEXTS, StringAgg(Text)),
        def(3545, "string_agg", BYTEAS, StringAgg(Bytea)),
        def(3267, "jsonb_agg", ANY, JsonbAgg),
        def(3270, "jsonb_object_agg", ANY_TWO, JsonbObjectAgg),
        def(3175, "json_agg", ANY, JsonAgg),
        def(3197, "json_object_agg", ANY_TWO, JsonObjectAgg),
    ]
};

/// PostgreSQL's other aggregates.
const ABSENT: &[&str] = &["any_value", "xmlagg"];

/// Those of ranges and multiranges.
const OF_RANGES: &[&str] = &["range_agg", "range_intersect_agg"];

/// What needs WITHIN GROUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedSet {
    /// The most frequent value.
    Mode,
    /// A value by a fraction.
    PercentileDisc,
    /// A value between two by a fraction.
    PercentileCont,
    /// Where a row would stand.
    Hypothetical(Hypothetical),
}

impl OrderedSet {
    /// How many arguments it has, those in the order counted too; none where that differs.
    pub fn arity(self) -> Option<usize> {
        match self {
            OrderedSet::Mode => Some(1),
            OrderedSet::PercentileDisc | OrderedSet::PercentileCont => Some(2),
            OrderedSet::Hypothetical(_) => None,
        }
    }
}

/// The ordered-set aggregates by name.
const ORDERED_SETS: &[(&str, OrderedSet)] = &[
    ("mode", OrderedSet::Mode),
    ("percentile_disc", OrderedSet::PercentileDisc),
    ("percentile_cont", OrderedSet::PercentileCont),
    ("rank", OrderedSet::Hypothetical(Hypothetical::Rank)),
    ("dense_rank", OrderedSet::Hypothetical(Hypothetical::DenseRank)),
    ("percent_rank", OrderedSet::Hypothetical(Hypothetical::PercentRank)),
    ("cume_dist", OrderedSet::Hypothetical(Hypothetical::CumeDist)),
];

/// The ordered-set aggregate of a name.
pub fn ordered_set(name: &str) -> Option<OrderedSet> {
    ORDERED_SETS.iter().find(|(of, _)| *of == name).map(|(_, set)| *set)
}

/// Whether a name is that of an aggregate, of PostgreSQL's or ours. Names of ordered-set
/// aggregates are not among them where window functions share them.
pub fn is_aggregate(name: &str) -> bool {
    ABSENT.contains(&name)
        || name == "array_agg"
        || OF_RANGES.contains(&name)
        || AGGREGATES.iter().any(|a| a.name == name)
        || ordered_set(name).is_some_and(|set| !matches!(set, OrderedSet::Hypothetical(_)))
}

/// `min` and `max` of arrays and enums, as far as they can be ordered by their keys.
fn extreme_array(name: &str, ty: ScalarType) -> Result<ResolvedAggregate, ResolveError> {
    if !ty.key_is_ordered() {
        return Err(ResolveError::Unsupported);
    }
    let func = if name == "min" { AggFunc::Min(ty) } else { AggFunc::Max(ty) };
    Ok(ResolvedAggregate { func, types: vec![Some(ty)], casts: vec![None] })
}

/// `range_agg` and `range_intersect_agg`, of ranges and of multiranges.
fn of_ranges(name: &str, ty: Option<ScalarType>) -> Result<ResolvedAggregate, ResolveError> {
    let func = match (name, ty) {
        (_, None) => return Err(ResolveError::Ambiguous),
        ("range_agg", Some(ScalarType::Range(kind) | ScalarType::Multirange(kind))) => {
            AggFunc::RangeAgg(kind)
        }
        (_, Some(ty @ (ScalarType::Range(_) | ScalarType::Multirange(_)))) => {
            AggFunc::RangeIntersectAgg(ty)
        }
        _ => return Err(ResolveError::NotFound),
    };
    Ok(ResolvedAggregate { func, types: vec![ty], casts: vec![None] })
}

/// Finds the aggregate of a name that fits its arguments best; none is `count(*)`.
pub fn resolve_aggregate(
    name: &str,
    args: &[Option<ScalarType>],
) -> Result<ResolvedAggregate, ResolveError> {
    if ABSENT.contains(&name) {
        return Err(ResolveError::Unsupported);
    }
    if (name, args.len()) == ("count", 0) {
        let func = AggFunc::CountStar;
        return Ok(ResolvedAggregate { func, types: vec![], casts: vec![] });
    }
    match (name, args) {
        ("min" | "max", [Some(ty @ (ScalarType::Array(_) | ScalarType::Enum(_)))]) => {
            return extreme_array(name, *ty);
        }
        (name, [ty]) if OF_RANGES.contains(&name) => return of_ranges(name, *ty),
        ("array_agg", [None]) => return Err(ResolveError::Ambiguous),
        ("array_agg", [Some(ty)]) => {
            let func = AggFunc::ArrayAgg(*ty);
            return Ok(ResolvedAggregate { func, types: vec![Some(*ty)], casts: vec![None] });
        }
        _ => {}
    }
    let named = AGGREGATES.iter().filter(|a| a.name == name && a.args.len() == args.len());
    let mut fitting: Vec<&AggregateDef> = named.filter(|a| a.accepts(args)).collect();
    // As for functions: the most types that are the same, then the most preferred ones; a literal
    // is text if that is among them.
    keep_best(&mut fitting, |a| a.matching(args, |from, to| from == Some(to)));
    keep_best(&mut fitting, |a| {
        a.matching(args, |from, to| from == Some(to) || from.is_some() && is_preferred(to))
    });
    keep_best(&mut fitting, |a| a.matching(args, |from, to| from.is_none() && to == Text));
    match fitting[..] {
        [] => Err(ResolveError::NotFound),
        [def] => Ok(def.resolve(args)),
        _ => Err(ResolveError::Ambiguous),
    }
}

fn keep_best(defs: &mut Vec<&AggregateDef>, score: impl Fn(&AggregateDef) -> usize) {
    let best = defs.iter().map(|def| score(def)).max();
    defs.retain(|def| Some(score(def)) == best);
}

impl AggregateDef {
    fn accepts(&self, args: &[Option<ScalarType>]) -> bool {
        let mut pairs = self.args.iter().zip(args);
        pairs.all(|(to, from)| to.is_none_or(|to| from.is_none() || is_coercible(*from, to)))
    }

    /// How many arguments match by a rule.
    fn matching(
        &self,
        args: &[Option<ScalarType>],
        rule: impl Fn(Option<ScalarType>, ScalarType) -> bool,
    ) -> usize {
        let pairs = self.args.iter().zip(args);
        pairs.filter(|(to, from)| to.is_some_and(|to| rule(**from, to))).count()
    }

    fn resolve(&self, args: &[Option<ScalarType>]) -> ResolvedAggregate {
        let cast = |(to, from): (&Option<ScalarType>, &Option<ScalarType>)| {
            let (to, from) = ((*to)?, (*from)?);
            (from != to).then(|| Cast::find(from, to)).flatten()
        };
        let casts = self.args.iter().zip(args).map(cast).collect();
        ResolvedAggregate { func: self.func, types: self.args.to_vec(), casts }
    }
}
