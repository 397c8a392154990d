//! Syntax trees: `sqlparser`'s, and ours around them for what it does not know.

use sqlparser::ast;

use crate::plan::statement::ExplainStage;

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Nothing but comments.
    Empty,
    /// A query, and the time it is read at.
    Select(Select),
    /// `SUBSCRIBE`.
    Subscribe(Box<Subscribe>),
    /// `EXPLAIN`.
    Explain(ExplainStage, Box<Statement>),
    /// Anything that `sqlparser` knows.
    Sql(Box<ast::Statement>),
}

/// A query with `AS OF`.
#[derive(Clone, Debug)]
pub struct Select {
    /// The query.
    pub query: Box<ast::Query>,
    /// `AS OF`.
    pub as_of: Option<ast::Expr>,
}

/// `SUBSCRIBE`.
#[derive(Clone, Debug)]
pub struct Subscribe {
    /// What is watched: `SELECT * FROM` a relation where it was named alone.
    pub query: Box<ast::Query>,
    /// The name of the relation, where it was named alone.
    pub relation: Option<ast::ObjectName>,
    /// `WITH (SNAPSHOT)`.
    pub snapshot: bool,
    /// `WITH (PROGRESS)`.
    pub progress: bool,
    /// `AS OF`.
    pub as_of: Option<ast::Expr>,
    /// `UP TO`.
    pub up_to: Option<ast::Expr>,
}
