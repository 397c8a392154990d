//! Map, filter, project: what one operator does to each row before it lets it go.

use serde::{Deserialize, Serialize};

use crate::expr::scalar::Expr;

/// New columns, predicates and an output order over an input row.
///
/// Expressions may use the input's columns and earlier expressions. A predicate `(n, p)` is
/// applied as soon as the first `n` columns are there, so a row that fails it costs nothing more;
/// among the predicates false beats an error, in either order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mfp {
    /// The number of columns that come in.
    pub input_arity: usize,
    /// Columns to compute, in order; the first has position `input_arity`.
    pub expressions: Vec<Expr>,
    /// Predicates, by the number of columns that must be there; ascending.
    pub predicates: Vec<(usize, Expr)>,
    /// The columns that go out.
    pub projection: Vec<usize>,
}
