//! What the entity store is told: attributes, and transactions in EDN.
//!
//! A transaction is a vector of facts: maps `{:db/id e :person/name "Ada"}` and forms
//! `[:db/add e a v]`, `[:db/retract e a v]`, `[:db/retract e a]`, `[:db/retractEntity e]`,
//! `[:db/cas e a old new]`. An entity is a number, a parameter, a lookup ref `[:person/email "x"]`,
//! a string or a negative number that names it within the transaction, or `"db.tx"`, the
//! transaction itself. A map in the place of a reference is an entity of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast;
use sqlparser::ast::Spanned;
use sqlparser::tokenizer::Span;

use crate::catalog::attribute::VALUE;
use crate::catalog::item::Item;
use crate::catalog::objects::SYSTEM_SCHEMAS;
use crate::error::{Error, Result, SqlState};
use crate::expr::functions::sequence::sequence_calls;
use crate::expr::scalar::Expr;
use crate::plan::facts::{ChangeKind, CreateAttribute, Entity, FactChange, FactValue, Transact};
use crate::plan::statement::{Drop, Statement};
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::apply::has_subquery;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::scope::Scope;
use crate::sql::bind::user_type::Named;
use crate::sql::datalog::edn::{Form, Kind};
use crate::sql::parse::facts as syntax;

/// The names of the transaction itself among its entities.
const ITSELF: [&str; 2] = ["db.tx", "datomic.tx"];

/// A transaction as it is read.
struct Reading<'u> {
    transact: Transact,
    /// The entities that it names.
    names: BTreeMap<String, usize>,
    using: &'u [ast::Expr],
}

impl Reading<'_> {
    /// The entity of a name.
    fn named(&mut self, name: &str) -> Entity {
        if ITSELF.contains(&name) {
            return Entity::Transaction;
        }
        let temporary = &mut self.transact.temporary;
        let at = *self.names.entry(name.to_owned()).or_insert_with(|| {
            temporary.push(Some(name.to_owned()));
            temporary.len() - 1
        });
        Entity::Temporary(at)
    }

    /// An entity without a name.
    fn unnamed(&mut self) -> Entity {
        self.transact.temporary.push(None);
        Entity::Temporary(self.transact.temporary.len() - 1)
    }

    fn say(&mut self, entity: Entity, kind: ChangeKind) {
        self.transact.changes.push(FactChange { entity, kind });
    }
}

