//! Where the SQL binder meets Datalog: programs in FROM, rules that are statements, and rules of
//! the session that are read by name.

use std::collections::BTreeSet;

use sqlparser::ast as sqlast;

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::Statement;
use crate::sql::bind::context::Binder;
use crate::sql::bind::from::Source;
use crate::sql::bind::name::{ident, quoted};
use crate::sql::bind::query::OutputColumn;
use crate::sql::bind::relation::Plan;
use crate::sql::bind::scope::{Column, Scope, Table};
use crate::sql::datalog::ast::{Name, Program, Rule};
use crate::sql::datalog::negation::is_negation;
use crate::sql::datalog::parse::program;
use crate::sql::datalog::recognize::PROGRAM;
use crate::sql::datalog::text::{Stretch, Text, text_of};
use crate::sql::parse::fault;

impl Binder<'_, '_> {
    /// The rows of a program that is marked in FROM; none where the item is something else.
    pub fn datalog_source(&mut self, factor: &sqlast::TableFactor) -> Result<Option<Source>> {
        let Some((stretch, alias)) = marked(factor) else { return Ok(None) };
        let text = text_of(&self.lines, stretch)?;
        let parsed = self.parsed(&text)?;
        let wanted = match (&parsed.find, &text.rule, &self.view_name) {
            (Some(_), ..) | (None, None, None) => None,
            (None, Some((rule, span)), _) => Some(Name {
                folded: rule.clone(),
                written: rule.clone(),
                position: self.position(*span),
            }),
            (None, None, Some(view)) => {
                let view = view.clone();
                if let Some(span) = text.word {
                    self.edit(span, || format!("DATALOG {}", quoted(&view)));
                }
                Some(Name { folded: view.clone(), written: view, position: None })
            }
        };
        let edn = std::mem::replace(&mut self.edn, text.edn);
        let bound = self.apart(|binder| binder.program(&parsed, wanted.as_ref()));
        self.edn = edn;
        let (plan, columns) = bound?;
        let table = table_of("datalog", &columns);
        self.aliased(plan, table, alias).map(Some)
    }

    /// The rows of a rule of the session, where the name is one's and nothing hides it.
    pub fn session_rule(&mut self, name: &str) -> Result<Option<(Plan, Table)>> {
        if !self.cx.rules.contains(name) {
            return Ok(None);
        }
        self.refuse_session_rule(name)?;
        let wanted = Name { folded: name.to_owned(), written: name.to_owned(), position: None };
        let empty = Program { rules: self.cx.rules.of(name)?, ..Program::default() };
        let (plan, columns) = self.apart(|binder| binder.program(&empty, Some(&wanted)))?;
        Ok(Some((plan, table_of(name, &columns))))
    }

