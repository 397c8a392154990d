//! Identifiers and names of objects.

use std::sync::Arc;

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::Item;
use crate::error::{Error, Result, SqlState};
use crate::sql::bind::context::Binder;

/// The name that an expression of identifiers is.
pub fn object_of(expr: &ast::Expr) -> Option<ast::ObjectName> {
    match expr {
        ast::Expr::Identifier(ident) => Some(vec![ident.clone()].into()),
        ast::Expr::CompoundIdentifier(idents) => Some(idents.clone().into()),
        _ => None,
    }
}

/// The longest identifier in bytes; longer ones are cut.
const NAME_BYTES_MAX: usize = 63;

/// The name that an identifier stands for: folded to lower case unless quoted, cut at 63 bytes.
pub fn ident(ident: &ast::Ident) -> String {
    let mut name = match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    };
    if name.len() > NAME_BYTES_MAX {
        let end = (0..=NAME_BYTES_MAX).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

/// An identifier as it must be written to be read again.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name with its schema as it must be written to be read again.
pub fn qualified_text(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// A name with the schema that may stand before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QualifiedName {
    /// The schema, where it was written.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
}

impl std::fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

impl Binder<'_, '_> {
    /// A name with its schema as EDN has it: an attribute where one stands at that place, else the
    /// symbol that a call begins with. A name that no symbol can be is left to SQL, which the
    /// stored text does not get through.
    pub fn edn_name(&self, position: Option<u32>, schema: &str, name: &str) -> String {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
        if !schema.chars().chain(name.chars()).all(fits) {
            return qualified_text(schema, name);
        }
        let from = position.map_or(0, |position| position.saturating_sub(1));
        let colon = if self.lines.slice(from, from + 1) == ":" { ":" } else { "" };
        format!("{colon}{schema}/{name}")
    }

    /// The parts of an object's name: `[[database.]schema.]name`.
    pub fn qualified(&self, object: &ast::ObjectName) -> Result<QualifiedName> {
        let position = self.position(object.span());
        let mut parts = vec![];
        for part in &object.0 {
            match part {
                ast::ObjectNamePart::Identifier(part) => parts.push(ident(part)),
                ast::ObjectNamePart::Function(_) => {
                    return Err(
                        Error::new(SqlState::SYNTAX_ERROR, "syntax error in a name").at(position)
                    );
                }
            }
        }
        let improper = || {
            let name = parts.join(".");
            Error::new(
                SqlState::SYNTAX_ERROR,
                format!("improper qualified name (too many dotted names): {name}"),
            )
        };
        match parts.as_slice() {
            [name] => Ok(QualifiedName { schema: None, name: name.clone() }),
            [schema, name] => {
                Ok(QualifiedName { schema: Some(schema.clone()), name: name.clone() })
            }
            [database, schema, name] if database == self.cx.database => {
                Ok(QualifiedName { schema: Some(schema.clone()), name: name.clone() })
            }
            [_, _, _] => {
                let name = parts.join(".");
                Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cross-database references are not implemented: \"{name}\""),
                )
                .at(position))
            }
            _ => Err(improper().at(position)),
        }
    }

    /// The object of that name, if there is one.
    pub fn find_object(&self, name: &QualifiedName) -> Option<&Arc<Item>> {
        match &name.schema {
            Some(schema) => self.cx.catalog.by_name(schema, &name.name),
            None => self.cx.catalog.resolve(self.cx.search_path, &name.name),
        }
    }

    /// The relation or the index of that name. Errors: 42P01.
    pub fn relation_or_index(&self, object: &ast::ObjectName) -> Result<Arc<Item>> {
        let name = self.qualified(object)?;
        match self.find_object(&name) {
            Some(item) if item.kind_name() == "index" => Ok(item.clone()),
            _ => self.relation(object),
        }
    }

    /// The relation of that name. Errors: 42P01, 42809 where it is an index.
    pub fn relation(&self, object: &ast::ObjectName) -> Result<Arc<Item>> {
        let name = self.qualified(object)?;
        let position = self.position(object.span());
        match self.find_object(&name) {
            Some(item) if item.desc().is_some() => Ok(item.clone()),
            Some(item) => Err(match item.kind_name() {
                "sequence" => Error::unsupported(
                    format!("reading sequence \"{name}\" as a relation"),
                    "Call nextval or currval.",
                ),
                kind => Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot open relation \"{}\"", item.name),
                )
                .with_detail(format!("This operation is not supported for {kind}es.")),
            }
            .at(position)),
            None => Err(Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{name}\" does not exist"),
            )
            .at(position)),
        }
    }
}
