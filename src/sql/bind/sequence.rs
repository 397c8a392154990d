//! `nextval`, `currval`, `lastval`, `setval`: calls that name a sequence.
//!
//! PostgreSQL's first argument is a `regclass`. Here it is a literal, which is resolved when the
//! call is bound; the call gets the sequence's id and its name. A name that is computed is not
//! there, and neither is a call in what is stored, except for a default that is nothing else: that
//! is a dependency of the table, as serial is.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::ItemKind;
use crate::error::{Error, Result, SqlState};
use crate::expr::functions::resolve_function;
use crate::repr::{Datum, GlobalId, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name::QualifiedName;
use crate::sql::bind::relation::Typed;

impl Binder<'_, '_> {
    /// A call of a function of sequences.
    pub fn sequence_call(
        &mut self,
        name: &str,
        args: &[&ast::Expr],
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        self.refuse_maintained(
            &format!("volatile function {name}"),
            "Compute the value when the row is written, and store it.",
        )
        .map_err(|e| e.at(position))?;
        if self.edits.is_some() || cx.clause == Clause::Default {
            return Err(Error::unsupported(
                format!("{name} inside a stored expression"),
                "A column's default may be nextval('…') itself.",
            )
            .at(position));
        }
        let mut bound = Vec::with_capacity(args.len() + 1);
        let mut args = args.iter();
        let is_named = name != "lastval";
        if is_named && let Some(first) = args.next() {
            if is_null(first) {
                return Ok(Typed::literal(Datum::Null, ScalarType::Int8));
            }
            let (id, sequence) = self.sequence_of(first, name)?;
            bound.extend(named(id, &sequence));
        }
        for arg in args {
            bound.push(self.expr(arg, cx)?);
        }
        let types: Vec<_> = bound.iter().map(|arg| arg.scalar(self)).collect();
        self.function(name, bound, position).map_err(|error| {
            // In its own words there is one argument that names the sequence.
            let given = types.get(2..).filter(|_| is_named).unwrap_or_default();
            let given: Vec<_> = std::iter::once(None).chain(given.iter().copied()).collect();
            match resolve_function(name, &given) {
                Err(fault) if is_named && types.len() > 1 => {
                    fault.of_function(name, &given).at(position)
                }
                _ => error,
            }
        })
    }

    /// The next value of a sequence.
    pub fn next_value(&mut self, sequence: GlobalId) -> Result<Typed> {
        let name = self.cx.catalog.expect(sequence)?.name.clone();
        self.function("nextval", named(sequence, &name).into(), None)
    }

    /// The sequence that a default is the next value of, where it is nothing else.
    pub fn default_sequence(&self, default: &ast::Expr) -> Result<Option<GlobalId>> {
        let ast::Expr::Function(call) = default else { return Ok(None) };
        let ast::FunctionArguments::List(list) = &call.args else { return Ok(None) };
        let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg))] = list.args.as_slice()
        else {
            return Ok(None);
        };
        let (_, name) = self.function_name(&call.name)?;
        if name != "nextval" || literal_text(arg).is_none() || call.over.is_some() {
            return Ok(None);
        }
        self.sequence_of(arg, &name).map(|(id, _)| Some(id))
    }

    /// The sequence that an argument names. Errors: 42P01, 42809, 0A000 where it is no literal.
    fn sequence_of(&self, arg: &ast::Expr, function: &str) -> Result<(GlobalId, String)> {
        let position = self.position(arg.span());
        let Some(text) = literal_text(arg) else {
            return Err(Error::unsupported(
                format!("{function} of a computed name"),
                "Name the sequence by a literal.",
            )
            .at(position));
        };
        let name = parse_name(text)?;
        if let Some(schema) = name.schema.as_ref().filter(|s| !self.cx.catalog.has_schema(s)) {
            let what = format!("schema \"{schema}\" does not exist");
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, what).at(position));
        }
        match self.find_object(&name) {
            Some(item) if matches!(item.kind, ItemKind::Sequence(_)) => {
                Ok((item.id, item.name.clone()))
            }
            Some(item) => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a sequence", item.name),
            )),
            None => Err(Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{name}\" does not exist"),
            )
            .at(position)),
        }
    }
}

/// How a call names its sequence.
fn named(id: GlobalId, name: &str) -> [Bound; 2] {
    [
        Typed::literal(Datum::Int8(id.0 as i64), ScalarType::Int8).into(),
        Typed::literal(Datum::Text(name), ScalarType::Text).into(),
    ]
}

/// The text of `'name'`, `'name'::regclass`, `'name'::text`.
fn literal_text(arg: &ast::Expr) -> Option<&str> {
    match arg {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        ast::Expr::Nested(inner) => literal_text(inner),
        ast::Expr::Cast { expr, data_type, .. } => {
            let name = data_type.to_string().to_ascii_lowercase();
            let is_name = ["regclass", "pg_catalog.regclass", "text", "varchar"];
            is_name.contains(&name.as_str()).then(|| literal_text(expr))?
        }
        _ => None,
    }
}

fn is_null(arg: &ast::Expr) -> bool {
    matches!(arg, ast::Expr::Value(value) if value.value == ast::Value::Null)
}

/// Reads a name as `regclass` does: parts between dots, folded unless they are quoted.
fn parse_name(text: &str) -> Result<QualifiedName> {
    let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
    let mut parts = vec![];
    let mut rest = text.trim();
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted).ok_or_else(invalid)?,
            None => {
                let end = rest.find(|c: char| c == '.' || c.is_whitespace());
                let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
                (part.to_ascii_lowercase(), after)
            }
        };
        if part.is_empty() || part.contains('"') {
            return Err(invalid());
        }
        parts.push(part);
        match after.trim_start().strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if after.trim().is_empty() => break,
            None => return Err(invalid()),
        }
    }
    match parts.len() {
        1 | 2 => {
            let name = parts.pop().unwrap_or_default();
            Ok(QualifiedName { schema: parts.pop(), name })
        }
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("improper relation name (too many dotted names): {}", parts.join(".")),
        )),
    }
}

/// What stands before the closing quote, and what follows it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        let Some(more) = after.strip_prefix('"') else { return Some((part, after)) };
        part.push('"');
        rest = more;
    }
}
