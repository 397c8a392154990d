//! Literals of the types that name something in the catalog: `'t'::regclass`, `'int4'::regtype`.
//!
//! They are looked up when the statement is bound, and are constants then. Text that is computed is
//! looked up by a query: see [`super::sql_function`].

use bumpalo::Bump;
use sqlparser::ast;

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::system::oids::{OWNER, key_oid, oid, schema_oid};
use crate::error::{Error, Result, SqlState};
use crate::expr::functions::catalog_names::{proc_args, procs_named};
use crate::repr::array::ArrayBuilder;
use crate::repr::text::parse_text;
use crate::repr::{ArrayRef, Datum, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::name::QualifiedName;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::types;
use crate::sql::parse::ast::Statement;

impl Binder<'_, '_> {
    /// The constant that a literal of such a type is.
    pub fn reg_literal(
        &mut self,
        text: &str,
        ty: ScalarType,
        position: Option<u32>,
    ) -> Result<Typed> {
        let text = text.trim();
        let number = match text {
            "-" => Some(0),
            digits => digits.parse().ok(),
        };
        let found = match number {
            Some(number) => number,
            None => self.named_oid(text, ty).map_err(|e| e.at(position))?,
        };
        Ok(Typed::literal(Datum::Oid(found), ty))
    }

    /// The constant that a literal of an array of such a type is.
    pub fn reg_array(
        &mut self,
        text: &str,
        ty: ScalarType,
        position: Option<u32>,
    ) -> Result<Typed> {
        let (Some(reg), Some(names)) = (ty.element(), ScalarType::Text.array()) else {
            return Err(Error::internal("not an array"));
        };
        let arena = Bump::new();
        let names = parse_text(names, -1, text, self.cx.settings, &arena);
        let Datum::Array(element, bytes) = names.map_err(|e| e.at(position))? else {
            return Err(Error::internal("an array's text is none"));
        };
        let names = ArrayRef::new(element, bytes);
        let mut oids = ArrayBuilder::new();
        for name in names.iter() {
            let literal = match name {
                Datum::Text(name) => Some(self.reg_literal(name, reg, position)?),
                _ => None,
            };
            let oid = literal.as_ref().and_then(|literal| literal.expr.as_literal());
            oids.push(&oid.unwrap_or(Datum::Null));
        }
        let element = reg.as_element().ok_or_else(|| Error::internal("not an element"))?;
        Ok(Typed::literal(oids.finish_in(element, &names.dims, &arena), ty))
    }

    fn named_oid(&self, text: &str, ty: ScalarType) -> Result<u32> {
        match ty {
            ScalarType::RegClass => self.relation_oid(&self.spelled_name(text)?),
            ScalarType::RegNamespace => {
                let name = self.spelled_name(text)?.name;
                schema_oid(self.cx.catalog, &name).ok_or_else(|| {
                    Error::new(
                        SqlState::INVALID_SCHEMA_NAME,
                        format!("schema \"{name}\" does not exist"),
                    )
                })
            }
            ScalarType::RegRole => {
                let name = self.spelled_name(text)?.name;
                if name == self.cx.current_user {
                    return Ok(OWNER);
                }
                let message = format!("role \"{name}\" does not exist");
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
            ScalarType::RegType => type_oid(text),
            ScalarType::RegProc => {
                let name = self.function_of_name(text)?;
                match procs_named(&name).as_slice() {
                    [one] => Ok(*one),
                    [] => Err(Error::new(
                        SqlState::UNDEFINED_FUNCTION,
                        format!("function \"{text}\" does not exist"),
                    )),
                    _ => Err(Error::new(
                        SqlState::AMBIGUOUS_FUNCTION,
                        format!("more than one function named \"{text}\""),
                    )),
                }
            }
            ScalarType::RegProcedure => self.procedure_oid(text),
            other => Err(Error::unsupported(
                format!("an operator's name as {}", other.name()),
                "Look for it in pg_catalog.pg_operator.",
            )),
        }
    }

    fn function_of_name(&self, text: &str) -> Result<String> {
        let name = self.spelled_name(text)?;
        match name.schema.as_deref() {
            None | Some("pg_catalog") => Ok(name.name),
            Some(_) => Ok(String::new()),
        }
    }

    /// `name(type, …)`.
    fn procedure_oid(&self, text: &str) -> Result<u32> {
        let missing = || {
            let message = format!("function \"{text}\" does not exist");
            Error::new(SqlState::UNDEFINED_FUNCTION, message)
        };
        let Some((name, rest)) = text.split_once('(') else {
            let message = "expected a left parenthesis";
            return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
        };
        let args = rest.trim_end().strip_suffix(')').ok_or_else(missing)?;
        let args = args.split(',').map(str::trim).filter(|arg| !arg.is_empty());
        let args = args.map(type_oid).collect::<Result<Vec<_>>>()?;
        let named = procs_named(&self.function_of_name(name)?);
        let fits = |oid: &u32| proc_args(*oid).is_some_and(|own| own == args);
        named.into_iter().find(fits).ok_or_else(missing)
    }

    /// A name with its schema, as it is spelled in a text: folded unless quoted.
    fn spelled_name(&self, text: &str) -> Result<QualifiedName> {
        let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
        let parsed = query_of(&format!("SELECT * FROM {text}")).map_err(|_| invalid())?;
        let Statement::Select(select) = parsed.ast() else { return Err(invalid()) };
        let ast::SetExpr::Select(select) = &*select.query.body else { return Err(invalid()) };
        match select.from.as_slice() {
            [
                ast::TableWithJoins {
                    relation: ast::TableFactor::Table { name, alias: None, .. },
                    ..
                },
            ] => {
                let name =
                    self.qualified(name).map_err(|error| Error { position: None, ..error })?;
                Ok(name)
            }
            _ => Err(invalid()),
        }
    }

    /// The oid of the relation of a name: also an index's, a sequence's, or a primary key's.
    fn relation_oid(&self, name: &QualifiedName) -> Result<u32> {
        if let Some(item) = self.find_object(name)
            && !matches!(item.kind, ItemKind::Schema)
        {
            return Ok(oid(item.id));
        }
        if let Some(schema) = &name.schema
            && !self.cx.catalog.has_schema(schema)
        {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
        }
        let in_schema = |item: &Item| match &name.schema {
            Some(schema) => item.schema == *schema,
            None => self.cx.search_path.contains(&item.schema),
        };
        let of_key = self.cx.catalog.items().find(|item| match &item.kind {
            ItemKind::Table(table) => {
                table.primary_key.as_ref().is_some_and(|key| key.name == name.name)
                    && in_schema(item)
            }
            _ => false,
        });
        of_key.map(|item| key_oid(item.id)).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
        })
    }
}

/// The oid of the type that a text names.
fn type_oid(text: &str) -> Result<u32> {
    let missing =
        || Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{text}\" does not exist"));
    let parsed = query_of(&format!("SELECT NULL::{text}")).map_err(|_| missing())?;
    let Statement::Select(select) = parsed.ast() else { return Err(missing()) };
    let ast::SetExpr::Select(select) = &*select.query.body else { return Err(missing()) };
    match select.projection.as_slice() {
        [ast::SelectItem::UnnamedExpr(ast::Expr::Cast { data_type, .. })] => {
            let ty = types::column_type(data_type)?;
            Ok(ty.scalar.oid())
        }
        _ => Err(missing()),
    }
}
