//! `EXPLAIN WHY` and `EXPLAIN WHY NOT`: a fact, and the rules that may derive it.
//!
//! The rules are those of the session, of the program that the question ends, or of a stored view
//! in Datalog. Where demand leaves something out they are the copies that it makes: of those only
//! what may matter for the fact is derived, and what is left of their atoms is what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast as sqlast;
use sqlparser::ast::SetExpr;

use crate::catalog::item::{Item, ItemKind};
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::Statement;
use crate::plan::why::{Predicate, Recursion, Why};
use crate::repr::ColumnType;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;
use crate::sql::datalog::ast::Value;
use crate::sql::datalog::ast::{Atom, Goal, HeadTerm, Literal, Name, Program, Rule, Term};
use crate::sql::datalog::binder::marked;
use crate::sql::datalog::body::places;
use crate::sql::datalog::demand::{is_demand, object};
use crate::sql::datalog::head::lattice_of;
use crate::sql::datalog::heights::{Heights, made, with_height};
use crate::sql::datalog::instances::{Among, Derives};
use crate::sql::datalog::parse::{FIND, program};
use crate::sql::datalog::program::{BoundLayers, Known, Layer, check_rules};
use crate::sql::datalog::shown;
use crate::sql::datalog::text::text_of;
use crate::sql::parse::ast::Statement as Syntax;
use crate::sql::parse::fault::Source;

impl Binder<'_, '_> {
    /// A question for a derivation.
    ///
    /// Errors: 42P01 and 42809 where no rule derives such facts, those of binding the rules.
    pub fn explain_why(&mut self, program: &Program, goal: &Goal) -> Result<Statement> {
        let (rules, name) = self.rules_of(program, goal)?;
        check_rules(&rules)?;
        let bound = self.bind_layers(&rules)?;
        let (values, nulls) = self.fact(goal, &name, &bound.known)?;
        let asked = asked(goal, &name, &nulls);
        let written = shown::relation(&goal.atom);
        let by_demand = match self.demanded_rules(&rules, &asked, None, &bound) {
            Some((copies, find)) => self.layers_of_copies(copies, &find, &name, &bound)?,
            None => None,
        };
        let (rules, bound, name) = by_demand.unwrap_or((rules, bound, name));
        let heights = Heights::of(&rules, &bound.strata)?;
        let all = [rules.as_slice(), heights.rules.as_slice()].concat();
        let bound = self.bind_layers(&all)?;
        let facts = Plan::unit().select(values);
        let predicates = self.predicates(&rules, &name, &heights, &bound, goal.negated)?;
        Ok(Statement::Why(Box::new(Why {
            negated: goal.negated,
            json: goal.json,
            name: written,
            fact: facts.relation,
            nulls,
            predicates,
        })))
    }