    /// Rules that are a statement, or end with EXPLAIN WHY.
    ///
    /// Errors: those of binding them, 42P07 where a name is a relation's, 42P02.
    pub fn define_rules(&mut self, stretch: Stretch) -> Result<Statement> {
        let text = text_of(&self.lines, stretch)?;
        let parsed = self.parsed(&text)?;
        if let Some(goal) = &parsed.why {
            return self.apart(|binder| binder.explain_why(&parsed, goal));
        }
        let Program { rules: new, .. } = parsed;
        let Some(first) = new.first() else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "a program without a rule")
                .with_hint("A rule is head(X, \u{2026}) <- body(X, \u{2026}), \u{2026}."));
        };
        // What is negated in a rule is a part of its text.
        let written = || new.iter().filter(|rule| !is_negation(&rule.name.folded));
        for rule in written() {
            self.refuse_taken(&rule.name)?;
        }
        let defined: Vec<(String, String)> =
            written().map(|rule| (rule.name.folded.clone(), rule.text.clone())).collect();
        let wanted = written().next().unwrap_or(first).name.clone();
        let mut rules: Vec<Rule> = self.cx.rules.all()?;
        rules.extend(new);
        let all = Program { rules, ..Program::default() };
        self.apart(|binder| binder.program(&all, Some(&wanted)))?;
        if !self.cx.param_types.is_empty() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1")
                .with_hint("A rule outlives its statement: parameters belong into FIND."));
        }
        Ok(Statement::DefineRules { rules: defined })
    }

    /// The rules of a program with those of the session that they read.
    pub fn with_session_rules(&mut self, program: &Program) -> Result<Vec<Rule>> {
        let mut rules = program.rules.clone();
        let mut there: BTreeSet<String> = rules.iter().map(|r| r.name.folded.clone()).collect();
        let mut at = 0;
        let mut asked: Vec<String> = vec![];
        let read = |rule: &Rule| {
            let atoms = rule.atoms().into_iter().filter_map(|(atom, _)| atom.bare_name());
            atoms.collect::<Vec<_>>()
        };
        asked.extend(program.find.iter().flat_map(read));
        loop {
            asked.extend(rules[at..].iter().flat_map(read));
            at = rules.len();
            let Some(name) = asked.pop() else { return Ok(rules) };
            if !self.cx.rules.contains(&name) || !there.insert(name.clone()) {
                continue;
            }
            self.refuse_session_rule(&name)?;
            rules.extend(self.cx.rules.of(&name)?);
        }
    }

    /// Fails where what is bound is stored, and would outlive the rules of the session.
    fn refuse_session_rule(&self, name: &str) -> Result<()> {
        if self.edits.is_none() {
            return Ok(());
        }
        Err(Error::unsupported(
            format!("a view over \"{name}\", a rule of the session,"),
            "Make the rule a view: CREATE VIEW name AS DATALOG $$ \u{2026} $$.",
        ))
    }

    /// The names, where all of them are those of rules of the session.
    pub fn dropped_rules(&self, objects: &[sqlast::ObjectName]) -> Option<Vec<String>> {
        let names = objects.iter().map(|object| match object.0.as_slice() {
            [part] => part.as_ident().map(ident).filter(|name| self.cx.rules.contains(name)),
            _ => None,
        });
        names.collect()
    }

    fn refuse_taken(&self, name: &Name) -> Result<()> {
        let found = self.cx.catalog.resolve(self.cx.search_path, &name.folded);
        if found.is_none() {
            return Ok(());
        }
        let message = format!("relation \"{}\" already exists", name.folded);
        Err(Error::new(SqlState::DUPLICATE_TABLE, message)
            .with_hint("Rules derive into a name of their own; INSERT puts rows into a table.")
            .at(name.position))
    }

    /// The program that a text has.
    pub fn parsed(&self, text: &Text) -> Result<Program> {
        let source = fault::Source { text: self.lines.text(), lines: &self.lines };
        program(&source, &text.tokens)
    }

    /// Binds what sees nothing of the query around it.
    pub fn apart<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let ctes = std::mem::take(&mut self.ctes);
        let levels = std::mem::take(&mut self.levels);
        let base = std::mem::take(&mut self.from_base);
        let recursion = std::mem::take(&mut self.recursion);
        let bound = self.deeper(bind);
        (self.ctes, self.levels, self.from_base, self.recursion) = (ctes, levels, base, recursion);
        bound
    }
}

/// Where the program is that an item of FROM marks, and what it is called.
pub fn marked(factor: &sqlast::TableFactor) -> Option<(Stretch, Option<&sqlast::TableAlias>)> {
    let sqlast::TableFactor::Table { name, alias, args: Some(args), .. } = factor else {
        return None;
    };
    let [part] = name.0.as_slice() else { return None };
    if part.as_ident().is_none_or(|ident| ident.value != PROGRAM) {
        return None;
    }
    let mut numbers = args.args.iter().map(|arg| match arg {
        sqlast::FunctionArg::Unnamed(sqlast::FunctionArgExpr::Expr(sqlast::Expr::Value(value))) => {
            match &value.value {
                sqlast::Value::Number(digits, _) => digits.parse::<u32>().ok(),
                _ => None,
            }
        }
        _ => None,
    });
    let (from, to) = (numbers.next()??, numbers.next()??);
    Some((Stretch { from, to }, alias.as_ref()))
}

fn table_of(name: &str, columns: &[OutputColumn]) -> Table {
    let columns = columns.iter().enumerate().map(|(index, column)| Column {
        name: column.name.clone(),
        ty: column.ty,
        index,
        table: None,
    });
    let table = Table::derived(name.to_owned(), columns.collect());
    let Scope { mut tables, .. } = Scope::of_table(table);
    tables.remove(0)
}
