//! Which keys of an arrangement a filter lets through.
//!
//! Only predicates of the form "part of the key compared with a literal" are looked at, and what
//! they say stays a predicate as well: keys found here may be too many, never too few. Literals
//! are brought to the key's type first, which is done for integers and text alone; a comparison
//! across other types is no bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expr::mfp::Mfp;
use crate::expr::scalar::{Expr, Literal};
use crate::optimizer::comparison::{Op, literal_as, with_literal, without_widening};
use crate::plan::physical::{Arrangement, Bounds};
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::{Datum, Row, ScalarType};

/// More keys than this are not looked up one by one.
const KEYS_MAX: usize = 10_000;

/// How the rows that a filter lets through are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Under these keys: literals for each part of the key, and the encoded key.
    Keys(BTreeMap<Row, Vec<Literal>>),
    /// In a range, after so many parts of the key that are known.
    Range {
        /// Parts of the key that are known.
        fixed: usize,
        /// Whether the next part has a bound, too.
        bounded: bool,
        /// The range.
        bounds: Bounds,
    },
    /// Anywhere.
    All,
}

impl Access {
    /// Whether this reads less.
    pub fn is_better_than(&self, other: &Access) -> bool {
        self.rank() > other.rank()
    }

    fn rank(&self) -> (u8, usize, bool) {
        match self {
            Access::Keys(keys) => (2, usize::MAX - keys.len(), false),
            Access::Range { fixed, bounded, .. } => (1, *fixed, *bounded),
            Access::All => (0, 0, false),
        }
    }

    /// As the part of the arrangement to read.
    pub fn bounds(self) -> Bounds {
        match self {
            Access::Keys(keys) => Bounds::Keys(Arc::new(keys.into_keys().collect())),
            Access::Range { bounds, .. } => bounds,
            Access::All => Bounds::All,
        }
    }
}

/// Finds the keys of the rows that pass the filter of `mfp`, whose input is the relation's columns.
pub fn access(layout: &Arrangement, mfp: &Mfp) -> Access {
    if layout.key.is_empty() {
        return Access::All;
    }
    let over_input = |p: &&Expr| p.columns().iter().all(|c| *c < mfp.input_arity);
    let predicates: Vec<&Expr> = mfp.predicates.iter().map(|(_, p)| p).filter(over_input).collect();
    let known = alternatives(layout, &predicates);
    if let Some(keys) = whole_keys(layout, &known) {
        return Access::Keys(keys);
    }
    // A range begins with parts that are known for sure.
    let fixed = match known.as_slice() {
        [only] => only.clone(),
        _ => Known::new(),
    };
    range(layout, &predicates, &fixed)
}

/// Literals for parts of the key.
type Known = BTreeMap<usize, Literal>;

/// The part of the key that an expression is.
fn part_of(layout: &Arrangement, expr: &Expr) -> Option<usize> {
    let expr = without_widening(expr);
    layout.key.iter().position(|k| without_widening(k) == expr)
}

/// Disjunctive form: in each row that passes, all of one of these hold.
fn alternatives(layout: &Arrangement, predicates: &[&Expr]) -> Vec<Known> {
    let mut all = vec![Known::new()];
    for predicate in predicates {
        if let Some(more) = of_predicate(layout, predicate)
            && all.len() * more.len() <= KEYS_MAX
        {
            all = product(layout, &all, &more);
        }
    }
    all
}

fn of_predicate(layout: &Arrangement, predicate: &Expr) -> Option<Vec<Known>> {
    match predicate {
        Expr::And(parts) => {
            let parts: Vec<&Expr> = parts.iter().collect();
            let all = alternatives(layout, &parts);
            (all != [Known::new()]).then_some(all)
        }
        Expr::Or(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(of_predicate(layout, part)?);
            }
            Some(all)
        }
        other => {
            if let Some(parts) = other.alternatives(KEYS_MAX) {
                return of_predicate(layout, &Expr::Or(parts));
            }
            let (expr, op, literal) = with_literal(other)?;
            let part = part_of(layout, expr).filter(|_| op == Op::Eq)?;
            let literal = bring(literal, layout.key_types[part])?;
            Some(vec![Known::from([(part, literal)])])
        }
    }
}

