//! Prepared statements: by the protocol's Parse, and by PREPARE.
//!
//! What is kept is the syntax tree and what a client may ask about it. A statement is bound again
//! each time it runs: the catalog, `now()` and the search path may have changed.

use std::sync::Arc;

use bytes::Bytes;

use crate::coord::request::When;
use crate::error::{Error, Result, SqlState};
use crate::expr::cast::{Cast, CastContext};
use crate::expr::scalar::Expr;
use crate::plan::facts::Transact;
use crate::plan::statement::Statement;
use crate::repr::value::pack;
use crate::repr::{ColumnDesc, ColumnType, RelationDesc, ScalarType};
use crate::session::analyze;
use crate::session::frontend::{Field, Format};
use crate::session::parameters::{self, Value};
use crate::session::portals::Portal;
use crate::session::session::{Outcome, Session, fields};
use crate::session::transaction::Mode;
use crate::session::watch;
use crate::sql::{self, ParsedStatement};

/// A prepared statement.
pub(super) struct Prepared {
    /// The tree; none: nothing but comments.
    pub(super) statement: Option<ParsedStatement>,
    /// The types of its parameters.
    pub(super) param_types: Vec<ScalarType>,
    /// The columns of its result when it was prepared; none: it has none.
    desc: Option<RelationDesc>,
}

impl Session {
    /// Prepares a statement (Parse). `param_oids`: 0 where the type is to be inferred.
    ///
    /// Errors: 42601, those of binding, 42P05 where the name is taken, 42P18.
    pub async fn parse(&mut self, name: &str, text: &str, param_oids: &[u32]) -> Result<()> {
        let mut types = Vec::with_capacity(param_oids.len());
        for oid in param_oids {
            types.push(match oid {
                // Unknown, as text literals are.
                0 | 705 => None,
                oid => Some(
                    match ScalarType::from_oid(*oid) {
                        Some(ty) => Some(ty),
                        None => self.user_type(*oid).await?,
                    }
                    .ok_or_else(|| {
                        Error::unsupported(
                            format!("a parameter of type {oid}"),
                            "Send it as text and cast it in the statement.",
                        )
                    })?,
                ),
            });
        }
        if name.is_empty() {
            self.statements.remove("");
        } else if self.statements.contains_key(name) {
            return Err(already_exists(name));
        }
        let prepared = self.prepare_text(text, types).await?;
        self.statements.insert(name.to_owned(), Arc::new(prepared));
        Ok(())
    }

    /// The type that a user created under an oid, or that of arrays of one.
    async fn user_type(&self, oid: u32) -> Result<Option<ScalarType>> {
        if let Some(transaction) = &self.transaction {
            return Ok(transaction.catalog.type_by_oid(oid));
        }
        let snapshot = self.engine.client.snapshot(When::Tip).await?;
        Ok(snapshot.catalog.type_by_oid(oid))
    }

    async fn prepare_text(
        &mut self,
        text: &str,
        mut types: Vec<Option<ScalarType>>,
    ) -> Result<Prepared> {
        let mut statements = sql::parse(text)?;
        if statements.len() > 1 {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let Some(statement) = statements.pop() else {
            return Ok(Prepared { statement: None, param_types: vec![], desc: None });
        };
        self.check_state(&statement)?;
        if self.mode() == Mode::Failed {
            return Ok(Prepared { statement: Some(statement), param_types: vec![], desc: None });
        }
        self.lone_possible |= self.transaction.is_none();
        self.open(Mode::Implicit, is_write(&statement)).await?;
        let bound = self.bind_statement(&statement, &mut types)?;
        let desc = self.describe(&bound)?;
        let mut param_types = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            param_types.push(ty.ok_or_else(|| {
                Error::new(
                    SqlState::INDETERMINATE_DATATYPE,
                    format!("could not determine data type of parameter ${}", at + 1),
                )
            })?);
        }
        Ok(Prepared { statement: Some(statement), param_types, desc })
    }

