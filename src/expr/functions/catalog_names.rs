//! What types and functions are called: answered from the engine's own tables, not from relations.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{int4, int8, oid, text};
use crate::expr::functions::aggregates::AGGREGATES;
use crate::expr::functions::io::io_functions;
use crate::expr::functions::registry::{self, Family};
use crate::expr::polymorphic::Slot;
use crate::repr::ScalarType::*;
use crate::repr::{Datum, ScalarType};

/// Pseudo-types, which only declare arguments and results.
const PSEUDO_TYPES: &[(u32, &str)] = &[
    (705, "unknown"),
    (2249, "record"),
    (2275, "cstring"),
    (2276, "\"any\""),
    (2277, "anyarray"),
    (2278, "void"),
    (2279, "trigger"),
    (2281, "internal"),
    (2283, "anyelement"),
    (2287, "record[]"),
    (2776, "anynonarray"),
    (3500, "anyenum"),
    (3831, "anyrange"),
    (4537, "anymultirange"),
    (4538, "anycompatiblemultirange"),
    (5077, "anycompatible"),
    (5078, "anycompatiblearray"),
    (5079, "anycompatiblenonarray"),
    (5080, "anycompatiblerange"),
];

/// The functions that only OVER calls: oid, name, arguments, result.
pub const WINDOW_FUNCTIONS: &[(u32, &str, &[Slot], Slot)] = {
    use Slot::{AnyCompatible as C, AnyElement as E, Is};
    const I4: Slot = Is(Int4);
    const I8: Slot = Is(Int8);
    const F8: Slot = Is(Float8);
    &[
        (3100, "row_number", &[], I8),
        (3101, "rank", &[], I8),
        (3102, "dense_rank", &[], I8),
        (3103, "percent_rank", &[], F8),
        (3104, "cume_dist", &[], F8),
        (3105, "ntile", &[I4], I4),
        (3106, "lag", &[E], E),
        (3107, "lag", &[E, I4], E),
        (3108, "lag", &[C, I4, C], C),
        (3109, "lead", &[E], E),
        (3110, "lead", &[E, I4], E),
        (3111, "lead", &[C, I4, C], C),
        (3112, "first_value", &[E], E),
        (3113, "last_value", &[E], E),
        (3114, "nth_value", &[E, I4], E),
    ]
};

/// The encodings that there are names for, by PostgreSQL's numbers.
const ENCODINGS: &[(i32, &str)] = &[(0, "SQL_ASCII"), (6, "UTF8"), (8, "LATIN1")];

