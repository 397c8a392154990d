//! Syntax trees: `sqlparser`'s, and ours around them for what it does not know.

use sqlparser::ast;

use crate::plan::observed::Measures;
use crate::plan::statement::ExplainStage;

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Nothing but comments.
    Empty,
    /// A query, and the time it is read at.
    Select(Box<Select>),
    /// `SUBSCRIBE`.
    Subscribe(Box<Subscribe>),
    /// `EXPLAIN`.
    Explain {
        /// Which form of the plan.
        stage: ExplainStage,
        /// As JSON, in place of text.
        json: bool,
        /// Of what.
        explained: Box<Statement>,
    },
    /// `EXPLAIN ANALYZE`.
    ExplainAnalyze(Analyzed, Measures),
    /// `FETCH` or `MOVE`.
    Fetch(Fetch),
    /// `DECLARE … CURSOR FOR`.
    Declare {
        /// The cursor's name.
        name: ast::Ident,
        /// `WITH HOLD`.
        hold: bool,
        /// `SCROLL`.
        scroll: bool,
        /// A query or a SUBSCRIBE.
        query: Box<Statement>,
    },
    /// `COPY ( … ) TO STDOUT` of a query or a SUBSCRIBE.
    CopyQuery {
        /// What is copied.
        query: Box<Statement>,
        /// A COPY statement around another query, for its options.
        options: Box<ast::Statement>,
    },
    /// `COPY … (HEADER MATCH)`: a COPY whose header has to hold the names of the columns.
    CopyMatching(Box<ast::Statement>),
    /// `PREPARE`.
    Prepare {
        /// Its name.
        name: ast::Ident,
        /// The types of the parameters, as far as given.
        types: Vec<ast::DataType>,
        /// The text of the statement.
        text: String,
    },
    /// `ALTER SYSTEM SET` or `RESET`; no value: the one that the server was started with.
    AlterSystem {
        /// The setting.
        name: ast::ObjectName,
        /// Its value.
        value: Option<String>,
    },
    /// A statement that keeps so many milliseconds of history (`RETAIN HISTORY FOR`).
    Retaining {
        /// The statement without that.
        statement: Box<ast::Statement>,
        /// How an interval is written.
        history: String,
    },
    /// Anything that `sqlparser` knows.
    Sql(Box<ast::Statement>),
}

/// What `EXPLAIN ANALYZE` explains.
#[derive(Clone, Debug)]
pub enum Analyzed {
    /// Something that is run.
    Query(Box<Statement>),
    /// Something that is maintained.
    Object(ast::ObjectName),
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

/// `FETCH` or `MOVE`.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The cursor.
    pub cursor: ast::Ident,
    /// How many rows; none: all.
    pub count: Option<u64>,
    /// `WITH (timeout = …)`: how an interval is written.
    pub timeout: Option<String>,
    /// `MOVE`.
    pub is_move: bool,
}