impl Binder<'_, '_> {
    /// `CREATE ATTRIBUTE`.
    ///
    /// Errors: those of naming a table, 42704 where values have no equality.
    pub fn create_attribute(&mut self, create: &syntax::CreateAttribute) -> Result<Statement> {
        let position = self.position(create.name.span());
        let qualified = self.qualified(&create.name)?;
        let (schema, name) = match qualified.schema {
            Some(schema) if SYSTEM_SCHEMAS.contains(&schema.as_str()) => {
                return Err(Error::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied to create \"{schema}.{}\"", qualified.name),
                )
                .at(position));
            }
            Some(schema) => (schema, qualified.name),
            None => self.new_name(&create.name)?,
        };
        let Named { ty, domain } = match &create.data_type {
            None => Named { ty: ColumnType::not_null(ScalarType::Int8), domain: None },
            Some(ty) => self.named_type(ty).map_err(|e| e.at(position))?,
        };
        comparable::indexed([ty.scalar])?;
        if ty.scalar == ScalarType::Jsonb || ty.scalar.element().is_some() {
            return Err(Error::unsupported(
                format!("an attribute of type {}", ty.scalar.display_name()),
                "Take facts of its parts, or a column of a table.",
            ));
        }
        Ok(Statement::CreateAttribute(CreateAttribute {
            schema,
            name,
            ty: ColumnType { nullable: false, ..ty },
            domain,
            many: create.many,
            unique: create.unique,
            reference: create.data_type.is_none(),
            if_not_exists: create.if_not_exists,
        }))
    }

    /// `DROP ATTRIBUTE`.
    ///
    /// Errors: 42704, 42809.
    pub fn drop_attributes(&mut self, drop: &syntax::DropAttribute) -> Result<Statement> {
        let (mut objects, mut notices) = (vec![], vec![]);
        for object in &drop.names {
            let position = self.position(object.span());
            let qualified = self.qualified(object)?;
            match self.find_object(&qualified) {
                Some(item) if item.attribute().is_some() => objects.push(item.id),
                Some(item) => {
                    let message = format!("\"{}\" is not an attribute", item.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
                }
                None if drop.if_exists => {
                    notices.push(format!("attribute \"{qualified}\" does not exist, skipping"));
                }
                None => {
                    let message = format!("attribute \"{qualified}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(position));
                }
            }
        }
        let tag = "DROP ATTRIBUTE";
        Ok(Statement::Drop(Drop { objects, cascade: drop.cascade, tag, notices }))
    }

    /// A transaction.
    ///
    /// Errors: 42601 for what is no transaction, 42704 for an attribute that is not there, those
    /// of reading the values.
    pub fn transact(&mut self, transact: &syntax::Transact) -> Result<Statement> {
        let mut reading = Reading {
            transact: Transact::default(),
            names: BTreeMap::new(),
            using: &transact.using,
        };
        match &transact.form.kind {
            Kind::Vector(forms) => {
                for form in forms {
                    self.said(form, &mut reading)?;
                }
            }
            Kind::Map(_) => {
                self.entity_map(&transact.form, &mut reading)?;
            }
            _ => return Err(fault(&transact.form, "a transaction is a vector of facts")),
        }
        Ok(Statement::Transact(reading.transact))
    }

    /// One thing that a transaction says.
    fn said(&mut self, form: &Form, reading: &mut Reading<'_>) -> Result<()> {
        let parts = match &form.kind {
            Kind::Map(_) => return self.entity_map(form, reading).map(|_| ()),
            Kind::Vector(parts) => parts,
            _ => return Err(fault(form, "a fact is a map {…} or a vector [:db/add …]")),
        };
        let Some((Form { kind: Kind::Keyword(word), .. }, parts)) = parts.split_first() else {
            return Err(fault(form, "a fact in a vector begins with :db/add or its like"));
        };
        let kinds = (word.as_str(), parts);
        let (entity, kind) = match kinds {
            ("db/add", [e, a, v]) => {
                let entity = self.entity(e, reading)?;
                let (item, backwards) = self.attribute_of(a)?;
                refuse_backwards(backwards, a)?;
                (entity, ChangeKind::Assert(item.id, self.fact_value(&item, v, reading)?))
            }
            ("db/retract", [e, a, rest @ ..]) if rest.len() < 2 => {
                let entity = self.entity(e, reading)?;
                let (item, backwards) = self.attribute_of(a)?;
                refuse_backwards(backwards, a)?;
                let value = rest.first().map(|v| self.fact_value(&item, v, reading)).transpose()?;
                (entity, ChangeKind::Retract(item.id, value))
            }
            ("db/retractEntity" | "db.fn/retractEntity", [e]) => {
                (self.entity(e, reading)?, ChangeKind::RetractEntity)
            }
            ("db/cas" | "db.fn/cas", [e, a, old, new]) => {
                let entity = self.entity(e, reading)?;
                let item = self.single(a)?;
                let old = match symbol(old) {
                    Some("nil") => None,
                    _ => Some(self.fact_value(&item, old, reading)?),
                };
                (entity, ChangeKind::Swap(item.id, old, self.fact_value(&item, new, reading)?))
            }
            (
                "db/add"
                | "db/retract"
                | "db/retractEntity"
                | "db.fn/retractEntity"
                | "db/cas"
                | "db.fn/cas",
                _,
            ) => return Err(fault(form, &format!("wrong number of parts of :{word}"))),
            _ => {
                return Err(Error::new(
                    SqlState::UNDEFINED_FUNCTION,
                    format!("transaction function :{word} does not exist"),
                )
                .with_hint("There are :db/add, :db/retract, :db/retractEntity and :db/cas.")
                .at(Some(form.from + 1)));
            }
        };
        reading.say(entity, kind);
        Ok(())
    }

    /// An attribute that is not `MANY`.
    fn single(&self, form: &Form) -> Result<Arc<Item>> {
        let (item, backwards) = self.attribute_of(form)?;
        refuse_backwards(backwards, form)?;
        if item.attribute().is_some_and(|attribute| attribute.many) {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("attribute {}.{} has many values", item.schema, item.name),
            )
            .with_hint("Add and retract its values: there is no one to compare.")
            .at(Some(form.from + 1)));
        }
        Ok(item)
    }

    /// `{:db/id e :person/name "Ada" …}`.
    fn entity_map(&mut self, form: &Form, reading: &mut Reading<'_>) -> Result<Entity> {
        let Kind::Map(parts) = &form.kind else { return Err(fault(form, "not a map")) };
        let is_id = |form: &Form| matches!(&form.kind, Kind::Keyword(name) if name == "db/id");
        if parts.len() % 2 == 1 {
            return Err(fault(form, "a map with a key that has no value"));
        }
        let pairs = || parts.chunks(2).map(|pair| (&pair[0], &pair[1]));
        let entity = match pairs().find(|(key, _)| is_id(key)) {
            Some((_, id)) => self.entity(id, reading)?,
            None => reading.unnamed(),
        };
        for (key, value) in pairs().filter(|(key, _)| !is_id(key)) {
            let (item, backwards) = self.attribute_of(key)?;
            for value in values(value) {
                if backwards {
                    let from = self.entity_or_map(value, reading)?;
                    let value = FactValue::Entity(entity.clone());
                    reading.say(from, ChangeKind::Assert(item.id, value));
                    continue;
                }
                let value = self.fact_value(&item, value, reading)?;
                reading.say(entity.clone(), ChangeKind::Assert(item.id, value));
            }
        }
        Ok(entity)
    }

    fn entity_or_map(&mut self, form: &Form, reading: &mut Reading<'_>) -> Result<Entity> {
        match form.kind {
            Kind::Map(_) => self.deeper(|binder| binder.entity_map(form, reading)),
            _ => self.entity(form, reading),
        }
    }

    fn fact_value(
        &mut self,
        item: &Item,
        form: &Form,
        reading: &mut Reading<'_>,
    ) -> Result<FactValue> {
        if item.attribute().is_some_and(|attribute| attribute.reference) {
            return self.entity_or_map(form, reading).map(FactValue::Entity);
        }
        self.plain_value(item, form, reading).map(FactValue::Plain)
    }

    /// An entity: a number, a name, a parameter, a lookup ref.
    fn entity(&mut self, form: &Form, reading: &mut Reading<'_>) -> Result<Entity> {
        match &form.kind {
            Kind::Text(name) => Ok(reading.named(name)),
            Kind::Number(number) if number.starts_with('-') => Ok(reading.named(number)),
            Kind::Number(_) | Kind::Symbol(_) => {
                let ty = ColumnType::not_null(ScalarType::Int8);
                self.constant_of(form, "e", ty, reading).map(Entity::Known)
            }
            Kind::Vector(parts) => match parts.as_slice() {
                [attribute @ Form { kind: Kind::Keyword(_), .. }, value] => {
                    let (item, backwards) = self.attribute_of(attribute)?;
                    refuse_backwards(backwards, attribute)?;
                    if item.attribute().is_none_or(|attribute| attribute.owners.is_none()) {
                        return Err(Error::new(
                            SqlState::WRONG_OBJECT_TYPE,
                            format!("attribute {}.{} is not unique", item.schema, item.name),
                        )
                        .with_hint("A lookup ref names an entity by a UNIQUE attribute.")
                        .at(Some(attribute.from + 1)));
                    }
                    let value = self.plain_value(&item, value, reading)?;
                    Ok(Entity::Lookup { attribute: item.id, value })
                }
                _ => Err(fault(form, "a lookup ref is an attribute and a value")),
            },
            _ => Err(fault(form, "an entity is a number, a name or a lookup ref")),
        }
    }

    fn plain_value(&mut self, item: &Item, form: &Form, reading: &mut Reading<'_>) -> Result<Expr> {
        let desc = item.desc().ok_or_else(|| Error::internal("an attribute without columns"))?;
        self.constant_of(form, &item.name, desc.columns[VALUE].ty, reading)
    }

    /// A value that is written, or a parameter.
    fn constant_of(
        &mut self,
        form: &Form,
        what: &str,
        ty: ColumnType,
        reading: &mut Reading<'_>,
    ) -> Result<Expr> {
        let expr = self.written_value(form, reading)?;
        let scope = Scope::default();
        let position = Some(form.from + 1);
        let bound = self.expr(&expr, &mut ExprContext::plain(&scope, Clause::Values))?;
        if bound.scalar(self).is_none()
            && matches!(&bound, crate::sql::bind::coerce::Bound::Unknown { text: None, .. })
        {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("a fact of \"{what}\" cannot be null"),
            )
            .with_hint("Retract the fact in place of asserting nothing.")
            .at(position));
        }
        let expr = self.assign(bound, what, ty, position)?.expr;
        if has_subquery(&expr) || sequence_calls(&expr).0 {
            return Err(Error::unsupported(
                "a subquery or a function of sequences in a transaction",
                "Ask for the value first, and give it as a parameter.",
            )
            .at(position));
        }
        Ok(expr)
    }

    fn written_value(&mut self, form: &Form, reading: &Reading<'_>) -> Result<ast::Expr> {
        let from = self.lines.location(form.from);
        let span = Span::new(from, from);
        let literal = |value: ast::Value| ast::Expr::Value(ast::ValueWithSpan { value, span });
        Ok(match &form.kind {
            Kind::Number(number) => match number.strip_prefix('-') {
                Some(digits) => ast::Expr::UnaryOp {
                    op: ast::UnaryOperator::Minus,
                    expr: Box::new(literal(ast::Value::Number(digits.to_owned(), false))),
                },
                None => literal(ast::Value::Number(number.clone(), false)),
            },
            Kind::Text(text) => literal(ast::Value::SingleQuotedString(text.clone())),
            Kind::Symbol(word) => match word.as_str() {
                "true" => literal(ast::Value::Boolean(true)),
                "false" => literal(ast::Value::Boolean(false)),
                "nil" => literal(ast::Value::Null),
                word => match word.strip_prefix('$').map(str::parse::<usize>) {
                    Some(Ok(number)) if !reading.using.is_empty() => {
                        let given = number.checked_sub(1).and_then(|at| reading.using.get(at));
                        let given = given.cloned().ok_or_else(|| {
                            Error::new(
                                SqlState::UNDEFINED_PARAMETER,
                                format!("there is no parameter ${number}"),
                            )
                            .at(Some(form.from + 1))
                        })?;
                        ast::Expr::Nested(Box::new(given))
                    }
                    Some(Ok(_)) => literal(ast::Value::Placeholder(word.to_owned())),
                    _ => return Err(fault(form, "a value is a literal or a parameter")),
                },
            },
            _ => return Err(fault(form, "a value is a literal or a parameter")),
        })
    }

    /// The attribute that a keyword names, and whether it is followed backwards
    /// (`:person/_friend`).
    ///
    /// Errors: 42601, 42704, 42809.
    pub fn attribute_of(&self, form: &Form) -> Result<(Arc<Item>, bool)> {
        let position = Some(form.from + 1);
        let Kind::Keyword(word) = &form.kind else {
            return Err(fault(form, "an attribute is a keyword :schema/name"));
        };
        let path = self.cx.search_path;
        let find = |name: &str| match word.rsplit_once('/') {
            Some((schema, _)) => self.cx.catalog.by_name(schema, name),
            None => self.cx.catalog.resolve(path, name),
        };
        let name = word.rsplit_once('/').map_or(word.as_str(), |(_, name)| name);
        let backwards = name.strip_prefix('_').filter(|_| find(name).is_none());
        let Some(item) = find(backwards.unwrap_or(name)) else {
            return Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("attribute :{word} does not exist"),
            )
            .with_hint("CREATE ATTRIBUTE schema.name type makes one.")
            .at(position));
        };
        let Some(attribute) = item.attribute() else {
            let message = format!("\"{}\" is not an attribute", item.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        };
        if backwards.is_some() && !attribute.reference {
            let message = format!("attribute {}.{} is no reference", item.schema, item.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_hint("Only what is declared REF can be followed backwards.")
                .at(position));
        }
        Ok((item.clone(), backwards.is_some()))
    }
}

/// The values that stand in a map's place for one: those of a vector, unless it is a lookup ref.
fn values(form: &Form) -> &[Form] {
    match &form.kind {
        Kind::Vector(forms)
            if !matches!(forms.first(), Some(Form { kind: Kind::Keyword(_), .. })) =>
        {
            forms
        }
        _ => std::slice::from_ref(form),
    }
}

fn refuse_backwards(backwards: bool, form: &Form) -> Result<()> {
    match backwards {
        false => Ok(()),
        true => Err(fault(form, "an attribute is followed backwards in maps and patterns only")),
    }
}

fn symbol(form: &Form) -> Option<&str> {
    match &form.kind {
        Kind::Symbol(name) => Some(name),
        _ => None,
    }
}

fn fault(form: &Form, message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message).at(Some(form.from + 1))
}

/// The refusal to drop what an attribute keeps.
pub fn required(by: Option<&Arc<Item>>, item: &Item, word: &str) -> Error {
    let by = by.map_or(String::new(), |by| format!("attribute {}.{}", by.schema, by.name));
    Error::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {word} {} because {by} requires it", item.name),
    )
    .with_hint(format!("You can drop {by} instead."))
}
