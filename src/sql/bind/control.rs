//! Statements about the session: transactions, settings, prepared statements, cursors.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{Discard, Statement};
use crate::repr::ScalarType;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::scope::Scope;
use crate::sql::parse::ast as syntax;

impl Binder<'_, '_> {
    /// FETCH and MOVE.
    pub fn fetch(&self, fetch: &syntax::Fetch) -> Result<Statement> {
        let timeout_ms = fetch.timeout.as_deref().map(|t| self.milliseconds(t)).transpose()?;
        Ok(Statement::Fetch {
            cursor: name::ident(&fetch.cursor),
            count: fetch.count,
            timeout_ms,
            is_move: fetch.is_move,
        })
    }

    /// The length of an interval that is written like this.
    pub fn milliseconds(&self, text: &str) -> Result<u64> {
        const DAY_MS: i64 = 86_400_000;
        let interval = crate::repr::datetime::parse_interval(text, -1, self.cx.settings)?;
        let days = i64::from(interval.months) * 30 + i64::from(interval.days);
        let ms = days.checked_mul(DAY_MS).and_then(|ms| ms.checked_add(interval.micros / 1000));
        ms.and_then(|ms| u64::try_from(ms).ok()).ok_or_else(|| {
            Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("an interval of \"{text}\" is out of range here"),
            )
        })
    }

    /// PREPARE.
    pub fn prepare(
        &mut self,
        statement: &ast::Ident,
        parameters: &[ast::DataType],
        text: &str,
    ) -> Result<Statement> {
        let mut found: Vec<Option<ScalarType>> = vec![];
        for ty in parameters {
            let unknown = ty.to_string().eq_ignore_ascii_case("unknown");
            found.push(if unknown { None } else { Some(self.data_type(ty)?.scalar) });
        }
        Ok(Statement::Prepare { name: name::ident(statement), types: found, text: text.to_owned() })
    }

    /// The statements of `sqlparser` that are about the session; none: it is another one.
    pub fn control(&mut self, statement: &ast::Statement) -> Result<Option<Statement>> {
        Ok(Some(match statement {
            ast::Statement::StartTransaction { modes, statements, .. } if statements.is_empty() => {
                Statement::Begin { read_only: access_mode(modes)? }
            }
            ast::Statement::Commit { chain, .. } => Statement::Commit { chain: *chain },
            ast::Statement::Rollback { chain, savepoint: None } => {
                Statement::Rollback { chain: *chain }
            }
            ast::Statement::Rollback { savepoint: Some(savepoint), .. } => {
                Statement::RollbackTo { name: name::ident(savepoint) }
            }
            ast::Statement::Savepoint { name } => Statement::Savepoint { name: name::ident(name) },
            ast::Statement::ReleaseSavepoint { name } => {
                Statement::ReleaseSavepoint { name: name::ident(name) }
            }
            ast::Statement::Set(set) => self.set(set)?,
            ast::Statement::Reset(reset) => match &reset.reset {
                ast::Reset::ALL => Statement::Reset { name: None },
                ast::Reset::ConfigurationParameter(object) => {
                    Statement::Reset { name: Some(setting_name(object)) }
                }
                ast::Reset::SessionAuthorization => {
                    Statement::Reset { name: Some("session_authorization".into()) }
                }
            },
            ast::Statement::ShowVariable { variable } => show(variable),
            ast::Statement::Execute { name: Some(object), parameters, using, .. }
                if using.is_empty() =>
            {
                let mut args = vec![];
                let scope = Scope::default();
                for expr in parameters {
                    let mut cx = ExprContext::plain(&scope, Clause::Execute);
                    args.push(self.typed_expr(expr, &mut cx)?.expr);
                }
                Statement::Execute { name: setting_name(object), args }
            }
            ast::Statement::Deallocate { name, .. } => {
                let all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
                Statement::Deallocate { name: (!all).then(|| name::ident(name)) }
            }
            ast::Statement::Discard { object_type } => Statement::Discard {
                what: match object_type {
                    ast::DiscardObject::ALL => Discard::All,
                    ast::DiscardObject::PLANS => Discard::Plans,
                    ast::DiscardObject::SEQUENCES => Discard::Sequences,
                    ast::DiscardObject::TEMP => Discard::Temp,
                },
            },
            ast::Statement::Close { cursor } => Statement::Close {
                cursor: match cursor {
                    ast::CloseCursor::All => None,
                    ast::CloseCursor::Specific { name } => Some(name::ident(name)),
                },
            },
            _ => return Ok(None),
        }))
    }

    fn set(&self, set: &ast::Set) -> Result<Statement> {
        match set {
            ast::Set::SingleAssignment { scope, variable, values, .. } => {
                let local = matches!(scope, Some(ast::ContextModifier::Local));
                let name = setting_name(variable);
                let value = match name.eq_ignore_ascii_case("search_path") {
                    true => setting_value(values, list_item),
                    false => setting_value(values, |word| word),
                };
                Ok(Statement::Set { name, value, local })
            }
            ast::Set::SetTimeZone { local, value } => Ok(Statement::Set {
                name: "timezone".into(),
                value: setting_value(std::slice::from_ref(value), |word| word),
                local: *local,
            }),
            ast::Set::SetNames { charset_name, .. } => Ok(Statement::Set {
                name: "client_encoding".into(),
                value: Some(charset_name.value.clone()),
                local: false,
            }),
            ast::Set::SetNamesDefault {} => {
                Ok(Statement::Set { name: "client_encoding".into(), value: None, local: false })
            }
            ast::Set::SetTransaction { modes, session, snapshot: None } => {
                let read_only = access_mode(modes)?;
                let name = match session {
                    true => "default_transaction_read_only",
                    false => "transaction_read_only",
                };
                match read_only {
                    Some(value) => Ok(Statement::Set {
                        name: name.into(),
                        value: Some(if value { "on" } else { "off" }.into()),
                        local: !session,
                    }),
                    // Every level is at least what was asked for.
                    None => Ok(Statement::Set {
                        name: "transaction_isolation".into(),
                        value: Some("serializable".into()),
                        local: true,
                    }),
                }
            }
            other => Err(Error::unsupported(other, "SET name = value sets one setting.")),
        }
    }
}

