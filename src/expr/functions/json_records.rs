//! Records out of JSON objects: `json_to_record`, `json_populate_record` and their kin.
//!
//! A value becomes what the input function of its type makes of its text; arrays and records are
//! taken apart, to any depth. A string is text also where an array or a record is wanted, `null`
//! is NULL everywhere, and what an object does not have comes from the record that is filled.

use std::borrow::Cow;

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::table::{SetRows, listed};
use crate::repr::array::{ArrayBuilder, Dims};
use crate::repr::json::{JsonKind, JsonText};
use crate::repr::jsonb::JsonbRef;
use crate::repr::settings::FormatSettings;
use crate::repr::text::parse_text;
use crate::repr::value::pack;
use crate::repr::{ColumnType, Datum, Element, RecordRef, RecordType, ScalarType};

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// A function that fills records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filling {
    /// What its records are.
    pub ty: RecordType,
    /// What it is called.
    pub name: &'static str,
    /// Whether it takes a jsonb rather than a json.
    pub binary: bool,
    /// Whether it takes an array of objects.
    pub many: bool,
}

impl Filling {
    /// The types of the arguments: the record that is filled, and the document.
    pub fn args(&self) -> Vec<ScalarType> {
        let document = if self.binary { ScalarType::Jsonb } else { ScalarType::Json };
        vec![ScalarType::Record(self.ty), document]
    }

    /// The record that one object makes of another.
    pub(super) fn record<'a>(&self, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
        let Some(text) = document(args[1]) else { return Ok(args[0]) };
        let text: &'a str = cx.arena.alloc_str(&text);
        let reader = Reader { settings: cx.settings, arena: cx.arena };
        let values = reader.fields(self.ty, args[0], JsonText::new(text)?)?;
        Ok(RecordRef::build(self.ty, &values, cx.arena).datum())
    }

    /// The rows that a document makes of a record.
    pub(super) fn open(
        &self,
        args: &[Datum<'_>],
        cx: &EvalContext<'_>,
    ) -> Result<SetRows, EvalError> {
        let reader = Reader { settings: cx.settings, arena: cx.arena };
        let Some(text) = document(args[1]) else {
            let row = pack(&reader.given(self.ty, args[0]));
            return Ok(listed(if self.many { vec![] } else { vec![row] }));
        };
        let whole = JsonText::new(&text)?;
        if !self.many {
            return Ok(listed(vec![pack(&reader.fields(self.ty, args[0], whole)?)]));
        }
        let wrong = match whole.kind() {
            JsonKind::Array => None,
            _ if self.binary => Some("a non-array"),
            JsonKind::Object => Some("an object"),
            _ => Some("a scalar"),
        };
        if let Some(wrong) = wrong {
            return Err(invalid(format!("cannot call {} on {wrong}", self.name)));
        }
        let mut rows = vec![];
        for element in whole.elements() {
            if element.kind() != JsonKind::Object {
                let message = format!("argument of {} must be an array of objects", self.name);
                return Err(invalid(message));
            }
            rows.push(pack(&reader.fields(self.ty, args[0], element)?));
        }
        Ok(listed(rows))
    }
}

