//! SELECT over rules: what its WHERE says of columns by constants is demanded.
//!
//! `SELECT y FROM path WHERE x = 1` reads of `path`, a view over rules or a rule of the session,
//! what `FIND X, Y WHERE path(X, Y), X = 1` derives: no row that WHERE keeps is missing, and WHERE
//! stands as it was. Where nothing but such equalities is said, and what is selected and what is
//! given are all columns, so that no row comes twice, the whole SELECT is a FIND, whose constants
//! may be `seeds`.
//!
//! Left out: joins, and constants that are more than a literal, a parameter or a cast of one.

use sqlparser::ast;

use crate::sql::bind::context::Binder;
use crate::sql::bind::name::ident;
use crate::sql::bind::relation::Plan;
use crate::sql::bind::scope::Scope;
use crate::sql::datalog::ast::{
    Argument, Atom, HeadTerm, Literal, Name, Program, Rule, Term, Value,
};
use crate::sql::datalog::negation::number;

/// What WHERE says of columns.
struct Given<'s> {
    /// A column by its place, and what it equals.
    columns: Vec<(usize, &'s ast::Expr)>,
    /// Whether it says nothing else.
    whole: bool,
}

impl Binder<'_, '_> {
    /// The rows of what a SELECT reads, as far as its WHERE may keep them; none where all of them
    /// are as good.
    pub fn selected_by_demand(
        &mut self,
        select: &ast::Select,
        scope: &Scope,
        plan: &Plan,
    ) -> Option<Plan> {
        let object = self.rules_named(select)?;
        let given = given(select.selection.as_ref()?, scope)?;
        if scope.visible.len() != plan.arity() {
            return None;
        }
        let find = find_of(object, scope, &given, (0..plan.arity()).collect());
        let program = Program { find: Some(find), ..Program::default() };
        // A text that is to be stored is bound for what has to change in it as it stands.
        let (edits, depends_on) = (self.edits.take(), self.depends_on.clone());
        let found = self.apart(|binder| Ok(binder.demanded_rows(&program)));
        (self.edits, self.depends_on) = (edits, depends_on);
        let found = found.ok()??;
        let same = found.types.len() == plan.types.len()
            && found.types.iter().zip(&plan.types).all(|(found, before)| {
                found.scalar == before.scalar && (before.nullable || !found.nullable)
            });
        same.then_some(Plan { types: plan.types.clone(), ..found })
    }

    /// A SELECT as a FIND, where it is one.
    pub fn selected_as_find(&mut self, select: &ast::Select) -> Option<Program> {
        let plain = select.distinct.is_none()
            && select.top.is_none()
            && select.having.is_none()
            && select.qualify.is_none()
            && matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _) if by.is_empty());
        let object = self.rules_named(select).filter(|_| plain)?;
        let ast::TableFactor::Table { alias, .. } = &select.from[0].relation else { return None };
        let scope = self.named_relation(object, alias.as_ref()).ok()?.scope;
        let given = given(select.selection.as_ref()?, &scope).filter(|given| given.whole)?;
        let mut chosen = vec![];
        for item in &select.projection {
            match item {
                ast::SelectItem::UnnamedExpr(expr)
                | ast::SelectItem::ExprWithAlias { expr, .. } => {
                    chosen.push(column_of(expr, &scope)?);
                }
                ast::SelectItem::Wildcard(_) => chosen.extend(0..scope.visible.len()),
                _ => return None,
            }
        }
        let is_told = |at: usize| chosen.contains(&at) || given.columns.iter().any(|g| g.0 == at);
        if chosen.is_empty() || !(0..scope.visible.len()).all(is_told) {
            return None;
        }
        let find = find_of(object, &scope, &given, chosen);
        Some(Program { find: Some(find), ..Program::default() })
    }

    /// The name of what a SELECT reads, where that may be derived by rules and is all it reads.
    fn rules_named<'s>(&mut self, select: &'s ast::Select) -> Option<&'s ast::ObjectName> {
        let [from] = select.from.as_slice() else { return None };
        let ast::TableFactor::Table { name, args: None, sample: None, .. } = &from.relation else {
            return None;
        };
        if !from.joins.is_empty() || self.edn {
            return None;
        }
        if let [part] = name.0.as_slice() {
            let bare = ident(part.as_ident()?);
            if self.ctes.contains_key(&bare) {
                return None;
            }
            if self.cx.rules.contains(&bare) {
                return Some(name);
            }
        }
        let qualified = self.qualified(name).ok()?;
        let item = self.find_object(&qualified).cloned()?;
        self.rules_of_view(&item).ok()?.map(|_| name)
    }

    /// What is found by demand; none where nothing is gained by it.
    fn demanded_rows(&mut self, program: &Program) -> Option<Plan> {
        let (mut rules, mut find) = (self.with_session_rules(program).ok()?, program.find.clone()?);
        number(rules.iter_mut().chain([&mut find]));
        let bound = self.bind_layers(&rules).ok()?;
        let (rules, find) = self.demanded_program(&rules, &find, None, &bound)?;
        let bound = self.bind_layers(&rules).ok()?;
        let query = self.set_of(&[find], &bound.known, None, None).ok()??;
        let relation = self.around(query.plan.relation, bound.layers);
        Some(Plan { relation, types: query.plan.types })
    }
}

