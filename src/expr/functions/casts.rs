//! Where the tables of conversions are listed, and the index over them.

use std::sync::OnceLock;

use crate::expr::cast::CastDef;
use crate::expr::functions::{
    datetime_casts, jsonb_casts, modifier_casts, number_casts, numeric_casts, string_casts,
    text_casts,
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
    text_casts::CASTS,
];

const TYPES: usize = ScalarType::ALL.len();

type Index = [[Option<&'static CastDef>; TYPES]; TYPES];

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = [[None; TYPES]; TYPES];
        for cast in all() {
            index[cast.from as usize][cast.to as usize].get_or_insert(cast);
        }
        index
    })
}

/// Every conversion, for `pg_cast`.
pub fn all() -> impl Iterator<Item = &'static CastDef> {
    TABLES.iter().copied().flatten()
}

/// The conversion between two types, if there is one.
pub fn find(from: ScalarType, to: ScalarType) -> Option<&'static CastDef> {
    index()[from as usize][to as usize]
}