    /// The rules that matter for a fact, and the name of its predicate among them.
    fn rules_of(&mut self, program: &Program, goal: &Goal) -> Result<(Vec<Rule>, String)> {
        let bare = goal.atom.bare_name();
        if let Some(name) = &bare
            && (program.rules.iter().any(|rule| rule.name.folded == *name)
                || self.cx.rules.contains(name))
        {
            let find = asked(goal, name, &[]);
            let whole = Program { find: Some(find), ..program.clone() };
            return Ok((self.with_session_rules(&whole)?, name.clone()));
        }
        let name = self.qualified(&goal.atom.name)?;
        let Some(item) = self.find_object(&name).cloned() else {
            return Err(Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{name}\" does not exist"),
            )
            .with_hint("EXPLAIN WHY explains facts of rules and of views AS DATALOG.")
            .at(goal.atom.position));
        };
        self.rules_of_view(&item)?.ok_or_else(|| {
            Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not derived by rules", item.name),
            )
            .with_hint("EXPLAIN WHY explains facts of rules and of views AS DATALOG.")
            .at(goal.atom.position)
        })
    }

    /// The rules of a stored view, and the name of those that derive its rows; none where it is a
    /// query in SQL, or no view.
    pub fn rules_of_view(&mut self, item: &Arc<Item>) -> Result<Option<(Vec<Rule>, String)>> {
        let ItemKind::View(view) = &item.kind else { return Ok(None) };
        let parsed = query_of(&view.text)?;
        let Syntax::Select(select) = parsed.ast() else {
            return Ok(None);
        };
        let found = parsed.on_stack(|| {
            let query = &select.query;
            let plain = query.order_by.is_none() && query.limit_clause.is_none();
            let stretch = match &*query.body {
                SetExpr::Select(body) if plain => program_of(body),
                _ => None,
            };
            let Some(stretch) = stretch else { return Ok(None) };
            let lines = &parsed.lines;
            let text = text_of(lines, stretch)?;
            let source = Source { text: lines.text(), lines };
            Ok::<_, Error>(Some((program(&source, &text.tokens)?, text.rule)))
        });
        let Some((program, rule)) = found? else { return Ok(None) };
        let (mut rules, find) = (program.rules, program.find);
        let name = match (find, rule) {
            (Some(find), _) => {
                let name = Name { written: item.name.clone(), ..made(item.name.clone()) };
                // The query of a view is one more rule, which no other reads.
                let folded = format!("query of {}", item.name);
                rules.push(Rule { name: Name { folded: folded.clone(), ..name }, ..find });
                folded
            }
            (None, Some((rule, _))) => rule,
            (None, None) => item.name.clone(),
        };
        rules.iter_mut().for_each(|rule| rule.lines = Some(parsed.lines.clone()));
        Ok(Some((rules, name)))
    }

    /// The values of a fact in the types of its predicate, and which are NULL as they are written.
    fn fact(&mut self, goal: &Goal, name: &str, known: &Known) -> Result<(Vec<Typed>, Vec<bool>)> {
        let missing = || Error::internal("a fact of a predicate that is not there");
        let predicate = known.get(name).cloned().ok_or_else(missing)?;
        let types = predicate.types.ok_or_else(missing)?;
        let places = places(&goal.atom, &predicate.names)?;
        let (mut values, mut nulls) = (vec![], vec![]);
        for (at, ty) in types.iter().enumerate() {
            let given = places.iter().position(|place| *place == at);
            let Some(Term::Value(value)) = given.map(|at| &goal.atom.args[at].term) else {
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!(
                        "\"{}\" has no value in the fact {}",
                        predicate.names[at], goal.atom.text
                    ),
                )
                .with_hint("A fact has a constant in each column; a string is quoted: 'x'.")
                .at(goal.atom.position));
            };
            let scope = Scope::default();
            let mut cx = ExprContext::plain(&scope, Clause::Where);
            let bound = self.expr(&value.expr, &mut cx)?;
            nulls.push(matches!(&bound, Bound::Unknown { text: None, .. }));
            values.push(self.value_in(bound, ColumnType { nullable: true, ..*ty }, value)?);
        }
        Ok((values, nulls))
    }

    fn value_in(&mut self, bound: Bound, ty: ColumnType, value: &Value) -> Result<Typed> {
        let from = bound.scalar(self);
        if let Some(typed) = self.implicit(bound.clone(), ty)? {
            return Ok(typed);
        }
        // A number is an integer of the column's size, if it fits there.
        if from.is_some_and(is_integer)
            && is_integer(ty.scalar)
            && let Some(typed) = self.assignable(bound, ty)?
        {
            return Ok(typed);
        }
        Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "the column is of type {}, but the fact's value of type {}",
                ty.scalar.display_name(),
                from.map_or("unknown", crate::repr::ScalarType::display_name)
            ),
        )
        .with_hint("Cast the value.")
        .at(value.position))
    }

    /// The copies that are derived by demand, where they are as the rules are.
    fn layers_of_copies(
        &mut self,
        copies: Vec<Rule>,
        find: &Rule,
        name: &str,
        before: &BoundLayers,
    ) -> Result<Option<(Vec<Rule>, BoundLayers, String)>> {
        let Some(Literal::Atom(Atom { name: copy, .. })) = find.body.first() else {
            return Ok(None);
        };
        let Some(copy) = copy.0.first().and_then(|part| part.as_ident()) else { return Ok(None) };
        let copy = copy.value.clone();
        let bound = self.bind_layers(&copies)?;
        let scalars = |layers: &BoundLayers, name: &str| {
            let types = layers.known.get(name)?.types.clone()?;
            Some(types.iter().map(|ty| ty.scalar).collect::<Vec<_>>())
        };
        let same = scalars(before, name) == scalars(&bound, &copy);
        Ok(same.then_some((copies, bound, copy)))
    }

    /// The predicates that a fact of the first may depend on.
    fn predicates(
        &mut self,
        rules: &[Rule],
        first: &str,
        heights: &Heights,
        bound: &BoundLayers,
        negated: bool,
    ) -> Result<Vec<Predicate>> {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::from([(first.to_owned(), 0)]);
        let mut order = vec![first.to_owned()];
        let mut at = 0;
        while let Some(name) = order.get(at).cloned() {
            at += 1;
            for rule in rules.iter().filter(|rule| rule.name.folded == name) {
                for (atom, not) in rule.atoms() {
                    let Some(read) = atom.bare_name().filter(|_| !not) else { continue };
                    let derived = rules.iter().any(|rule| rule.name.folded == read);
                    if derived && !is_demand(&read) && !numbers.contains_key(&read) {
                        numbers.insert(read.clone(), order.len());
                        order.push(read);
                    }
                }
            }
        }
        let of_heights: Vec<u64> = heights
            .strata
            .keys()
            .filter_map(|name| bound.known.get(&with_height(name)).map(|p| p.id))
            .collect();
        let is_own = |layer: &&Layer| !layer.ids().iter().any(|id| of_heights.contains(id));
        let layers: Vec<Layer> = bound.layers.iter().filter(is_own).cloned().collect();
        let known = &bound.known;
        let among = Among { known, heights, layers: &layers, numbers: &numbers };
        let needed = if negated { 1 } else { order.len() };
        let mut predicates = vec![];
        for (at, name) in order.iter().enumerate() {
            let whole = at < needed;
            predicates.push(self.why_predicate(name, rules, bound, &among, (whole, negated))?);
        }
        Ok(predicates)
    }

    fn why_predicate(
        &mut self,
        name: &str,
        rules: &[Rule],
        bound: &BoundLayers,
        among: &Among<'_>,
        (with_rules, steps): (bool, bool),
    ) -> Result<Predicate> {
        let missing = || Error::internal("a predicate that is not there");
        let local = |name: &str| {
            let predicate = bound.known.get(name).ok_or_else(missing)?;
            let types = predicate.types.clone().ok_or_else(missing)?;
            Ok::<_, Error>((predicate.id, types))
        };
        let (id, types) = local(name)?;
        let own: Vec<&Rule> = rules.iter().filter(|rule| rule.name.folded == name).collect();
        let content = Plan::local(id, types.clone()).relation;
        let content = self.around(content, among.layers.to_vec());
        let recursion = match among.heights.strata.get(name) {
            None => None,
            Some(stratum) => {
                let (id, types) = local(&with_height(name))?;
                let facts = Plan::local(id, types.clone()).relation;
                let facts = self.around(facts, bound.layers.clone());
                Some(Recursion { stratum: *stratum, id, types, facts })
            }
        };
        let mut lattice = lattice_of(own.iter().copied())?;
        let joined = lattice.iter().flatten().filter(|column| column.is_some()).count();
        if joined > 1 && recursion.is_none() && own.len() == 1 {
            // One rule aggregates what it derives itself.
            lattice = None;
        } else if joined > 1 && !steps {
            return Err(Error::unsupported(
                format!("EXPLAIN WHY of \"{}\", which has two extremes,", own[0].name.written),
                "Derive them by rules of two names.",
            ));
        }
        let mut bound_rules = vec![];
        for rule in own.iter().filter(|_| with_rules) {
            let derives = Derives { rule, types: &types, lattice: lattice.as_ref() };
            bound_rules.push(self.why_rule(derives, among, steps)?);
        }
        Ok(Predicate {
            name: own.first().map_or_else(|| name.to_owned(), |rule| rule.name.written.clone()),
            types,
            content,
            recursion,
            lattice: lattice.map(|columns| columns.iter().map(Option::is_some).collect()),
            rules: bound_rules,
        })
    }
}

