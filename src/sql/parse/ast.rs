//! Syntax trees: `sqlparser`'s, and ours around them for what it does not know.

use sqlparser::ast;

use crate::plan::observed::Measures;
use crate::plan::statement::ExplainStage;
use crate::sql::datalog::text::Stretch;
use crate::sql::parse::facts::{CreateAttribute, DropAttribute, Transact};

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
    /// `CREATE SOURCE … FROM TRACE FILE`.
    CreateTraceSource {
        /// The schema that it makes.
        name: ast::ObjectName,
        /// The file.
        path: String,
        /// How long a snapshot is.
        snapshot: Option<String>,
    },
    /// A statement that keeps so many milliseconds of history (`RETAIN HISTORY FOR`).
    Retaining {
        /// The statement without that.
        statement: Box<ast::Statement>,
        /// How an interval is written.
        history: String,
    },
    /// `CREATE DOMAIN`.
    CreateDomain(Box<CreateDomain>),
    /// `ALTER DOMAIN`.
    AlterDomain {
        /// Its name.
        name: ast::ObjectName,
        /// What changes.
        change: Box<DomainChange>,
    },
    /// `CREATE ATTRIBUTE`.
    CreateAttribute(Box<CreateAttribute>),
    /// `DROP ATTRIBUTE`.
    DropAttribute(DropAttribute),
    /// A transaction of the entity store.
    Transact(Box<Transact>),
    /// Rules in Datalog, and where they stand.
    Rules(Stretch),
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

/// `CREATE DOMAIN`.
#[derive(Clone, Debug)]
pub struct CreateDomain {
    /// Its name.
    pub name: ast::ObjectName,
    /// What it is made of.
    pub data_type: ast::DataType,
    /// `DEFAULT`.
    pub default: Option<ast::Expr>,
    /// `NULL` or `NOT NULL`, where one is written.
    pub null: Option<bool>,
    /// `CHECK`.
    pub checks: Vec<NewCheck>,
}

/// `[CONSTRAINT name] CHECK (…)`.
#[derive(Clone, Debug)]
pub struct NewCheck {
    /// The name, where one is given.
    pub name: Option<ast::Ident>,
    /// The condition.
    pub condition: ast::Expr,
}

/// What `ALTER DOMAIN` changes.
#[derive(Clone, Debug)]
pub enum DomainChange {
    /// `SET DEFAULT`, `DROP DEFAULT`.
    Default(Option<ast::Expr>),
    /// `SET NOT NULL`, `DROP NOT NULL`.
    NotNull(bool),
    /// `ADD CHECK`.
    Add(NewCheck),
    /// `DROP CONSTRAINT`.
    Drop {
        /// Which.
        name: ast::Ident,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `RENAME CONSTRAINT`.
    RenameCheck {
        /// Its name.
        from: ast::Ident,
        /// The new one.
        to: ast::Ident,
    },
    /// `RENAME TO`.
    Rename(ast::Ident),
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