/// Whether a transaction is to be read-only. All isolation levels are accepted: each is served by
/// strict serializability.
fn access_mode(modes: &[ast::TransactionMode]) -> Result<Option<bool>> {
    let mut read_only = None;
    for mode in modes {
        if let ast::TransactionMode::AccessMode(access) = mode {
            read_only = Some(matches!(access, ast::TransactionAccessMode::ReadOnly));
        }
    }
    Ok(read_only)
}

pub fn setting_name(object: &ast::ObjectName) -> String {
    let parts = object.0.iter().filter_map(|part| part.as_ident().map(name::ident));
    parts.collect::<Vec<_>>().join(".")
}

/// A word as an item of a list of names: as it is, or in quotes.
fn list_item(word: String) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = !word.starts_with(|c: char| c.is_ascii_digit());
    if starts && !word.is_empty() && word.chars().all(plain) { word } else { name::quoted(&word) }
}

/// The text of a value, of its words as `item` has them; none: DEFAULT.
fn setting_value(values: &[ast::Expr], item: impl Fn(String) -> String) -> Option<String> {
    let is_default = |expr: &ast::Expr| {
        matches!(expr, ast::Expr::Identifier(ident)
            if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
    };
    if let [value] = values
        && (is_default(value) || value.to_string().eq_ignore_ascii_case("local"))
    {
        return None;
    }
    let texts = values.iter().map(|expr| match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text)
            | ast::Value::EscapedStringLiteral(text)
            | ast::Value::UnicodeStringLiteral(text) => item(text.clone()),
            ast::Value::DollarQuotedString(text) => item(text.value.clone()),
            other => other.to_string(),
        },
        ast::Expr::Identifier(ident) => item(name::ident(ident)),
        other => other.to_string(),
    });
    Some(texts.collect::<Vec<_>>().join(", "))
}

fn show(variable: &[ast::Ident]) -> Statement {
    let words: Vec<String> = variable.iter().map(name::ident).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let name = match words.as_slice() {
        ["all"] => None,
        ["time", "zone"] => Some("timezone".to_owned()),
        ["transaction", "isolation", "level"] => Some("transaction_isolation".to_owned()),
        ["session", "authorization"] => Some("session_authorization".to_owned()),
        words => Some(words.join(".")),
    };
    Statement::Show { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_lists_keep_their_quotes() {
        let words = ["public", "B c", "$user", "a,b", "", "1a", "x\"y"];
        let items = words.map(|word| list_item(word.to_owned()));
        assert_eq!(
            items,
            ["public", "\"B c\"", "\"$user\"", "\"a,b\"", "\"\"", "\"1a\"", "\"x\"\"y\""]
        );
    }
}
