//! What a numeric is, its encoding, its order.
//!
//! The encoding, which [`NumericRef`] reads in place: a byte below [`LARGE_SCALE`] is the display
//! scale, and the integer follows in two's complement, little-endian, in as few bytes as it needs
//! (none for zero), sixteen at most. Other first bytes are the special values, or a scale in two
//! bytes before an integer of any length. A number of a given scale has one encoding.

use std::cmp::Ordering;

use bumpalo::Bump;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use serde::{Deserialize, Serialize};

/// First bytes from here on are not scales.
const LARGE_SCALE: u8 = 240;
const NAN: u8 = 240;
const POSITIVE_INFINITY: u8 = 241;
const NEGATIVE_INFINITY: u8 = 242;
const LARGE: u8 = 243;

/// A numeric in its value encoding; see [`Numeric`].
#[derive(Clone, Copy, Debug)]
pub struct NumericRef<'a>(pub &'a [u8]);

/// A numeric.
///
/// `==` and the order are by value: `1.0` is `1.00`; NaN is equal to itself and the greatest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Numeric {
    /// Not a number.
    NaN,
    /// Infinity.
    PositiveInfinity,
    /// −Infinity.
    NegativeInfinity,
    /// A number.
    Finite(Decimal),
}

/// A finite numeric: an integer divided by a power of ten.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decimal {
    pub(super) unscaled: Unscaled,
    pub(super) dscale: u16,
}

/// An integer. Invariant: `Big` only where `Small` cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Unscaled {
    Small(i128),
    Big(BigInt),
}

/// The powers of ten that an `i128` holds.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// 10^`exponent`, where an `i128` holds it.
#[inline]
pub(super) fn small_power(exponent: u32) -> Option<i128> {
    POWERS.get(exponent as usize).copied()
}

/// 10^`exponent`.
pub(super) fn power_of_ten(exponent: u32) -> BigInt {
    match small_power(exponent) {
        Some(power) => BigInt::from(power),
        None => BigInt::from(10).pow(exponent),
    }
}

impl Unscaled {
    pub(super) fn from_big(value: BigInt) -> Unscaled {
        match value.to_i128() {
            Some(small) => Unscaled::Small(small),
            None => Unscaled::Big(value),
        }
    }

    pub(super) fn to_big(&self) -> BigInt {
        match self {
            Unscaled::Small(v) => BigInt::from(*v),
            Unscaled::Big(v) => v.clone(),
        }
    }

    pub(super) fn into_big(self) -> BigInt {
        match self {
            Unscaled::Small(v) => BigInt::from(v),
            Unscaled::Big(v) => v,
        }
    }