fn document(datum: Datum<'_>) -> Option<Cow<'_, str>> {
    match datum {
        Datum::Json(text) => Some(Cow::Borrowed(text)),
        Datum::Jsonb(value) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

#[cold]
fn invalid(message: String) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// What reading needs.
struct Reader<'r, 'a> {
    settings: &'r FormatSettings,
    arena: &'a Bump,
}

impl<'a> Reader<'_, 'a> {
    /// The values of a record that may be NULL.
    fn given<'d>(&self, ty: RecordType, record: Datum<'d>) -> Vec<Datum<'d>> {
        match record {
            Datum::Record(of, bytes) => RecordRef::new(of, bytes).values(),
            _ => vec![Datum::Null; ty.fields().len()],
        }
    }

    fn fields<'d>(
        &self,
        ty: RecordType,
        given: Datum<'d>,
        object: JsonText<'_>,
    ) -> Result<Vec<Datum<'d>>, EvalError>
    where
        'a: 'd,
    {
        let wrong = match object.kind() {
            JsonKind::Object => None,
            JsonKind::Array => Some("an array"),
            _ => Some("a scalar"),
        };
        if let Some(wrong) = wrong {
            return Err(invalid(format!("cannot call populate_composite on {wrong}")));
        }
        let mut values = self.given(ty, given);
        for (value, field) in values.iter_mut().zip(ty.fields()) {
            if let Some(member) = object.member(&field.name) {
                *value = self.value(field.ty, member, &field.name)?;
            }
        }
        Ok(values)
    }

    fn value(&self, ty: ColumnType, value: JsonText<'_>, key: &str) -> Answer<'a> {
        let kind = value.kind();
        Ok(match ty.scalar {
            _ if kind == JsonKind::Null => Datum::Null,
            ScalarType::Json => Datum::Json(self.arena.alloc_str(value.text())),
            ScalarType::Jsonb => Datum::Jsonb(JsonbRef::parse(value.text(), self.arena)?),
            ScalarType::Array(element) if kind != JsonKind::String => {
                self.array(element, ty.typmod, value, key)?
            }
            ScalarType::Record(of) if kind != JsonKind::String => {
                let values = self.fields(of, Datum::Null, value)?;
                RecordRef::build(of, &values, self.arena).datum()
            }
            scalar => {
                let text = value.as_text().unwrap_or_default();
                let text = self.arena.alloc_str(&text);
                parse_text(scalar, ty.typmod, text, self.settings, self.arena)?
            }
        })
    }

    /// An array of as many dimensions as its first elements are nested.
    fn array(&self, of: Element, typmod: i32, whole: JsonText<'_>, key: &str) -> Answer<'a> {
        let (mut lengths, mut first) = (vec![], Some(whole));
        while let Some(array) = first.filter(|value| value.kind() == JsonKind::Array) {
            let elements = array.elements();
            lengths.push(elements.len() as i32);
            first = elements.first().copied();
        }
        if lengths.is_empty() {
            return Err(no_array(key, &[]));
        }
        let ty = ColumnType { typmod, ..of.scalar().into() };
        let mut builder = ArrayBuilder::new();
        self.elements(ty, whole, (&lengths, key), &mut vec![], &mut builder)?;
        if builder.is_empty() {
            return Ok(builder.vector_in(of, self.arena));
        }
        let dims = Dims::checked(&lengths, &vec![1; lengths.len()])?;
        Ok(builder.finish_in(of, &dims, self.arena))
    }

    fn elements(
        &self,
        ty: ColumnType,
        value: JsonText<'_>,
        (lengths, key): (&[i32], &str),
        at: &mut Vec<usize>,
        builder: &mut ArrayBuilder,
    ) -> Result<(), EvalError> {
        let Some(length) = lengths.get(at.len()) else {
            builder.push(&self.value(ty, value, key)?);
            return Ok(());
        };
        if value.kind() != JsonKind::Array {
            return Err(no_array(key, at));
        }
        let elements = value.elements();
        if elements.len() != *length as usize {
            let mut error =
                EvalError::new(SqlState::INVALID_TEXT_REPRESENTATION, "malformed JSON array");
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            error.detail = Some(detail.into());
            return Err(error);
        }
        for (place, element) in elements.into_iter().enumerate() {
            at.push(place);
            self.elements(ty, element, (lengths, key), at, builder)?;
            at.pop();
        }
        Ok(())
    }
}

/// The error of what stands where an array must.
fn no_array(key: &str, at: &[usize]) -> EvalError {
    let mut error = EvalError::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array");
    let places: String = at.iter().map(|place| format!("[{place}]")).collect();
    error.hint = Some(match at {
        [] => format!("See the value of key \"{key}\".").into(),
        _ => format!("See the array element {places} of key \"{key}\".").into(),
    });
    error
}
