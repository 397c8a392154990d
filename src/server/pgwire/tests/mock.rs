//! A session whose statements are instructions: `rows 3`, `silent`, `copy`, `panic` …

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use crate::error::{Error, Result, SqlState};
use crate::repr::{ColumnType, Datum, FormatSettings, ScalarType};
use crate::server::pgwire::backend::{Backend, Engine};
use crate::session::frontend::{CancelToken, Field, Format, Frontend, Notice};

/// Makes mock sessions, and counts those that are alive.
#[derive(Clone, Debug, Default)]
pub struct MockEngine {
    pub alive: Arc<AtomicUsize>,
    pub errors: Arc<AtomicUsize>,
}

pub struct MockSession {
    engine: MockEngine,
    cancel: CancelToken,
    statements: HashMap<String, String>,
    portals: HashMap<String, (String, Format)>,
}

impl Engine for MockEngine {
    type Session = MockSession;

    fn connect(&self, startup: Vec<(String, String)>, cancel: CancelToken) -> Result<MockSession> {
        if startup.iter().any(|(name, _)| name == "wrong") {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "wrong"));
        }
        self.alive.fetch_add(1, Ordering::SeqCst);
        Ok(MockSession {
            engine: self.clone(),
            cancel,
            statements: HashMap::new(),
            portals: HashMap::new(),
        })
    }
}

impl Drop for MockSession {
    fn drop(&mut self) {
        self.engine.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

fn field(format: Format) -> Field {
    Field { name: "n".to_owned(), ty: ColumnType::not_null(ScalarType::Int4), format }
}

impl MockSession {
    async fn rows<F: Frontend>(&mut self, count: i32, format: Format, out: &mut F) -> Result<()> {
        let fields = [field(format)];
        for n in 0..count {
            out.data_row(&[Datum::Int4(n)], &fields, &FormatSettings::default());
            out.ready().await?;
        }
        out.command_complete(&format!("SELECT {count}"));
        Ok(())
    }

    async fn copy<F: Frontend>(&mut self, limit: usize, out: &mut F) -> Result<()> {
        out.copy_in_response(Format::Text, 2);
        let mut bytes = 0;
        while let Some(data) = out.copy_in_data().await? {
            bytes += data.len();
            if bytes > limit {
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, "too much"));
            }
        }
        out.command_complete(&format!("COPY {bytes}"));
        Ok(())
    }

    async fn run<F: Frontend>(&mut self, sql: &str, format: Format, out: &mut F) -> Result<()> {
        let (word, number) = sql.split_once(' ').unwrap_or((sql, "1"));
        match word {
            "" => out.empty_query(),
            "rows" => self.rows(number.parse().expect("a number"), format, out).await?,
            "notice" => {
                let error = Error::new(SqlState::new(b"00000"), "hark");
                out.notice(&Notice { severity: "NOTICE", error });
                out.parameter_status("TimeZone", "UTC");
                out.command_complete("NOTICE");
            }
            "silent" => {
                out.flush().await?;
                return Err(self.cancel.cancelled().await);
            }
            "long" => {
                let text = "x".repeat(number.parse().expect("a number"));
                let fields =
                    [Field { ty: ColumnType::not_null(ScalarType::Text), ..field(format) }];
                out.data_row(&[Datum::Text(&text)], &fields, &FormatSettings::default());
                out.ready().await?;
                out.command_complete("LONG");
            }
            "copy" => self.copy(number.parse().expect("a number"), out).await?,
            "panic" => panic!("as asked"),
            _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error").at(Some(3))),
        }
        Ok(())
    }
}

impl Backend for MockSession {
    fn number(&self, _pid: i32) {}

    fn reported_parameters(&self) -> Vec<(String, String)> {
        vec![("client_encoding".to_owned(), "UTF8".to_owned())]
    }

    fn transaction_status(&self) -> u8 {
        b'I'
    }

    async fn simple_query<F: Frontend>(&mut self, sql: &str, out: &mut F) -> Result<()> {
        if sql.starts_with("rows") {
            out.row_description(&[field(Format::Text)]);
        }
        self.run(sql, Format::Text, out).await
    }

    async fn parse(&mut self, name: &str, sql: &str, _: &[u32]) -> Result<()> {
        if sql == "wrong" {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error"));
        }
        self.statements.insert(name.to_owned(), sql.to_owned());
        Ok(())
    }

    async fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        _: &[Format],
        _: Vec<Option<Bytes>>,
        results: &[Format],
    ) -> Result<()> {
        let sql = self.statements.get(statement).cloned();
        let sql = sql.ok_or_else(|| Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, "none"))?;
        let format = results.first().copied().unwrap_or_default();
        self.portals.insert(portal.to_owned(), (sql, format));
        Ok(())
    }

    async fn describe_statement(&mut self, name: &str) -> Result<(Vec<u32>, Option<Vec<Field>>)> {
        let rows = self.statements.get(name).is_some_and(|sql| sql.starts_with("rows"));
        Ok((vec![23], rows.then(|| vec![field(Format::Text)])))
    }

    async fn describe_portal(&mut self, name: &str) -> Result<Option<Vec<Field>>> {
        let portal = self.portals.get(name).filter(|(sql, _)| sql.starts_with("rows"));
        Ok(portal.map(|(_, format)| vec![field(*format)]))
    }

    async fn execute<F: Frontend>(&mut self, portal: &str, max: u32, out: &mut F) -> Result<()> {
        let (sql, format) = self.portals.get(portal).cloned().unwrap_or_default();
        if max == 0 {
            return self.run(&sql, format, out).await;
        }
        out.portal_suspended();
        Ok(())
    }

    fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    async fn settle<F: Frontend>(&mut self, _: &mut F) -> Result<()> {
        Ok(())
    }

    async fn sync<F: Frontend>(&mut self, _: &mut F) -> Result<()> {
        self.portals.clear();
        Ok(())
    }

    fn failed(&mut self, _: &Error) {
        self.engine.errors.fetch_add(1, Ordering::SeqCst);
    }
}
