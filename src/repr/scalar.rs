//! Scalar types, and the shape of a relation.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::repr::RangeKind;
use crate::repr::record::RecordType;
use crate::repr::user_type::{UserFacts, UserType};

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
    Json,
    /// An array of any number of dimensions: PostgreSQL has one array type for each other type.
    Array(Element),
    Bit,
    Varbit,
    Inet,
    Cidr,
    Macaddr,
    JsonPath,
    /// An enum that a user created.
    Enum(UserType),
    /// A row: of a type that a user named, or of none.
    Record(RecordType),
    /// An instant with nanoseconds, which PostgreSQL does not have.
    TimestampNs,
    /// PostgreSQL's `"char"`: one character, or none.
    Char,
    Xid,
    RegProc,
    RegProcedure,
    RegOper,
    RegOperator,
    RegClass,
    RegType,
    RegRole,
    RegNamespace,
    Range(RangeKind),
    Multirange(RangeKind),
    TimeTz,
}

/// The type of an array's elements: any type but an array's, by its place in
/// [`ScalarType::ELEMENTS`], or by that among the enums or records of this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element(u32);

/// What is added to the place of an enum.
const ENUMS: u32 = 1 << 30;
/// What is added to the place of a record's type.
const RECORDS: u32 = 1 << 31;

impl Element {
    /// The element type itself.
    #[inline]
    pub const fn scalar(self) -> ScalarType {
        if self.0 < ENUMS {
            return ScalarType::ELEMENTS[self.0 as usize];
        }
        match self.0 & RECORDS {
            0 => ScalarType::Enum(UserType::at(self.0 - ENUMS)),
            _ => ScalarType::Record(RecordType::at(self.0 - RECORDS)),
        }
    }

    /// Whether it is among [`ScalarType::ELEMENTS`].
    pub const fn is_built_in(self) -> bool {
        self.0 < ENUMS
    }

    /// The place among [`ScalarType::ELEMENTS`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The element type at a place.
    pub const fn at(index: usize) -> Element {
        assert!(index < ScalarType::ELEMENTS.len());
        Element(index as u32)
    }
}

/// What stands before the type of an enum as it is stored; places of built-in types are below.
const STORED_ENUM: u8 = 0xfe;
/// What stands before the type of a record as it is stored.
const STORED_RECORD: u8 = 0xff;

impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_built_in = self.is_built_in();
        let mut tuple = serializer.serialize_tuple(if is_built_in { 1 } else { 2 })?;
        match self.scalar() {
            ScalarType::Enum(ty) => {
                tuple.serialize_element(&STORED_ENUM)?;
                tuple.serialize_element(&ty)?;
            }
            ScalarType::Record(ty) => {
                tuple.serialize_element(&STORED_RECORD)?;
                tuple.serialize_element(&ty)?;
            }
            _ => tuple.serialize_element(&(self.0 as u8))?,
        }
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Element, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = Element;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the type of an array's elements")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Element, A::Error> {
                let missing = || A::Error::custom("a type without its parts");
                let scalar = match seq.next_element::<u8>()?.ok_or_else(missing)? {
                    STORED_ENUM => ScalarType::Enum(seq.next_element()?.ok_or_else(missing)?),
                    STORED_RECORD => ScalarType::Record(seq.next_element()?.ok_or_else(missing)?),
                    place if usize::from(place) < ScalarType::ELEMENT_COUNT => {
                        return Ok(Element(place.into()));
                    }
                    place => return Err(A::Error::custom(format!("no type {place}"))),
                };
                scalar.as_element().ok_or_else(missing)
            }
        }
        deserializer.deserialize_tuple(2, Parts)
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.scalar())
    }
}

/// What `pg_type` says of a type.
struct Facts {
    oid: u32,
    name: &'static str,
    /// What `format_type` prints.
    display: &'static str,
    length: i16,
}

/// The facts of a type that a user named, and of its arrays.
fn facts_of(user: &UserFacts, length: i16) -> (Facts, Facts) {
    let (name, display) = (user.name, user.display);
    let (array_name, array_display) = (user.array_name, user.array_display);
    (
        Facts { oid: user.oid, name, display, length },
        Facts { oid: user.array_oid, name: array_name, display: array_display, length: -1 },
    )
}

