//! Where the tables of conversions are listed, and the index over them.
//!
//! Arrays convert as their elements do, so that their conversions are made from the tables, each
//! once.

use std::sync::OnceLock;

use crate::expr::cast::CastDef;
use crate::expr::functions::{
    array_casts, bits_casts, datetime_casts, inet_casts, jsonb_casts, modifier_casts, number_casts,
    numeric_casts, range_casts, reg_casts, string_casts, text_casts, timestamp_ns, user_casts,
};
use crate::repr::ScalarType;

/// The tables; where two have the same pair of types, the earlier counts.
static TABLES: &[&[CastDef]] = &[
    number_casts::CASTS,
    numeric_casts::CASTS,
    string_casts::CASTS,
    modifier_casts::CASTS,
    datetime_casts::CASTS,
    jsonb_casts::CASTS,
    bits_casts::CASTS,
    inet_casts::CASTS,
    timestamp_ns::CASTS,
    text_casts::CASTS,
    reg_casts::CASTS,
];

const TYPES: usize = ScalarType::ALL.len();

type Index = Box<[[Option<&'static CastDef>; TYPES]; TYPES]>;

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Box::new([[None; TYPES]; TYPES]);
        for cast in TABLES.iter().copied().flatten() {
            index[cast.from.index()][cast.to.index()].get_or_insert(cast);
        }
        for cast in range_casts::casts() {
            let cast = &*Box::leak(Box::new(cast));
            index[cast.from.index()][cast.to.index()] = Some(cast);
        }
        let find = |from: ScalarType, to: ScalarType| index[from.index()][to.index()];
        for cast in array_casts::casts(find) {
            let cast = &*Box::leak(Box::new(cast));
            index[cast.from.index()][cast.to.index()] = Some(cast);
        }
        index
    })
}

/// Every conversion, for `pg_cast`.
pub fn all() -> impl Iterator<Item = &'static CastDef> {
    index().iter().flatten().copied().flatten()
}

/// The conversion between two types, if there is one.
pub fn find(from: ScalarType, to: ScalarType) -> Option<&'static CastDef> {
    match from.is_built_in() && to.is_built_in() {
        true => index()[from.index()][to.index()],
        false => user_casts::find(from, to),
    }
}