fn is_integer(scalar: crate::repr::ScalarType) -> bool {
    use crate::repr::ScalarType::{Int2, Int4, Int8};
    matches!(scalar, Int2 | Int4 | Int8)
}

/// The query for a fact; what is NULL matches anything.
fn asked(goal: &Goal, name: &str, nulls: &[bool]) -> Rule {
    let mut atom = Atom { name: object(name), ..goal.atom.clone() };
    if atom.args.iter().all(|argument| argument.column.is_none()) {
        for (argument, is_null) in atom.args.iter_mut().zip(nulls) {
            if *is_null {
                argument.term = Term::Wildcard(None);
            }
        }
    }
    let one = sqlast::Expr::Value(sqlast::Value::Boolean(true).with_empty_span());
    let one = Value { expr: one, words: vec![], aggregates: false, position: None };
    let head = HeadTerm { term: Term::Value(Box::new(one)), alias: None, lattice: None };
    let text = goal.atom.text.clone();
    let body = vec![Literal::Atom(atom)];
    Rule { name: made(FIND), head: vec![head], body, types: vec![], text, lines: None }
}

/// Where the program stands that a view is.
pub fn program_of(body: &sqlast::Select) -> Option<crate::sql::datalog::text::Stretch> {
    let [from] = body.from.as_slice() else { return None };
    let whole = matches!(body.projection.as_slice(), [sqlast::SelectItem::Wildcard(_)]);
    if !whole || body.selection.is_some() || !from.joins.is_empty() {
        return None;
    }
    marked(&from.relation).map(|(stretch, _)| stretch)
}
