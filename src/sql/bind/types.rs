//! Names of types.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, IntervalFields, TimezoneInfo,
    TypeModifier,
};

use crate::error::{Error, Result, SqlState};
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::name;

/// What a stored length or precision is shifted by, so that 0 is not a modifier.
const HEADER: i32 = 4;

/// The longest `varchar(n)` and `char(n)`.
const LENGTH_MAX: u64 = 10_485_760;

/// The type that a syntax tree names.
pub fn column_type(ty: &DataType) -> Result<ColumnType> {
    use ScalarType::*;
    let plain = |scalar| Ok(ColumnType::nullable(scalar));
    match ty {
        DataType::Bool | DataType::Boolean => plain(Bool),
        DataType::SmallInt(None) | DataType::Int2(None) => plain(Int2),
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => plain(Int4),
        DataType::BigInt(None) | DataType::Int8(None) => plain(Int8),
        DataType::Real | DataType::Float4 => plain(Float4),
        DataType::Float8 | DataType::DoublePrecision => plain(Float8),
        DataType::Float(precision) => float(precision),
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info),
        DataType::Text => plain(Text),
        DataType::CharacterVarying(n) | DataType::CharVarying(n) | DataType::Varchar(n) => {
            length(Varchar, n.as_ref(), -1)
        }
        DataType::Character(n) | DataType::Char(n) => length(Bpchar, n.as_ref(), 1 + HEADER),
        DataType::Bytea => plain(Bytea),
        DataType::Date => plain(Date),
        DataType::Time(p, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => precise(Time, *p),
        DataType::Time(p, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => precise(TimeTz, *p),
        DataType::Timestamp(p, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            precise(Timestamp, *p)
        }
        DataType::Timestamp(p, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            precise(TimestampTz, *p)
        }
        DataType::Interval { fields, precision } => interval(fields.as_ref(), *precision),
        DataType::Uuid => plain(Uuid),
        DataType::JSONB => plain(Jsonb),
        DataType::JSON => plain(Json),
        DataType::Regclass => plain(RegClass),
        DataType::Bit(n) => bits(Bit, n.unwrap_or(1)),
        DataType::BitVarying(Some(n)) | DataType::VarBit(Some(n)) => bits(Varbit, *n),
        DataType::BitVarying(None) | DataType::VarBit(None) => plain(Varbit),
        DataType::Custom(object, modifiers) => {
            let parts: Vec<String> = object
                .0
                .iter()
                .map(|part| part.as_ident().map(name::ident).unwrap_or_default())
                .collect();
            match parts.as_slice() {
                [name] => named(name, modifiers, ty),
                [schema, name] if schema == "pg_catalog" => named(name, modifiers, ty),
                _ => Err(no_such_type(&object.to_string())),
            }
        }
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(inner, _) | ArrayElemTypeDef::Qualified(inner, _),
        ) => {
            let inner = column_type(inner)?;
            Ok(ColumnType { scalar: inner.scalar.array().unwrap_or(inner.scalar), ..inner })
        }
        other => Err(unsupported(other)),
    }
}

fn named(name: &str, modifiers: &[TypeModifier], ty: &DataType) -> Result<ColumnType> {
    let scalar = match ScalarType::ALL.into_iter().find(|t| t.name() == name) {
        Some(scalar) => scalar,
        None => match name {
            "decimal" => ScalarType::Numeric,
            "timetz" | "money" | "macaddr8" | "xml" | "cid" | "tid" | "point" | "line" | "box"
            | "path" | "polygon" | "circle" | "tsvector" | "tsquery" | "oidvector"
            | "int2vector" | "pg_lsn" | "record" | "void" => {
                return Err(unsupported(ty));
            }
            _ => return Err(no_such_type(name)),
        },
    };
    let mut numbers = vec![];
    for modifier in modifiers {
        match modifier {
            TypeModifier::Number(n, _) => match n.parse::<u64>() {
                Ok(n) => numbers.push(n),
                Err(_) => return Err(invalid_modifier(name)),
            },
            _ => return Err(invalid_modifier(name)),
        }
    }
    let n = numbers.first().copied();
    match (scalar, numbers.as_slice()) {
        (_, []) => Ok(ColumnType::nullable(scalar)),
        (ScalarType::Varchar | ScalarType::Bpchar, [_]) => sized(scalar, n.unwrap_or(1)),
        (
            ScalarType::Time | ScalarType::TimeTz | ScalarType::Timestamp | ScalarType::TimestampTz,
            [_],
        ) => precise(scalar, n),
        (ScalarType::Bit | ScalarType::Varbit, [n]) => bits(scalar, *n),
        (ScalarType::Numeric, [p]) => numeric(&ExactNumberInfo::Precision(*p)),
        (ScalarType::Numeric, [p, s]) => {
            numeric(&ExactNumberInfo::PrecisionAndScale(*p, i64::try_from(*s).unwrap_or(i64::MAX)))
        }
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("type modifier is not allowed for type \"{name}\""),
        )),
    }
}

