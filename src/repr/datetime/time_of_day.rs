//! The fields of a time of day without a date.
//!
//! A date and a zone may stand beside the time, where they can be told from it: they are checked
//! and then forgotten, since `time` holds neither.

use crate::repr::datetime::calendar::Civil;
use crate::repr::datetime::decode::{
    Decoder, InputZone, Parts, offset, time_overflows, with_clock,
};
use crate::repr::datetime::fault::Fault;
use crate::repr::datetime::lexer::{Field, FieldKind};
use crate::repr::datetime::zone::TimeZone;
use crate::repr::settings::FormatSettings;

/// Reads the fields of a time.
pub(super) fn decode(
    fields: &[Field],
    settings: &FormatSettings,
    now: Option<i64>,
) -> Result<Civil, Fault> {
    with_clock(now, |now| decode_at(fields, settings, now)).map(|decoder| decoder.civil)
}

/// Reads the fields of a time, and its offset in seconds east where that can be told.
pub(super) fn decode_zoned(
    fields: &[Field],
    settings: &FormatSettings,
    now: Option<i64>,
) -> Result<(Civil, Option<i32>), Fault> {
    let decoder = with_clock(now, |now| decode_at(fields, settings, now))?;
    let dated = decoder.seen.has(Parts::DATE);
    let local = decoder.civil.micros().unwrap_or(i64::MAX / 2);
    let of_zone = |zone: &TimeZone| match dated {
        true => Some(zone.offset_of_local(local)),
        false => zone.fixed_offset(),
    };
    let east = match &decoder.zone {
        InputZone::Offset(east) => Some(*east),
        InputZone::None => of_zone(&settings.time_zone),
        InputZone::Zone(zone) => of_zone(zone),
        InputZone::Abbreviation(name, zone) if dated => {
            Some(zone.offset_of_abbreviation(local, name))
        }
        InputZone::Abbreviation(_, zone) => zone.fixed_offset(),
    };
    Ok((decoder.civil, east))
}

fn decode_at<'a>(
    fields: &[Field],
    settings: &'a FormatSettings,
    now: Option<i64>,
) -> Result<Decoder<'a>, Fault> {
    let mut decoder = Decoder::new(settings, now, true);
    for index in 0..fields.len() {
        if let Some(parts) = field(&mut decoder, fields, index)? {
            decoder.note(parts)?;
        }
    }
    decoder.validate_date()?;
    decoder.apply_meridiem()?;
    if time_overflows(&decoder.civil) {
        return Err(Fault::FieldOverflow);
    }
    if !decoder.seen.has(Parts::TIME) {
        return Err(Fault::BadFormat);
    }
    // The offset of a zone with changing rules is unknown without a date.
    let needs_date = match &decoder.zone {
        InputZone::Zone(zone) => zone.fixed_offset().is_none(),
        InputZone::Abbreviation(..) | InputZone::None | InputZone::Offset(_) => false,
    };
    let modified = decoder.seen.has(Parts::DAYLIGHT_MODIFIER);
    let named = !matches!(decoder.zone, InputZone::Offset(_));
    if needs_date && !decoder.seen.has(Parts::DATE) || modified && named {
        return Err(Fault::BadFormat);
    }
    Ok(decoder)
}

fn field(
    decoder: &mut Decoder<'_>,
    fields: &[Field],
    index: usize,
) -> Result<Option<Parts>, Fault> {
    let field = &fields[index];
    let text = field.text.as_str();
    let last_is_date = fields.last().is_some_and(|last| last.kind == FieldKind::Date);
    let first_of_many = index == 0 && fields.len() >= 2;
    let parts = match field.kind {
        FieldKind::Date => {
            let time_follows = fields.get(1).is_some_and(|next| next.kind == FieldKind::Time);
            if first_of_many && (last_is_date || time_follows) {
                decoder.date(text)?
            } else if text.starts_with(|c: char| c.is_ascii_digit()) {
                decoder.time_and_offset(text)?
            } else {
                decoder.named_zone(text)?
            }
        }
        FieldKind::Time => decoder.time_field(text)?,
        FieldKind::Zone => {
            decoder.zone = InputZone::Offset(offset(text)?);
            Parts::ZONE
        }
        FieldKind::Number => match decoder.announced {
            Some(announced) => decoder.announced_number(announced, text)?,
            None => number(decoder, text, first_of_many && last_is_date)?,
        },
        FieldKind::Word | FieldKind::Signed => return decoder.word(text, &fields[index + 1..]),
    };
    Ok(Some(parts))
}

fn number(decoder: &mut Decoder<'_>, text: &str, may_be_date: bool) -> Result<Parts, Fault> {
    let dated = decoder.seen.with(Parts::DATE);
    match text.find('.') {
        Some(_) if may_be_date => decoder.date(text),
        Some(whole) if whole > 2 => decoder.run_together(text, dated),
        Some(_) => Err(Fault::BadFormat),
        None if text.len() > 4 => decoder.run_together(text, dated),
        None => decoder.number(text, dated),
    }
}
