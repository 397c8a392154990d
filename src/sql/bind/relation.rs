//! Building plans: a [`Relation`] beside the types of its columns.

use crate::expr::aggregate::Aggregate;
use crate::expr::scalar::Expr;
use crate::expr::window::call::WindowCall;
use crate::plan::relation::{ColumnOrder, Id, Relation, RelationType};
use crate::repr::{ColumnType, Datum, Row, ScalarType};

/// An expression and its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// The expression.
    pub expr: Expr,
    /// Its type.
    pub ty: ColumnType,
}

impl Typed {
    /// A column of that type.
    pub fn column(index: usize, ty: ColumnType) -> Typed {
        Typed { expr: Expr::Column(index), ty }
    }

    /// A constant; its type is nullable exactly if it is NULL.
    pub fn literal(datum: Datum<'_>, scalar: ScalarType) -> Typed {
        let ty = ColumnType { nullable: datum.is_null(), ..ColumnType::nullable(scalar) };
        Typed { expr: Expr::literal(datum, ty), ty }
    }

    /// NULL of that type.
    pub fn null(ty: ColumnType) -> Typed {
        let ty = ColumnType { nullable: true, ..ty };
        Typed { expr: Expr::null(ty), ty }
    }

    /// TRUE or FALSE.
    pub fn boolean(value: bool) -> Typed {
        Typed::literal(Datum::Bool(value), ScalarType::Bool)
    }
}

/// A relation and the types of its columns.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The relation.
    pub relation: Relation,
    /// Its columns.
    pub types: Vec<ColumnType>,
}

impl Plan {
    /// The relation with one row of no columns: what a query without FROM reads.
    pub fn unit() -> Plan {
        Plan::constant(vec![Row::new(&[])], vec![])
    }

    /// Rows in value encoding.
    pub fn constant(rows: Vec<Row>, types: Vec<ColumnType>) -> Plan {
        let keys = if rows.len() <= 1 { vec![vec![]] } else { vec![] };
        let ty = RelationType { columns: types.clone(), keys };
        let rows = Ok(rows.into_iter().map(|row| (row, 1)).collect());
        Plan { relation: Relation::Constant { rows, ty }, types }
    }

    /// The binding of a `Let`.
    pub fn local(id: u64, types: Vec<ColumnType>) -> Plan {
        let ty = RelationType { columns: types.clone(), keys: vec![] };
        Plan { relation: Relation::Get { id: Id::Local(id), ty }, types }
    }

    /// The number of columns.
    pub fn arity(&self) -> usize {
        self.types.len()
    }

    /// More columns, computed.
    pub fn map(mut self, exprs: Vec<Typed>) -> Plan {
        if exprs.is_empty() {
            return self;
        }
        self.types.extend(exprs.iter().map(|e| e.ty));
        let exprs = exprs.into_iter().map(|e| e.expr).collect();
        let input = Box::new(self.relation);
        Plan { relation: Relation::Map { input, exprs }, types: self.types }
    }

    /// These columns, in that order.
    pub fn project(self, outputs: Vec<usize>) -> Plan {
        if outputs.len() == self.arity() && outputs.iter().enumerate().all(|(i, &c)| i == c) {
            return self;
        }
        let types = outputs.iter().map(|&c| self.types[c]).collect();
        let input = Box::new(self.relation);
        Plan { relation: Relation::Project { input, outputs }, types }
    }

    /// These expressions and nothing else.
    pub fn select(self, exprs: Vec<Typed>) -> Plan {
        let arity = self.arity();
        let mut computed = vec![];
        let outputs = exprs
            .into_iter()
            .map(|e| match e.expr {
                Expr::Column(column) => column,
                _ => {
                    computed.push(e);
                    arity + computed.len() - 1
                }
            })
            .collect();
        self.map(computed).project(outputs)
    }

    /// The rows for which all of these are true.
    pub fn filter(self, predicates: Vec<Expr>) -> Plan {
        if predicates.is_empty() {
            return self;
        }
        let input = Box::new(self.relation);
        Plan { relation: Relation::Filter { input, predicates }, types: self.types }
    }