fn invalid_modifier(name: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid {name} type modifier"))
}

fn no_such_type(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

fn unsupported(ty: &DataType) -> Error {
    Error::unsupported(
        format!("type {}", ty.to_string().to_ascii_lowercase()),
        "Use one of bool, int2, int4, int8, float4, float8, numeric, text, varchar, char, bytea, \
         date, time, timestamp, timestamptz, timestamp_ns, interval, uuid, json, jsonb, jsonpath, \
         bit, varbit, inet, cidr, macaddr, ranges, multiranges, and arrays of these.",
    )
}

fn with_typmod(scalar: ScalarType, typmod: i32) -> Result<ColumnType> {
    Ok(ColumnType { typmod, ..ColumnType::nullable(scalar) })
}

fn length(scalar: ScalarType, n: Option<&CharacterLength>, bare: i32) -> Result<ColumnType> {
    match n {
        None => with_typmod(scalar, bare),
        Some(CharacterLength::IntegerLength { length, unit: None }) => sized(scalar, *length),
        Some(_) => Err(invalid_modifier(scalar.name())),
    }
}

fn sized(scalar: ScalarType, n: u64) -> Result<ColumnType> {
    let shown = if scalar == ScalarType::Bpchar { "char" } else { scalar.name() };
    let fault = |what: &str| {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("length for type {shown} {what}"))
    };
    match n {
        0 => Err(fault("must be at least 1")),
        n if n > LENGTH_MAX => Err(fault(&format!("cannot exceed {LENGTH_MAX}"))),
        n => with_typmod(scalar, n as i32 + HEADER),
    }
}

/// The longest `bit(n)`.
const BIT_LENGTH_MAX: u64 = 8 * LENGTH_MAX;

fn bits(scalar: ScalarType, n: u64) -> Result<ColumnType> {
    let name = scalar.name();
    let fault = |what: &str| {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("length for type {name} {what}"))
    };
    match n {
        0 => Err(fault("must be at least 1")),
        n if n > BIT_LENGTH_MAX => Err(fault(&format!("cannot exceed {BIT_LENGTH_MAX}"))),
        n => with_typmod(scalar, n as i32),
    }
}

fn precise(scalar: ScalarType, precision: Option<u64>) -> Result<ColumnType> {
    // More than six digits are cut to six, as PostgreSQL does with a warning.
    with_typmod(scalar, precision.map_or(-1, |p| p.min(6) as i32))
}

fn float(precision: &ExactNumberInfo) -> Result<ColumnType> {
    let fault = |what: &str| {
        Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("precision for type float must be {what}"),
        )
    };
    match precision {
        ExactNumberInfo::None => Ok(ColumnType::nullable(ScalarType::Float8)),
        ExactNumberInfo::Precision(0) => Err(fault("at least 1 bit")),
        ExactNumberInfo::Precision(1..=24) => Ok(ColumnType::nullable(ScalarType::Float4)),
        ExactNumberInfo::Precision(25..=53) => Ok(ColumnType::nullable(ScalarType::Float8)),
        ExactNumberInfo::Precision(_) => Err(fault("less than 54 bits")),
        ExactNumberInfo::PrecisionAndScale(..) => Err(invalid_modifier("float8")),
    }
}

