//! `CREATE SOURCE t FROM TRACE FILE '…'`: a trace file as relations.
//!
//! The schema `t` gets a table for each of the `weir_` relations about snapshots, without the
//! prefix, and a view for each of the views over them, with the same text. So a query about this
//! server's workers is one about the file, and the other way round. A table `operators` has what
//! the operators of the file are called.
//!
//! The file is on the server's machine, is read once, and may go then. Its last snapshot ends where
//! the file does. Objects are numbers of the server that was recorded, not of this one.

use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

use crate::catalog::item::{Item, ItemKind, System, View};
use crate::catalog::system::declared;
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::TraceSource;
use crate::profile::participation::Participation;
use crate::profile::stream::{Snapshot, Stream};
use crate::profile::trace::{Chunk, Chunks};
use crate::repr::value::pack;
use crate::repr::{Datum, GlobalId, Row};
use crate::session::introspection::snapshots::{self, Part};
use crate::session::session::{Outcome, Session};
use crate::session::variables::table::find;
use crate::session::variables::value::Value;
use crate::sql;

/// The schema and the prefix of the relations that the source's are like.
const LIKE: &str = "weir_catalog";
const PREFIX: &str = "weir_";
/// The views over them.
const VIEWS: [&str; 4] =
    ["critical_types", "critical_workers", "critical_operators", "critical_messages"];
/// What operators are called.
const OPERATORS: &str = "operators";
const OPERATOR_COLUMNS: &str =
    "operator int8 PRIMARY KEY, object oid, address text NOT NULL, name text NOT NULL";
/// The setting that says how long a snapshot is.
const LENGTH: &str = "introspection_snapshot";
/// How long it is where nothing does.
const LENGTH_DEFAULT: Duration = Duration::from_secs(1);
/// A file has no more snapshots.
const SNAPSHOTS_MAX: usize = 100_000;
/// So many rows are put at once.
const ROWS_MAX: usize = 50_000;

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn declared_as(name: &str) -> Result<&'static Item> {
    let item = declared::by_name(LIKE, &format!("{PREFIX}{name}"));
    item.map(|item| &**item).ok_or_else(|| Error::internal(format!("{name} is not declared")))
}

