//! `CREATE [MATERIALIZED] VIEW`.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{CreateView, Statement};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::describe;
use crate::sql::bind::writes;
use crate::sql::bind::{name, record, text};

impl Binder<'_, '_> {
    /// CREATE VIEW. `statement`: the whole text, and where it begins in the string; none where
    /// nothing is going to be stored.
    pub fn create_view(
        &mut self,
        create: &ast::CreateView,
        retain_ms: Option<u64>,
        statement: Option<(&str, u32)>,
    ) -> Result<Statement> {
        if create.temporary {
            return Err(Error::unsupported("CREATE TEMPORARY VIEW", "Create a view, and drop it."));
        }
        let tables = create.query.with.iter().flat_map(|with| &with.cte_tables);
        if tables.into_iter().any(|table| writes::is_writing(&table.query)) {
            let message = match create.materialized {
                true => "materialized views must not use data-modifying statements in WITH",
                false => "views must not contain data-modifying statements in WITH",
            };
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let (schema, view) = self.new_name(&create.name)?;
        self.maintained = create.materialized;
        self.edits = Some(vec![]);
        self.depends_on.clear();
        self.view_name = Some(view.clone());
        let bound = self.subquery(&create.query);
        self.view_name = None;
        let edits = self.edits.take().unwrap_or_default();
        self.maintained = false;
        let (plan, columns) = bound?;
        if !self.cx.param_types.is_empty() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        let mut desc = describe(&columns);
        if create.columns.len() > desc.arity() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "CREATE VIEW specifies more column names than columns",
            ));
        }
        for (column, given) in desc.columns.iter_mut().zip(&create.columns) {
            column.name = name::ident(&given.name);
        }
        for (at, column) in desc.columns.iter().enumerate() {
            if desc.columns[..at].iter().any(|other| other.name == column.name) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", column.name),
                ));
            }
        }
        record::refuse_anonymous(&desc)?;
        let text = match statement {
            Some((statement, offset)) => {
                let text = text::query_text(statement, offset, edits)?;
                self.check_text(&text, &plan.relation, create.materialized)?;
                text
            }
            None => String::new(),
        };
        Ok(Statement::CreateView(CreateView {
            schema,
            name: view,
            materialized: create.materialized,
            relation: plan.relation,
            desc,
            text,
            depends_on: self.depends_on.iter().copied().collect(),
            or_replace: create.or_replace,
            if_not_exists: create.if_not_exists,
            retain_ms,
        }))
    }
}