/// The functions.
pub static FAMILY: Family = Family {
    functions: &[
        FuncDef::new(90_990, "weir_type_name", &[Oid, Int4], Text, |args, cx| {
            if args[0].is_null() {
                return Ok(Datum::Null);
            }
            let typmod = if args[1].is_null() { -1 } else { int4(args[1]) };
            Ok(Datum::Text(cx.arena.alloc_str(&format_type(oid(args[0]), typmod))))
        })
        .lax()
        .nullable()
        .total()
        .stable(),
        FuncDef::new(1716, "pg_get_expr", &[Text, Oid], Text, |args, _| Ok(args[0])).total(),
        FuncDef::new(2509, "pg_get_expr", &[Text, Oid, Bool], Text, |args, _| Ok(args[0])).total(),
        FuncDef::new(1597, "pg_encoding_to_char", &[Int4], Name, |args, _| {
            let found = ENCODINGS.iter().find(|(number, _)| *number == int4(args[0]));
            Ok(Datum::Text(found.map_or("", |(_, name)| *name)))
        })
        .total(),
        FuncDef::new(1264, "pg_char_to_encoding", &[Name], Int4, |args, _| {
            let wanted = text(args[0]).to_ascii_uppercase().replace('-', "");
            let found = ENCODINGS.iter().find(|(_, name)| *name == wanted);
            Ok(Datum::Int4(found.map_or(-1, |(number, _)| *number)))
        })
        .total(),
        FuncDef::new(2319, "pg_encoding_max_length", &[Int4], Int4, |args, _| {
            Ok(if int4(args[0]) == 6 { Datum::Int4(4) } else { Datum::Int4(1) })
        })
        .total(),
        FuncDef::new(2162, "pg_get_function_arguments", &[Oid], Text, |args, cx| {
            Ok(spelled(arguments(oid(args[0])), cx.arena))
        })
        .nullable()
        .total(),
        FuncDef::new(2232, "pg_get_function_identity_arguments", &[Oid], Text, |args, cx| {
            Ok(spelled(arguments(oid(args[0])), cx.arena))
        })
        .nullable()
        .total(),
        FuncDef::new(2165, "pg_get_function_result", &[Oid], Text, |args, cx| {
            Ok(spelled(result(oid(args[0])), cx.arena))
        })
        .nullable()
        .total(),
        FuncDef::new(93_001, "REGPROC", &[Oid], Text, |args, cx| {
            Ok(spelled(Some(proc_name(oid(args[0]))), cx.arena))
        })
        .nullable()
        .total(),
        FuncDef::new(93_002, "REGPROCEDURE", &[Oid], Text, |args, cx| {
            Ok(spelled(Some(procedure_name(oid(args[0]))), cx.arena))
        })
        .nullable()
        .total(),
        FuncDef::new(93_003, "NO RELATION", &[Text], Oid, |args, _| {
            let name = text(args[0]).trim();
            let is_odd = !name.contains('"') && name.contains(char::is_whitespace);
            if name.is_empty() || is_odd {
                return Err(EvalError::new(SqlState::INVALID_NAME, "invalid name syntax"));
            }
            let message = format!("relation \"{}\" does not exist", text(args[0]));
            Err(EvalError::new(SqlState::UNDEFINED_TABLE, message))
        }),
        FuncDef::new(93_005, "NO SCHEMA", &[Text], Oid, |args, _| {
            let message = format!("schema \"{}\" does not exist", text(args[0]));
            Err(EvalError::new(SqlState::INVALID_SCHEMA_NAME, message))
        }),
        FuncDef::new(93_004, "NO LAST VALUE", &[], Int8, |_, _| {
            let message = "the last value of a sequence in a query is not supported";
            Err(EvalError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        })
        .stable(),
        FuncDef::new(68, "xideq", &[Xid, Xid], Bool, |args, _| {
            Ok(Datum::Bool(oid(args[0]) == oid(args[1])))
        })
        .total(),
        FuncDef::new(3308, "xidneq", &[Xid, Xid], Bool, |args, _| {
            Ok(Datum::Bool(oid(args[0]) != oid(args[1])))
        })
        .total(),
        FuncDef::new(2288, "pg_size_pretty", &[Int8], Text, |args, cx| {
            Ok(Datum::Text(cx.arena.alloc_str(&size_pretty(int8(args[0]).into()))))
        })
        .total(),
    ],
    operators: &[OperatorDef::infix(Xid, "=", Xid, 68), OperatorDef::infix(Xid, "<>", Xid, 3308)],
};

fn spelled(text: Option<String>, arena: &bumpalo::Bump) -> Datum<'_> {
    text.map_or(Datum::Null, |text| Datum::Text(arena.alloc_str(&text)))
}

/// What a type is called, with its modifier where that is not −1.
pub fn format_type(oid: u32, typmod: i32) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    if let Some((_, name)) = PSEUDO_TYPES.iter().find(|(known, _)| *known == oid) {
        return (*name).to_owned();
    }
    let Some(ty) = ScalarType::from_oid(oid) else { return "???".to_owned() };
    match ty.element() {
        Some(element) => format!("{}[]", with_modifier(element, typmod)),
        None => with_modifier(ty, typmod),
    }
}