    /// The product; with a call that is open, the rows that it returns for each.
    pub fn cross(self, right: Plan) -> Plan {
        if right.is_open() {
            return right.closed_over(self);
        }
        let types = self.types.into_iter().chain(right.types).collect();
        let inputs = vec![self.relation, right.relation];
        Plan { relation: Relation::Join { inputs, equivalences: vec![] }, types }
    }

    /// A row a group; each aggregate stands with its type.
    pub fn reduce(self, group: Vec<Typed>, aggregates: Vec<Aggregate>) -> Plan {
        let types = group.iter().map(|e| e.ty);
        let types = types.chain(aggregates.iter().map(|a| a.func.output_type())).collect();
        let group_key = group.into_iter().map(|e| e.expr).collect();
        let input = Box::new(self.relation);
        Plan { relation: Relation::Reduce { input, group_key, aggregates }, types }
    }

    /// Each row once.
    pub fn distinct(self) -> Plan {
        let group = self.types.iter().enumerate().map(|(i, &ty)| Typed::column(i, ty)).collect();
        self.reduce(group, vec![])
    }

    /// The first rows of each group.
    pub fn top(
        self,
        group_key: Vec<usize>,
        order: Vec<ColumnOrder>,
        limit: Option<u64>,
        offset: u64,
    ) -> Plan {
        let relation = self.relation.top_k(group_key, order, limit, offset);
        Plan { relation, types: self.types }
    }

    /// The first rows, and the peers of the last of them.
    pub fn top_with_ties(self, order: Vec<ColumnOrder>, limit: u64, offset: u64) -> Plan {
        let (input, group_key, limit) = (Box::new(self.relation), vec![], Some(limit));
        let (ties, rank) = (true, false);
        let relation = Relation::TopK { input, group_key, order, limit, offset, ties, rank };
        Plan { relation, types: self.types }
    }

    /// The rows and, last, their number in the group.
    pub fn ranked(mut self, group_key: Vec<usize>, order: Vec<ColumnOrder>) -> Plan {
        self.types.push(ColumnType::not_null(ScalarType::Int8));
        let relation = self.relation.rank(group_key, order);
        Plan { relation, types: self.types }
    }

    /// The rows and, behind them, what calls over windows answer, in these types.
    pub fn windows(
        mut self,
        partition: Vec<usize>,
        order: Vec<ColumnOrder>,
        calls: Vec<WindowCall>,
        types: Vec<ColumnType>,
    ) -> Plan {
        self.types.extend(types);
        let input = Box::new(self.relation);
        let relation = Relation::Window { input, partition, order, calls };
        Plan { relation, types: self.types }
    }

    /// The counts turned round.
    pub fn negate(self) -> Plan {
        Plan { relation: Relation::Negate { input: Box::new(self.relation) }, types: self.types }
    }

    /// The rows with a positive count.
    pub fn threshold(self) -> Plan {
        Plan { relation: Relation::Threshold { input: Box::new(self.relation) }, types: self.types }
    }

    /// The rows of both; a column may be NULL where it may be in either.
    pub fn union(self, other: Plan) -> Plan {
        let types = self.types.iter().zip(&other.types).map(|(a, b)| either(*a, *b)).collect();
        let relation = match self.relation {
            Relation::Union { mut inputs } => {
                inputs.push(other.relation);
                Relation::Union { inputs }
            }
            first => Relation::Union { inputs: vec![first, other.relation] },
        };
        Plan { relation, types }
    }

    /// This relation under a name in what `body` makes of it.
    pub fn shared(self, id: u64, body: impl FnOnce(Plan) -> Plan) -> Plan {
        let local = Plan::local(id, self.types);
        let body = body(local);
        let (value, inner) = (Box::new(self.relation), Box::new(body.relation));
        Plan { relation: Relation::Let { id, value, body: inner }, types: body.types }
    }
}

/// The type of a column that comes from one of two places.
fn either(a: ColumnType, b: ColumnType) -> ColumnType {
    let typmod = if a.typmod == b.typmod { a.typmod } else { -1 };
    ColumnType { scalar: a.scalar, typmod, nullable: a.nullable || b.nullable }
}
