//! The one relational intermediate representation.
//!
//! Both languages lower to [`Relation`]; nothing below knows which one wrote it. A relation is a
//! multiset of rows with i64 multiplicities (negative ones only between `Negate` and the `Union`
//! that uses it up), beside a multiset of errors. It has no names: columns are positions.

use serde::{Deserialize, Serialize};

use crate::expr::aggregate::Aggregate;
use crate::expr::error::EvalError;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::repr::{ColumnType, Diff, GlobalId, Row};

/// The type of a relation without names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RelationType {
    /// The columns.
    pub columns: Vec<ColumnType>,
    /// Sets of columns that are unique together; an empty set means at most one row.
    pub keys: Vec<Vec<usize>>,
}

/// What a [`Relation::Get`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Id {
    /// A table or maintained view.
    Global(GlobalId),
    /// The binding of an enclosing `Let`.
    Local(u64),
}

/// How a column is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnOrder {
    /// The column.
    pub column: usize,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything else.
    pub nulls_first: bool,
}

/// A relational expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Relation {
    /// Rows in value encoding with their counts, or an error in their place.
    Constant {
        /// The rows.
        rows: Result<Vec<(Row, Diff)>, EvalError>,
        /// Their type.
        ty: RelationType,
    },
    /// A relation by id.
    Get {
        /// Which.
        id: Id,
        /// Its type.
        ty: RelationType,
    },
    /// `body`, in which `id` stands for `value`.
    Let {
        /// The name, unique within the plan.
        id: u64,
        /// What it stands for.
        value: Box<Relation>,
        /// Where it does.
        body: Box<Relation>,
    },
    /// `body`, in which the bindings stand for what they become: each begins empty and is, round by
    /// round, what its value makes of all of them as they were, until none changes any more.
    LetRec {
        /// The bindings, which their values may read.
        bindings: Vec<Binding>,
        /// After how many rounds it ends in any case; none: never.
        limit: Option<RoundLimit>,
        /// Where they are read.
        body: Box<Relation>,
    },
    /// The given columns, in that order.
    Project {
        /// The input.
        input: Box<Relation>,
        /// Its columns.
        outputs: Vec<usize>,
    },
    /// The input's columns and then the expressions; each may use those before it.
    Map {
        /// The input.
        input: Box<Relation>,
        /// The new columns.
        exprs: Vec<Expr>,
    },
    /// Each row of the input with each row that the function returns for it; a row for which it
    /// returns none is left out.
    FlatMap {
        /// The input.
        input: Box<Relation>,
        /// The function, whose columns come behind the input's.
        func: TableFunc,
        /// Its arguments, over the input's columns.
        args: Vec<Expr>,
    },
    /// The rows for which all predicates are true.
    Filter {
        /// The input.
        input: Box<Relation>,
        /// Boolean expressions.
        predicates: Vec<Expr>,
    },
    /// The rows of the product of the inputs for which, in each class, all expressions are equal
    /// and not NULL (`null_safe` classes: equal, or all NULL).
    Join {
        /// The inputs; their columns are numbered through.
        inputs: Vec<Relation>,
        /// Classes of expressions over those columns.
        equivalences: Vec<Equivalence>,
    },
    /// One row a group: the key and then the aggregates. No group, no row, also when the key is
    /// empty (the front end adds the row of a global aggregate over nothing).
    Reduce {
        /// The input.
        input: Box<Relation>,
        /// The key; none = DISTINCT of nothing; equal keys output the least original of the group.
        group_key: Vec<Expr>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
    },
    /// In each group the rows from `offset` on, at most `limit`, by `order` (ties by the rest of
    /// the row).
    TopK {
        /// The input.
        input: Box<Relation>,
        /// The columns that tell groups apart.
        group_key: Vec<usize>,
        /// The order in a group.
        order: Vec<ColumnOrder>,
        /// At most so many rows; all where there is none.
        limit: Option<u64>,
        /// So many rows are passed over.
        offset: u64,
        /// Whether the peers of the last row are there as well.
        ties: bool,
        /// Whether the row's number in its group (int8, from 1) is added as the last column.
        rank: bool,
    },
    /// The rows with one more column for each call of a window function. Peers are computed in the
    /// order of the rest of the row.
    Window {
        /// The input.
        input: Box<Relation>,
        /// The columns that tell partitions apart.
        partition: Vec<usize>,
        /// The order in a partition.
        order: Vec<ColumnOrder>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// The same rows with opposite counts. Errors stay as they are.
    Negate {
        /// The input.
        input: Box<Relation>,
    },
    /// The rows whose count is positive.
    Threshold {
        /// The input.
        input: Box<Relation>,
    },
    /// The rows of all inputs, counts added; not empty.
    Union {
        /// The inputs.
        inputs: Vec<Relation>,
    },
}

/// A binding of a `LetRec`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Binding {
    /// The name, unique within the plan.
    pub id: u64,
    /// What it is made of.
    pub value: Relation,
    /// Its columns.
    pub columns: Vec<ColumnType>,
}

/// After how many rounds a recursion ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RoundLimit {
    /// So many times the values are made.
    pub rounds: u64,
    /// Whether it is an error that something would still change.
    pub fails: bool,
    /// What that error says does not end, where it is more than "the recursion".
    pub of: Option<String>,
}

/// Expressions that must be equal for a joined row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Equivalence {
    /// Over the columns of all inputs; two or more, all of one type.
    pub exprs: Vec<Expr>,
    /// Whether NULL equals NULL here.
    pub null_safe: bool,
}
