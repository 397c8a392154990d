//! Statements in WITH that write.
//!
//! They are bound as they are elsewhere. What others read of them is a binding that the session
//! fills with what they return; none of them, nor the statement around them, sees what another has
//! written. They stand at the top of a statement alone, as in PostgreSQL.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::plan::relation::Relation;
use crate::plan::statement::Statement;
use crate::sql::bind::context::Binder;
use crate::sql::bind::query::{Cte, OutputColumn, Stage};
use crate::sql::bind::relation::Plan;

/// Whether a query of WITH writes.
pub fn is_writing(query: &ast::Query) -> bool {
    use ast::SetExpr::{Delete, Insert, Merge, Update};
    matches!(&*query.body, Insert(_) | Update(_) | Delete(_) | Merge(_))
}

impl Binder<'_, '_> {
    /// A statement of WITH that writes, behind others.
    pub fn writing_table(
        &mut self,
        cte: &ast::Cte,
        others: &[(String, Option<Plan>)],
        writes: Option<&mut Vec<(u64, Statement)>>,
    ) -> Result<Cte> {
        let Some(writes) = writes else {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "WITH clause containing a data-modifying statement must be at the top level",
            )
            .at(self.position(cte.alias.name.span)));
        };
        if matches!(&*cte.query.body, ast::SetExpr::Merge(_)) {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "MERGE not supported in WITH query",
            ));
        }
        let Some(mut statement) = self.writing(&cte.query)? else {
            return Err(Error::internal("a query of WITH that does not write"));
        };
        let read: Vec<(u64, Relation)> = others
            .iter()
            .filter_map(|(name, plan)| {
                let cte = self.ctes.get(name)?.last()?;
                Some((cte.id?, plan.as_ref()?.relation.clone()))
            })
            .collect();
        statement.each_written(&mut |relation| {
            for (id, value) in read.iter().rev() {
                *relation = value.clone().let_in(*id, relation.take());
            }
        });
        let returning = match &statement {
            Statement::Insert(insert) => insert.returning.as_ref(),
            Statement::Update(update) => update.returning.as_ref(),
            Statement::Delete(delete) => delete.returning.as_ref(),
            _ => None,
        };
        let (stage, mut columns) = match returning {
            None => (Stage::Silent, vec![]),
            Some(returning) => {
                let columns = returning.desc.columns.iter();
                let column = |c: &crate::repr::ColumnDesc| OutputColumn {
                    name: c.name.clone(),
                    ty: c.ty,
                    literal: None,
                };
                (Stage::Whole, columns.map(column).collect())
            }
        };
        if stage == Stage::Whole {
            self.name_columns(cte, &mut columns)?;
        }
        let id = self.fresh_let();
        writes.push((id, statement));
        Ok(Cte::new(Some(id), columns, stage))
    }
}
