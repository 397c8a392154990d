//! ALTER TABLE, bound.
//!
//! Columns go by their names: one action may rename or drop what the next one names.

use crate::expr::scalar::Expr;
use crate::plan::statement::{NewColumn, NewRule};
use crate::repr::{ColumnType, GlobalId};

/// `ALTER TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// What changes; none where there is none of that name, which IF EXISTS allows.
    pub relation: Option<GlobalId>,
    /// What is to be said of that.
    pub notice: Option<String>,
    /// What is done, in this order.
    pub changes: Vec<TableChange>,
}

/// An action of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChange {
    /// `ADD COLUMN`.
    Add {
        /// The column.
        column: NewColumn,
        /// What rows that are there have in it, where it is no sequence's value.
        fill: Expr,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `DROP COLUMN`.
    Drop {
        /// Which one.
        column: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `RENAME COLUMN`.
    RenameColumn {
        /// Which one.
        from: String,
        /// What it is called then.
        to: String,
    },
    /// `RENAME TO`.
    Rename(String),
    /// `ALTER COLUMN … SET DEFAULT` (the text), `DROP DEFAULT`.
    Default {
        /// Which column.
        column: String,
        /// An expression's text.
        text: Option<String>,
        /// The sequence that it takes values of.
        values_of: Option<GlobalId>,
    },
    /// `ALTER COLUMN … SET NOT NULL`, `DROP NOT NULL`.
    NotNull {
        /// Which column.
        column: String,
        /// Whether it may no longer be NULL.
        not_null: bool,
    },
    /// `ALTER COLUMN … TYPE`.
    Type {
        /// Which column.
        column: String,
        /// Its new type.
        ty: ColumnType,
        /// Its new value, over the columns that the table has before the statement.
        value: Expr,
    },
    /// `ADD PRIMARY KEY`.
    Key {
        /// Its columns.
        columns: Vec<String>,
        /// The name of the constraint, where one is given.
        name: Option<String>,
    },
    /// `ADD CHECK`, `ADD UNIQUE`.
    Rule(NewRule),
    /// `DROP CONSTRAINT`.
    DropConstraint {
        /// Which one.
        name: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `RENAME CONSTRAINT`.
    RenameConstraint {
        /// Which one.
        from: String,
        /// What it is called then.
        to: String,
    },
}

/// `FOREIGN KEY`, `REFERENCES`.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReference {
    /// The name of the constraint.
    pub name: String,
    /// The columns.
    pub columns: Vec<String>,
    /// The table that they name rows of; none: their own.
    pub parent: Option<GlobalId>,
    /// Its columns.
    pub to: Vec<String>,
    /// `ON DELETE`.
    pub on_delete: ReferenceAction,
    /// `ON UPDATE`.
    pub on_update: ReferenceAction,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub deferred: bool,
}

/// What becomes of rows that name what is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceAction {
    /// `NO ACTION`.
    Nothing,
    /// `RESTRICT`.
    Restrict,
    /// `CASCADE`.
    Cascade,
    /// `SET NULL`.
    SetNull,
}
