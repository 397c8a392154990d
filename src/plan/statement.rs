//! Bound statements: what a front end hands to the session.
//!
//! Names are resolved to ids, types are settled, defaults are expressions. Parameters stand as
//! [`Expr::Parameter`] until the statement is executed.

use crate::error::Error;
use crate::expr::scalar::Expr;
use crate::plan::alter::{AlterTable, NewReference};
use crate::plan::facts::{CreateAttribute, Transact};
use crate::plan::observed::Measures;
use crate::plan::relation::{ColumnOrder, Relation};
use crate::plan::why::Why;
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc, ScalarType};

/// A statement, bound.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The variants are the statements of that name.
pub enum Statement {
    Select(Select),
    Insert(Box<Insert>),
    Update(Update),
    Delete(Delete),
    Merge(Merge),
    /// See [`Writes`].
    Writes(Writes),
    Truncate {
        tables: Vec<GlobalId>,
    },
    Subscribe(Subscribe),
    CopyFrom(CopyFrom),
    CopyTo(CopyTo),
    CreateSchema {
        name: String,
        if_not_exists: bool,
    },
    CreateTable(CreateTable),
    CreateView(CreateView),
    CreateIndex(CreateIndex),
    CreateSequence {
        schema: String,
        name: String,
        options: SequenceOptions,
        if_not_exists: bool,
    },
    CreateType(CreateType),
    CreateAttribute(CreateAttribute),
    /// Facts that come and go.
    Transact(Transact),
    AlterType(AlterType),
    AlterTable(Box<AlterTable>),
    Drop(Drop),
    /// Rules of the session: the name that each derives into, and its text.
    DefineRules {
        rules: Vec<(String, String)>,
    },
    /// Forgets the rules of these names.
    DropRules {
        names: Vec<String>,
    },
    Explain(Explain),
    /// See [`Why`].
    Why(Box<Why>),
    /// See [`ExplainAnalyze`].
    ExplainAnalyze(ExplainAnalyze),
    Declare {
        name: String,
        hold: bool,
        scroll: bool,
        query: Box<Statement>,
    },
    /// `count` none: ALL. `timeout_ms` none: wait for the first row.
    Fetch {
        cursor: String,
        count: Option<u64>,
        timeout_ms: Option<u64>,
        is_move: bool,
    },
    /// No name: all.
    Close {
        cursor: Option<String>,
    },
    Begin {
        read_only: Option<bool>,
    },
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint {
        name: String,
    },
    ReleaseSavepoint {
        name: String,
    },
    RollbackTo {
        name: String,
    },
    /// `value` none: DEFAULT.
    Set {
        name: String,
        value: Option<String>,
        local: bool,
    },
    /// CREATE SOURCE … FROM TRACE FILE.
    CreateTraceSource(TraceSource),
    /// No value: the one that the server was started with.
    AlterSystem {
        name: String,
        value: Option<String>,
    },
    /// No name: all.
    Reset {
        name: Option<String>,
    },
    /// No name: all.
    Show {
        name: Option<String>,
    },
    /// The text of the statement and the types of its parameters, as far as given.
    Prepare {
        name: String,
        types: Vec<Option<ScalarType>>,
        text: String,
    },
    Execute {
        name: String,
        args: Vec<Expr>,
    },
    /// No name: all.
    Deallocate {
        name: Option<String>,
    },
    /// `DISCARD ALL | PLANS | SEQUENCES | TEMP`.
    Discard {
        what: Discard,
    },
    /// Nothing but comments.
    Empty,
}

/// What `DISCARD` gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Discard {
    All,
    Plans,
    Sequences,
    Temp,
}

/// A query and how its rows are finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The rows, before [`Finishing`].
    pub relation: Relation,
    /// Names and types of the columns that the client gets, after [`Finishing::project`].
    pub desc: RelationDesc,
    /// Order, limit and the final columns.
    pub finishing: Finishing,
    /// The time of `AS OF`: int8 nanoseconds or timestamptz, constant.
    pub as_of: Option<Expr>,
}

