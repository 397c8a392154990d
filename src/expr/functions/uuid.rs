//! UUIDs.

use crate::expr::func::FuncDef;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::Uuid;

/// The functions.
pub static FAMILY: Family = Family {
    functions: &[FuncDef::new(3432, "gen_random_uuid", &[], Uuid, |_, _| {
        Ok(Datum::Uuid(uuid::Uuid::new_v4().into_bytes()))
    })
    .total()
    .volatile()],
    operators: &[],
};
