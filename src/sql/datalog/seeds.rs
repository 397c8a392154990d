//! Constants as rows: what a query asks for by constants, for all who ask it of other constants.
//!
//! `FIND Y WHERE path($1, Y)` derives what is demanded of `path` from one constant. A subscription
//! to it is bound a second time, with variables in the place of the constants and one more atom,
//! the *seeds*: for each subscription a row with its number and its constants. The demand begins
//! with the seeds in place of a literal, and the number is the first column of what is found, so
//! that each row tells whose it is: `FIND N, Y WHERE path(C, Y), seeds(N, C)`. Two such plans that
//! differ in their constants alone are equal, and one dataflow serves them; who writes the seeds
//! and parts the rows is the coordinator.
//!
//! Invariants:
//! * What is found under a number is what the query finds with that number's constants: a group
//!   of aggregates is one of one number. Without a group there would be a row also where nothing
//!   is found, so such queries are bound alone.
//! * A constant becomes a value of its column's type only where it would in a comparison.
//! * It is bound alone where demand gains nothing.
//!
//! Constants are lifted that are arguments of atoms, or what a variable equals. Those in other
//! places (a condition, the head, an `OR`, behind `NOT`) stay in the plan: it is shared by those
//! who have the same ones there.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast;

use crate::error::Result;
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::plan::relation::{Id, Relation, RelationType};
use crate::plan::statement::Seeded;
use crate::repr::{ColumnType, GlobalId, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::Plan;
use crate::sql::bind::scope::Scope;
use crate::sql::datalog::ast::{
    Argument, Atom, HeadTerm, Literal, Name, Program, Rule, Term, Value,
};
use crate::sql::datalog::body::{declared, places};
use crate::sql::datalog::demand::{object, term_is_constant};
use crate::sql::datalog::negation::number;
use crate::sql::datalog::program::{BoundLayers, Known, Layer, Predicate};
use crate::sql::datalog::text::text_of;
use crate::sql::datalog::why::program_of;

/// The name of the seeds, which no relation can have been given without quotes.
const SEEDS: &str = "seeds ";

/// The constants of a query, lifted out of it.
struct Lifted {
    /// The query with variables in their place.
    find: Rule,
    /// The values, in their columns' types.
    constants: Vec<Expr>,
    types: Vec<ColumnType>,
}

impl Binder<'_, '_> {
    /// The rows of a query, which is nothing but a program, with its constants as rows. `alone`:
    /// the types of its columns with its constants in it. None where it is to be bound so.
    pub fn seeded_query(&mut self, query: &ast::Query, alone: &[ColumnType]) -> Option<Seeded> {
        let plain = query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && query.fetch.is_none()
            && query.locks.is_empty();
        let ast::SetExpr::Select(body) = &*query.body else { return None };
        let parsed = match program_of(body).filter(|_| plain) {
            Some(stretch) => {
                let text = text_of(&self.lines, stretch).ok().filter(|text| !text.edn)?;
                self.parsed(&text).ok()?
            }
            None if plain => self.selected_as_find(body)?,
            None => return None,
        };
        self.apart(|binder| binder.seeded(&parsed, alone)).ok()?
    }

    /// The query of a program with its constants as rows; none where nothing is gained by that.
    /// `alone`: the types of the columns of the same program with its constants in it.
    fn seeded(&mut self, program: &Program, alone: &[ColumnType]) -> Result<Option<Seeded>> {
        let (mut rules, find) = (self.with_session_rules(program)?, program.find.clone());
        let Some(mut find) = find.filter(has_group) else { return Ok(None) };
        number(rules.iter_mut().chain([&mut find]));
        let bound = self.bind_layers(&rules)?;
        let Some(Lifted { mut find, constants, types }) = self.lifted(&find, &bound)? else {
            return Ok(None);
        };
        let variable = variable_of("number");
        find.head.insert(0, HeadTerm { term: variable.clone(), alias: None, lattice: None });
        if !find.types.is_empty() {
            find.types.insert(0, None);
        }
        let names = (0..types.len()).map(constant_name).map(|name| variable_of(&name));
        let terms = std::iter::once(variable).chain(names);
        let atom = Atom {
            name: object(SEEDS),
            args: terms.map(|term| Argument { column: None, term }).collect(),
            call: None,
            text: find.text.clone(),
            position: find.name.position,
        };
        let demanded = self.demanded_program(&rules, &find, Some(&atom), &bound);
        let Some((rules, find)) = demanded else { return Ok(None) };
        let mut columns = vec![ColumnType::not_null(ScalarType::Int8)];
        columns.extend(&types);
        let ty = RelationType { columns: columns.clone(), keys: vec![vec![0]] };
        let seeds = Relation::Get { id: Id::Global(GlobalId::SEEDS), ty };
        let id = self.fresh_let();
        let names = (0..columns.len()).map(|at| format!("column {at}")).collect();
        let mut known = Known::default();
        known.define(SEEDS, Predicate { id, names, types: Some(columns.clone()) });
        let layer = Layer::Plain(id, Plan { relation: seeds, types: columns });
        let bound = self.bind_layers_over(&rules, known, vec![layer])?;
        let Some(query) = self.set_of(&[find], &bound.known, None, None)? else { return Ok(None) };
        let scalars = |types: &[ColumnType]| types.iter().map(|t| t.scalar).collect::<Vec<_>>();
        let found = scalars(&query.plan.types);
        if found[1..] != scalars(alone) {
            return Ok(None);
        }
        let relation = self.around(query.plan.relation, bound.layers);
        Ok(Some(Seeded { relation, columns: found, constants, types: scalars(&types) }))
    }

    /// The query without the constants that are arguments of its atoms.
    fn lifted(&mut self, find: &Rule, bound: &BoundLayers) -> Result<Option<Lifted>> {
        let declared = declared(find);
        let mut lifted = Lifted { find: find.clone(), constants: vec![], types: vec![] };
        let mut body = std::mem::take(&mut lifted.find.body);
        let mut columns_of: BTreeMap<String, ColumnType> = BTreeMap::new();
        for literal in &mut body {
            let Literal::Atom(atom) = literal else { continue };
            let Some((plan, columns)) = self.relation_of(atom, &bound.known)? else { continue };
            let places = places(atom, &columns)?;
            for (argument, place) in atom.args.iter_mut().zip(places) {
                let ty = ColumnType::nullable(plan.types[place].scalar);
                if let Term::Variable(name) = &argument.term {
                    columns_of.entry(name.folded.clone()).or_insert(ty);
                }
                self.lift(&mut argument.term, ty, &declared, &mut lifted);
            }
        }
        // A variable that equals a constant is one of its column.
        for literal in &mut body {
            let Literal::Equal(a, b, _) = literal else { continue };
            let (name, constant) = match (a, b) {
                (Term::Variable(name), constant) | (constant, Term::Variable(name)) => {
                    (name, constant)
                }
                _ => continue,
            };
            if let Some(ty) = columns_of.get(&name.folded) {
                self.lift(constant, *ty, &declared, &mut lifted);
            }
        }
        lifted.find.body = body;
        Ok(Some(lifted).filter(|lifted| !lifted.constants.is_empty()))
    }

    /// Puts a variable in the place of a constant.
    fn lift(
        &mut self,
        term: &mut Term,
        ty: ColumnType,
        declared: &BTreeSet<String>,
        lifted: &mut Lifted,
    ) {
        let Term::Value(value) = &*term else { return };
        if !term_is_constant(term, declared) {
            return;
        }
        let Some(constant) = self.seed_constant(value, ty) else { return };
        *term = variable_of(&constant_name(lifted.constants.len()));
        lifted.constants.push(constant);
        lifted.types.push(ty);
    }

    /// A constant in a column's type, where a comparison makes it one: a literal or a parameter.
    fn seed_constant(&mut self, value: &Value, ty: ColumnType) -> Option<Expr> {
        let scope = Scope::default();
        let mut cx = ExprContext::plain(&scope, Clause::Where);
        let bound = self.expr(&value.expr, &mut cx).ok()?;
        let fits = |from| from == ty.scalar || functions::is_coercible(Some(from), ty.scalar);
        if !bound.scalar(self).is_none_or(fits) {
            return None;
        }
        let mut expr = self.implicit(bound, ty).ok()??.expr;
        expr.fold(self.cx.settings);
        let inner = match &expr {
            Expr::Cast { input, .. } => input,
            other => other,
        };
        matches!(inner, Expr::Literal(_) | Expr::Parameter(..)).then_some(expr)
    }
}

/// Whether a query has a row only where it finds something: no aggregate, or one of groups.
fn has_group(find: &Rule) -> bool {
    let folds = |head: &HeadTerm| {
        head.lattice.is_some() || matches!(&head.term, Term::Value(value) if value.aggregates)
    };
    !find.head.iter().any(folds) || !find.head.iter().all(folds)
}

/// The name of a constant's variable, which no rule can have written.
fn constant_name(at: usize) -> String {
    format!("constant {at}")
}

fn variable_of(name: &str) -> Term {
    let folded = name.to_owned();
    Term::Variable(Name { written: folded.clone(), folded, position: None })
}