/// What happens to a result's rows outside the dataflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finishing {
    /// The order, over the relation's columns.
    pub order_by: Vec<ColumnOrder>,
    /// `LIMIT`: an int8 that may hold parameters; NULL: none.
    pub limit: Option<Expr>,
    /// `OFFSET`.
    pub offset: Option<Expr>,
    /// The columns that go out.
    pub project: Vec<usize>,
}

/// What `RETURNING` answers with.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    /// Over the new row (INSERT, UPDATE) or the old one (DELETE), and what was joined with it.
    pub exprs: Vec<Expr>,
    /// The types of those columns.
    pub input: Vec<ScalarType>,
    /// Their names and types.
    pub desc: RelationDesc,
}

/// Where the value of a new row's column comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnSource {
    /// The source's column of that position, already of the column's type.
    Source(usize),
    /// An expression over nothing (a default), of the column's type; evaluated once a row.
    Default(Expr),
    /// The next value of a sequence.
    Sequence(GlobalId),
}

/// `INSERT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// Into which table.
    pub table: GlobalId,
    /// The rows.
    pub source: Select,
    /// For each column of the table.
    pub columns: Vec<ColumnSource>,
    /// `ON CONFLICT` on the primary key.
    pub on_conflict: OnConflict,
    /// `RETURNING`.
    pub returning: Option<Returning>,
}

/// What becomes of a new row whose key is there already.
#[derive(Clone, Debug, PartialEq)]
pub enum OnConflict {
    /// It is an error.
    Fail,
    /// It is passed over.
    Nothing,
    /// The row that is there changes.
    Update {
        /// The binding that stands for the new rows.
        excluded: u64,
        /// The rows that change, as in [`Update`].
        selection: Relation,
        /// The index whose key rows are looked for by; none: the primary key.
        by: Option<GlobalId>,
    },
}

/// `UPDATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Which table.
    pub table: GlobalId,
    /// Its rows that change: the old row's columns, then the new row's, then those of what FROM
    /// joins with it.
    pub selection: Relation,
    /// `RETURNING`.
    pub returning: Option<Returning>,
}

/// `DELETE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// From which table.
    pub table: GlobalId,
    /// Its rows that go, and behind their columns those of what USING joins with them.
    pub selection: Relation,
    /// `RETURNING`.
    pub returning: Option<Returning>,
}

/// `SUBSCRIBE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscribe {
    /// What is watched.
    pub relation: Relation,
    /// The same with its constants as rows, so that those share a dataflow who differ in them.
    pub seeded: Option<Box<Seeded>>,
    /// Its columns.
    pub desc: RelationDesc,
    /// `WITH (SNAPSHOT)`.
    pub snapshot: bool,
    /// `WITH (PROGRESS)`.
    pub progress: bool,
    /// `AS OF`, constant.
    pub as_of: Option<Expr>,
    /// `UP TO`, constant.
    pub up_to: Option<Expr>,
}

/// A query whose constants are rows of [`GlobalId::SEEDS`]: a number, and the constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Seeded {
    /// What it finds for all numbers.
    pub relation: Relation,
    /// The types of its columns: the number, and those of the query.
    pub columns: Vec<ScalarType>,
    /// The constants, over nothing.
    pub constants: Vec<Expr>,
    /// Their types.
    pub types: Vec<ScalarType>,
}

/// How `COPY` spells rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// The format.
    pub format: CopyFormat,
    /// One byte between columns.
    pub delimiter: u8,
    /// How NULL is spelled.
    pub null: String,
    /// Whether the first line holds names (`MATCH` checks them).
    pub header: CopyHeader,
    /// CSV's quote.
    pub quote: u8,
    /// CSV's escape.
    pub escape: u8,
    /// Columns always quoted on output; none: those that need it; empty: all.
    pub force_quote: Option<Vec<usize>>,
    /// Columns whose unquoted NULL spelling is taken as text.
    pub force_not_null: Vec<usize>,
    /// Columns whose quoted NULL spelling is NULL.
    pub force_null: Vec<usize>,
}

/// The forms of `COPY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CopyFormat {
    Text,
    Csv,
    Binary,
}

/// What the first line of a `COPY` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CopyHeader {
    None,
    Names,
    Match,
}