    /// The columns that a statement answers with.
    pub(super) fn describe(&self, statement: &Statement) -> Result<Option<RelationDesc>> {
        let text_column = |name: &str| RelationDesc {
            columns: vec![ColumnDesc {
                name: name.to_owned(),
                ty: ColumnType::nullable(ScalarType::Text),
            }],
            keys: vec![],
        };
        Ok(match statement {
            Statement::Select(select) => Some(select.desc.clone()),
            Statement::Insert(insert) => insert.returning.as_ref().map(|r| r.desc.clone()),
            Statement::Update(update) => update.returning.as_ref().map(|r| r.desc.clone()),
            Statement::Delete(delete) => delete.returning.as_ref().map(|r| r.desc.clone()),
            Statement::Writes(writes) => self.describe(&writes.main)?,
            Statement::Transact(_) => Some(Transact::desc()),
            Statement::Subscribe(subscribe) => Some(watch::describe(subscribe)),
            Statement::Explain(explain) => Some(analyze::plan_desc(match explain.json {
                true => ScalarType::Json,
                false => ScalarType::Text,
            })),
            Statement::Why(why) => Some(analyze::plan_desc(match why.json {
                true => ScalarType::Json,
                false => ScalarType::Text,
            })),
            Statement::ExplainAnalyze(analyze) => {
                Some(analyze::plan_desc(analyze::plan_type(analyze.measures)))
            }
            Statement::Show { name: Some(name) } => Some(text_column(&self.variables.name(name)?)),
            Statement::Show { name: None } => {
                let mut desc = text_column("name");
                desc.columns.extend(text_column("setting").columns);
                desc.columns.extend(text_column("description").columns);
                Some(desc)
            }
            Statement::Fetch { cursor, is_move: false, .. } => {
                self.portals.get(cursor).and_then(|portal| portal.desc.clone())
            }
            Statement::Execute { name, .. } => self.statement(name)?.desc.clone(),
            _ => None,
        })
    }

