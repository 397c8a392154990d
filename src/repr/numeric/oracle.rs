//! What PostgreSQL 15 answered, line by line: operation, operands, answer or error.

use super::{Decimal, Numeric, NumericRef};
use crate::error::{Error, Result};

const ANSWERS: &str = include_str!("oracle.tsv");

fn evaluate(op: &str, a: &str, b: &str) -> Result<String> {
    if op == "fromf8" {
        return Ok(Numeric::from_f64(a.parse().unwrap()).to_string());
    }
    let a = Numeric::parse(a)?;
    let parse = || Numeric::parse(b).unwrap();
    let scale = || b.parse().unwrap();
    let answer = match op {
        "+" => a.add(&parse()),
        "-" => a.sub(&parse()),
        "*" => a.mul(&parse()),
        "/" => a.div(&parse()),
        "%" => a.rem(&parse()),
        "div" => a.div_trunc(&parse()),
        "cmp" => return Ok((a.compare(&parse()) as i32).to_string()),
        "gcd" => a.gcd(&parse()),
        "lcm" => a.lcm(&parse()),
        "^" => a.power(&parse()),
        "log" => parse().log(&a),
        "log10" => a.log10(),
        "sqrt" => a.sqrt(),
        "exp" => a.exp(),
        "ln" => a.ln(),
        "ceil" => a.ceil(),
        "floor" => a.floor(),
        "neg" => Ok(a.neg()),
        "abs" => Ok(a.abs()),
        "sign" => Ok(a.signum()),
        "i8" => return Ok(a.to_i64()?.to_string()),
        "i4" => return Ok(a.to_i32()?.to_string()),
        "i2" => return Ok(a.to_i16()?.to_string()),
        "trim" => Ok(a.trim_scale()),
        "text" => Ok(a),
        "round" => a.round(scale()),
        "trunc" => a.trunc(scale()),
        "typmod" => {
            let (precision, scale) = b.split_once(',').unwrap();
            let (precision, scale): (i32, i32) =
                (precision.parse().unwrap(), scale.parse().unwrap());
            a.with_typmod((precision << 16 | scale & 0x7ff) + 4)
        }
        other => panic!("no operation {other}"),
    };
    answer.map(|n| n.to_string())
}

fn spell(answer: Result<String>) -> String {
    answer.unwrap_or_else(|Error { code, message, detail, .. }| {
        let detail = detail.map(|d| format!(" | {d}")).unwrap_or_default();
        format!("ERROR {code} {message}{detail}")
    })
}

#[test]
fn answers_are_those_of_postgresql() {
    let mut wrong = Vec::new();
    for line in ANSWERS.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [op, a, b, expected] = fields[..] else { panic!("four fields: {line}") };
        if op == "f8" {
            let got = Numeric::parse(a).unwrap().to_f64().unwrap();
            let expected: f64 = expected.parse().unwrap();
            if got != expected && !got.is_nan() {
                wrong.push(format!("{op} {a}: {got}"));
            }
            continue;
        }
        let got = spell(evaluate(op, a, b));
        if got != expected {
            wrong.push(format!("{op} {a} {b}: {got}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn encodings_come_back() {
    for text in ["0", "-1", "127", "128", "-128", "0.000", "1e300", "-1e-300", "NaN", "Infinity"] {
        let n = Numeric::parse(text).unwrap();
        let mut bytes = Vec::new();
        n.encode(&mut bytes);
        assert_eq!(NumericRef(&bytes).to_owned().to_string(), n.to_string());
        assert_eq!(NumericRef(&bytes).to_string(), n.to_string());
        let mut wire = Vec::new();
        n.write_binary(&mut wire);
        assert_eq!(Numeric::read_binary(&wire).unwrap().to_string(), n.to_string());
    }
    assert_eq!(Decimal::new(i128::MIN, 0).to_string(), i128::MIN.to_string());
}

#[test]
fn the_binary_form_is_that_of_postgresql() {
    let cases = [
        ("12345.678", "0003000100000003000109291a7c"),
        ("0", "0000000000000000"),
        ("0.0001", "0001ffff000000040001"),
        ("-1e20", "00010005400000000001"),
        ("1e-9", "0001fffd0000000903e8"),
        ("NaN", "00000000c0000000"),
        ("-Infinity", "00000000f0000020"),
        ("100.00", "00010000000000020064"),
    ];
    for (text, expected) in cases {
        let mut wire = Vec::new();
        Numeric::parse(text).unwrap().write_binary(&mut wire);
        let mut hex = String::new();
        crate::repr::bytea::push_hex(&wire, &mut hex);
        assert_eq!(hex, expected, "{text}");
    }
    // More groups than the scale shows are cut off.
    let wire = [0, 2, 0, 0, 0, 0, 0, 1, 0, 5, 0x19, 0x64];
    assert_eq!(Numeric::read_binary(&wire).unwrap().to_string(), "5.6");
}
