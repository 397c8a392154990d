//! EXPLAIN: a statement's plan at each stage, as text.

use crate::error::{Error, Result};
use crate::optimizer::optimize;
use crate::optimizer::physical::{Lowered, Want};
use crate::plan::explain;
use crate::plan::relation::Relation;
use crate::plan::statement::{Explain, ExplainStage, Finishing, Statement};
use crate::repr::GlobalId;
use crate::session::execute::text_rows;
use crate::session::overlay;
use crate::session::read::plan;
use crate::session::session::{Outcome, Session, Tag};

impl Session {
    pub(super) fn explain(&mut self, request: Explain) -> Result<Outcome> {
        let (mut relation, finishing, want) = explained(*request.statement)?;
        let engine = self.engine.clone();
        let config = self.optimizer();
        let transaction = self.transaction()?;
        overlay::apply(&mut relation, transaction, &engine)?;
        let (catalog, base) = (transaction.catalog.clone(), transaction.base.clone());
        let names = |id: GlobalId| match catalog.get(id) {
            Some(item) => format!("{}.{}", item.schema, item.name),
            None => id.to_string(),
        };
        let text = match request.stage {
            ExplainStage::Raw | ExplainStage::Decorrelated => {
                explain::relation(&relation, &names).text()
            }
            ExplainStage::Optimized => {
                explain::relation(&optimize(relation, &config), &names).text()
            }
            ExplainStage::Physical => match plan(&engine, &base, relation, &config, want)? {
                Lowered::Peek { target, layout, bounds, mfp } => {
                    explain::peek(target, &layout, &bounds, &mfp, &names).text()
                }
                Lowered::Dataflow(dataflow) => explain::dataflow(&dataflow, &names).text(),
            },
        };
        let mut lines: Vec<Vec<String>> = Vec::new();
        if let Some(finishing) = finishing.as_ref().and_then(finish_line) {
            lines.push(vec![finishing]);
        }
        lines.extend(text.lines().map(|line| vec![line.to_owned()]));
        Ok(text_rows(&["QUERY PLAN"], lines, Tag::Fixed("EXPLAIN".into())))
    }
}

/// The relation behind a statement, and what happens to its rows.
fn explained(statement: Statement) -> Result<(Relation, Option<Finishing>, Want)> {
    Ok(match statement {
        Statement::Select(select) => (select.relation, Some(select.finishing), Want::Peek),
        Statement::Insert(insert) => {
            (insert.source.relation, Some(insert.source.finishing), Want::Peek)
        }
        Statement::Update(update) => (update.selection, None, Want::Peek),
        Statement::Delete(delete) => (delete.selection, None, Want::Peek),
        Statement::Subscribe(subscribe) => (subscribe.relation, None, Want::Subscribe),
        Statement::CreateView(view) => (view.relation, None, Want::Maintain),
        Statement::Declare { query, .. } => explained(*query)?,
        Statement::CopyTo(copy) => explained(*copy.query)?,
        _ => {
            return Err(Error::unsupported(
                "EXPLAIN of this statement",
                "Explain a query, a SUBSCRIBE or a CREATE MATERIALIZED VIEW.",
            ));
        }
    })
}

pub(super) fn finish_line(finishing: &Finishing) -> Option<String> {
    let mut parts = Vec::new();
    if !finishing.order_by.is_empty() {
        let order = finishing.order_by.iter().map(|by| {
            let direction = if by.descending { " desc" } else { "" };
            let nulls = match (by.descending, by.nulls_first) {
                (false, true) => " nulls first",
                (true, false) => " nulls last",
                _ => "",
            };
            format!("#{}{direction}{nulls}", by.column)
        });
        parts.push(format!("order by {}", order.collect::<Vec<_>>().join(", ")));
    }
    parts.extend(finishing.limit.iter().map(|limit| format!("limit {limit}")));
    parts.extend(finishing.offset.iter().map(|offset| format!("offset {offset}")));
    (!parts.is_empty()).then(|| format!("Finish {}", parts.join(" ")))
}
