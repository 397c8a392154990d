//! Domains: CREATE DOMAIN, ALTER DOMAIN, and what a value must be to belong to one.

use sqlparser::ast;

use crate::catalog::item::ItemKind;
use crate::catalog::types::{Check, Definition, Domain, Type};
use crate::error::{Error, Result, SqlState};
use crate::expr::error::EvalError;
use crate::expr::functions::sequence::sequence_calls;
use crate::expr::scalar::Expr;
use crate::plan::relation::{Relation, RelationType};
use crate::plan::statement::{
    AlterType, CreateType, NewDomain, NewType, Statement, TypeChange, Violation,
};
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc};
use crate::sql::bind::apply::has_subquery;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::{query_of, scope_of};
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::user_type::Named;
use crate::sql::parse::ast as syntax;
use crate::sql::parse::ast::{CreateDomain, DomainChange, NewCheck};

/// What a value is called in a domain's conditions.
const VALUE: &str = "value";

/// Where a condition over a value is not false.
fn holds(condition: Expr) -> Expr {
    Expr::Coalesce(vec![condition, Expr::bool(true)])
}

impl Binder<'_, '_> {
    /// A value of a domain's own type as one of the domain: it fails where it is not.
    pub fn constrained(&mut self, value: Typed, domain: GlobalId) -> Result<Typed> {
        if value.expr.is_volatile() || sequence_calls(&value.expr).0 {
            return Err(Error::unsupported(
                "a conversion of a volatile value to a domain",
                "Compute the value in a subquery, and convert it outside.",
            ));
        }
        let catalog = self.cx.catalog;
        let chain: Vec<_> = catalog.domains(domain).collect();
        let Some(name) = chain.first().map(|(item, _)| item.name.clone()) else {
            return Err(Error::internal("a domain that is none"));
        };
        let mut ty = value.ty;
        let mut branches = vec![];
        let raise = |error| Expr::Raise(error, value.ty);
        if chain.iter().any(|(_, domain)| domain.not_null) {
            let message = format!("domain {name} does not allow null values");
            let error = EvalError::new(SqlState::NOT_NULL_VIOLATION, message);
            branches.push((value.expr.clone().is_null(), raise(error)));
            ty.nullable = false;
        }
        for (_, domain) in chain.iter().rev() {
            let mut checks: Vec<_> = domain.checks.iter().collect();
            checks.sort_by(|a, b| a.name.cmp(&b.name));
            for check in checks {
                let mut condition = self.check_condition(&check.text, domain.base)?;
                condition.visit_mut(&mut |expr| {
                    if matches!(expr, Expr::Column(_)) {
                        *expr = value.expr.clone();
                    }
                });
                let message =
                    format!("value for domain {name} violates check constraint \"{}\"", check.name);
                let error = EvalError::new(SqlState::CHECK_VIOLATION, message);
                branches.push((holds(condition).not(), raise(error)));
            }
        }
        if branches.is_empty() {
            return Ok(value);
        }
        Ok(Typed { expr: Expr::Case { branches, otherwise: Box::new(value.expr) }, ty })
    }

