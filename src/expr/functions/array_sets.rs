//! Functions that take an array apart into rows.

use crate::expr::functions::access::{array, bool, int4};
use crate::expr::polymorphic::{PolyDef, Slot::*};
use crate::expr::table::{SetRows, listed};
use crate::repr::Datum;
use crate::repr::ScalarType::{Bool, Int4};
use crate::repr::value::pack;

/// The subscripts of a dimension, ascending or descending; none where there is no such dimension.
fn subscripts(args: &[Datum<'_>]) -> SetRows {
    let dims = array(args[0]).dims;
    let reverse = args.get(2).is_some_and(|reverse| bool(*reverse));
    let dim = match usize::try_from(int4(args[1])) {
        Ok(dim) if (1..=dims.count()).contains(&dim) => dim - 1,
        _ => return listed(vec![]),
    };
    let all = dims.lowers()[dim]..=dims.upper(dim);
    let row = |subscript| Ok(pack(&[Datum::Int4(subscript)]));
    match reverse {
        true => Box::new(all.rev().map(row)),
        false => Box::new(all.map(row)),
    }
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    PolyDef::set(2331, "unnest", &[AnyArray], AnyElement, |args, _| {
        Ok(listed(array(args[0]).iter().map(|item| pack(&[item])).collect()))
    })
    .nullable()
    .total(),
    PolyDef::set(1192, "generate_subscripts", &[AnyArray, Is(Int4)], Is(Int4), |args, _| {
        Ok(subscripts(args))
    })
    .total(),
    PolyDef::set(
        1191,
        "generate_subscripts",
        &[AnyArray, Is(Int4), Is(Bool)],
        Is(Int4),
        |args, _| Ok(subscripts(args)),
    )
    .total(),
];