    pub(super) fn statement(&self, name: &str) -> Result<&Arc<Prepared>> {
        self.statements.get(name).ok_or_else(|| {
            let what = if name.is_empty() {
                "unnamed prepared statement".to_owned()
            } else {
                format!("prepared statement \"{name}\"")
            };
            Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, format!("{what} does not exist"))
        })
    }

    /// Makes a portal of a prepared statement (Bind).
    ///
    /// Errors: 26000, 08P01 where the numbers do not fit, those of reading the values, 42P03.
    pub async fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        param_formats: &[Format],
        params: Vec<Option<Bytes>>,
        result_formats: &[Format],
    ) -> Result<()> {
        let prepared = self.statement(statement)?.clone();
        if let Some(statement) = &prepared.statement {
            self.check_state(statement)?;
        }
        let wanted = prepared.param_types.len();
        if params.len() != wanted {
            return Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{statement}\" \
                     requires {wanted}",
                    params.len()
                ),
            ));
        }
        if param_formats.len() > 1 && param_formats.len() != wanted {
            return Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message has {} parameter formats but {wanted} parameters",
                    param_formats.len()
                ),
            ));
        }
        let mut values = Vec::with_capacity(wanted);
        for (at, (bytes, ty)) in params.iter().zip(&prepared.param_types).enumerate() {
            let format = match param_formats {
                [] => Format::Text,
                [all] => *all,
                each => each[at],
            };
            values.push(parameters::decode(bytes.as_ref(), format, *ty, self.variables.format())?);
        }
        let width = prepared.desc.as_ref().map_or(0, RelationDesc::arity);
        if result_formats.len() > 1 && result_formats.len() != width {
            return Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message has {} result formats but query has {width} columns",
                    result_formats.len()
                ),
            ));
        }
        if portal.is_empty() {
            self.portals.remove("");
        } else if self.portals.contains_key(portal) {
            return Err(Error::new(
                SqlState::DUPLICATE_CURSOR,
                format!("cursor \"{portal}\" already exists"),
            ));
        }
        let desc = prepared.desc.clone();
        let portal_of = Portal::bound(prepared, values, result_formats.to_vec(), desc);
        self.portals.insert(portal.to_owned(), portal_of);
        Ok(())
    }

    /// The parameters and columns of a prepared statement (Describe).
    pub async fn describe_statement(
        &mut self,
        name: &str,
    ) -> Result<(Vec<u32>, Option<Vec<Field>>)> {
        let prepared = self.statement(name)?;
        let oids = prepared.param_types.iter().map(|ty| ty.oid()).collect();
        Ok((oids, prepared.desc.as_ref().map(|desc| fields(desc, &[]))))
    }

    /// Forgets a prepared statement (Close); it need not be there.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    pub(super) async fn prepare(
        &mut self,
        name: String,
        types: Vec<Option<ScalarType>>,
        text: String,
    ) -> Result<()> {
        if self.statements.contains_key(&name) {
            return Err(already_exists(&name));
        }
        let prepared = self.prepare_text(&text, types).await?;
        self.statements.insert(name, Arc::new(prepared));
        Ok(())
    }

    pub(super) fn deallocate(&mut self, name: &str) -> Result<()> {
        self.statement(name)?;
        self.statements.remove(name);
        Ok(())
    }

    pub(super) async fn execute_prepared(
        &mut self,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Outcome> {
        let prepared = self.statement(name)?.clone();
        if args.len() != prepared.param_types.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("wrong number of parameters for prepared statement \"{name}\""),
            )
            .with_detail(format!(
                "Expected {} parameters but got {}.",
                prepared.param_types.len(),
                args.len()
            )));
        }
        let mut values = Vec::with_capacity(args.len());
        for (arg, ty) in args.iter().zip(&prepared.param_types) {
            let arg = argument(arg.clone(), *ty)?;
            values.push(self.constant(&arg, |datum| Ok(pack(&[datum])))?);
        }
        Box::pin(self.run_prepared(&prepared, &values)).await
    }

    /// Binds a prepared statement afresh, puts in its parameters, and starts it.
    pub(super) async fn run_prepared(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<Outcome> {
        let Some(statement) = &prepared.statement else { return Ok(Outcome::Empty) };
        let mut types = prepared.param_types.iter().copied().map(Some).collect();
        let mut bound = self.bind_statement(statement, &mut types)?;
        if self.describe(&bound)? != prepared.desc {
            return Err(Error::unsupported(
                "cached plan whose result type has changed",
                "Prepare the statement again.",
            ));
        }
        parameters::substitute(&mut bound, values)?;
        self.start(bound).await
    }
}

/// An argument of EXECUTE as a value of the parameter's type. A literal may be of any type that
/// can be converted, since a quoted one has no type of its own.
fn argument(arg: Expr, scalar: ScalarType) -> Result<Expr> {
    let from = arg.typ(&[]).scalar;
    if from == scalar {
        return Ok(arg);
    }
    let is_literal = matches!(arg, Expr::Literal(_));
    let fits = |cast: &Cast| is_literal || cast.context <= CastContext::Assignment;
    let cast = Cast::find(from, scalar).filter(fits).ok_or_else(|| {
        Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "parameter of type {} cannot be coerced to the expected type {}",
                from.display_name(),
                scalar.display_name()
            ),
        )
        .with_hint("You will need to rewrite or cast the expression.")
    })?;
    let to = ColumnType::nullable(scalar);
    Ok(Expr::Cast { cast, input: Box::new(arg), to, explicit: false })
}

fn already_exists(name: &str) -> Error {
    Error::new(
        SqlState::DUPLICATE_PREPARED_STATEMENT,
        format!("prepared statement \"{name}\" already exists"),
    )
}

/// Whether a statement may write, so that it is computed from the newest content there is.
pub(super) fn is_write(statement: &ParsedStatement) -> bool {
    const READS: [&str; 10] = [
        "select",
        "table",
        "values",
        "show",
        "explain",
        "fetch",
        "subscribe",
        "declare",
        "find",
        "datalog",
    ];
    let text = statement.text.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let word: String = text.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    !READS.contains(&word.to_ascii_lowercase().as_str())
}
