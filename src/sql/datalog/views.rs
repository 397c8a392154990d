//! Views over rules, opened: their rules stand among those of the program that reads them.
//!
//! A plain view `AS DATALOG` is a relation like any other, derived whole. Where demand is to reach
//! through it, a program is bound once more with the view's rules as its own, each under a name
//! that tells the view; the view's atoms name them so.
//!
//! Invariant: what is opened has the columns that the view has. Where it would not, or where a name
//! would come to mean another thing, nothing is opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::item::{Item, ItemKind};
use crate::error::Result;
use crate::repr::GlobalId;
use crate::sql::bind::context::Binder;
use crate::sql::datalog::ast::{Atom, Literal, Rule};
use crate::sql::datalog::demand::object;
use crate::sql::datalog::negation::is_negation;
use crate::sql::datalog::program::BoundLayers;

/// A program with views opened.
struct Opening {
    rules: Vec<Rule>,
    /// The views, and what their rows are derived into; none where a view has no rules.
    views: BTreeMap<GlobalId, Option<(String, Arc<Item>)>>,
}

impl Binder<'_, '_> {
    /// The rules and the query with the rules of the views that they read; none where they read
    /// none.
    pub fn opened(
        &mut self,
        rules: &[Rule],
        find: &Rule,
    ) -> Result<Option<(Vec<Rule>, Rule, BoundLayers)>> {
        let own: Vec<String> = rules.iter().map(|rule| rule.name.folded.clone()).collect();
        let mut opening = Opening { rules: vec![], views: BTreeMap::new() };
        let mut left = rules.to_vec();
        left.push(find.clone());
        let mut at = 0;
        while let Some(mut rule) = left.get(at).cloned() {
            let is_own = at <= rules.len();
            let mut found = vec![];
            if !self.open_atoms(&mut rule.body, is_own, &own, &mut opening, &mut found)? {
                return Ok(None);
            }
            left.extend(found);
            opening.rules.push(rule);
            at += 1;
        }
        let views: Vec<_> = opening.views.into_values().flatten().collect();
        if views.is_empty() {
            return Ok(None);
        }
        let mut rules_of_all = opening.rules;
        let find = rules_of_all.remove(rules.len());
        let bound = self.bind_layers(&rules_of_all)?;
        let same = views.iter().all(|(name, item)| {
            let ItemKind::View(view) = &item.kind else { return false };
            let Some(known) = bound.known.get(name) else { return false };
            let Some(types) = &known.types else { return false };
            let columns = &view.desc.columns;
            columns.len() == types.len()
                && columns.iter().zip(types).all(|(a, b)| a.ty.scalar == b.scalar)
                && columns.iter().map(|column| &column.name).eq(&known.names)
        });
        Ok(same.then_some((rules_of_all, find, bound)))
    }

    /// Has atoms name the rules of the views that they read, and adds those that are new; says
    /// whether all names mean what they meant.
    fn open_atoms(
        &mut self,
        body: &mut [Literal],
        is_own: bool,
        own: &[String],
        opening: &mut Opening,
        found: &mut Vec<Rule>,
    ) -> Result<bool> {
        for literal in body {
            let atom = match literal {
                Literal::Atom(atom) | Literal::Not(atom) => atom,
                Literal::Or(branches, _) => {
                    for branch in branches {
                        if !self.open_atoms(branch, is_own, own, opening, found)? {
                            return Ok(false);
                        }
                    }
                    continue;
                }
                Literal::Equal(..) | Literal::Condition(_) => continue,
            };
            if let Some(name) = atom.bare_name() {
                let of_view = name.ends_with(OF_VIEW);
                if of_view || is_own && own.contains(&name) {
                    continue;
                }
                if own.contains(&name) {
                    return Ok(false);
                }
            }
            self.open_atom(atom, opening, found)?;
        }
        Ok(true)
    }

    fn open_atom(
        &mut self,
        atom: &mut Atom,
        opening: &mut Opening,
        found: &mut Vec<Rule>,
    ) -> Result<()> {
        let name = self.qualified(&atom.name)?;
        let Some(item) = self.find_object(&name).cloned() else { return Ok(()) };
        let ItemKind::View(view) = &item.kind else { return Ok(()) };
        if view.materialized {
            return Ok(());
        }
        let opened = match opening.views.get(&item.id) {
            Some(opened) => opened.clone(),
            None => {
                let rules = self.rules_of_view(&item)?;
                let opened = rules.map(|(rules, wanted)| {
                    found.extend(renamed(rules, item.id));
                    (name_in(&wanted, item.id), item.clone())
                });
                opening.views.insert(item.id, opened.clone());
                opened
            }
        };
        if let Some((name, _)) = opened {
            atom.name = object(&name);
        }
        Ok(())
    }
}

/// The rules of a view under names of their own.
fn renamed(mut rules: Vec<Rule>, view: GlobalId) -> Vec<Rule> {
    let names = rules.iter().map(|rule| rule.name.folded.clone());
    let names: BTreeMap<String, String> =
        names.map(|name| (name.clone(), name_in(&name, view))).collect();
    for rule in &mut rules {
        rule.name.folded.clone_from(&names[&rule.name.folded]);
        rename(&mut rule.body, &names);
    }
    rules
}

fn rename(body: &mut [Literal], names: &BTreeMap<String, String>) {
    for literal in body {
        match literal {
            Literal::Atom(atom) | Literal::Not(atom) => {
                if let Some(name) = atom.bare_name().and_then(|name| names.get(&name)) {
                    atom.name = object(name);
                }
            }
            Literal::Or(branches, _) => branches.iter_mut().for_each(|b| rename(b, names)),
            Literal::Equal(..) | Literal::Condition(_) => {}
        }
    }
}

/// How the names of rules of views end; no rule can have been given such a name without quotes.
const OF_VIEW: &str = " of a view";

/// The name of a view's rule. That of a negation stays one.
fn name_in(name: &str, view: GlobalId) -> String {
    match is_negation(name) {
        true => format!("{name} in {view}{OF_VIEW}"),
        false => format!("{view} {name}{OF_VIEW}"),
    }
}