    pub(super) fn is_negative(&self) -> bool {
        match self {
            Unscaled::Small(v) => *v < 0,
            Unscaled::Big(v) => v.is_negative(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Unscaled::Small(0))
    }

    /// Times 10^`exponent`.
    pub(super) fn scale_up(&self, exponent: u32) -> Unscaled {
        if exponent == 0 {
            return self.clone();
        }
        if let Unscaled::Small(v) = self {
            if *v == 0 {
                return Unscaled::Small(0);
            }
            if let Some(scaled) = small_power(exponent).and_then(|p| v.checked_mul(p)) {
                return Unscaled::Small(scaled);
            }
        }
        Unscaled::Big(self.to_big() * power_of_ten(exponent))
    }

    /// The number of decimal digits; 0 for zero.
    pub(super) fn digits(&self) -> u32 {
        match self {
            Unscaled::Small(v) => match v.unsigned_abs() {
                0 => 0,
                magnitude => magnitude.ilog10() + 1,
            },
            Unscaled::Big(v) => big_digits(v),
        }
    }
}

/// The number of decimal digits of a big integer that is not zero.
fn big_digits(v: &BigInt) -> u32 {
    // An estimate from the binary length is right or one too small.
    let estimate = ((v.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
    let magnitude = v.magnitude();
    let mut digits = estimate.max(1);
    let mut power = num_bigint::BigUint::from(10u32).pow(digits);
    while *magnitude >= power {
        digits += 1;
        power *= 10u32;
    }
    while digits > 1 && *magnitude < (&power / 10u32) {
        digits -= 1;
        power /= 10u32;
    }
    digits
}

impl Decimal {
    /// `unscaled` divided by 10^`dscale`.
    #[inline]
    pub fn new(unscaled: i128, dscale: u16) -> Decimal {
        Decimal { unscaled: Unscaled::Small(unscaled), dscale }
    }

    /// `unscaled` divided by 10^`dscale`.
    pub fn from_big(unscaled: BigInt, dscale: u16) -> Decimal {
        Decimal { unscaled: Unscaled::from_big(unscaled), dscale }
    }

    /// How many digits behind the point are printed.
    pub fn dscale(&self) -> u16 {
        self.dscale
    }

    /// The integer.
    pub fn unscaled(&self) -> BigInt {
        self.unscaled.to_big()
    }

    /// The integer and the scale, where the integer fits 128 bits.
    #[inline]
    pub fn as_small(&self) -> Option<(i128, u16)> {
        match self.unscaled {
            Unscaled::Small(v) => Some((v, self.dscale)),
            Unscaled::Big(_) => None,
        }
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.unscaled.is_zero()
    }

    /// Whether this is below zero.
    pub fn is_negative(&self) -> bool {
        self.unscaled.is_negative()
    }

    /// The power of ten of the first digit: 2 for 123, −1 for 0.5; `None` for zero.
    pub(super) fn magnitude(&self) -> Option<i32> {
        match self.unscaled.digits() {
            0 => None,
            digits => Some(digits as i32 - 1 - i32::from(self.dscale)),
        }
    }

    /// Without zeros at the end behind the point.
    pub fn trim_scale(&self) -> Decimal {
        match &self.unscaled {
            Unscaled::Small(0) => Decimal::new(0, 0),
            Unscaled::Small(v) => {
                let (mut v, mut dscale) = (*v, self.dscale);
                while dscale > 0 && v % 10 == 0 {
                    v /= 10;
                    dscale -= 1;
                }
                Decimal::new(v, dscale)
            }
            Unscaled::Big(v) => {
                let (mut v, mut dscale) = (v.clone(), self.dscale);
                let ten = BigInt::from(10);
                while dscale > 0 && (&v % &ten).is_zero() {
                    v /= &ten;
                    dscale -= 1;
                }
                Decimal::from_big(v, dscale)
            }
        }
    }

    pub(super) fn compare(&self, other: &Decimal) -> Ordering {
        if let (Some(a), Some(b)) = (self.as_small(), other.as_small()) {
            return compare_small(a, b);
        }
        let scale = self.dscale.max(other.dscale);
        let a = self.unscaled.scale_up((scale - self.dscale).into());
        let b = other.unscaled.scale_up((scale - other.dscale).into());
        a.into_big().cmp(&b.into_big())
    }
}

/// The order of two small numbers of any scales.
#[inline]
fn compare_small((a, a_scale): (i128, u16), (b, b_scale): (i128, u16)) -> Ordering {
    match a_scale.cmp(&b_scale) {
        Ordering::Equal => a.cmp(&b),
        Ordering::Less => compare_scaled(a, (b_scale - a_scale).into(), b),
        Ordering::Greater => compare_scaled(b, (a_scale - b_scale).into(), a).reverse(),
    }
}

/// The order of `a` times 10^`exponent` and `b`.
fn compare_scaled(a: i128, exponent: u32, b: i128) -> Ordering {
    if a == 0 {
        return 0.cmp(&b);
    }
    match small_power(exponent).and_then(|p| a.checked_mul(p)) {
        Some(scaled) => scaled.cmp(&b),
        // Too large for 128 bits, so its sign decides.
        None => a.cmp(&0),
    }
}

impl Numeric {
    /// Zero, without digits behind the point.
    pub const ZERO: Numeric = Numeric::Finite(Decimal { unscaled: Unscaled::Small(0), dscale: 0 });

    /// An integer divided by 10^`dscale`.
    pub fn new(unscaled: i128, dscale: u16) -> Numeric {
        Numeric::Finite(Decimal::new(unscaled, dscale))
    }

    /// A big integer divided by 10^`dscale`.
    pub fn from_big(unscaled: BigInt, dscale: u16) -> Numeric {
        Numeric::Finite(Decimal::from_big(unscaled, dscale))
    }

    /// An integer.
    pub fn from_i128(value: i128) -> Numeric {
        Numeric::new(value, 0)
    }

    /// Whether this is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Numeric::NaN)
    }

    /// PostgreSQL's order: −Infinity, numbers, Infinity, NaN.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        match (self, other) {
            (Numeric::Finite(a), Numeric::Finite(b)) => a.compare(b),
            _ => self.class().cmp(&other.class()),
        }
    }

