//! Addresses and networks: what lies in what, their parts, and numbers added to them.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{inet, int4, int8, macaddr};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::network::{Inet as Address, V4, V6, push_abbreviated, push_address, push_network};

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

#[cold]
fn invalid(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The number of an address, its lowest bit lowest.
fn low(address: &Address) -> u128 {
    address.number() >> (V6 - address.width)
}

fn with_low(address: Address, low: u128) -> Address {
    address.with_number(low << (V6 - address.width))
}

fn combined<'a>(args: &[Datum<'a>], verb: &str, combine: fn(u128, u128) -> u128) -> Answer<'a> {
    let (a, b) = (inet(args[0]), inet(args[1]));
    if a.width != b.width {
        return Err(invalid(format!("cannot {verb} inet values of different sizes")));
    }
    let number = combine(a.number(), b.number());
    Ok(Datum::Inet(Address { bits: a.bits.max(b.bits), ..a }.with_number(number)))
}

fn moved<'a>(address: Address, by: i128) -> Answer<'a> {
    let out_of_range =
        || EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range");
    let greatest = u128::MAX >> (V6 - address.width);
    let sum = match u128::try_from(by) {
        Ok(by) => low(&address).checked_add(by),
        Err(_) => low(&address).checked_sub(by.unsigned_abs()),
    };
    let sum = sum.filter(|sum| *sum <= greatest).ok_or_else(out_of_range)?;
    Ok(Datum::Inet(with_low(address, sum)))
}

fn difference<'a>(a: Address, b: Address) -> Answer<'a> {
    if a.width != b.width {
        return Err(invalid("cannot subtract inet values of different sizes"));
    }
    let (a, b) = (low(&a), low(&b));
    let apart = i128::try_from(a.abs_diff(b)).ok();
    let apart = apart.map(|apart| if a < b { -apart } else { apart });
    apart.and_then(|apart| i64::try_from(apart).ok()).map(Datum::Int8).ok_or_else(|| {
        EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
    })
}

/// With another number of bits, -1 being all.
fn masked(address: Address, bits: i32) -> Result<Address, EvalError> {
    if bits == -1 {
        return Ok(Address { bits: address.width, ..address });
    }
    match u8::try_from(bits) {
        Ok(bits) if bits <= address.width => Ok(Address { bits, ..address }),
        _ => Err(invalid(format!("invalid mask length: {bits}"))),
    }
}

fn spelled<'a>(arena: &'a Bump, push: impl FnOnce(&mut String)) -> Datum<'a> {
    let mut out = String::new();
    push(&mut out);
    Datum::Text(arena.alloc_str(&out))
}

/// The smallest network that has both.
fn merged<'a>(a: Address, b: Address) -> Answer<'a> {
    if a.width != b.width {
        return Err(invalid("cannot merge addresses from different families"));
    }
    let common = (a.number() ^ b.number()).leading_zeros() as u8;
    let bits = common.min(a.bits).min(b.bits);
    Ok(Datum::Inet(Address { bits, ..a }.network()))
}

macro_rules! relation {
    ($oid:literal $name:literal |$a:ident, $b:ident| $test:expr) => {
        FuncDef::new($oid, $name, &[Inet, Inet], Bool, |args, _| {
            let ($a, $b) = (inet(args[0]), inet(args[1]));
            Ok(Datum::Bool($test))
        })
        .total()
    };
}

macro_rules! part {
    ($oid:literal $name:literal $ret:ident |$a:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[Inet], $ret, |args, _| {
            let $a = inet(args[0]);
            Ok($compute)
        })
        .total()
    };
}

macro_rules! text_of {
    ($oid:literal $name:literal $from:ident |$a:ident, $out:ident| $push:expr) => {
        FuncDef::new($oid, $name, &[$from], Text, |args, cx| {
            let $a = inet(args[0]);
            Ok(spelled(cx.arena, |$out| $push))
        })
        .total()
    };
}