/// The facts of a type and of its arrays.
macro_rules! facts {
    ($oid:literal, $name:literal, $display:literal, $length:literal, $array:literal) => {
        (
            Facts { oid: $oid, name: $name, display: $display, length: $length },
            Facts {
                oid: $array,
                name: concat!("_", $name),
                display: concat!($display, "[]"),
                length: -1,
            },
        )
    };
}

impl ScalarType {
    /// How many types are not arrays.
    pub const ELEMENT_COUNT: usize = 51;

    /// Every type that is no array, in the order of declaration.
    pub const ELEMENTS: [ScalarType; ScalarType::ELEMENT_COUNT] = [
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
        ScalarType::Json,
        ScalarType::Bit,
        ScalarType::Varbit,
        ScalarType::Inet,
        ScalarType::Cidr,
        ScalarType::Macaddr,
        ScalarType::JsonPath,
        ScalarType::TimestampNs,
        ScalarType::Char,
        ScalarType::Xid,
        ScalarType::RegProc,
        ScalarType::RegProcedure,
        ScalarType::RegOper,
        ScalarType::RegOperator,
        ScalarType::RegClass,
        ScalarType::RegType,
        ScalarType::RegRole,
        ScalarType::RegNamespace,
        ScalarType::Range(RangeKind::Int4),
        ScalarType::Range(RangeKind::Int8),
        ScalarType::Range(RangeKind::Num),
        ScalarType::Range(RangeKind::Ts),
        ScalarType::Range(RangeKind::Tstz),
        ScalarType::Range(RangeKind::Date),
        ScalarType::Multirange(RangeKind::Int4),
        ScalarType::Multirange(RangeKind::Int8),
        ScalarType::Multirange(RangeKind::Num),
        ScalarType::Multirange(RangeKind::Ts),
        ScalarType::Multirange(RangeKind::Tstz),
        ScalarType::Multirange(RangeKind::Date),
        ScalarType::TimeTz,
    ];

    /// Every type: those that are no arrays, then their arrays in the same order.
    pub const ALL: [ScalarType; 2 * ScalarType::ELEMENT_COUNT] = {
        let mut all = [ScalarType::Bool; 2 * ScalarType::ELEMENT_COUNT];
        let mut i = 0;
        while i < ScalarType::ELEMENT_COUNT {
            all[i] = ScalarType::ELEMENTS[i];
            all[ScalarType::ELEMENT_COUNT + i] = ScalarType::Array(Element(i as u32));
            i += 1;
        }
        all
    };

    /// The place in [`ScalarType::ALL`] of a built-in type.
    pub const fn index(self) -> usize {
        if let ScalarType::Array(element) = self {
            return ScalarType::ELEMENT_COUNT + element.0 as usize;
        }
        match self.as_element() {
            Some(element) => element.0 as usize,
            None => unreachable!(),
        }
    }

    /// Whether values can be compared; json, jsonpath, and arrays of them, cannot.
    pub fn is_comparable(self) -> bool {
        match self {
            ScalarType::Json | ScalarType::JsonPath => false,
            ScalarType::Array(element) => element.scalar().is_comparable(),
            ScalarType::Record(ty) => ty.every(ScalarType::is_comparable),
            _ => true,
        }
    }

    /// Whether it is one of [`ScalarType::ALL`].
    pub const fn is_built_in(self) -> bool {
        match self {
            ScalarType::Array(element) => element.is_built_in(),
            ScalarType::Enum(_) | ScalarType::Record(_) => false,
            _ => true,
        }
    }

    /// Whether values are oids that stand for what the catalog names.
    pub const fn is_reg(self) -> bool {
        use ScalarType::*;
        matches!(
            self,
            RegProc
                | RegProcedure
                | RegOper
                | RegOperator
                | RegClass
                | RegType
                | RegRole
                | RegNamespace
        )
    }