/// `COPY table FROM STDIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyFrom {
    /// Into which table.
    pub table: GlobalId,
    /// The table's columns that the input has, in its order.
    pub input: Vec<usize>,
    /// For each column of the table, over the input's columns.
    pub columns: Vec<ColumnSource>,
    /// The form.
    pub options: CopyOptions,
}

/// `COPY … TO STDOUT`.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyTo {
    /// A SELECT, a SUBSCRIBE or a statement with RETURNING.
    pub query: Box<Statement>,
    /// The form.
    pub options: CopyOptions,
}

/// A column of a new table.
#[derive(Clone, Debug, PartialEq)]
pub struct NewColumn {
    /// Its name.
    pub name: String,
    /// Its type; not nullable under NOT NULL and PRIMARY KEY.
    pub ty: ColumnType,
    /// The text of its default expression, bound.
    pub default: Option<String>,
    /// The sequence that serial or identity makes.
    pub sequence: Option<NewSequence>,
    /// The sequence that its default takes values of: `DEFAULT nextval('…')`.
    pub values_of: Option<GlobalId>,
    /// The domain that it is of.
    pub domain: Option<GlobalId>,
}

/// A sequence that a column brings along.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSequence {
    /// `GENERATED ALWAYS`: a value may not be given.
    pub always: bool,
    /// `GENERATED … AS IDENTITY`, otherwise serial.
    pub identity: bool,
    /// Its options.
    pub options: SequenceOptions,
}

/// What a sequence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SequenceOptions {
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
}

/// `MERGE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// Into which table.
    pub table: GlobalId,
    /// What is to be done: the columns of the old row, then those of the new one, then which of
    /// the actions it is, then the number of the source's row.
    pub selection: Relation,
    /// The actions by number.
    pub actions: Vec<MergeAction>,
}

/// What `MERGE` does with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeAction {
    /// The new row comes.
    Insert,
    /// The new row takes the place of the old one.
    Update,
    /// The old row goes.
    Delete,
}

/// A statement with others that write in its WITH: all read what was there before any of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// Those of WITH, each with the name under which the ones behind it read what it returns.
    pub parts: Vec<(u64, Statement)>,
    /// The statement itself.
    pub main: Box<Statement>,
}

/// `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Where.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<NewColumn>,
    /// The columns of the primary key and the constraint's name.
    pub primary_key: Option<(Vec<usize>, String)>,
    /// Its other constraints.
    pub rules: Vec<NewRule>,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `RETAIN HISTORY FOR`, in milliseconds.
    pub retain_ms: Option<u64>,
    /// `CREATE TABLE … AS`: its first rows.
    pub source: Option<Box<Select>>,
}

/// A constraint of a table, primary keys apart.
#[derive(Clone, Debug, PartialEq)]
pub enum NewRule {
    /// A condition of each row.
    Check {
        /// The name of the constraint.
        name: String,
        /// The condition's text.
        text: String,
    },
    /// A key that no two rows share.
    Unique {
        /// The name of the constraint and of its index.
        name: String,
        /// The columns.
        columns: Vec<String>,
        /// Whether it is a constraint, rather than a unique index.
        declared: bool,
    },
    /// A foreign key.
    Reference(NewReference),
}

impl NewRule {
    /// The name of the constraint.
    pub fn name(&self) -> &str {
        match self {
            NewRule::Check { name, .. } | NewRule::Unique { name, .. } => name,
            NewRule::Reference(reference) => &reference.name,
        }
    }
}

/// `CREATE [MATERIALIZED] VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// Where.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Whether its content is maintained.
    pub materialized: bool,
    /// The query.
    pub relation: Relation,
    /// Its columns.
    pub desc: RelationDesc,
    /// The text to be planned again: names qualified, `*` expanded.
    pub text: String,
    /// What it reads: tables, views, each once, ascending.
    pub depends_on: Vec<GlobalId>,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `RETAIN HISTORY FOR`, in milliseconds.
    pub retain_ms: Option<u64>,
}

/// `CREATE INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Its name; made up where there is none.
    pub name: String,
    /// The table or materialized view.
    pub on: GlobalId,
    /// The key, over its columns.
    pub key: Vec<Expr>,
    /// The texts of the key, for planning again.
    pub key_text: Vec<String>,
    /// `UNIQUE`: its columns.
    pub unique: Option<Vec<String>>,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
}