fn with_modifier(ty: ScalarType, typmod: i32) -> String {
    let name = ty.display_name();
    if typmod < 0 {
        return name.to_owned();
    }
    match ty {
        Varchar | Bpchar if typmod >= 4 => format!("{name}({})", typmod - 4),
        Bit | Varbit => format!("{name}({typmod})"),
        Numeric if typmod >= 4 => {
            let packed = typmod - 4;
            // The scale is a signed number of eleven bits.
            let scale = ((packed & 0x7ff) ^ 0x400) - 0x400;
            format!("{name}({},{scale})", packed >> 16)
        }
        Time | TimeTz | Timestamp | TimestampTz => match name.split_once(' ') {
            Some((word, rest)) => format!("{word}({typmod}) {rest}"),
            None => format!("{name}({typmod})"),
        },
        Interval => interval_modifier(typmod),
        _ => name.to_owned(),
    }
}

/// `interval`, with its fields and its precision.
fn interval_modifier(typmod: i32) -> String {
    const FIELDS: &[(i32, &str)] = &[
        (1 << 2, " year"),
        (1 << 1, " month"),
        (1 << 3, " day"),
        (1 << 10, " hour"),
        (1 << 11, " minute"),
        (1 << 12, " second"),
    ];
    let (range, precision) = (typmod >> 16, typmod & 0xffff);
    let mut out = "interval".to_owned();
    if range != 0x7fff {
        let fields: Vec<_> = FIELDS.iter().filter(|(bit, _)| range & bit != 0).collect();
        if let (Some((_, first)), Some((_, last))) = (fields.first(), fields.last()) {
            out.push_str(first);
            if first != last {
                out.push_str(" to");
                out.push_str(last);
            }
        }
    }
    if precision != 0xffff {
        out.push_str(&format!("({precision})"));
    }
    out
}

/// What a function has by its oid: name, arguments, whether the last is variadic, result, and
/// whether that is a set.
struct Signature {
    name: &'static str,
    args: Vec<u32>,
    variadic: bool,
    ret: u32,
    set: bool,
}

/// The oid of the type that a slot declares.
pub fn slot_oid(slot: Slot) -> u32 {
    match slot {
        Slot::Is(ty) => ty.oid(),
        Slot::AnyElement => 2283,
        Slot::AnyArray => 2277,
        Slot::AnyNonArray => 2776,
        Slot::AnyEnum => 3500,
        Slot::AnyRange => 3831,
        Slot::AnyMultirange => 4537,
        Slot::AnyRecord => 2249,
        Slot::AnyCompatible => 5077,
        Slot::AnyCompatibleArray => 5078,
    }
}

fn signature(oid: u32) -> Option<Signature> {
    if let Some(def) = registry::polymorphic(oid) {
        return Some(Signature {
            name: def.name,
            args: def.args.iter().chain(&def.variadic).map(|slot| slot_oid(*slot)).collect(),
            variadic: def.variadic.is_some(),
            ret: slot_oid(def.ret),
            set: def.set.is_some(),
        });
    }
    if let Some((_, name, args, ret)) = WINDOW_FUNCTIONS.iter().find(|(known, ..)| *known == oid) {
        let args = args.iter().map(|slot| slot_oid(*slot)).collect();
        let ret = slot_oid(*ret);
        return Some(Signature { name, args, variadic: false, ret, set: false });
    }
    if let Some(io) = io_functions().iter().find(|io| io.oid == oid) {
        let (args, ret) = (io.args.clone(), io.ret);
        return Some(Signature { name: io.name, args, variadic: false, ret, set: false });
    }
    if let Some(def) = AGGREGATES.iter().find(|def| def.oid == oid) {
        let args = def.args.iter().map(|arg| arg.map_or(2276, ScalarType::oid)).collect();
        let ret = def.func.output_type().scalar.oid();
        return Some(Signature { name: def.name, args, variadic: false, ret, set: false });
    }
    let func = registry::functions().find(|func| func.oid == oid)?;
    let variadic = func.variadic.map(|ty| match func.any {
        true => 2276,
        false => ty.array().unwrap_or(ty).oid(),
    });
    Some(Signature {
        name: func.name,
        args: func.args.iter().map(|ty| ty.oid()).chain(variadic).collect(),
        variadic: variadic.is_some(),
        ret: func.ret.oid(),
        set: func.set.is_some(),
    })
}

