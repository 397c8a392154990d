//! Views: plain ones inlined (the stored text is bound in the place of the name), and the check
//! that a text will mean the same when it is bound again.

use std::sync::Arc;

use crate::catalog::item::Item;
use crate::error::{Error, Result, SqlState};
use crate::plan::relation::Relation;
use crate::sql::bind::context::{BindContext, Binder};
use crate::sql::bind::entry::query_of;
use crate::sql::bind::relation::Plan;
use crate::sql::datalog::session::SessionRules;
use crate::sql::parse::ast::Statement;
use crate::sql::stack;

impl Binder<'_, '_> {
    /// The rows of a plain view with this text.
    ///
    /// The text sees nothing of the query around it, what it reads is not what that query names,
    /// and its positions are not positions in that query.
    pub fn inline_view(&mut self, item: &Arc<Item>, text: &str) -> Result<Plan> {
        let parsed = query_of(text)?;
        let Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("the text of a view is not a query"));
        };
        let ctes = std::mem::take(&mut self.ctes);
        let depends_on = std::mem::take(&mut self.depends_on);
        let lines = std::mem::replace(&mut self.lines, parsed.lines.clone());
        let edits = self.edits.take();
        let levels = std::mem::take(&mut self.levels);
        let bound = self.subquery(&select.query);
        self.levels = levels;
        (self.ctes, self.depends_on, self.lines) = (ctes, depends_on, lines);
        self.edits = edits;
        let (plan, _) = bound.map_err(|error| Error { position: None, ..error })?;
        let expected = item.desc().map(|desc| desc.scalars()).unwrap_or_default();
        if !plan.types.iter().map(|ty| ty.scalar).eq(expected.iter().copied()) {
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("view \"{}\" no longer has the columns that it was made with", item.name),
            )
            .with_hint("Create the view again."));
        }
        Ok(plan)
    }

    /// Binds a text that is to be stored once more, without a search path. What does not come out
    /// the same would mean something else after a restart, and is refused.
    pub fn check_text(&mut self, text: &str, relation: &Relation, maintained: bool) -> Result<()> {
        let parsed = query_of(text)?;
        let Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("the text of a view is not a query"));
        };
        let path = ["pg_catalog".to_owned(), "weir_catalog".to_owned()];
        let mut cx = BindContext {
            catalog: self.cx.catalog,
            search_path: &path,
            settings: self.cx.settings,
            now: self.cx.now,
            current_user: self.cx.current_user,
            database: self.cx.database,
            rules: &SessionRules::default(),
            variables: self.cx.variables,
            param_types: &mut vec![],
        };
        let same = stack::large(|| {
            let mut binder = Binder::new(&mut cx, parsed.lines.clone());
            binder.maintained = maintained;
            binder.subquery(&select.query).map(|(plan, _)| plan.relation == *relation)
        });
        match same {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Error::unsupported(
                "a view whose meaning depends on more than its text",
                "Qualify the names in it, and give the columns of its subqueries names.",
            )),
        }
    }
}