/// `DROP`.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What goes, each with its qualified name as written.
    pub objects: Vec<GlobalId>,
    /// Whether what depends on it goes too.
    pub cascade: bool,
    /// The command tag.
    pub tag: &'static str,
    /// NOTICEs about objects that `IF EXISTS` did not find.
    pub notices: Vec<String>,
}

/// `CREATE TYPE`, `CREATE DOMAIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub definition: NewType,
}

/// A new type.
#[derive(Clone, Debug, PartialEq)]
pub enum NewType {
    /// The labels of an enum, in order.
    Enum(Vec<String>),
    /// The fields of a composite type.
    Composite(Vec<ColumnDesc>),
    /// A domain.
    Domain(NewDomain),
}

/// A new domain.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDomain {
    /// The type of its values.
    pub base: ColumnType,
    /// The domain that it is made of, if it is one.
    pub over: Option<GlobalId>,
    /// `NOT NULL`.
    pub not_null: bool,
    /// The text of its default expression, bound.
    pub default: Option<String>,
    /// The names of its conditions and their texts, bound.
    pub checks: Vec<(String, String)>,
}

/// `ALTER TYPE`, `ALTER DOMAIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterType {
    /// Which type.
    pub id: GlobalId,
    /// What changes.
    pub change: TypeChange,
    /// The command tag.
    pub tag: &'static str,
    /// What must not be there.
    pub violations: Vec<Violation>,
}

/// Rows that a new condition refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The rows.
    pub rows: Relation,
    /// The error where there is one.
    pub error: Error,
}

/// What changes of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeChange {
    /// Its name.
    Rename(String),
    /// A label comes.
    AddLabel {
        /// The label.
        label: String,
        /// Before another label or behind it; none: at the end.
        place: Option<(bool, String)>,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// A label is called otherwise.
    RenameLabel {
        /// What it is called.
        from: String,
        /// What it will be.
        to: String,
    },
    /// A domain's default (bound text).
    Default(Option<String>),
    /// Whether a domain refuses NULL.
    NotNull(bool),
    /// A condition comes: its name and its text, bound.
    AddCheck(String, String),
    /// A condition goes.
    DropCheck {
        /// Its name.
        name: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// A condition is called otherwise.
    RenameCheck {
        /// What it is called.
        from: String,
        /// What it will be.
        to: String,
    },
}

/// `EXPLAIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// Which form of the plan.
    pub stage: ExplainStage,
    /// As JSON, in place of text.
    pub json: bool,
    /// Of what.
    pub statement: Box<Statement>,
}

/// `EXPLAIN ANALYZE`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainAnalyze {
    /// Of what.
    pub of: Analyzed,
    /// What is shown.
    pub measures: Measures,
}

/// What `EXPLAIN ANALYZE` explains.
#[derive(Clone, Debug, PartialEq)]
pub enum Analyzed {
    /// A query, which is run.
    Query(Box<Select>),
    /// What is maintained.
    Object(GlobalId),
}

/// The stages of planning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ExplainStage {
    Raw,
    Decorrelated,
    Optimized,
    Physical,
    /// The plan after each rule of the optimizer.
    Rules,
}

/// A trace file that becomes relations.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSource {
    /// The schema that is made.
    pub name: String,
    /// The file.
    pub path: String,
    /// How long a snapshot is, as it was written.
    pub snapshot: Option<String>,
}

impl Statement {
    /// Visits what a statement that writes reads.
    pub fn each_written(&mut self, f: &mut dyn FnMut(&mut Relation)) {
        match self {
            Statement::Select(select) => f(&mut select.relation),
            Statement::Insert(insert) => {
                f(&mut insert.source.relation);
                if let OnConflict::Update { selection, .. } = &mut insert.on_conflict {
                    f(selection);
                }
            }
            Statement::Update(update) => f(&mut update.selection),
            Statement::Delete(delete) => f(&mut delete.selection),
            Statement::Merge(merge) => f(&mut merge.selection),
            _ => {}
        }
    }
}
