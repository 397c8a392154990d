//! Conversions between types, as `pg_cast` has them.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::casts;
use crate::repr::array::ArrayBuilder;
use crate::repr::text::parse_text;
use crate::repr::{ArrayRef, Datum, RecordRef, RecordType, ScalarType};

/// Where a conversion applies without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// Where a value is stored into a column.
    Assignment,
    /// Nowhere.
    Explicit,
}

/// Computes a conversion of a datum that is not NULL to a type modifier; the last argument says
/// whether the conversion was written.
pub type CastFn =
    for<'a> fn(Datum<'a>, i32, bool, &EvalContext<'a>) -> Result<Datum<'a>, EvalError>;

/// What computes a conversion.
#[derive(Clone, Copy, Debug)]
pub enum CastEval {
    /// A function of the datum alone.
    Plain(CastFn),
    /// Another conversion, of each element of an array.
    Elements(&'static CastDef),
    /// Reading the text form of a type.
    Parse(ScalarType),
    /// The conversions of a record's fields; none where a field stays as it is.
    Fields(RecordType, &'static [Option<&'static CastDef>]),
}

/// A conversion. Each applies the type modifier that it is given (−1 for none), so that one is
/// enough for `'1.25'::numeric(3, 1)`; `from == to` does nothing else.
#[derive(Debug)]
pub struct CastDef {
    /// The type of the input.
    pub from: ScalarType,
    /// The type of the output.
    pub to: ScalarType,
    /// Where it applies without being written.
    pub context: CastContext,
    /// Whether a datum that is not NULL can become NULL.
    pub nullable: bool,
    /// Whether it can fail where there is no modifier to apply.
    pub fallible: bool,
    /// The computation.
    pub eval: CastEval,
}

impl CastDef {
    const fn new(from: ScalarType, to: ScalarType, context: CastContext, eval: CastFn) -> CastDef {
        let eval = CastEval::Plain(eval);
        CastDef { from, to, context, nullable: false, fallible: true, eval }
    }

    /// A conversion that applies anywhere and can fail.
    pub const fn implicit(from: ScalarType, to: ScalarType, eval: CastFn) -> CastDef {
        CastDef::new(from, to, CastContext::Implicit, eval)
    }

    /// A conversion that applies where a value is stored, and can fail.
    pub const fn assignment(from: ScalarType, to: ScalarType, eval: CastFn) -> CastDef {
        CastDef::new(from, to, CastContext::Assignment, eval)
    }

    /// A conversion that must be written, and can fail.
    pub const fn explicit(from: ScalarType, to: ScalarType, eval: CastFn) -> CastDef {
        CastDef::new(from, to, CastContext::Explicit, eval)
    }

    /// The same, but it can make NULL of a datum that is not.
    pub const fn nullable(self) -> CastDef {
        CastDef { nullable: true, ..self }
    }

    /// The result for a datum that is not NULL; see [`CastFn`].
    #[inline]
    pub fn compute<'a>(
        &self,
        datum: Datum<'a>,
        typmod: i32,
        explicit: bool,
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        match self.eval {
            CastEval::Plain(eval) => eval(datum, typmod, explicit, cx),
            CastEval::Elements(inner) => convert_elements(inner, datum, typmod, explicit, cx),
            CastEval::Fields(to, inner) => convert_fields(to, inner, datum, explicit, cx),
            CastEval::Parse(to) => match datum {
                Datum::Text(text) => Ok(parse_text(to, typmod, text, cx.settings, cx.arena)?),
                other => Ok(other),
            },
        }
    }

    /// The same, but it never fails.
    pub const fn total(self) -> CastDef {
        CastDef { fallible: false, ..self }
    }
}

/// Converts each element of an array; its shape stays.
fn convert_elements<'a>(
    inner: &CastDef,
    datum: Datum<'a>,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let (Datum::Array(from, bytes), Some(to)) = (datum, inner.to.as_element()) else {
        return Ok(datum);
    };
    let array = ArrayRef::new(from, bytes);
    let mut builder = ArrayBuilder::new();
    for item in array.iter() {
        let item = match item {
            Datum::Null => Datum::Null,
            item => inner.compute(item, typmod, explicit, cx)?,
        };
        builder.push(&item);
    }
    Ok(builder.finish_in(to, &array.dims, cx.arena))
}

/// Converts each field of a record.
fn convert_fields<'a>(
    to: RecordType,
    inner: &[Option<&'static CastDef>],
    datum: Datum<'a>,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let Datum::Record(from, bytes) = datum else { return Ok(datum) };
    let mut values = RecordRef::new(from, bytes).values();
    for ((value, cast), field) in values.iter_mut().zip(inner).zip(to.fields()) {
        if let (Some(cast), false) = (cast, value.is_null()) {
            *value = cast.compute(*value, field.ty.typmod, explicit, cx)?;
        }
    }
    Ok(RecordRef::build(to, &values, cx.arena).datum())
}

/// A reference to a [`CastDef`]; travels as the pair of types.
#[derive(Clone, Copy)]
pub struct Cast(pub &'static CastDef);

impl Cast {
    /// The conversion between two types, if there is one.
    pub fn find(from: ScalarType, to: ScalarType) -> Option<Cast> {
        casts::find(from, to).map(Cast)
    }
}

impl std::ops::Deref for Cast {
    type Target = CastDef;
    fn deref(&self) -> &CastDef {
        self.0
    }
}

impl fmt::Debug for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.from.name(), self.to.name())
    }
}

impl PartialEq for Cast {
    fn eq(&self, other: &Cast) -> bool {
        (self.from, self.to) == (other.from, other.to)
    }
}

impl Eq for Cast {}

impl Hash for Cast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.from, self.to).hash(state);
    }
}

impl Serialize for Cast {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.from, self.to).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cast {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cast, D::Error> {
        let (from, to) = <(ScalarType, ScalarType)>::deserialize(deserializer)?;
        Cast::find(from, to)
            .ok_or_else(|| D::Error::custom(format!("no cast from {from:?} to {to:?}")))
    }
}