fn arguments(oid: u32) -> Option<String> {
    let signature = signature(oid)?;
    let last = signature.args.len().saturating_sub(1);
    let spelled = signature.args.iter().enumerate().map(|(at, ty)| {
        let word = if signature.variadic && at == last { "VARIADIC " } else { "" };
        format!("{word}{}", format_type(*ty, -1))
    });
    Some(spelled.collect::<Vec<_>>().join(", "))
}

fn result(oid: u32) -> Option<String> {
    let signature = signature(oid)?;
    let set = if signature.set { "SETOF " } else { "" };
    Some(format!("{set}{}", format_type(signature.ret, -1)))
}

/// How many functions have a name.
fn namesakes(name: &str) -> usize {
    registry::functions().filter(|func| func.name == name).count()
        + registry::polymorphic_functions().filter(|def| def.name == name).count()
        + AGGREGATES.iter().filter(|def| def.name == name).count()
        + io_functions().iter().filter(|io| io.name == name).count()
}

/// A function as `regproc` spells it: with its schema where the name alone is not enough.
pub fn proc_name(oid: u32) -> String {
    match signature(oid) {
        _ if oid == 0 => "-".to_owned(),
        Some(found) if namesakes(found.name) > 1 => format!("pg_catalog.{}", found.name),
        Some(found) => found.name.to_owned(),
        None => oid.to_string(),
    }
}

/// A function as `regprocedure` spells it.
pub fn procedure_name(oid: u32) -> String {
    match signature(oid) {
        _ if oid == 0 => "-".to_owned(),
        Some(found) => {
            let args: Vec<_> = found.args.iter().map(|ty| format_type(*ty, -1)).collect();
            format!("{}({})", found.name, args.join(","))
        }
        None => oid.to_string(),
    }
}

/// The oids of the functions of a name.
pub fn procs_named(name: &str) -> Vec<u32> {
    let plain = registry::functions().filter(|func| func.name == name).map(|func| func.oid);
    let poly = registry::polymorphic_functions().filter(|def| def.name == name).map(|d| d.oid);
    let aggregates = AGGREGATES.iter().filter(|def| def.name == name).map(|def| def.oid);
    let io = io_functions().iter().filter(|io| io.name == name).map(|io| io.oid);
    let mut found: Vec<u32> = plain.chain(poly).chain(aggregates).chain(io).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The oids of the types of a function's arguments.
pub fn proc_args(oid: u32) -> Option<Vec<u32>> {
    signature(oid).map(|signature| signature.args)
}

/// Bytes in a unit that leaves few digits, rounded half away from zero as PostgreSQL does.
pub(super) fn size_pretty(bytes: i128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let mut size = bytes;
    let mut unit = 0;
    // The first step keeps one bit for rounding, which the last takes away.
    let limit = |unit: usize| if unit == 0 { 10 * 1024 } else { 20 * 1024 - 1 };
    while unit + 1 < UNITS.len() && size.abs() >= limit(unit) {
        size /= if unit == 0 { 512 } else { 1024 };
        unit += 1;
    }
    if unit > 0 {
        size = (size + size.signum()) / 2;
    }
    format!("{size} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_with_their_modifiers() {
        let cases = [
            (1043, 24, "character varying(20)"),
            (1700, 655_366, "numeric(10,2)"),
            (1184, 3, "timestamp(3) with time zone"),
            (1007, -1, "integer[]"),
            (1015, 11, "character varying(7)[]"),
            (18, -1, "\"char\""),
            (0, -1, "-"),
            (999_999, -1, "???"),
        ];
        for (oid, typmod, spelled) in cases {
            assert_eq!(format_type(oid, typmod), spelled);
        }
    }
}