    fn class(&self) -> u8 {
        match self {
            Numeric::NegativeInfinity => 0,
            Numeric::Finite(_) => 1,
            Numeric::PositiveInfinity => 2,
            Numeric::NaN => 3,
        }
    }

    /// The encoding, in an arena.
    pub fn encode_in<'a>(&self, arena: &'a Bump) -> NumericRef<'a> {
        if let Numeric::Finite(Decimal { unscaled: Unscaled::Small(v), dscale }) = self
            && *dscale < LARGE_SCALE.into()
        {
            let bytes = v.to_le_bytes();
            let width = small_width(*v);
            let place = arena.alloc_slice_fill_copy(width + 1, *dscale as u8);
            place[1..].copy_from_slice(&bytes[..width]);
            return NumericRef(place);
        }
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        NumericRef(arena.alloc_slice_copy(&bytes))
    }

    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Numeric::NaN => out.push(NAN),
            Numeric::PositiveInfinity => out.push(POSITIVE_INFINITY),
            Numeric::NegativeInfinity => out.push(NEGATIVE_INFINITY),
            Numeric::Finite(d) => match &d.unscaled {
                Unscaled::Small(v) if d.dscale < LARGE_SCALE.into() => {
                    out.push(d.dscale as u8);
                    out.extend_from_slice(&v.to_le_bytes()[..small_width(*v)]);
                }
                unscaled => {
                    out.push(LARGE);
                    out.extend_from_slice(&d.dscale.to_le_bytes());
                    out.extend_from_slice(&unscaled.to_big().to_signed_bytes_le());
                }
            },
        }
    }
}

/// How many bytes of two's complement hold `v`: none for zero.
#[inline]
fn small_width(v: i128) -> usize {
    if v == 0 {
        return 0;
    }
    let bits = 128 - (v ^ (v >> 127)).leading_zeros() as usize;
    bits / 8 + 1
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        self.compare(other)
    }
}

impl<'a> NumericRef<'a> {
    /// The integer and the display scale, where the number is finite and small: the fast path.
    #[inline]
    pub fn as_small(self) -> Option<(i128, u16)> {
        let (&scale, bytes) = self.0.split_first()?;
        if scale >= LARGE_SCALE {
            return None;
        }
        let fill = match bytes.last() {
            Some(high) if *high >= 0x80 => 0xff,
            _ => 0,
        };
        let mut raw = [fill; 16];
        raw[..bytes.len()].copy_from_slice(bytes);
        Some((i128::from_le_bytes(raw), scale.into()))
    }

    /// The number.
    ///
    /// On a `&NumericRef` the method of the same name of `ToOwned` comes first: dereference it.
    pub fn to_owned(self) -> Numeric {
        if let Some((unscaled, dscale)) = self.as_small() {
            return Numeric::new(unscaled, dscale);
        }
        match self.0 {
            [POSITIVE_INFINITY] => Numeric::PositiveInfinity,
            [NEGATIVE_INFINITY] => Numeric::NegativeInfinity,
            [LARGE, low, high, bytes @ ..] => Numeric::from_big(
                BigInt::from_signed_bytes_le(bytes),
                u16::from_le_bytes([*low, *high]),
            ),
            _ => Numeric::NaN,
        }
    }

    /// Whether this is NaN.
    pub fn is_nan(self) -> bool {
        self.0 == [NAN]
    }

    /// PostgreSQL's order: −Infinity, numbers, Infinity, NaN.
    #[inline]
    pub fn compare(self, other: NumericRef<'_>) -> Ordering {
        match (self.as_small(), other.as_small()) {
            (Some(a), Some(b)) => compare_small(a, b),
            _ => self.to_owned().compare(&other.to_owned()),
        }
    }
}

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        Numeric::from_i128(value.into())
    }
}
