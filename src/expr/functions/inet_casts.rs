//! Conversions of addresses. As text they always have the bits of their network, as a name and on
//! the wire only where these are not all.

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::inet;
use crate::expr::functions::string_casts::fit;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::network::push_network;

fn spelled<'a>(
    datum: Datum<'a>,
    to: ScalarType,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let mut out = String::new();
    push_network(&inet(datum), true, &mut out);
    fit(to, cx.arena.alloc_str(&out), typmod, explicit, cx.arena)
}

macro_rules! spells {
    ($from:ident $to:ident) => {
        CastDef::assignment($from, $to, |d, typmod, explicit, cx| {
            spelled(d, $to, typmod, explicit, cx)
        })
        .total()
    };
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    CastDef::implicit(Cidr, Inet, |d, _, _, _| Ok(d)).total(),
    CastDef::assignment(Inet, Cidr, |d, _, _, _| Ok(Datum::Inet(inet(d).network()))).total(),
    spells!(Inet Text),
    spells!(Inet Varchar),
    spells!(Inet Bpchar),
    spells!(Cidr Text),
    spells!(Cidr Varchar),
    spells!(Cidr Bpchar),
];
