//! Weir without a socket: sessions on an engine in this process, with a client that only remembers.

use std::future::Future;

use bytes::Bytes;
use sqllogictest::{DB, DBOutput};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir::error::Error;
use weir::repr::settings::FormatSettings;
use weir::repr::text::format_text;
use weir::repr::{ColumnType, Datum};
use weir::session::boot::{self, EngineConfig};
use weir::session::engine::Engine;
use weir::session::frontend::{CancelToken, Field, Format, Frontend, Notice, Sent};
use weir::session::session::Session;

use crate::support::wire::{Column, Outcome, Report};
use crate::{Letter, Refusal, answer};

/// An engine and the threads that run it.
pub struct InProcess {
    engine: Engine,
    runtime: Runtime,
    _folder: TempDir,
}

impl InProcess {
    /// Opens an engine on no data.
    pub fn start(workers: usize) -> InProcess {
        let folder = tempfile::Builder::new().prefix("weir-test-").tempdir().unwrap();
        let data_dir = folder.path().join("data");
        let config = EngineConfig {
            data_dir,
            workers,
            retain_ms: 30_000,
            checkpoint_log_bytes: 64 << 20,
            introspection_ms: 1_000,
        };
        let runtime = Runtime::new().unwrap();
        let (coordinator, engine) = boot::open(&config).unwrap();
        runtime.spawn(coordinator.run());
        InProcess { engine, runtime, _folder: folder }
    }

    /// A new session.
    pub fn session(&self) -> InProcessSession {
        let startup = vec![("user".to_string(), "weir".to_string())];
        let session = Session::new(self.engine.clone(), startup, CancelToken::default()).unwrap();
        InProcessSession { session, handle: self.runtime.handle().clone() }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.runtime.block_on(self.engine.stop());
    }
}

/// A session.
pub struct InProcessSession {
    session: Session,
    handle: tokio::runtime::Handle,
}

impl DB for InProcessSession {
    type Error = Refusal;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Refusal> {
        let mut memory = Memory::default();
        // A runtime's handle refuses to block inside another runtime's call, so a thread does.
        std::thread::scope(|scope| {
            let run = || {
                self.handle.block_on(async {
                    let result = self.session.simple_query(sql, &mut memory).await;
                    if let Err(error) = &result {
                        self.session.failed(error);
                        memory.0.error = Some(report(error));
                    }
                });
            };
            scope.spawn(run).join().unwrap();
        });
        answer(memory.0)
    }

    fn engine_name(&self) -> &str {
        "weir"
    }
}

fn report(error: &Error) -> Report {
    let mut report = Report::default();
    report.fields.insert('C', error.code.to_string());
    report.fields.insert('M', error.message.clone());
    report
}

/// A client that remembers the answer to the last statement.
#[derive(Default)]
struct Memory(Outcome);

fn column(field: &Field) -> Column {
    let ColumnType { scalar, typmod, .. } = field.ty;
    Column { name: field.name.clone(), oid: scalar.oid(), typmod }
}

impl Frontend for Memory {
    fn notice(&mut self, _: &Notice) {}

    fn parameter_status(&mut self, _: &str, _: &str) {}

    fn row_description(&mut self, fields: &[Field]) {
        self.0 =
            Outcome { columns: Some(fields.iter().map(column).collect()), ..Outcome::default() };
    }

    fn data_row(&mut self, datums: &[Datum<'_>], fields: &[Field], settings: &FormatSettings) {
        let spell = |(datum, field): (&Datum<'_>, &Field)| {
            let mut text = String::new();
            format_text(datum, field.ty.scalar, settings, &mut text);
            (!matches!(datum, Datum::Null)).then_some(text)
        };
        self.0.rows.push(datums.iter().zip(fields).map(spell).collect());
    }

    fn command_complete(&mut self, tag: &str) {
        if self.0.tag.is_some() {
            self.0 = Outcome::default();
        }
        self.0.tag = Some(tag.to_string());
    }

    fn empty_query(&mut self) {
        self.0 = Outcome { tag: Some(String::new()), ..Outcome::default() };
    }

    fn portal_suspended(&mut self) {}

    fn copy_in_response(&mut self, _: Format, _: usize) {}

    fn copy_out_response(&mut self, _: Format, _: usize) {}

    fn copy_data(&mut self, data: &[u8]) {
        self.0.copied.extend(data);
    }

    fn sent(&self) -> Sent {
        Sent { rows: self.0.rows.len() as u64, bytes: 0 }
    }

    fn copy_done(&mut self) {}

    fn ready(&mut self) -> impl Future<Output = weir::error::Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    fn flush(&mut self) -> impl Future<Output = weir::error::Result<()>> + Send {
        std::future::ready(Ok(()))
    }

    fn copy_in_data(&mut self) -> impl Future<Output = weir::error::Result<Option<Bytes>>> + Send {
        std::future::ready(Ok(None))
    }
}
