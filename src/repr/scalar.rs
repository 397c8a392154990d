//! Scalar types, and the shape of a relation.

use serde::{Deserialize, Serialize};

/// The type of a scalar, without modifiers.
///
/// The encoding of a datum depends on this alone, so that equal types always meet byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // Each variant is the PostgreSQL type of that name.
pub enum ScalarType {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Varchar,
    Bpchar,
    Bytea,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Jsonb,
    Oid,
    Name,
}

impl ScalarType {
    /// Every type, in the order of declaration.
    pub const ALL: [ScalarType; 20] = [
        ScalarType::Bool,
        ScalarType::Int2,
        ScalarType::Int4,
        ScalarType::Int8,
        ScalarType::Float4,
        ScalarType::Float8,
        ScalarType::Numeric,
        ScalarType::Text,
        ScalarType::Varchar,
        ScalarType::Bpchar,
        ScalarType::Bytea,
        ScalarType::Date,
        ScalarType::Time,
        ScalarType::Timestamp,
        ScalarType::TimestampTz,
        ScalarType::Interval,
        ScalarType::Uuid,
        ScalarType::Jsonb,
        ScalarType::Oid,
        ScalarType::Name,
    ];

    /// PostgreSQL's oid, `pg_type.typname`, the name that `format_type` prints, and `typlen`.
    const fn facts(self) -> (u32, &'static str, &'static str, i16) {
        match self {
            ScalarType::Bool => (16, "bool", "boolean", 1),
            ScalarType::Int2 => (21, "int2", "smallint", 2),
            ScalarType::Int4 => (23, "int4", "integer", 4),
            ScalarType::Int8 => (20, "int8", "bigint", 8),
            ScalarType::Float4 => (700, "float4", "real", 4),
            ScalarType::Float8 => (701, "float8", "double precision", 8),
            ScalarType::Numeric => (1700, "numeric", "numeric", -1),
            ScalarType::Text => (25, "text", "text", -1),
            ScalarType::Varchar => (1043, "varchar", "character varying", -1),
            ScalarType::Bpchar => (1042, "bpchar", "character", -1),
            ScalarType::Bytea => (17, "bytea", "bytea", -1),
            ScalarType::Date => (1082, "date", "date", 4),
            ScalarType::Time => (1083, "time", "time without time zone", 8),
            ScalarType::Timestamp => (1114, "timestamp", "timestamp without time zone", 8),
            ScalarType::TimestampTz => (1184, "timestamptz", "timestamp with time zone", 8),
            ScalarType::Interval => (1186, "interval", "interval", 16),
            ScalarType::Uuid => (2950, "uuid", "uuid", 16),
            ScalarType::Jsonb => (3802, "jsonb", "jsonb", -1),
            ScalarType::Oid => (26, "oid", "oid", 4),
            ScalarType::Name => (19, "name", "name", 64),
        }
    }

    /// PostgreSQL's `pg_type.oid`.
    pub const fn oid(self) -> u32 {
        self.facts().0
    }

    /// PostgreSQL's `pg_type.typname`.
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    /// What `format_type` prints, without a modifier.
    pub const fn display_name(self) -> &'static str {
        self.facts().2
    }

    /// PostgreSQL's `pg_type.typlen`, −1 where the length varies.
    pub const fn length(self) -> i16 {
        self.facts().3
    }

    /// The type of that `pg_type.oid`.
    pub fn from_oid(oid: u32) -> Option<ScalarType> {
        ScalarType::ALL.into_iter().find(|t| t.oid() == oid)
    }
}

/// The type of a column or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnType {
    /// The type proper.
    pub scalar: ScalarType,
    /// PostgreSQL's `atttypmod`; −1 where there is none.
    pub typmod: i32,
    /// Whether NULL may occur.
    pub nullable: bool,
}

impl ColumnType {
    /// A type without a modifier that may be NULL.
    pub const fn nullable(scalar: ScalarType) -> ColumnType {
        ColumnType { scalar, typmod: -1, nullable: true }
    }

    /// A type without a modifier that is never NULL.
    pub const fn not_null(scalar: ScalarType) -> ColumnType {
        ColumnType { scalar, typmod: -1, nullable: false }
    }
}

impl From<ScalarType> for ColumnType {
    fn from(scalar: ScalarType) -> ColumnType {
        ColumnType::nullable(scalar)
    }
}

/// A column of a relation that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnDesc {
    /// The name, as a client sees it.
    pub name: String,
    /// The type.
    pub ty: ColumnType,
}

/// The shape of a relation with names: what a client is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationDesc {
    /// The columns, in order.
    pub columns: Vec<ColumnDesc>,
    /// Sets of column positions that are unique together; an empty set means at most one row.
    pub keys: Vec<Vec<usize>>,
}

impl RelationDesc {
    /// The number of columns.
    pub fn arity(&self) -> usize {
        self.columns.len()
    }

    /// The scalar types of the columns.
    pub fn scalars(&self) -> Vec<ScalarType> {
        self.columns.iter().map(|c| c.ty.scalar).collect()
    }

    /// The types of the columns.
    pub fn types(&self) -> Vec<ColumnType> {
        self.columns.iter().map(|c| c.ty).collect()
    }
}