    /// Whether values are oids that stand for operators.
    pub const fn is_operator(self) -> bool {
        matches!(self, ScalarType::RegOper | ScalarType::RegOperator)
    }

    /// Whether values are oids, or numbers like them.
    pub const fn is_oid(self) -> bool {
        matches!(self, ScalarType::Oid | ScalarType::Xid) || self.is_reg()
    }

    /// The type as the elements of an array have it; none for an array.
    pub const fn as_element(self) -> Option<Element> {
        use ScalarType::*;
        Some(Element(match self {
            Bool => 0,
            Int2 => 1,
            Int4 => 2,
            Int8 => 3,
            Float4 => 4,
            Float8 => 5,
            Numeric => 6,
            Text => 7,
            Varchar => 8,
            Bpchar => 9,
            Bytea => 10,
            Date => 11,
            Time => 12,
            Timestamp => 13,
            TimestampTz => 14,
            Interval => 15,
            Uuid => 16,
            Jsonb => 17,
            Oid => 18,
            Name => 19,
            Json => 20,
            Bit => 21,
            Varbit => 22,
            Inet => 23,
            Cidr => 24,
            Macaddr => 25,
            JsonPath => 26,
            TimestampNs => 27,
            TimeTz => 50,
            Range(kind) => 38 + kind as u32,
            Multirange(kind) => 44 + kind as u32,
            Enum(ty) => ENUMS + ty.place(),
            Record(ty) => RECORDS + ty.place(),
            Char => 28,
            Xid => 29,
            RegProc => 30,
            RegProcedure => 31,
            RegOper => 32,
            RegOperator => 33,
            RegClass => 34,
            RegType => 35,
            RegRole => 36,
            RegNamespace => 37,
            Array(_) => return None,
        }))
    }

    /// The type of arrays of this type; none for an array, whose arrays are its own type.
    pub const fn array(self) -> Option<ScalarType> {
        match self.as_element() {
            Some(element) => Some(ScalarType::Array(element)),
            None => None,
        }
    }

    /// The type of an array's elements; none where this is no array.
    pub const fn element(self) -> Option<ScalarType> {
        match self {
            ScalarType::Array(element) => Some(element.scalar()),
            _ => None,
        }
    }

    fn facts(self) -> Facts {
        match self {
            ScalarType::Array(element) => element.scalar().facts_with_arrays().1,
            other => other.facts_with_arrays().0,
        }
    }

