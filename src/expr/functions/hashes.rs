//! The functions behind PostgreSQL's hash indexes and partitions: `hashtext` and its like.
//!
//! They are Bob Jenkins' `lookup3` over the bytes, as `common/hashfn.c` has it, with the words in
//! the order of little-endian machines. Who spreads rows over places by them finds each where
//! PostgreSQL put it.

use crate::expr::func::FuncDef;
use crate::expr::functions::access::{
    float4, float8, int2, int4, int8, oid, text, time, timestamp, timetz, uuid,
};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

/// What the state begins with, beside the length.
const START: u32 = 0x9e37_79b9 + 3_923_095;

/// Mixes three words that more will follow.
fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    [a, b, c]
}

/// Mixes the last three words.
fn last([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

fn of_bytes(bytes: &[u8]) -> u32 {
    let start = START.wrapping_add(bytes.len() as u32);
    let mut state = [start; 3];
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        for (word, four) in state.iter_mut().zip(chunk.chunks_exact(4)) {
            *word = word.wrapping_add(four.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b)));
        }
        state = mix(state);
    }
    for (at, byte) in chunks.remainder().iter().enumerate() {
        // The lowest byte of the last word is left for the length.
        let shift = 8 * if at < 8 { at % 4 } else { at - 7 };
        let word = &mut state[at.min(8) / 4];
        *word = word.wrapping_add(u32::from(*byte) << shift);
    }
    last(state)
}

fn of_word(word: u32) -> u32 {
    let start = START.wrapping_add(4);
    last([start.wrapping_add(word), start, start])
}

/// A number of 64 bits like the same one of 32.
fn of_long(value: i64) -> u32 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    of_word(low ^ if value >= 0 { high } else { !high })
}

/// Zeros are one, and NaNs.
fn of_float(value: f64) -> u32 {
    if value == 0.0 {
        return 0;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    of_bytes(&value.to_ne_bytes())
}

macro_rules! hashes {
    ($($oid:literal $name:literal $ty:ident |$value:ident| $hash:expr;)*) => {
        const FUNCTIONS: &[FuncDef] = &[$(
            FuncDef::new($oid, $name, &[$ty], Int4, |args, _| {
                let $value = args[0];
                Ok(Datum::Int4($hash as i32))
            })
            .total(),
        )*];
    };
}

hashes! {
    400 "hashtext" Text |v| of_bytes(text(v).as_bytes());
    449 "hashint2" Int2 |v| of_word(i32::from(int2(v)) as u32);
    450 "hashint4" Int4 |v| of_word(int4(v) as u32);
    451 "hashfloat4" Float4 |v| of_float(float4(v).into());
    452 "hashfloat8" Float8 |v| of_float(float8(v));
    453 "hashoid" Oid |v| of_word(oid(v));
    455 "hashname" Name |v| of_bytes(text(v).as_bytes());
    949 "hashint8" Int8 |v| of_long(int8(v));
    1080 "hashbpchar" Bpchar |v| of_bytes(text(v).trim_end_matches(' ').as_bytes());
    1688 "time_hash" Time |v| of_long(time(v));
    1696 "timetz_hash" TimeTz |v| {
        of_long(timetz(v).micros) ^ of_word(timetz(v).west as u32)
    };
    2039 "timestamp_hash" Timestamp |v| of_long(timestamp(v));
    2963 "uuid_hash" Uuid |v| of_bytes(&uuid(v));
}
