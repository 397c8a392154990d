//! `WITH MUTUALLY RECURSIVE`: bindings that may all read each other and themselves.
//!
//! All bindings begin empty. In each round each becomes what its query makes of all of them *as
//! they were before the round*, whatever their order, until none changes: a [`Relation::LetRec`].
//! Nothing is kept from round to round but what the queries say, and nothing is made distinct. So
//! queries that only add (joins, unions, DISTINCT, `min` in a cycle that only falls) have one
//! meaning, the least fixpoint; with negation or counting inside a cycle the rounds are the
//! meaning, and may not end: the limit, or the setting `recursion_limit`, then ends them.
//!
//! A limit is an error that the reader gets, or, with `RETURN AT`, the end.

use std::collections::BTreeSet;

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::plan::relation::{Binding, Relation, RoundLimit};
use crate::repr::ColumnType;
use crate::sql::bind::context::Binder;
use crate::sql::bind::name;
use crate::sql::bind::query::{Cte, OutputColumn, Query, Stage};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::setop::output_value;
use crate::sql::bind::types;
use crate::sql::parse::mutual;

/// The bindings in front of a query.
#[derive(Clone)]
pub struct Mutual {
    bindings: Vec<Binding>,
    limit: Option<RoundLimit>,
}

/// The limit that WITH says, and the bindings, where they are mutually recursive.
pub fn mutual_tables(with: &ast::With) -> Option<(Option<RoundLimit>, &[ast::Cte])> {
    let (first, rest) = with.cte_tables.split_first()?;
    Some((mutual::marked(&first.alias.name.value)?, rest))
}

impl Mutual {
    /// The body with the bindings that it reads, itself or through others.
    pub fn around(self, body: Relation) -> Relation {
        let mut wanted = BTreeSet::new();
        loop {
            let is_read = |id: u64| {
                let read = |relation: &Relation| relation.reads_local(&BTreeSet::from([id]));
                let among = |binding: &&Binding| wanted.contains(&binding.id);
                read(&body) || self.bindings.iter().filter(among).any(|b| read(&b.value))
            };
            let ids = self.bindings.iter().map(|binding| binding.id);
            let more: Vec<u64> = ids.filter(|id| !wanted.contains(id) && is_read(*id)).collect();
            if more.is_empty() {
                break;
            }
            wanted.extend(more);
        }
        if wanted.is_empty() {
            return body;
        }
        let bindings = self.bindings.into_iter().filter(|b| wanted.contains(&b.id)).collect();
        Relation::LetRec { bindings, limit: self.limit, body: Box::new(body) }
    }
}

impl Binder<'_, '_> {
    /// Binds the expressions of WITH MUTUALLY RECURSIVE and makes them visible; answers their
    /// names too.
    pub fn mutual(
        &mut self,
        limit: Option<RoundLimit>,
        tables: &[ast::Cte],
    ) -> Result<(Vec<String>, Mutual)> {
        let mut names: Vec<String> = vec![];
        let mut declared = vec![];
        for cte in tables {
            let cte_name = name::ident(&cte.alias.name);
            if names.contains(&cte_name) {
                return Err(self.named_twice(&cte_name, cte));
            }
            declared.push(self.declared(cte)?);
            names.push(cte_name);
        }
        let ids: Vec<u64> = names.iter().map(|_| self.fresh_let()).collect();
        for ((cte_name, columns), id) in names.iter().zip(&declared).zip(&ids) {
            let columns = columns.clone();
            let cte = Cte::new(Some(*id), columns, Stage::Whole);
            self.ctes.entry(cte_name.clone()).or_default().push(cte);
        }
        let around = std::mem::take(&mut self.recursion);
        let bound = tables.iter().zip(&declared).map(|(cte, columns)| self.binding(cte, columns));
        let bound: Result<Vec<Plan>> = bound.collect();
        self.recursion = around;
        let bound = bound.inspect_err(|_| {
            for cte_name in &names {
                self.ctes.get_mut(cte_name).map(Vec::pop);
            }
        })?;
        let bindings = bound.into_iter().zip(declared).zip(ids);
        let bindings = bindings.map(|((plan, columns), id)| {
            let columns = columns.iter().map(|column| column.ty).collect();
            Binding { id, value: plan.relation, columns }
        });
        let limit = limit.or_else(|| self.round_limit());
        Ok((names, Mutual { bindings: bindings.collect(), limit }))
    }

    /// The columns that a binding declares. Errors: 42601 where one has no type.
    fn declared(&self, cte: &ast::Cte) -> Result<Vec<OutputColumn>> {
        let position = self.position(cte.alias.name.span);
        let untyped = || {
            let cte_name = name::ident(&cte.alias.name);
            let message =
                format!("WITH MUTUALLY RECURSIVE query \"{cte_name}\" needs typed columns");
            Error::new(SqlState::SYNTAX_ERROR, message)
                .with_hint("Declare each column: name (column type, …) AS (…).")
                .at(position)
        };
        if cte.alias.columns.is_empty() {
            return Err(untyped());
        }
        let columns = cte.alias.columns.iter().map(|column| {
            let ty = types::column_type(column.data_type.as_ref().ok_or_else(untyped)?)
                .map_err(|e| e.at(position))?;
            let ty = ColumnType { nullable: true, ..ty };
            Ok(OutputColumn { name: name::ident(&column.name), ty, literal: None })
        });
        columns.collect()
    }

    /// The rows of a binding in the declared types, as an assignment converts them.
    fn binding(&mut self, cte: &ast::Cte, declared: &[OutputColumn]) -> Result<Plan> {
        let query = self.query(&cte.query, true)?;
        let Query { plan, columns, .. } = self.cut(query)?;
        let mismatched = {
            let spell = |columns: &[OutputColumn]| {
                let names = columns.iter().map(|column| match column.literal {
                    Some(_) => "unknown",
                    None => column.ty.scalar.display_name(),
                });
                names.collect::<Vec<_>>().join(", ")
            };
            let message = format!(
                "WITH MUTUALLY RECURSIVE query \"{}\" declared types ({}), but query returns types \
                 ({})",
                name::ident(&cte.alias.name),
                spell(declared),
                spell(&columns),
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message).at(self.position(cte.alias.name.span))
        };
        if columns.len() != declared.len() {
            return Err(mismatched);
        }
        let mut exprs: Vec<Typed> = vec![];
        for (index, (column, to)) in columns.iter().zip(declared).enumerate() {
            match self.assignable(output_value(index, column), to.ty)? {
                Some(typed) => exprs.push(typed),
                None => return Err(mismatched),
            }
        }
        Ok(plan.select(exprs))
    }

    /// The error of a name that WITH gives a second time.
    pub fn named_twice(&self, cte_name: &str, cte: &ast::Cte) -> Error {
        Error::new(
            SqlState::DUPLICATE_ALIAS,
            format!("WITH query name \"{cte_name}\" specified more than once"),
        )
        .at(self.position(cte.alias.name.span))
    }
}
