//! Functions, operators and casts against PostgreSQL's own answers.
//!
//! A line of `postgresql.tsv` or a file in `answers/` is a call with typed arguments, and after
//! `=>` the type and text of the answer, or `!` and the error; ␤ and ␉ stand for the
//! characters. Resolution is checked with it: arguments have their types, nothing more.

use bumpalo::Bump;

use crate::error::Error;
use crate::expr::cast::Cast;
use crate::expr::func::EvalContext;
use crate::expr::functions::{resolve_function, resolve_operator};
use crate::expr::scalar::Expr;
use crate::repr::settings::FormatSettings;
use crate::repr::text::{format_text, parse_text};
use crate::repr::{ColumnType, Datum, ScalarType};

fn type_named(name: &str) -> ColumnType {
    let (name, modifier) = name.trim_end_matches(')').split_once('(').unwrap_or((name, ""));
    let scalar = match name {
        "char" => ScalarType::Bpchar,
        name => *ScalarType::ALL.iter().find(|t| t.name() == name).expect(name),
    };
    let numbers: Vec<i32> = modifier.split(',').filter_map(|n| n.parse().ok()).collect();
    let typmod = match (scalar, numbers.as_slice()) {
        (ScalarType::Numeric, [precision, scale]) => (precision << 16 | scale) + 4,
        (ScalarType::Numeric, [precision]) => (precision << 16) + 4,
        (ScalarType::Bpchar, []) if name == "char" => 5,
        (ScalarType::Interval, [digits]) => 0x7fff << 16 | digits,
        (
            ScalarType::Time | ScalarType::TimeTz | ScalarType::Timestamp | ScalarType::TimestampTz,
            [digits],
        ) => *digits,
        (_, [length]) => length + 4,
        _ => -1,
    };
    ColumnType { typmod, ..scalar.into() }
}

fn answer(call: &[&str], settings: &FormatSettings, fold: bool) -> Result<(String, String), Error> {
    let arena = Bump::new();
    let (mut types, mut args) = (Vec::new(), Vec::new());
    for pair in call[2..].chunks(2) {
        let ty = type_named(pair[0]).scalar;
        let datum = match pair[1] {
            "\\N" => Datum::Null,
            text => {
                let text = arena.alloc_str(&text.replace('␤', "\n").replace('␉', "\t"));
                parse_text(ty, -1, text, settings, &arena)?
            }
        };
        types.push(Some(ty));
        args.push(Expr::literal(datum, ty));
    }
    let mut expr = match call[0] {
        "cast" => {
            let to = type_named(call[1]);
            let from = types[0].expect("typed");
            let cast = Cast::find(from, to.scalar).ok_or_else(|| {
                let code = crate::error::SqlState::CANNOT_COERCE;
                let (from, to) = (from.display_name(), to.scalar.display_name());
                Error::new(code, format!("cannot cast type {from} to {to}"))
            })?;
            args.remove(0).cast(cast, to, true)
        }
        "fn" => resolve_function(call[1], &types)
            .map_err(|e| e.of_function(call[1], &types))?
            .call(args),
        _ => {
            let (left, right) = match types.as_slice() {
                [left, right] => (Some(*left), *right),
                types => (None, types[0]),
            };
            resolve_operator(call[1], left, right)
                .map_err(|e| e.of_operator(call[1], left, right))?
                .call(args)
        }
    };
    if fold {
        expr.fold(settings);
        assert!(matches!(expr, Expr::Literal(_) | Expr::Raise(..)), "{expr} is not folded");
    }
    let ty = expr.typ(&[]).scalar;
    let fallible = expr.is_fallible();
    let datum = expr
        .eval(&[], &EvalContext { arena: &arena, settings })
        .inspect_err(|_| assert!(fallible, "{expr} is not fallible"))?;
    let mut text = String::new();
    match datum {
        Datum::Null => text.push_str("\\N"),
        datum => {
            assert!(ty.admits(&datum), "{datum:?} is no {ty:?}");
            format_text(&datum, ty, settings, &mut text);
        }
    }
    Ok((ty.display_name().to_owned(), text))
}

fn check(answers: &str) {
    let settings = FormatSettings::default();
    let mut wrong = Vec::new();
    for line in answers.lines() {
        let (call, expected) = line.split_once("\t=>\t").expect("has an answer");
        let fields: Vec<_> = call.split('\t').collect();
        for fold in [false, true] {
            let answer = match answer(&fields, &settings, fold) {
                Ok((ty, text)) => {
                    format!("{ty}\t{}", text.replace('\n', "␤").replace('\t', "␉"))
                }
                Err(e) => format!("!\t{} {}", e.code, e.message),
            };
            if answer != expected {
                wrong.push(format!("{call}\n  expected {expected}\n  got      {answer}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn answers_are_postgresqls() {
    check(include_str!("postgresql.tsv"));
}

#[test]
fn answers_about_time_are_postgresqls() {
    check(include_str!("answers/datetime.tsv"));
}

#[test]
fn answers_about_text_are_postgresqls() {
    check(include_str!("answers/text.tsv"));
}

#[test]
fn answers_about_patterns_are_postgresqls() {
    check(include_str!("answers/regexp.tsv"));
}

#[test]
fn answers_about_json_and_bytes_are_postgresqls() {
    check(include_str!("answers/jsonb.tsv"));
}

#[test]
fn answers_about_templates_of_numbers_are_postgresqls() {
    check(include_str!("answers/number_format.tsv"));
}
