//! Values as JSON, as `to_jsonb` and its kin make it.

use super::build::JsonbBuilder;
use super::view::{JsonbItem, JsonbRef};
use crate::error::Result;
use crate::repr::numeric::Numeric;
use crate::repr::settings::{DateOrder, DateOutput, DateStyle, FormatSettings};
use crate::repr::text::format_text;
use crate::repr::{ArrayRef, Datum, RecordRef, ScalarType};

impl JsonbBuilder {
    /// Puts a value of type `ty`: numbers that are finite as numbers, jsonb as it is, dates in
    /// ISO 8601 whatever the settings say, what JSON does not know as its text.
    ///
    /// # Errors
    ///
    /// 22P05 for json with an escape that jsonb has no character for.
    pub fn datum(
        &mut self,
        datum: &Datum<'_>,
        ty: ScalarType,
        settings: &FormatSettings,
    ) -> Result<()> {
        match *datum {
            Datum::Null => self.null(),
            Datum::Bool(v) => self.bool(v),
            Datum::Int2(v) => self.number(&v.into()),
            Datum::Int4(v) => self.number(&v.into()),
            Datum::Int8(v) => self.number(&v.into()),
            Datum::Numeric(v) if matches!(v.to_owned(), Numeric::Finite(_)) => self.number_ref(v),
            Datum::Float4(v) if v.is_finite() => {
                self.number(&Numeric::parse(&plain_text(datum, ty, settings))?);
            }
            Datum::Float8(v) if v.is_finite() => {
                self.number(&Numeric::parse(&plain_text(datum, ty, settings))?);
            }
            Datum::Text(v) => self.string(v),
            Datum::Jsonb(v) => self.raw(v),
            Datum::Json(v) => self.parse(v)?,
            Datum::Date(_)
            | Datum::Timestamp(_)
            | Datum::TimestampTz(_)
            | Datum::TimestampNs(_) => {
                self.string(&iso_text(datum, ty, settings));
            }
            Datum::Array(element, v) => self.elements(&ArrayRef::new(element, v), settings)?,
            Datum::Record(ty, v) => self.fields(&RecordRef::new(ty, v), settings)?,
            _ => self.string(&plain_text(datum, ty, settings)),
        }
        Ok(())
    }

    /// A record as an object.
    fn fields(&mut self, record: &RecordRef<'_>, settings: &FormatSettings) -> Result<()> {
        self.begin_object();
        for (field, datum) in record.ty.fields().iter().zip(record.values()) {
            self.key(&field.name);
            self.datum(&datum, field.ty.scalar, settings)?;
        }
        self.end();
        Ok(())
    }

    /// An array, each dimension as arrays in an array.
    fn elements(&mut self, array: &ArrayRef<'_>, settings: &FormatSettings) -> Result<()> {
        let lengths = array.dims.lengths();
        let ty = array.element.scalar();
        if lengths.is_empty() {
            self.begin_array();
            self.end();
        }
        for (place, datum) in array.iter().enumerate() {
            // The dimensions that begin with this element, and those that end with it.
            let spans = |place: usize| {
                let spans = lengths.iter().rev().scan(1, |span, length| {
                    *span *= *length as usize;
                    Some(*span)
                });
                spans.filter(|span| place.is_multiple_of(*span)).count()
            };
            (0..spans(place)).for_each(|_| self.begin_array());
            self.datum(&datum, ty, settings)?;
            (0..spans(place + 1)).for_each(|_| self.end());
        }
        Ok(())
    }
}

/// The text form of a value.
pub fn plain_text(datum: &Datum<'_>, ty: ScalarType, settings: &FormatSettings) -> String {
    let mut out = String::new();
    format_text(datum, ty, settings, &mut out);
    out
}

/// A date or a point in time with a `T` before the clock and minutes in the offset.
pub fn iso_text(datum: &Datum<'_>, ty: ScalarType, settings: &FormatSettings) -> String {
    let date_style = DateStyle { style: DateOutput::Iso, order: DateOrder::Mdy };
    let out = plain_text(datum, ty, &FormatSettings { date_style, ..settings.clone() });
    if matches!(datum, Datum::Date(_)) {
        return out;
    }
    let Some((date, clock)) = out.split_once(' ') else { return out };
    let (clock, era) = match clock.split_once(' ') {
        Some((clock, era)) => (clock, format!(" {era}")),
        None => (clock, String::new()),
    };
    let whole_hours = clock.rfind(['+', '-']).is_some_and(|sign| clock.len() - sign == 3);
    format!("{date}T{clock}{}{era}", if whole_hours { ":00" } else { "" })
}

impl JsonbRef<'_> {
    /// What `->>` answers: a string without its quotes, nothing for `null`, else the text.
    pub fn as_text(self) -> Option<String> {
        match self.item() {
            JsonbItem::Null => None,
            JsonbItem::String(s) => Some(s.to_owned()),
            _ => Some(self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::repr::text::parse_text;

    #[test]
    fn values_become_json_as_by_to_jsonb() {
        let zone = |name: &str| FormatSettings {
            time_zone: crate::repr::settings::TimeZone::parse(name).unwrap(),
            ..FormatSettings::default()
        };
        // What PostgreSQL 15 answers.
        let cases = [
            (ScalarType::Int8, "7", "7"),
            (ScalarType::Float8, "1e20", "100000000000000000000"),
            (ScalarType::Float8, "NaN", "\"NaN\""),
            (ScalarType::Numeric, "1.50", "1.50"),
            (ScalarType::Numeric, "Infinity", "\"Infinity\""),
            (ScalarType::Bool, "t", "true"),
            (ScalarType::Oid, "5", "\"5\""),
            (ScalarType::Date, "2024-02-29", "\"2024-02-29\""),
            (ScalarType::Timestamp, "2024-02-29 1:02:03.5", "\"2024-02-29T01:02:03.5\""),
            (ScalarType::Timestamp, "infinity", "\"infinity\""),
            (ScalarType::Timestamp, "0044-03-15 12:00 BC", "\"0044-03-15T12:00:00 BC\""),
            (ScalarType::TimestampTz, "2024-02-29 00:00+00", "\"2024-02-29T01:00:00+01:00\""),
            (ScalarType::Interval, "1 day", "\"1 day\""),
            (ScalarType::Jsonb, "{\"a\":1}", "{\"a\": 1}"),
        ];
        let arena = Bump::new();
        for (ty, text, expected) in cases {
            let settings = zone("Europe/Berlin");
            let datum = parse_text(ty, -1, text, &settings, &arena).unwrap();
            let mut builder = JsonbBuilder::new();
            builder.datum(&datum, ty, &settings).unwrap();
            assert_eq!(JsonbRef(builder.finish()).to_string(), expected);
        }
    }
}
