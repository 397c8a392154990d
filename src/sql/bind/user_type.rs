//! Types that users create: their names, CREATE TYPE, ALTER TYPE and DROP TYPE.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::types::{Definition, Type};
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{AlterType, CreateType, Drop, NewType, Statement, TypeChange};
use crate::repr::{
    ColumnDesc, ColumnType, GlobalId, RecordName, RecordShape, RecordType, ScalarType,
};
use crate::sql::bind::context::Binder;
use crate::sql::bind::{name, types};

/// The bytes that a label has at most.
const LABEL_BYTES_MAX: usize = 63;

/// A type, as a name stands for it.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The type of values.
    pub ty: ColumnType,
    /// The domain, where it is one.
    pub domain: Option<GlobalId>,
}

fn no_such_type(name: &impl std::fmt::Display) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// The labels of an enum, as they were written. Errors: 42601, 42602.
fn label(ident: &ast::Ident) -> Result<String> {
    if ident.quote_style != Some('\'') {
        let message = format!("syntax error at or near \"{ident}\"");
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    if ident.value.len() > LABEL_BYTES_MAX {
        let message = format!("invalid enum label \"{}\"", ident.value);
        let detail = format!("Labels must be {LABEL_BYTES_MAX} bytes or less.");
        return Err(Error::new(SqlState::INVALID_NAME, message).with_detail(detail));
    }
    Ok(ident.value.clone())
}

impl Binder<'_, '_> {
    /// The type that a syntax tree names; a domain's own constraints are not looked at.
    pub fn data_type(&mut self, ty: &ast::DataType) -> Result<ColumnType> {
        self.named_type(ty).map(|named| named.ty)
    }

    /// The type that a syntax tree names. Errors: 42704, 0A000.
    pub fn named_type(&mut self, ty: &ast::DataType) -> Result<Named> {
        use ast::ArrayElemTypeDef::{Qualified, SquareBracket};
        match ty {
            ast::DataType::Array(SquareBracket(inner, _) | Qualified(inner, _)) => {
                let Named { ty: inner, domain } = self.named_type(inner)?;
                if domain.is_some() {
                    return Err(Error::unsupported(
                        "an array of a domain",
                        "Take an array of the domain's own type.",
                    ));
                }
                let scalar = inner.scalar.array().unwrap_or(inner.scalar);
                Ok(Named { ty: ColumnType { scalar, ..inner }, domain: None })
            }
            ast::DataType::Custom(object, modifiers) => match types::column_type(ty) {
                Err(error) if error.code == SqlState::UNDEFINED_OBJECT => {
                    let found = self.user_type(object)?;
                    let found = found.ok_or(error)?;
                    if !modifiers.is_empty() {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            format!("type modifier is not allowed for type \"{object}\""),
                        ));
                    }
                    Ok(found)
                }
                found => found.map(|ty| Named { ty, domain: None }),
            },
            _ => types::column_type(ty).map(|ty| Named { ty, domain: None }),
        }
    }

    /// The type of a name, where it is a user's, or that of a relation's rows.
    fn user_type(&mut self, object: &ast::ObjectName) -> Result<Option<Named>> {
        let qualified = self.qualified(object)?;
        let path: Vec<String> = match &qualified.schema {
            Some(schema) => vec![schema.clone()],
            None => self.cx.search_path.to_vec(),
        };
        let catalog = self.cx.catalog;
        let find = |schema: &String| {
            let relation = || catalog.by_name(schema, &qualified.name);
            let relation = || relation().filter(|item| item.desc().is_some());
            catalog.type_by_name(schema, &qualified.name).or_else(relation)
        };
        let Some(item) = path.iter().find_map(find) else { return Ok(None) };
        if self.stored_expression && qualified.schema.is_none() {
            return Err(Error::unsupported(
                format!("type {} without its schema in an expression that is stored", item.name),
                format!("Write {}.{}.", item.schema, item.name),
            ));
        }
        self.depends_on.insert(item.id);
        self.edit(object.span(), || name::qualified_text(&item.schema, &item.name));
        Ok(Some(of_item(item)))
    }

    /// Error 55P04 of a label that this transaction has added, which no value may be of yet.
    pub fn unsafe_label(&self, scalar: ScalarType, text: &str) -> Option<Error> {
        let ScalarType::Enum(ty) = scalar else { return None };
        let item = self.cx.catalog.get(GlobalId(ty.facts().oid.into()))?;
        let ItemKind::Type(Type { definition: Definition::Enum(labels), .. }) = &item.kind else {
            return None;
        };
        labels.iter().find(|label| label.label == text)?;
        let message = format!("unsafe use of new value \"{text}\" of enum type {}", item.name);
        let hint = "New enum values must be committed before they can be used.";
        Some(Error::new(SqlState::new(b"55P04"), message).with_hint(hint))
    }

    /// The type of a name that is changed or dropped. Errors: 42704.
    fn known_type(&self, object: &ast::ObjectName) -> Result<Option<&std::sync::Arc<Item>>> {
        let qualified = self.qualified(object)?;
        let catalog = self.cx.catalog;
        Ok(match &qualified.schema {
            Some(schema) => catalog.type_by_name(schema, &qualified.name),
            None => {
                let mut path = self.cx.search_path.iter();
                path.find_map(|schema| catalog.type_by_name(schema, &qualified.name))
            }
        })
    }

    /// The item and definition of a type that is changed. `word`: what it has to be, for the
    /// message where it is none.
    pub fn changed_type(
        &mut self,
        object: &ast::ObjectName,
        word: &str,
    ) -> Result<(std::sync::Arc<Item>, Type)> {
        if let Some(item) = self.known_type(object)?
            && let ItemKind::Type(ty) = &item.kind
        {
            return Ok((item.clone(), ty.clone()));
        }
        let ty = self.named_type(&ast::DataType::Custom(object.clone(), vec![]))?;
        Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("{} is not {word}", ty.ty.scalar.display_name()),
        ))
    }

    /// CREATE TYPE.
    pub fn create_type(
        &mut self,
        object: &ast::ObjectName,
        representation: Option<&ast::UserDefinedTypeRepresentation>,
    ) -> Result<Statement> {
        use ast::UserDefinedTypeRepresentation::{Composite, Enum, Range};
        let (schema, name) = self.new_name(object)?;
        let definition = match representation {
            Some(Enum { labels }) => {
                let labels = labels.iter().map(label).collect::<Result<Vec<_>>>()?;
                if (1..labels.len()).any(|at| labels[..at].contains(&labels[at])) {
                    return Err(Error::new(
                        SqlState::UNIQUE_VIOLATION,
                        "duplicate key value violates unique constraint \
                         \"pg_enum_typid_label_index\"",
                    ));
                }
                NewType::Enum(labels)
            }
            Some(Composite { attributes }) => {
                let mut fields: Vec<ColumnDesc> = vec![];
                for attribute in attributes {
                    fields.push(self.attribute(attribute, &fields)?);
                }
                NewType::Composite(fields)
            }
            Some(Range { .. }) => {
                return Err(Error::unsupported(
                    "CREATE TYPE … AS RANGE",
                    "Keep the bounds in columns of their own.",
                ));
            }
            _ => {
                return Err(Error::unsupported(
                    "CREATE TYPE of a base type",
                    "There are enums, AS ENUM (…), and composite types, AS (…).",
                ));
            }
        };
        Ok(Statement::CreateType(CreateType { schema, name, definition }))
    }

    fn attribute(
        &mut self,
        attribute: &ast::UserDefinedTypeCompositeAttributeDef,
        before: &[ColumnDesc],
    ) -> Result<ColumnDesc> {
        let name = name::ident(&attribute.name);
        if attribute.collation.is_some() {
            return Err(Error::unsupported(
                "COLLATE of an attribute",
                "Text is ordered by its bytes: leave COLLATE out.",
            ));
        }
        if before.iter().any(|other| other.name == name) {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        let named = self.named_type(&attribute.data_type)?;
        if named.domain.is_some() {
            return Err(Error::unsupported(
                "an attribute of a domain",
                "Take the domain's own type.",
            ));
        }
        Ok(ColumnDesc { name, ty: named.ty })
    }

    /// ALTER TYPE.
    pub fn alter_type(&mut self, alter: &ast::AlterType) -> Result<Statement> {
        use ast::{AlterTypeAddValuePosition as Position, AlterTypeOperation as Operation};
        let tag = "ALTER TYPE";
        let (item, change) = match &alter.operation {
            Operation::Rename(rename) => {
                let (item, _) = self.changed_type(&alter.name, "a composite type")?;
                self.refuse_used(&item, "ALTER TYPE … RENAME")?;
                (item, TypeChange::Rename(name::ident(&rename.new_name)))
            }
            Operation::AddValue(add) => {
                let item = self.changed_enum(&alter.name)?;
                let place = match &add.position {
                    None => None,
                    Some(Position::Before(other)) => Some((true, label(other)?)),
                    Some(Position::After(other)) => Some((false, label(other)?)),
                };
                let (label, if_not_exists) = (label(&add.value)?, add.if_not_exists);
                (item, TypeChange::AddLabel { label, place, if_not_exists })
            }
            Operation::RenameValue(rename) => {
                let item = self.changed_enum(&alter.name)?;
                self.refuse_used(&item, "ALTER TYPE … RENAME VALUE")?;
                let (from, to) = (label(&rename.from)?, label(&rename.to)?);
                (item, TypeChange::RenameLabel { from, to })
            }
        };
        Ok(Statement::AlterType(AlterType { id: item.id, change, tag, violations: vec![] }))
    }

    fn changed_enum(&mut self, object: &ast::ObjectName) -> Result<std::sync::Arc<Item>> {
        match self.changed_type(object, "an enum")? {
            (item, Type { definition: Definition::Enum(_), .. }) => Ok(item),
            (item, _) => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is not an enum", item.name),
            )),
        }
    }

    /// Refuses a change that stored texts, or what was computed by them, would not follow.
    pub fn refuse_used(&self, item: &Item, what: &str) -> Result<()> {
        let mut found = vec![item.id];
        let mut at = 0;
        while let Some(id) = found.get(at) {
            for user in self.cx.catalog.dependents(*id) {
                if matches!(user.kind, ItemKind::View(_) | ItemKind::Index(_)) {
                    return Err(Error::unsupported(
                        format!(
                            "{what} of a type that {} \"{}\" uses",
                            user.kind_name(),
                            user.name
                        ),
                        "Drop what uses the type, and create it again.",
                    ));
                }
                if !found.contains(&user.id) {
                    found.push(user.id);
                }
            }
            at += 1;
        }
        let has_texts = |user: &Item| match &user.kind {
            ItemKind::Table(table) => table.has_expressions(),
            ItemKind::Type(ty) => matches!(ty.definition, Definition::Domain(_)),
            _ => false,
        };
        let users = found[1..].iter().filter_map(|id| self.cx.catalog.get(*id));
        match users.into_iter().find(|user| has_texts(user)) {
            None => Ok(()),
            Some(user) => Err(Error::unsupported(
                format!("{what} of a type that {} \"{}\" uses", user.kind_name(), user.name),
                "Create another type.",
            )),
        }
    }

    /// DROP TYPE, and DROP DOMAIN where `domains`.
    pub fn drop_types(
        &mut self,
        names: &[ast::ObjectName],
        if_exists: bool,
        cascade: bool,
        domains: bool,
    ) -> Result<Statement> {
        let tag = if domains { "DROP DOMAIN" } else { "DROP TYPE" };
        let (mut objects, mut notices) = (vec![], vec![]);
        for object in names {
            match self.known_type(object)?.cloned() {
                Some(item) => {
                    let ItemKind::Type(ty) = &item.kind else { continue };
                    if domains && !matches!(ty.definition, Definition::Domain(_)) {
                        let message = format!("\"{object}\" is not a domain");
                        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                    }
                    objects.push(item.id);
                }
                None => match self.named_type(&ast::DataType::Custom(object.clone(), vec![])) {
                    Ok(named) => return Err(required(named.ty.scalar, object)),
                    Err(_) if if_exists => {
                        notices.push(format!("type \"{object}\" does not exist, skipping"));
                    }
                    Err(_) => return Err(no_such_type(object)),
                },
            }
        }
        Ok(Statement::Drop(Drop { objects, cascade, tag, notices }))
    }
}

/// The error of a type that goes with something else.
fn required(scalar: ScalarType, object: &ast::ObjectName) -> Error {
    let code = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
    match scalar {
        ScalarType::Record(_) => Error::new(
            code,
            format!("cannot drop type {object} because table {object} requires it"),
        )
        .with_hint(format!("You can drop table {object} instead.")),
        scalar => Error::new(
            code,
            format!(
                "cannot drop type {} because it is required by the database system",
                scalar.display_name()
            ),
        ),
    }
}

/// The type that an object is, or that its rows are of.
fn of_item(item: &Item) -> Named {
    match &item.kind {
        ItemKind::Type(ty) => match &ty.definition {
            Definition::Domain(domain) => Named { ty: domain.base, domain: Some(item.id) },
            _ => Named { ty: ColumnType::nullable(ty.scalar()), domain: None },
        },
        _ => {
            let fields = item.desc().map(|desc| desc.columns.clone()).unwrap_or_default();
            let name = RecordName::Relation(item.id, item.name.clone());
            let ty = RecordType::of(RecordShape { name, fields });
            Named { ty: ColumnType::nullable(ScalarType::Record(ty)), domain: None }
        }
    }
}