/// What a condition says of columns by constants; none where that is nothing.
fn given<'s>(selection: &'s ast::Expr, scope: &Scope) -> Option<Given<'s>> {
    let mut given = Given { columns: vec![], whole: true };
    gather(selection, scope, &mut given);
    Some(given).filter(|given| !given.columns.is_empty())
}

fn gather<'s>(expr: &'s ast::Expr, scope: &Scope, given: &mut Given<'s>) {
    match expr {
        ast::Expr::Nested(inner) => gather(inner, scope, given),
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            gather(left, scope, given);
            gather(right, scope, given);
        }
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => {
            let said = |column: &'s ast::Expr, value: &'s ast::Expr| {
                is_constant(value).then(|| Some((column_of(column, scope)?, value)))?
            };
            match said(left, right).or_else(|| said(right, left)) {
                Some(said) if given.columns.iter().all(|known| known.0 != said.0) => {
                    given.columns.push(said);
                }
                _ => given.whole = false,
            }
        }
        _ => given.whole = false,
    }
}

/// The place of a column that an expression is.
fn column_of(expr: &ast::Expr, scope: &Scope) -> Option<usize> {
    let name = match expr {
        ast::Expr::Identifier(name) => name,
        ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, name] if scope.tables.len() == 1 && scope.tables[0].name == ident(table) => {
                name
            }
            _ => return None,
        },
        _ => return None,
    };
    let name = ident(name);
    let mut places = scope.visible.iter().filter(|column| column.name == name);
    let place = places.next()?.index;
    places.next().is_none().then_some(place)
}

fn is_constant(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(_) => true,
        ast::Expr::Nested(inner) | ast::Expr::Cast { expr: inner, .. } => is_constant(inner),
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => {
            matches!(&**expr, ast::Expr::Value(_))
        }
        _ => false,
    }
}

/// The query for columns of a relation, of which some are given.
fn find_of(object: &ast::ObjectName, scope: &Scope, given: &Given<'_>, chosen: Vec<usize>) -> Rule {
    let text = object.to_string();
    let name = Name { folded: text.clone(), written: text.clone(), position: None };
    let variable = |at: usize| {
        let folded = format!("column {at}");
        Term::Variable(Name { written: folded.clone(), folded, position: None })
    };
    let args = (0..scope.visible.len()).map(variable);
    let atom = Atom {
        name: object.clone(),
        args: args.map(|term| Argument { column: None, term }).collect(),
        call: None,
        text: text.clone(),
        position: None,
    };
    let mut body = vec![Literal::Atom(atom)];
    body.extend(given.columns.iter().map(|(at, value)| {
        let expr = (*value).clone();
        let value = Value { expr, words: vec![], aggregates: false, position: None };
        Literal::Equal(variable(*at), Term::Value(Box::new(value)), None)
    }));
    let head = chosen.into_iter().map(variable);
    let head = head.map(|term| HeadTerm { term, alias: None, lattice: None }).collect();
    Rule { name, head, body, types: vec![], text, lines: None }
}
