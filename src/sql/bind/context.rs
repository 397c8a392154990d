//! What binding knows, and what it learns on the way.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::Span;

use crate::catalog::objects::Catalog;
use crate::error::{Error, Result};
use crate::plan::statement::Statement;
use crate::repr::settings::FormatSettings;
use crate::repr::{GlobalId, ScalarType, Timestamp};
use crate::sql::bind::expr::Clause;
use crate::sql::bind::outer::Level;
use crate::sql::bind::query::Cte;
use crate::sql::bind::recursive::Recursion;
use crate::sql::bind::subquery::{Subquery, Written};
use crate::sql::bind::text::Edit;
use crate::sql::datalog::session::SessionRules;
use crate::sql::parse::limits;
use crate::sql::parse::position::Lines;

/// What a statement is bound against.
pub struct BindContext<'a> {
    /// The objects.
    pub catalog: &'a Catalog,
    /// Where unqualified names are looked up, `pg_catalog` and `weir_catalog` first.
    pub search_path: &'a [String],
    /// How literals are read.
    pub settings: &'a FormatSettings,
    /// The transaction's start.
    pub now: Timestamp,
    /// Who is asking.
    pub current_user: &'a str,
    /// The database that the client named.
    pub database: &'a str,
    /// The rules of the session.
    pub rules: &'a SessionRules,
    /// A session variable's value.
    pub variables: &'a dyn Fn(&str) -> Option<String>,
    /// The types of the parameters, by number from 1; those not given are inferred.
    pub param_types: &'a mut Vec<Option<ScalarType>>,
}

/// The state of binding one statement.
pub struct Binder<'b, 'a> {
    /// What it is bound against.
    pub cx: &'b mut BindContext<'a>,
    /// The lines of the text, for positions.
    pub lines: Lines,
    /// Whether the result outlives the statement (a view, an index, a subscription), so that
    /// nothing of the transaction may be folded in.
    pub maintained: bool,
    /// The objects that were read.
    pub depends_on: BTreeSet<GlobalId>,
    /// The common table expressions that are visible, by name, innermost last.
    pub ctes: BTreeMap<String, Vec<Cte>>,
    /// What has to change in the text, while it is bound to be stored.
    pub edits: Option<Vec<Edit>>,
    /// The name of the view that is being made, which says what a program without a query answers.
    pub view_name: Option<String>,
    /// Whether names are written as EDN has them.
    pub edn: bool,
    /// The queries around the one that is being bound, outermost first.
    pub levels: Vec<Level>,
    /// How many of them are around the FROM that is being bound.
    pub from_base: usize,
    /// The subqueries in expressions, by the number that stands there.
    pub subqueries: Vec<Subquery>,
    /// Those as they were written.
    pub written: Vec<Written>,
    /// Where the expression stands that is being bound.
    pub clause: Clause,
    /// Which SELECT is being bound.
    pub query_number: u64,
    queries: u64,
    /// What is known of the recursive term that is being bound.
    pub recursion: Recursion,
    /// Whether an expression is bound whose text is stored as it is written, so that what it names
    /// must not depend on the search path.
    pub stored_expression: bool,
    /// The statements of WITH that write, while there may be any.
    pub writes: Option<Vec<(u64, Statement)>>,
    next_let: u64,
    depth: usize,
}

impl<'b, 'a> Binder<'b, 'a> {
    /// A binder for a statement whose text has these lines.
    pub fn new(cx: &'b mut BindContext<'a>, lines: Lines) -> Binder<'b, 'a> {
        Binder {
            cx,
            lines,
            maintained: false,
            depends_on: BTreeSet::new(),
            ctes: BTreeMap::new(),
            edits: None,
            view_name: None,
            edn: false,
            levels: vec![],
            from_base: 0,
            subqueries: vec![],
            written: vec![],
            clause: Clause::Select,
            query_number: 0,
            queries: 0,
            recursion: Recursion::default(),
            stored_expression: false,
            writes: None,
            next_let: 0,
            depth: 0,
        }
    }

    /// A name for a `Let`, unique within the plan.
    pub fn fresh_let(&mut self) -> u64 {
        self.next_let += 1;
        self.next_let
    }

    /// Begins a SELECT; answers the number of the one around it.
    pub fn begin_query(&mut self) -> u64 {
        self.queries += 1;
        std::mem::replace(&mut self.query_number, self.queries)
    }

    /// The position of a span's begin.
    pub fn position(&self, span: Span) -> Option<u32> {
        self.lines.of_span(span)
    }

    /// Runs one level of recursion; fails where there are too many.
    pub fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= limits::DEPTH_MAX {
            return Err(limits::too_deep());
        }
        self.depth += 1;
        let result = crate::sql::stack::level(|| f(self));
        self.depth -= 1;
        result
    }

    /// Refuses what a maintained relation may not depend on.
    pub fn refuse_maintained(&self, what: &str, hint: &str) -> Result<()> {
        if self.maintained {
            return Err(Error::unsupported(format!("{what} in a maintained query"), hint));
        }
        Ok(())
    }
}
