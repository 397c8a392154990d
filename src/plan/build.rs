//! Constructors of [`Relation`]: the spelling that front ends and rules use.
//!
//! They do nothing but put nodes together, except that an operator which would do nothing (no
//! predicate, no new column, one input of a union) is not made.

use crate::expr::aggregate::Aggregate;
use crate::expr::error::EvalError;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::plan::relation::{ColumnOrder, Equivalence, Id, Relation, RelationType};
use crate::repr::{ColumnType, Diff, GlobalId, Row};

impl Relation {
    /// Rows in value encoding with their counts.
    pub fn constant(rows: Vec<(Row, Diff)>, ty: RelationType) -> Relation {
        Relation::Constant { rows: Ok(rows), ty }
    }

    /// One row without columns: what a query without FROM reads.
    pub fn unit() -> Relation {
        let ty = RelationType { columns: Vec::new(), keys: vec![Vec::new()] };
        Relation::constant(vec![(Row::EMPTY, 1)], ty)
    }

    /// No rows.
    pub fn empty(columns: Vec<ColumnType>) -> Relation {
        Relation::constant(Vec::new(), RelationType { columns, keys: vec![Vec::new()] })
    }

    /// An error in the place of rows.
    pub fn error(error: EvalError, columns: Vec<ColumnType>) -> Relation {
        let ty = RelationType { columns, keys: vec![Vec::new()] };
        Relation::Constant { rows: Err(error), ty }
    }

    /// A table or a view by id.
    pub fn global(id: GlobalId, ty: RelationType) -> Relation {
        Relation::Get { id: Id::Global(id), ty }
    }

    /// The binding of an enclosing `Let`.
    pub fn local(id: u64, ty: RelationType) -> Relation {
        Relation::Get { id: Id::Local(id), ty }
    }

    /// `body`, in which `id` stands for this.
    pub fn let_in(self, id: u64, body: Relation) -> Relation {
        Relation::Let { id, value: Box::new(self), body: Box::new(body) }
    }

    /// The given columns, in that order.
    pub fn project(self, outputs: Vec<usize>) -> Relation {
        Relation::Project { input: Box::new(self), outputs }
    }

    /// The columns and then the expressions; each may use those before it.
    pub fn map(self, exprs: Vec<Expr>) -> Relation {
        if exprs.is_empty() {
            return self;
        }
        Relation::Map { input: Box::new(self), exprs }
    }

    /// Each row with each row that a function returns for it.
    pub fn flat_map(self, func: TableFunc, args: Vec<Expr>) -> Relation {
        Relation::FlatMap { input: Box::new(self), func, args }
    }

    /// The rows for which all predicates are true.
    pub fn filter(self, predicates: Vec<Expr>) -> Relation {
        if predicates.is_empty() {
            return self;
        }
        Relation::Filter { input: Box::new(self), predicates }
    }

    /// The rows of the product that satisfy the equivalences, which number all columns through.
    pub fn join(inputs: Vec<Relation>, equivalences: Vec<Equivalence>) -> Relation {
        Relation::Join { inputs, equivalences }
    }

    /// All pairs.
    pub fn cross(self, other: Relation) -> Relation {
        Relation::join(vec![self, other], Vec::new())
    }

    /// One row a group.
    pub fn reduce(self, group_key: Vec<Expr>, aggregates: Vec<Aggregate>) -> Relation {
        Relation::Reduce { input: Box::new(self), group_key, aggregates }
    }

    /// Each row once.
    pub fn distinct(self) -> Relation {
        let key = (0..self.arity()).map(Expr::Column).collect();
        self.reduce(key, Vec::new())
    }

    /// The first rows of each group.
    pub fn top_k(
        self,
        group_key: Vec<usize>,
        order: Vec<ColumnOrder>,
        limit: Option<u64>,
        offset: u64,
    ) -> Relation {
        let (input, ties, rank) = (Box::new(self), false, false);
        Relation::TopK { input, group_key, order, limit, offset, ties, rank }
    }

    /// The rows and, as the last column, their number in their group.
    pub fn rank(self, group_key: Vec<usize>, order: Vec<ColumnOrder>) -> Relation {
        let input = Box::new(self);
        let (limit, offset, ties, rank) = (None, 0, false, true);
        Relation::TopK { input, group_key, order, limit, offset, ties, rank }
    }

    /// The rows and, behind them, what the calls answer.
    pub fn window(
        self,
        partition: Vec<usize>,
        order: Vec<ColumnOrder>,
        calls: Vec<WindowCall>,
    ) -> Relation {
        Relation::Window { input: Box::new(self), partition, order, calls }
    }

    /// The same rows with opposite counts.
    pub fn negate(self) -> Relation {
        Relation::Negate { input: Box::new(self) }
    }

    /// The rows whose count is positive.
    pub fn threshold(self) -> Relation {
        Relation::Threshold { input: Box::new(self) }
    }

    /// All rows of all inputs, of which there is at least one.
    pub fn union(mut inputs: Vec<Relation>) -> Relation {
        match inputs.len() {
            1 => inputs.pop().expect("there is one"),
            _ => Relation::Union { inputs },
        }
    }

    /// Moves the relation out and leaves an empty one without columns.
    pub fn take(&mut self) -> Relation {
        std::mem::replace(self, Relation::empty(Vec::new()))
    }
}

impl Equivalence {
    /// Expressions that are equal and not NULL.
    pub fn new(exprs: Vec<Expr>) -> Equivalence {
        Equivalence { exprs, null_safe: false }
    }

    /// Expressions that are equal or all NULL.
    pub fn null_safe(exprs: Vec<Expr>) -> Equivalence {
        Equivalence { exprs, null_safe: true }
    }
}