    /// A domain's condition over a value, which is column 0.
    fn check_condition(&mut self, text: &str, base: ColumnType) -> Result<Expr> {
        let parsed = query_of(&format!("SELECT {text}"))?;
        let syntax::Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("the text of a condition is no expression"));
        };
        let ast::SetExpr::Select(select) = &*select.query.body else {
            return Err(Error::internal("the text of a condition is no expression"));
        };
        let [ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
            return Err(Error::internal("the text of a condition is not one expression"));
        };
        let ty = ColumnType { nullable: true, ..base };
        let columns = vec![ColumnDesc { name: VALUE.to_owned(), ty }];
        let scope = scope_of(&RelationDesc { columns, keys: vec![] });
        let lines = std::mem::take(&mut self.lines);
        let levels = std::mem::take(&mut self.levels);
        let bound = self
            .expr(expr, &mut ExprContext::plain(&scope, Clause::Check))
            .and_then(|bound| self.condition(bound, "CHECK", None));
        self.lines = lines;
        self.levels = levels;
        let typed = bound.map_err(|error| Error { position: None, ..error })?;
        if has_subquery(&typed.expr) {
            let message = "cannot use subquery in check constraint";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if typed.expr.is_volatile() || typed.expr.reads_clock() {
            return Err(Error::unsupported(
                "a volatile function in a check constraint",
                "Check what the value itself says.",
            ));
        }
        Ok(typed.expr)
    }

    /// CREATE DOMAIN.
    pub fn create_domain(&mut self, create: &CreateDomain) -> Result<Statement> {
        let (schema, name) = self.new_name(&create.name)?;
        let Named { ty, domain: over } = self.named_type(&create.data_type)?;
        let base = ColumnType { nullable: true, ..ty };
        let default = create.default.as_ref().map(|expr| self.domain_default(expr, &name, base));
        let mut checks: Vec<Check> = vec![];
        for check in &create.checks {
            checks.push(self.new_check(check, &name, base, &checks)?);
        }
        let checks = checks.into_iter().map(|check| (check.name, check.text)).collect();
        let default = default.transpose()?;
        let not_null = create.null == Some(false);
        let definition = NewType::Domain(NewDomain { base, over, not_null, default, checks });
        Ok(Statement::CreateType(CreateType { schema, name, definition }))
    }

    fn domain_default(&mut self, expr: &ast::Expr, name: &str, base: ColumnType) -> Result<String> {
        let text = expr.to_string();
        self.stored_expression = true;
        let bound = self.default_expr(&text, name, base);
        self.stored_expression = false;
        bound.map(|_| text)
    }

    /// A condition under its name: one that is given, or the first that is free.
    fn new_check(
        &mut self,
        check: &NewCheck,
        domain: &str,
        base: ColumnType,
        others: &[Check],
    ) -> Result<Check> {
        let is_taken = |name: &String| others.iter().any(|other| other.name == *name);
        let name = match &check.name {
            Some(given) => {
                let name = name::ident(given);
                if is_taken(&name) {
                    return Err(Error::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!("constraint \"{name}\" for domain \"{domain}\" already exists"),
                    ));
                }
                name
            }
            None => {
                let first = format!("{domain}_check");
                let numbered = (1..).map(|n| format!("{domain}_check{n}"));
                let mut names = std::iter::once(first).chain(numbered);
                names.find(|name| !is_taken(name)).unwrap_or_default()
            }
        };
        let text = check.condition.to_string();
        self.stored_expression = true;
        let bound = self.check_condition(&text, base);
        self.stored_expression = false;
        bound.map(|_| Check { name, text })
    }

    /// ALTER DOMAIN.
    pub fn alter_domain(
        &mut self,
        object: &ast::ObjectName,
        change: &DomainChange,
    ) -> Result<Statement> {
        let (item, ty) = self.changed_type(object, "a domain")?;
        let Type { definition: Definition::Domain(domain), .. } = ty else {
            let message = format!("{} is not a domain", item.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let mut violations = vec![];
        let is_harmless =
            matches!(change, DomainChange::Default(_) | DomainChange::RenameCheck { .. });
        if !is_harmless {
            self.refuse_read(item.id)?;
        }
        let change = match change {
            DomainChange::Rename(to) => {
                self.refuse_used(&item, "ALTER DOMAIN … RENAME")?;
                TypeChange::Rename(name::ident(to))
            }
            DomainChange::Default(default) => {
                let default = default.as_ref();
                let default = default.map(|e| self.domain_default(e, &item.name, domain.base));
                TypeChange::Default(default.transpose()?)
            }
            DomainChange::NotNull(not_null) => {
                if *not_null {
                    violations = self.violations(item.id, None, &domain)?;
                }
                TypeChange::NotNull(*not_null)
            }
            DomainChange::Add(check) => {
                let check = self.new_check(check, &item.name, domain.base, &domain.checks)?;
                violations = self.violations(item.id, Some(&check), &domain)?;
                TypeChange::AddCheck(check.name, check.text)
            }
            DomainChange::Drop { name, if_exists } => {
                TypeChange::DropCheck { name: name::ident(name), if_exists: *if_exists }
            }
            DomainChange::RenameCheck { from, to } => {
                TypeChange::RenameCheck { from: name::ident(from), to: name::ident(to) }
            }
        };
        let tag = "ALTER DOMAIN";
        Ok(Statement::AlterType(AlterType { id: item.id, change, tag, violations }))
    }

    /// Refuses to change a domain that views convert to: what they hold would not follow.
    fn refuse_read(&self, domain: GlobalId) -> Result<()> {
        let mut readers = self.cx.catalog.dependents(domain);
        let reader =
            readers.find(|user| matches!(user.kind, ItemKind::View(_) | ItemKind::Index(_)));
        match reader {
            None => Ok(()),
            Some(user) => Err(Error::unsupported(
                format!(
                    "ALTER DOMAIN of a domain that {} \"{}\" uses",
                    user.kind_name(),
                    user.name
                ),
                "Drop what uses the domain, and create it again.",
            )),
        }
    }

    /// The rows that a new condition refuses, or NULLs where there is none, of every table with a
    /// column of the domain.
    fn violations(
        &mut self,
        domain: GlobalId,
        check: Option<&Check>,
        definition: &Domain,
    ) -> Result<Vec<Violation>> {
        let condition = match check {
            Some(check) => Some(self.check_condition(&check.text, definition.base)?),
            None => None,
        };
        let catalog = self.cx.catalog;
        let mut found = vec![];
        for item in catalog.items() {
            let ItemKind::Table(table) = &item.kind else { continue };
            for (column, of) in table.domains().enumerate() {
                let mut chain = of.into_iter().flat_map(|of| catalog.domains(of));
                if !chain.any(|(item, _)| item.id == domain) {
                    continue;
                }
                let name = &table.desc.columns[column].name;
                let (refused, error) = match &condition {
                    Some(condition) => {
                        let mut condition = condition.clone();
                        condition.map_columns(|_| column);
                        let message = format!(
                            "column \"{name}\" of table \"{}\" contains values that violate the \
                             new constraint",
                            item.name
                        );
                        let error = Error::new(SqlState::CHECK_VIOLATION, message);
                        (holds(condition).not(), error)
                    }
                    None => {
                        let message = format!(
                            "column \"{name}\" of table \"{}\" contains null values",
                            item.name
                        );
                        let error = Error::new(SqlState::NOT_NULL_VIOLATION, message);
                        (Expr::Column(column).is_null(), error)
                    }
                };
                let (columns, keys) = (table.desc.types(), table.desc.keys.clone());
                let input = Relation::global(item.id, RelationType { columns, keys });
                let rows = Relation::Filter { input: Box::new(input), predicates: vec![refused] };
                found.push(Violation { rows, error });
            }
        }
        Ok(found)
    }
}