fn bring(literal: &Literal, ty: ScalarType) -> Option<Literal> {
    literal_as(literal, ty).filter(|l| !l.datum().is_null())
}

/// Both hold; what contradicts itself is left out.
fn product(layout: &Arrangement, a: &[Known], b: &[Known]) -> Vec<Known> {
    let mut all = Vec::new();
    for x in a {
        for y in b {
            let agree = y.iter().all(|(part, literal)| {
                let ty = layout.key_types[*part];
                x.get(part).is_none_or(|l| l.datum().compare_as(ty, &literal.datum()).is_eq())
            });
            if agree {
                let mut both = x.clone();
                both.extend(y.iter().map(|(part, literal)| (*part, literal.clone())));
                all.push(both);
            }
        }
    }
    all
}

fn whole_keys(layout: &Arrangement, all: &[Known]) -> Option<BTreeMap<Row, Vec<Literal>>> {
    let mut keys = BTreeMap::new();
    for known in all {
        let literals: Option<Vec<Literal>> =
            (0..layout.key.len()).map(|part| known.get(&part).cloned()).collect();
        let literals = literals?;
        keys.insert(Row::new(&encode(layout, &literals)), literals);
    }
    Some(keys)
}

fn encode(layout: &Arrangement, literals: &[Literal]) -> Vec<u8> {
    let datums: Vec<Datum<'_>> = literals.iter().map(Literal::datum).collect();
    let mut key = Vec::new();
    encode_key(layout.mode, &layout.key_types[..literals.len()], &datums, &mut key);
    key
}

fn range(layout: &Arrangement, predicates: &[&Expr], known: &Known) -> Access {
    let prefix: Vec<Literal> =
        (0..layout.key.len()).map_while(|part| known.get(&part).cloned()).collect();
    let fixed = prefix.len();
    let start = encode(layout, &prefix);
    let (mut lo, mut hi) = (start.clone(), successor(&start));
    let mut bounded = false;
    for predicate in predicates {
        let Some((expr, op, literal)) = with_literal(predicate) else { continue };
        if part_of(layout, expr) != Some(fixed) || !layout.key_types[fixed].key_is_ordered() {
            continue;
        }
        let Some(literal) = bring(literal, layout.key_types[fixed]) else { continue };
        let mut whole = prefix.clone();
        whole.push(literal);
        let at = encode(layout, &whole);
        bounded = true;
        // Keys that begin with `at` are those of equal values.
        match op {
            Op::Eq => continue,
            Op::Ge => lo = lo.max(at),
            Op::Gt => match successor(&at) {
                Some(next) => lo = lo.max(next),
                None => return Access::Keys(BTreeMap::new()),
            },
            Op::Lt => hi = least(hi, Some(at)),
            Op::Le => hi = least(hi, successor(&at)),
        }
    }
    if fixed == 0 && !bounded {
        return Access::All;
    }
    if bounded && layout.mode == KeyMode::NullSafe {
        // NULLs are behind all values.
        let nulls = [start.as_slice(), &[1]].concat();
        hi = least(hi, Some(nulls));
    }
    if hi.as_ref().is_some_and(|hi| *hi <= lo) {
        return Access::Keys(BTreeMap::new());
    }
    let lo = (!lo.is_empty()).then(|| Row::new(&lo));
    let bounds = Bounds::Range { lo, hi: hi.map(|hi| Row::new(&hi)) };
    Access::Range { fixed, bounded, bounds }
}

/// The lesser of two ends, where none is the end of everything.
fn least(a: Option<Vec<u8>>, b: Option<Vec<u8>>) -> Option<Vec<u8>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The least byte string above all that begin with `prefix`; none where there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}
