//! Conversions written as calls: `date(timestamp)`, `int4(float8)` and the others that PostgreSQL
//! has functions for. Each is the conversion of those types.

use crate::expr::cast::Cast;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};

/// The conversions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

fn convert<'a>(
    from: ScalarType,
    to: ScalarType,
    datum: Datum<'a>,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let cast = Cast::find(from, to).expect("there is a conversion for each of these functions");
    cast.compute(datum, -1, true, cx)
}

macro_rules! calls {
    ($($oid:literal $name:literal $from:ident $to:ident $($stable:ident)?;)*) => {
        const FUNCTIONS: &[FuncDef] = &[$(
            FuncDef::new($oid, $name, &[$from], $to, |args, cx| convert($from, $to, args[0], cx))
                .nullable()
                $(.$stable())?,
        )*];
    };
}

calls! {
    2557 "bool" Int4 Bool;
    3556 "bool" Jsonb Bool;
    408 "bpchar" Name Bpchar;
    2029 "date" Timestamp Date;
    1178 "date" TimestampTz Date stable;
    312 "float4" Float8 Float4;
    236 "float4" Int2 Float4;
    318 "float4" Int4 Float4;
    652 "float4" Int8 Float4;
    3453 "float4" Jsonb Float4;
    1745 "float4" Numeric Float4;
    311 "float8" Float4 Float8;
    235 "float8" Int2 Float8;
    316 "float8" Int4 Float8;
    482 "float8" Int8 Float8;
    2580 "float8" Jsonb Float8;
    1746 "float8" Numeric Float8;
    238 "int2" Float4 Int2;
    237 "int2" Float8 Int2;
    314 "int2" Int4 Int2;
    714 "int2" Int8 Int2;
    3450 "int2" Jsonb Int2;
    1783 "int2" Numeric Int2;
    1684 "int4" Bit Int4;
    2558 "int4" Bool Int4;
    319 "int4" Float4 Int4;
    317 "int4" Float8 Int4;
    313 "int4" Int2 Int4;
    480 "int4" Int8 Int4;
    3451 "int4" Jsonb Int4;
    1744 "int4" Numeric Int4;
    2076 "int8" Bit Int8;
    653 "int8" Float4 Int8;
    483 "int8" Float8 Int8;
    754 "int8" Int2 Int8;
    481 "int8" Int4 Int8;
    3452 "int8" Jsonb Int8;
    1779 "int8" Numeric Int8;
    1288 "int8" Oid Int8;
    1370 "interval" Time Interval;
    409 "name" Bpchar Name;
    407 "name" Text Name;
    1400 "name" Varchar Name;
    1742 "numeric" Float4 Numeric;
    1743 "numeric" Float8 Numeric;
    1782 "numeric" Int2 Numeric;
    1740 "numeric" Int4 Numeric;
    1781 "numeric" Int8 Numeric;
    3449 "numeric" Jsonb Numeric;
    1287 "oid" Int8 Oid;
    2971 "text" Bool Text;
    401 "text" Bpchar Text;
    406 "text" Name Text;
    1419 "time" Interval Time;
    1316 "time" Timestamp Time;
    2019 "time" TimestampTz Time stable;
    2046 "time" TimeTz Time;
    2047 "timetz" Time TimeTz stable;
    1388 "timetz" TimestampTz TimeTz stable;
    2024 "timestamp" Date Timestamp;
    2027 "timestamp" TimestampTz Timestamp stable;
    1174 "timestamptz" Date TimestampTz stable;
    2028 "timestamptz" Timestamp TimestampTz stable;
    1401 "varchar" Name Varchar;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_conversion() {
        for func in FUNCTIONS {
            assert!(Cast::find(func.args[0], func.ret).is_some(), "{}", func.name);
        }
    }
}
