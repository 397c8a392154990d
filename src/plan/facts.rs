//! Statements about facts: attributes, and transactions that assert and retract.
//!
//! A transaction is a set: what it says is told from what was there before it, in any order.

use crate::expr::scalar::Expr;
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc, ScalarType};

/// `CREATE ATTRIBUTE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateAttribute {
    /// Its schema, which is made where there is none.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub ty: ColumnType,
    /// The domain that they are of.
    pub domain: Option<GlobalId>,
    /// `MANY`: an entity may have several values.
    pub many: bool,
    /// `UNIQUE`: no two entities have one value.
    pub unique: bool,
    /// `REF`: values are entities.
    pub reference: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
}

/// Facts that come and go together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transact {
    /// What is said.
    pub changes: Vec<FactChange>,
    /// The entities that the transaction names itself, each by its name, if it has one.
    pub temporary: Vec<Option<String>>,
}

/// An entity.
#[derive(Clone, Debug, PartialEq)]
pub enum Entity {
    /// By its number, an int8.
    Known(Expr),
    /// By a name that holds in the transaction.
    Temporary(usize),
    /// The transaction itself.
    Transaction,
    /// The one that has a value of a unique attribute.
    Lookup {
        /// The attribute.
        attribute: GlobalId,
        /// The value, of its type.
        value: Expr,
    },
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    /// A value of the attribute's type.
    Plain(Expr),
    /// An entity.
    Entity(Entity),
}

/// What a transaction says of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct FactChange {
    /// The entity.
    pub entity: Entity,
    /// What.
    pub kind: ChangeKind,
}

/// What a transaction says.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// A fact holds.
    Assert(GlobalId, FactValue),
    /// A fact holds no more; without a value, none of that attribute does.
    Retract(GlobalId, Option<FactValue>),
    /// Nothing is known of the entity any more, and nothing refers to it.
    RetractEntity,
    /// A value takes the place of another one, or of none.
    Swap(GlobalId, Option<FactValue>, FactValue),
}

impl Entity {
    fn each_expr(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Entity::Known(expr) | Entity::Lookup { value: expr, .. } => f(expr),
            Entity::Temporary(_) | Entity::Transaction => {}
        }
    }
}

impl FactValue {
    fn each_expr(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            FactValue::Plain(expr) => f(expr),
            FactValue::Entity(entity) => entity.each_expr(f),
        }
    }
}

impl Transact {
    /// Visits the expressions, which may hold parameters.
    pub fn each_expr(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for FactChange { entity, kind } in &mut self.changes {
            entity.each_expr(f);
            match kind {
                ChangeKind::Assert(_, value) => value.each_expr(f),
                ChangeKind::Retract(_, value) => {
                    value.iter_mut().for_each(|value| value.each_expr(f));
                }
                ChangeKind::RetractEntity => {}
                ChangeKind::Swap(_, old, new) => {
                    old.iter_mut().chain([new]).for_each(|value| value.each_expr(f));
                }
            }
        }
    }

    /// What it answers with: the entities that it named, the transaction first.
    pub fn desc() -> RelationDesc {
        let column = |name: &str, ty| ColumnDesc { name: name.to_owned(), ty };
        let columns = vec![
            column("tempid", ColumnType::nullable(ScalarType::Text)),
            column("e", ColumnType::not_null(ScalarType::Int8)),
        ];
        RelationDesc { columns, keys: vec![] }
    }
}