impl Session {
    /// Makes the relations of a source.
    pub(super) async fn create_trace_source(&mut self, source: TraceSource) -> Result<Outcome> {
        let TraceSource { name, path, snapshot } = source;
        let length = self.snapshot_length(snapshot.as_deref())?;
        let unread = |error: std::io::Error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
                _ => SqlState::IO_ERROR,
            };
            let why = match error.kind() {
                std::io::ErrorKind::NotFound => "No such file or directory".to_owned(),
                _ => error.to_string(),
            };
            Error::new(code, format!("could not open file \"{path}\" for reading: {why}"))
        };
        let chunks = Chunks::open(BufReader::new(File::open(&path).map_err(unread)?))?;
        let schema = quoted(&name);
        self.run_definition(&format!("CREATE SCHEMA {schema}")).await?;
        let columns = OPERATOR_COLUMNS;
        self.run_definition(&format!("CREATE TABLE {schema}.{OPERATORS} ({columns})")).await?;
        for part in Part::ALL {
            let item = declared_as(part.name())?;
            let ItemKind::System(system) = &item.kind else {
                return Err(Error::internal(format!("{} is no relation", item.name)));
            };
            let columns = columns_of(system);
            let table = part.name();
            self.run_definition(&format!("CREATE TABLE {schema}.{table} ({columns})")).await?;
        }
        for view in VIEWS {
            let item = declared_as(view)?;
            let ItemKind::View(View { text, .. }) = &item.kind else {
                return Err(Error::internal(format!("{} is no view", item.name)));
            };
            let text = text.replace(&format!("{LIKE}.{PREFIX}"), &format!("{schema}."));
            self.run_definition(&format!("CREATE VIEW {schema}.{view} AS {text}")).await?;
        }
        self.read_trace(&name, chunks, length).await?;
        Ok(Outcome::Done("CREATE SOURCE".into()))
    }

    fn snapshot_length(&self, given: Option<&str>) -> Result<Duration> {
        let setting = find(LENGTH).ok_or_else(|| Error::internal("no length of snapshots"))?;
        let millis = match given {
            Some(text) => match Value::parse("snapshot", &setting.kind, text, None)? {
                Value::Int(ms) if ms > 0 => u64::try_from(ms).ok(),
                _ => None,
            },
            None => {
                let set = self.engine.profiling.borrow().snapshot();
                return Ok(set.unwrap_or(LENGTH_DEFAULT));
            }
        };
        millis.map(Duration::from_millis).ok_or_else(|| {
            let message = "a snapshot must be longer than nothing";
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// Runs a definition of our own in the open transaction.
    async fn run_definition(&mut self, text: &str) -> Result<()> {
        for statement in &sql::parse(text)? {
            let bound = self.bind_statement(statement, &mut Vec::new())?;
            self.define(bound).await?;
        }
        Ok(())
    }

    async fn read_trace(
        &mut self,
        schema: &str,
        chunks: impl Iterator<Item = Result<Chunk>>,
        length: Duration,
    ) -> Result<()> {
        let profiling = *self.engine.profiling.borrow();
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let mut stream = Stream::new(length_ns, profiling.limits());
        stream.names().keep_ended();
        let mut made = Made { schema, rows: Default::default(), hops: profiling.hops() };
        let (mut snapshot, mut participation) = (Snapshot::default(), Participation::default());
        let mut count = 0;
        for chunk in chunks {
            stream.add(&chunk?);
            while stream.complete(&mut snapshot) {
                count += 1;
                if count > SNAPSHOTS_MAX {
                    let message = format!("more than {SNAPSHOTS_MAX} snapshots of {length:?}");
                    return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
                        .with_hint("Make them longer: WITH (SNAPSHOT = '1min')."));
                }
                made.add(&snapshot, &mut participation, &mut stream)?;
                self.put_made(&mut made, ROWS_MAX).await?;
            }
        }
        if stream.finish(&mut snapshot) {
            made.add(&snapshot, &mut participation, &mut stream)?;
        }
        self.put_made(&mut made, 0).await?;
        let mut rows = Vec::new();
        let names = stream.names();
        for (id, named) in names.operators() {
            let address: Vec<String> = named.address.iter().map(usize::to_string).collect();
            let object = names.object(id).and_then(|object| u32::try_from(object).ok());
            rows.push(pack(&[
                Datum::Int8(i64::try_from(id).unwrap_or(i64::MAX)),
                object.map_or(Datum::Null, Datum::Oid),
                Datum::Text(&address.join(".")),
                Datum::Text(&named.name),
            ]));
        }
        let table = self.made_table(schema, OPERATORS)?;
        self.put_rows(table, rows, true).await?;
        Ok(())
    }

    /// Puts the rows of tables that have more than so many.
    async fn put_made(&mut self, made: &mut Made<'_>, more_than: usize) -> Result<()> {
        for (part, rows) in Part::ALL.into_iter().zip(&mut made.rows) {
            if rows.len() > more_than {
                let table = self.made_table(made.schema, part.name())?;
                self.put_rows(table, std::mem::take(rows), false).await?;
            }
        }
        Ok(())
    }

    fn made_table(&self, schema: &str, name: &str) -> Result<GlobalId> {
        let found = self.transaction()?.catalog.by_name(schema, name).map(|item| item.id);
        found.ok_or_else(|| Error::internal(format!("{schema}.{name} was not made")))
    }
}

/// Rows that were made and not put, by the place of their table among all.
struct Made<'s> {
    schema: &'s str,
    rows: [Vec<Row>; Part::ALL.len()],
    hops: usize,
}

impl Made<'_> {
    fn add(
        &mut self,
        snapshot: &Snapshot,
        participation: &mut Participation,
        stream: &mut Stream,
    ) -> Result<()> {
        let rows = &mut self.rows;
        let emit = &mut |part: Part, datums: &[Datum<'_>]| {
            if let Some(place) = Part::ALL.iter().position(|known| *known == part) {
                rows[place].push(pack(datums));
            }
            Ok(())
        };
        let (names, hops) = (stream.names(), self.hops);
        snapshots::rows(snapshot, participation, names, hops, usize::MAX, emit)
    }
}

/// The columns of a relation, and its key, as CREATE TABLE has them.
fn columns_of(system: &System) -> String {
    let columns = system.desc.columns.iter().map(|column| {
        let null = if column.ty.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", quoted(&column.name), column.ty.scalar.name())
    });
    let key: Vec<String> =
        system.key.iter().map(|at| quoted(&system.desc.columns[*at].name)).collect();
    let key = format!("PRIMARY KEY ({})", key.join(", "));
    columns.chain([key]).collect::<Vec<_>>().join(", ")
}