    fn facts_with_arrays(self) -> (Facts, Facts) {
        match self {
            ScalarType::Bool => facts!(16, "bool", "boolean", 1, 1000),
            ScalarType::Int2 => facts!(21, "int2", "smallint", 2, 1005),
            ScalarType::Int4 => facts!(23, "int4", "integer", 4, 1007),
            ScalarType::Int8 => facts!(20, "int8", "bigint", 8, 1016),
            ScalarType::Float4 => facts!(700, "float4", "real", 4, 1021),
            ScalarType::Float8 => facts!(701, "float8", "double precision", 8, 1022),
            ScalarType::Numeric => facts!(1700, "numeric", "numeric", -1, 1231),
            ScalarType::Text => facts!(25, "text", "text", -1, 1009),
            ScalarType::Varchar => facts!(1043, "varchar", "character varying", -1, 1015),
            ScalarType::Bpchar => facts!(1042, "bpchar", "character", -1, 1014),
            ScalarType::Bytea => facts!(17, "bytea", "bytea", -1, 1001),
            ScalarType::Date => facts!(1082, "date", "date", 4, 1182),
            ScalarType::Time => facts!(1083, "time", "time without time zone", 8, 1183),
            ScalarType::TimeTz => facts!(1266, "timetz", "time with time zone", 12, 1270),
            ScalarType::Timestamp => {
                facts!(1114, "timestamp", "timestamp without time zone", 8, 1115)
            }
            ScalarType::TimestampTz => {
                facts!(1184, "timestamptz", "timestamp with time zone", 8, 1185)
            }
            ScalarType::Interval => facts!(1186, "interval", "interval", 16, 1187),
            ScalarType::Uuid => facts!(2950, "uuid", "uuid", 16, 2951),
            ScalarType::Jsonb => facts!(3802, "jsonb", "jsonb", -1, 3807),
            ScalarType::Oid => facts!(26, "oid", "oid", 4, 1028),
            ScalarType::Name => facts!(19, "name", "name", 64, 1003),
            ScalarType::Json => facts!(114, "json", "json", -1, 199),
            ScalarType::Bit => facts!(1560, "bit", "bit", -1, 1561),
            ScalarType::Varbit => facts!(1562, "varbit", "bit varying", -1, 1563),
            ScalarType::Inet => facts!(869, "inet", "inet", -1, 1041),
            ScalarType::Cidr => facts!(650, "cidr", "cidr", -1, 651),
            ScalarType::Macaddr => facts!(829, "macaddr", "macaddr", 6, 1040),
            ScalarType::Range(kind) => match kind {
                RangeKind::Int4 => facts!(3904, "int4range", "int4range", -1, 3905),
                RangeKind::Int8 => facts!(3926, "int8range", "int8range", -1, 3927),
                RangeKind::Num => facts!(3906, "numrange", "numrange", -1, 3907),
                RangeKind::Ts => facts!(3908, "tsrange", "tsrange", -1, 3909),
                RangeKind::Tstz => facts!(3910, "tstzrange", "tstzrange", -1, 3911),
                RangeKind::Date => facts!(3912, "daterange", "daterange", -1, 3913),
            },
            ScalarType::Multirange(kind) => match kind {
                RangeKind::Int4 => facts!(4451, "int4multirange", "int4multirange", -1, 6150),
                RangeKind::Int8 => facts!(4536, "int8multirange", "int8multirange", -1, 6157),
                RangeKind::Num => facts!(4532, "nummultirange", "nummultirange", -1, 6151),
                RangeKind::Ts => facts!(4533, "tsmultirange", "tsmultirange", -1, 6152),
                RangeKind::Tstz => facts!(4534, "tstzmultirange", "tstzmultirange", -1, 6153),
                RangeKind::Date => facts!(4535, "datemultirange", "datemultirange", -1, 6155),
            },
            ScalarType::JsonPath => facts!(4072, "jsonpath", "jsonpath", -1, 4073),
            // PostgreSQL leaves the oids from 8000 to 9999 to others.
            ScalarType::TimestampNs => facts!(9101, "timestamp_ns", "timestamp_ns", 8, 9102),
            ScalarType::Enum(ty) => facts_of(&ty.facts(), 4),
            ScalarType::Record(ty) => facts_of(&ty.facts(), -1),
            ScalarType::Char => facts!(18, "char", "\"char\"", 1, 1002),
            ScalarType::Xid => facts!(28, "xid", "xid", 4, 1011),
            ScalarType::RegProc => facts!(24, "regproc", "regproc", 4, 1008),
            ScalarType::RegProcedure => facts!(2202, "regprocedure", "regprocedure", 4, 2207),
            ScalarType::RegOper => facts!(2203, "regoper", "regoper", 4, 2208),
            ScalarType::RegOperator => facts!(2204, "regoperator", "regoperator", 4, 2209),
            ScalarType::RegClass => facts!(2205, "regclass", "regclass", 4, 2210),
            ScalarType::RegType => facts!(2206, "regtype", "regtype", 4, 2211),
            ScalarType::RegRole => facts!(4096, "regrole", "regrole", 4, 4097),
            ScalarType::RegNamespace => facts!(4089, "regnamespace", "regnamespace", 4, 4090),
            ScalarType::Array(_) => unreachable!("an array is no element"),
        }
    }

    /// PostgreSQL's `pg_type.oid`.
    pub fn oid(self) -> u32 {
        self.facts().oid
    }

    /// PostgreSQL's `pg_type.typname`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// What `format_type` prints, without a modifier.
    pub fn display_name(self) -> &'static str {
        self.facts().display
    }

    /// PostgreSQL's `pg_type.typlen`, −1 where the length varies.
    pub fn length(self) -> i16 {
        self.facts().length
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
