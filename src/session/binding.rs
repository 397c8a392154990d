//! What the front ends are given: the context of a session's statement, and that of stored text.

use crate::catalog::objects::Catalog;
use crate::error::Result;
use crate::expr::scalar::Expr;
use crate::plan::relation::Relation;
use crate::plan::statement::Statement;
use crate::repr::settings::FormatSettings;
use crate::repr::{ColumnType, GlobalId, RelationDesc, ScalarType};
use crate::session::session::Session;
use crate::sql::{self, BindContext, ParsedStatement, SessionRules};

/// Schemas that unqualified names are looked up in before the search path.
const IMPLICIT_SCHEMAS: [&str; 2] = ["pg_catalog", "weir_catalog"];

/// Binds with a context in which stored text means the same for everybody.
fn with_stored<T>(
    catalog: &Catalog,
    settings: &FormatSettings,
    bind: impl FnOnce(&mut BindContext<'_>) -> Result<T>,
) -> Result<T> {
    let search_path: Vec<String> = IMPLICIT_SCHEMAS.iter().map(|s| (*s).to_owned()).collect();
    let mut param_types = Vec::new();
    bind(&mut BindContext {
        catalog,
        search_path: &search_path,
        settings,
        now: 0,
        current_user: "",
        database: "",
        rules: &SessionRules::default(),
        variables: &|_| None,
        param_types: &mut param_types,
    })
}

/// The query of a view, from its stored text.
pub(super) fn stored_query(
    catalog: &Catalog,
    text: &str,
    settings: &FormatSettings,
) -> Result<(Relation, RelationDesc)> {
    with_stored(catalog, settings, |cx| sql::bind_view_text(text, cx))
}

/// An expression over a relation's columns, from its stored text.
pub(super) fn stored_scalar(
    catalog: &Catalog,
    text: &str,
    columns: &RelationDesc,
    settings: &FormatSettings,
) -> Result<Expr> {
    with_stored(catalog, settings, |cx| sql::bind_scalar_text(text, columns, cx))
}

/// What a value of a type, column 0, must be to belong to a domain.
pub(super) fn domain_check(
    catalog: &Catalog,
    domain: GlobalId,
    base: ColumnType,
    settings: &FormatSettings,
) -> Result<Expr> {
    with_stored(catalog, settings, |cx| sql::bind_domain(domain, base, cx))
}

impl Session {
    /// The schemas that unqualified names are looked up in.
    pub(super) fn search_path(&self) -> Vec<String> {
        let own = self.variables.search_path(&self.user);
        IMPLICIT_SCHEMAS.iter().map(|s| (*s).to_owned()).chain(own).collect()
    }

    /// Binds a statement in the open transaction.
    pub(super) fn bind_statement(
        &self,
        statement: &ParsedStatement,
        param_types: &mut Vec<Option<ScalarType>>,
    ) -> Result<Statement> {
        let transaction = self.transaction()?;
        let search_path = self.search_path();
        let mut cx = BindContext {
            catalog: &transaction.catalog,
            search_path: &search_path,
            settings: self.variables.format(),
            now: transaction.start,
            current_user: &self.user,
            database: &self.database,
            rules: self.rules.current(),
            variables: &|name| self.setting_now(name),
            param_types,
        };
        sql::bind(statement, &mut cx)
    }
}
