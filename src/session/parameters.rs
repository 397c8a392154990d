//! Parameters: finding them in a bound statement, and putting literals in their places.

use bumpalo::Bump;
use bytes::Bytes;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::{Expr, Literal};
use crate::plan::statement::{
    Analyzed, ColumnSource, Delete, ExplainAnalyze, Finishing, Insert, OnConflict, Returning,
    Select, Statement, Subscribe, Update,
};
use crate::repr::binary::parse_binary;
use crate::repr::settings::FormatSettings;
use crate::repr::text::parse_text;
use crate::repr::value::pack;
use crate::repr::{ColumnType, Datum, Row, ScalarType};
use crate::session::frontend::Format;

/// The value of a parameter: the encoding of its one datum.
pub(super) type Value = Row;

/// Decodes a parameter as a client sent it. Errors: 22P02 and its kin, 22021, 22P03.
pub(super) fn decode(
    bytes: Option<&Bytes>,
    format: Format,
    scalar: ScalarType,
    settings: &FormatSettings,
) -> Result<Value> {
    let Some(bytes) = bytes else { return Ok(pack(&[Datum::Null])) };
    let arena = Bump::new();
    let datum = match format {
        Format::Binary => parse_binary(scalar, -1, bytes, &arena)?,
        Format::Text => {
            let text = std::str::from_utf8(bytes).map_err(|_| {
                Error::new(
                    SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                    "invalid byte sequence for encoding \"UTF8\"",
                )
            })?;
            parse_text(scalar, -1, text, settings, &arena)?
        }
    };
    Ok(pack(&[datum]))
}

/// Puts values in the places of parameters.
pub(super) fn substitute(statement: &mut Statement, values: &[Value]) -> Result<()> {
    let mut missing = None;
    each_expr(statement, &mut |expr| {
        expr.visit_mut(&mut |node| {
            if let Expr::Parameter(number, ty) = node {
                match values.get(*number - 1) {
                    Some(value) => *node = literal(value, ty.scalar),
                    None => missing = Some(*number),
                }
            }
        });
    });
    match missing {
        None => Ok(()),
        Some(number) => Err(Error::new(
            SqlState::UNDEFINED_PARAMETER,
            format!("there is no parameter ${number}"),
        )),
    }
}

fn literal(value: &Value, scalar: ScalarType) -> Expr {
    let mut datums = Vec::with_capacity(1);
    crate::repr::value::decode_values(&[scalar], value.bytes(), &mut datums);
    let nullable = datums.iter().any(Datum::is_null);
    let ty = ColumnType { scalar, typmod: -1, nullable };
    Expr::Literal(Literal { row: value.clone(), ty })
}

/// A parameter of a statement, if it has any.
pub(super) fn first_parameter(statement: &Statement) -> Option<usize> {
    let mut statement = statement.clone();
    let mut first = None;
    each_expr(&mut statement, &mut |expr| {
        expr.visit_mut(&mut |node| {
            if let Expr::Parameter(number, _) = node {
                first = first.max(Some(*number));
            }
        });
    });
    first
}

type Visit<'f> = &'f mut dyn FnMut(&mut Expr);

/// Visits the expressions of a statement that may hold parameters.
fn each_expr(statement: &mut Statement, f: Visit<'_>) {
    match statement {
        Statement::Select(select) => in_select(select, f),
        Statement::Insert(insert) => {
            let Insert { source, columns, returning, on_conflict, .. } = &mut **insert;
            in_select(source, f);
            if let OnConflict::Update { selection, .. } = on_conflict {
                selection.visit_exprs_mut(f);
            }
            for column in columns {
                if let ColumnSource::Default(expr) = column {
                    f(expr);
                }
            }
            in_returning(returning, f);
        }
        Statement::Update(Update { selection, returning, .. })
        | Statement::Delete(Delete { selection, returning, .. }) => {
            selection.visit_exprs_mut(f);
            in_returning(returning, f);
        }
        Statement::Merge(merge) => merge.selection.visit_exprs_mut(f),
        Statement::Writes(writes) => {
            writes.parts.iter_mut().for_each(|(_, part)| each_expr(part, f));
            each_expr(&mut writes.main, f);
        }
        Statement::Subscribe(Subscribe { relation, seeded, as_of, up_to, .. }) => {
            relation.visit_exprs_mut(f);
            if let Some(seeded) = seeded {
                seeded.relation.visit_exprs_mut(f);
                seeded.constants.iter_mut().for_each(&mut *f);
            }
            as_of.iter_mut().chain(up_to).for_each(f);
        }
        Statement::CopyTo(copy) => each_expr(&mut copy.query, f),
        Statement::Declare { query, .. } => each_expr(query, f),
        Statement::Explain(explain) => each_expr(&mut explain.statement, f),
        Statement::Why(why) => why.each_expr(f),
        Statement::ExplainAnalyze(ExplainAnalyze { of: Analyzed::Query(select), .. }) => {
            in_select(select, f);
        }
        Statement::Execute { args, .. } => args.iter_mut().for_each(f),
        Statement::Transact(transact) => transact.each_expr(f),
        _ => {}
    }
}

fn in_select(select: &mut Select, f: Visit<'_>) {
    select.relation.visit_exprs_mut(f);
    let Finishing { limit, offset, .. } = &mut select.finishing;
    limit.iter_mut().chain(offset).chain(&mut select.as_of).for_each(f);
}

fn in_returning(returning: &mut Option<Returning>, f: Visit<'_>) {
    if let Some(returning) = returning {
        returning.exprs.iter_mut().for_each(f);
    }
}