fn numeric(info: &ExactNumberInfo) -> Result<ColumnType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(ColumnType::nullable(ScalarType::Numeric)),
        ExactNumberInfo::Precision(p) => (*p, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (*p, *s),
    };
    if !(1..=1000).contains(&precision) {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("NUMERIC precision {precision} must be between 1 and 1000"),
        ));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("NUMERIC scale {scale} must be between -1000 and 1000"),
        ));
    }
    let packed = ((precision as i32) << 16) | (scale as i32 & 0x7ff);
    with_typmod(ScalarType::Numeric, packed + HEADER)
}

/// Bits of an interval's fields in its modifier, as in PostgreSQL's `timestamp.h`.
const MONTH: i32 = 1 << 1;
const YEAR: i32 = 1 << 2;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
const FULL_RANGE: i32 = 0x7fff;
const FULL_PRECISION: i32 = 0xffff;

fn interval(fields: Option<&IntervalFields>, precision: Option<u64>) -> Result<ColumnType> {
    let range = match fields {
        None => FULL_RANGE,
        Some(IntervalFields::Year) => YEAR,
        Some(IntervalFields::Month) => MONTH,
        Some(IntervalFields::Day) => DAY,
        Some(IntervalFields::Hour) => HOUR,
        Some(IntervalFields::Minute) => MINUTE,
        Some(IntervalFields::Second) => SECOND,
        Some(IntervalFields::YearToMonth) => YEAR | MONTH,
        Some(IntervalFields::DayToHour) => DAY | HOUR,
        Some(IntervalFields::DayToMinute) => DAY | HOUR | MINUTE,
        Some(IntervalFields::DayToSecond) => DAY | HOUR | MINUTE | SECOND,
        Some(IntervalFields::HourToMinute) => HOUR | MINUTE,
        Some(IntervalFields::HourToSecond) => HOUR | MINUTE | SECOND,
        Some(IntervalFields::MinuteToSecond) => MINUTE | SECOND,
    };
    interval_of(range, precision)
}

fn interval_of(range: i32, precision: Option<u64>) -> Result<ColumnType> {
    if range == FULL_RANGE && precision.is_none() {
        return Ok(ColumnType::nullable(ScalarType::Interval));
    }
    let precision = precision.map_or(FULL_PRECISION, |p| p.min(6) as i32);
    with_typmod(ScalarType::Interval, (range << 16) | precision)
}

/// The type of `INTERVAL '…' leading [TO last]`.
pub fn interval_literal(interval: &sqlparser::ast::Interval) -> Result<ColumnType> {
    use sqlparser::ast::DateTimeField as Field;
    let leading = interval.leading_field.as_ref();
    let last = interval.last_field.as_ref();
    let range = match (leading, last) {
        (None, None) => FULL_RANGE,
        (Some(Field::Year), None) => YEAR,
        (Some(Field::Month), None) => MONTH,
        (Some(Field::Day), None) => DAY,
        (Some(Field::Hour), None) => HOUR,
        (Some(Field::Minute), None) => MINUTE,
        (Some(Field::Second), None) => SECOND,
        (Some(Field::Year), Some(Field::Month)) => YEAR | MONTH,
        (Some(Field::Day), Some(Field::Hour)) => DAY | HOUR,
        (Some(Field::Day), Some(Field::Minute)) => DAY | HOUR | MINUTE,
        (Some(Field::Day), Some(Field::Second)) => DAY | HOUR | MINUTE | SECOND,
        (Some(Field::Hour), Some(Field::Minute)) => HOUR | MINUTE,
        (Some(Field::Hour), Some(Field::Second)) => HOUR | MINUTE | SECOND,
        (Some(Field::Minute), Some(Field::Second)) => MINUTE | SECOND,
        (Some(field), _) => {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("syntax error at or near \"{}\"", field.to_string().to_lowercase()),
            ));
        }
        (None, Some(_)) => FULL_RANGE,
    };
    let precision = interval.fractional_seconds_precision.or(interval.leading_precision);
    interval_of(range, precision)
}
