//! EXPLAIN: a statement's plan at each stage, as text or as JSON.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::optimizer::physical::{Lowered, Want};
use crate::optimizer::{optimize, optimize_traced};
use crate::plan::explain::{self, Item, Names};
use crate::plan::relation::Relation;
use crate::plan::statement::{Explain, ExplainStage, Finishing, Statement};
use crate::repr::{GlobalId, ScalarType};
use crate::session::analyze::plan_rows;
use crate::session::overlay;
use crate::session::read::plan;
use crate::session::session::{Outcome, Session};

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
        let plans = match request.stage {
            ExplainStage::Raw | ExplainStage::Decorrelated => {
                vec![(None, explain::relation(&relation, &names))]
            }
            ExplainStage::Optimized => {
                vec![(None, explain::relation(&optimize(relation, &config), &names))]
            }
            ExplainStage::Rules => {
                let raw = explain::relation(&relation, &names);
                let (_, steps) = optimize_traced(relation, &config, &names);
                let steps = steps.into_iter().map(|step| (Some(step.rule), step.plan));
                std::iter::once((Some("raw"), raw)).chain(steps).collect()
            }
            ExplainStage::Physical => {
                vec![(None, physical(plan(&engine, &base, relation, &config, want)?, &names))]
            }
        };
        let finish = finishing.as_ref().and_then(finish_line);
        Ok(if request.json { as_json(finish, &plans) } else { as_text(finish, &plans) })
    }
}

fn physical(lowered: Lowered, names: Names<'_>) -> Item {
    match lowered {
        Lowered::Peek { target, layout, bounds, mfp } => {
            explain::peek(target, &layout, &bounds, &mfp, names)
        }
        Lowered::Dataflow(dataflow) => explain::dataflow(&dataflow, names),
    }
}

/// A line for each operator; above a plan the rule that made it, where it has one.
fn as_text(finish: Option<String>, plans: &[(Option<&str>, Item)]) -> Outcome {
    let mut lines: Vec<String> = finish.into_iter().collect();
    for (rule, plan) in plans {
        lines.extend(rule.map(|rule| format!("-- {rule}")));
        lines.extend(plan.text().lines().map(str::to_owned));
    }
    plan_rows(&lines, ScalarType::Text)
}

/// An object for each plan, in PostgreSQL's shape.
fn as_json(finish: Option<String>, plans: &[(Option<&str>, Item)]) -> Outcome {
    let object = |(rule, plan): &(Option<&str>, Item)| {
        let mut object = json!({ "Plan": plan.json() });
        if let Some(rule) = rule {
            object["Rule"] = json!(rule);
        }
        if let Some(finish) = &finish {
            object["Finish"] = json!(finish);
        }
        object
    };
    let all = Value::Array(plans.iter().map(object).collect());
    let text = serde_json::to_string_pretty(&all).unwrap_or_default();
    plan_rows(&[text], ScalarType::Json)
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
        Statement::Merge(merge) => (merge.selection, None, Want::Peek),
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