macro_rules! of_macs {
    ($oid:literal $name:literal |$a:ident, $b:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[Macaddr, Macaddr], Macaddr, |args, _| {
            let (a, b) = (macaddr(args[0]), macaddr(args[1]));
            Ok(Datum::Macaddr(std::array::from_fn(|at| {
                let ($a, $b) = (a[at], b[at]);
                $compute
            })))
        })
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    relation!(927 "network_sub" |a, b| a.bits > b.bits && b.contains(&a)),
    relation!(928 "network_subeq" |a, b| b.contains(&a)),
    relation!(929 "network_sup" |a, b| a.bits < b.bits && a.contains(&b)),
    relation!(930 "network_supeq" |a, b| a.contains(&b)),
    relation!(3551 "network_overlap" |a, b| a.contains(&b) || b.contains(&a)),
    relation!(4071 "inet_same_family" |a, b| a.width == b.width),
    FuncDef::new(2627, "inetnot", &[Inet], Inet, |args, _| {
        let a = inet(args[0]);
        Ok(Datum::Inet(a.with_number(!a.number() & a.all())))
    })
    .total(),
    FuncDef::new(2628, "inetand", &[Inet, Inet], Inet, |args, _| {
        combined(args, "AND", |a, b| a & b)
    }),
    FuncDef::new(2629, "inetor", &[Inet, Inet], Inet, |args, _| combined(args, "OR", |a, b| a | b)),
    FuncDef::new(2630, "inetpl", &[Inet, Int8], Inet, |args, _| {
        moved(inet(args[0]), int8(args[1]).into())
    }),
    FuncDef::new(2631, "int8pl_inet", &[Int8, Inet], Inet, |args, _| {
        moved(inet(args[1]), int8(args[0]).into())
    }),
    FuncDef::new(2632, "inetmi_int8", &[Inet, Int8], Inet, |args, _| {
        // The least number has no opposite, and PostgreSQL takes it for its own.
        moved(inet(args[0]), int8(args[1]).wrapping_neg().into())
    }),
    FuncDef::new(2633, "inetmi", &[Inet, Inet], Int8, |args, _| {
        difference(inet(args[0]), inet(args[1]))
    }),
    text_of!(598 "abbrev" Inet |a, out| push_network(&a, false, out)),
    text_of!(599 "abbrev" Cidr |a, out| push_abbreviated(&a, out)),
    text_of!(699 "host" Inet |a, out| push_address(&a, out)),
    text_of!(730 "text" Inet |a, out| push_network(&a, true, out)),
    part!(696 "netmask" Inet |a| {
        Datum::Inet(Address { bits: a.width, ..a }.with_number(a.mask()))
    }),
    part!(1362 "hostmask" Inet |a| {
        Datum::Inet(Address { bits: a.width, ..a }.with_number(!a.mask() & a.all()))
    }),
    part!(698 "broadcast" Inet |a| {
        Datum::Inet(a.with_number((a.number() | !a.mask()) & a.all()))
    }),
    part!(683 "network" Cidr |a| Datum::Inet(a.network())),
    part!(1715 "cidr" Cidr |a| Datum::Inet(a.network())),
    part!(697 "masklen" Int4 |a| Datum::Int4(a.bits.into())),
    part!(711 "family" Int4 |a| Datum::Int4(if a.width == V4 { 4 } else { 6 })),
    FuncDef::new(605, "set_masklen", &[Inet, Int4], Inet, |args, _| {
        masked(inet(args[0]), int4(args[1])).map(Datum::Inet)
    }),
    FuncDef::new(635, "set_masklen", &[Cidr, Int4], Cidr, |args, _| {
        Ok(Datum::Inet(masked(inet(args[0]), int4(args[1]))?.network()))
    }),
    FuncDef::new(4063, "inet_merge", &[Inet, Inet], Cidr, |args, _| {
        merged(inet(args[0]), inet(args[1]))
    }),
    FuncDef::new(3144, "macaddr_not", &[Macaddr], Macaddr, |args, _| {
        Ok(Datum::Macaddr(macaddr(args[0]).map(|byte| !byte)))
    })
    .total(),
    of_macs!(3145 "macaddr_and" |a, b| a & b),
    of_macs!(3146 "macaddr_or" |a, b| a | b),
    FuncDef::new(753, "trunc", &[Macaddr], Macaddr, |args, _| {
        let [a, b, c, ..] = macaddr(args[0]);
        Ok(Datum::Macaddr([a, b, c, 0, 0, 0]))
    })
    .total(),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Inet, "<<", Inet, 927),
    OperatorDef::infix(Inet, "<<=", Inet, 928),
    OperatorDef::infix(Inet, ">>", Inet, 929),
    OperatorDef::infix(Inet, ">>=", Inet, 930),
    OperatorDef::infix(Inet, "&&", Inet, 3551),
    OperatorDef::prefix("~", Inet, 2627),
    OperatorDef::infix(Inet, "&", Inet, 2628),
    OperatorDef::infix(Inet, "|", Inet, 2629),
    OperatorDef::infix(Inet, "+", Int8, 2630),
    OperatorDef::infix(Int8, "+", Inet, 2631),
    OperatorDef::infix(Inet, "-", Int8, 2632),
    OperatorDef::infix(Inet, "-", Inet, 2633),
    OperatorDef::prefix("~", Macaddr, 3144),
    OperatorDef::infix(Macaddr, "&", Macaddr, 3145),
    OperatorDef::infix(Macaddr, "|", Macaddr, 3146),
];
