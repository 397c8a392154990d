//! Conversions of the types whose values are oids that the catalog names.
//!
//! Among numbers they are no change. To and from text they need the catalog: the binder puts a
//! query in their place (see [`super::catalog::cast_body`]), and what stands here is never called.

use crate::error::SqlState;
use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{integer, oid};
use crate::repr::Datum;
use crate::repr::ScalarType::*;

macro_rules! casts {
    ($($reg:ident)*) => {
        /// The conversions.
        pub static CASTS: &[CastDef] = &[
            $(
                CastDef::implicit(Oid, $reg, |d, _, _, _| Ok(d)).total(),
                CastDef::implicit($reg, Oid, |d, _, _, _| Ok(d)).total(),
                CastDef::implicit(Int2, $reg, |d, _, _, _| Ok(Datum::Oid(integer(d) as u32)))
                    .total(),
                CastDef::implicit(Int4, $reg, |d, _, _, _| Ok(Datum::Oid(integer(d) as u32)))
                    .total(),
                CastDef::implicit(Int8, $reg, |d, _, _, _| to_oid(integer(d))),
                CastDef::assignment($reg, Int4, |d, _, _, _| Ok(Datum::Int4(oid(d) as i32)))
                    .total(),
                CastDef::assignment($reg, Int8, |d, _, _, _| Ok(Datum::Int8(oid(d).into())))
                    .total(),
                CastDef::assignment($reg, Text, |_, _, _, _| Err(not_bound())).nullable(),
                CastDef::assignment($reg, Varchar, |_, _, _, _| Err(not_bound())).nullable(),
                CastDef::assignment($reg, Name, |_, _, _, _| Err(not_bound())).nullable(),
            )*
            CastDef::implicit(Text, RegClass, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::implicit(Varchar, RegClass, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::explicit(Name, RegClass, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::explicit(Text, RegType, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::explicit(Text, RegNamespace, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::explicit(Name, RegNamespace, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::explicit(Text, RegProc, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::explicit(Text, RegRole, |_, _, _, _| Err(not_bound())).nullable(),
            CastDef::implicit(RegProc, RegProcedure, |d, _, _, _| Ok(d)).total(),
            CastDef::implicit(RegProcedure, RegProc, |d, _, _, _| Ok(d)).total(),
            CastDef::implicit(RegOper, RegOperator, |d, _, _, _| Ok(d)).total(),
            CastDef::implicit(RegOperator, RegOper, |d, _, _, _| Ok(d)).total(),
        ];
    };
}

casts! {
    RegProc RegProcedure RegOper RegOperator RegClass RegType RegRole RegNamespace
}

fn to_oid<'a>(value: i64) -> Result<Datum<'a>, EvalError> {
    let fits = u32::try_from(value).map(Datum::Oid);
    fits.map_err(|_| EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range"))
}

fn not_bound() -> EvalError {
    EvalError::new(SqlState::INTERNAL_ERROR, "a name of the catalog where it is not bound")
}
