//! Plain views, inlined: the stored text is bound in the place of the name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::item::Item;
use crate::error::{Error, Result, SqlState};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::relation::Plan;
use crate::sql::parse::ast::Statement;

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
        let ctes = std::mem::replace(&mut self.ctes, BTreeMap::new());
        let depends_on = std::mem::take(&mut self.depends_on);
        let lines = std::mem::take(&mut self.lines);
        let edits = self.edits.take();
        let bound = self.subquery(&select.query);
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
}
