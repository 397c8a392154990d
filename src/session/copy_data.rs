//! COPY: rows as data, in and out.

use std::sync::Arc;

use crate::catalog::item::ItemKind;
use crate::coord::request::dropped;
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{CopyFormat, CopyFrom, CopyOptions};
use crate::repr::value::decode_values;
use crate::repr::{Row, ScalarType};
use crate::session::copy::{CopyReader, CopyWriter};
use crate::session::frontend::{Format, Frontend};
use crate::session::session::{Outcome, Session};
use crate::session::transaction::Mode;

/// How many input rows are completed and put at once.
const ROWS_AT_ONCE: usize = 8192;

impl Session {
    /// Takes the client's data into a table.
    pub(super) async fn copy_in<F: Frontend>(
        &mut self,
        copy: CopyFrom,
        out: &mut F,
    ) -> Result<Outcome> {
        let item = self.transaction()?.catalog.expect(copy.table)?.clone();
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::internal("COPY into what is no table"));
        };
        let columns: Vec<_> = copy.input.iter().map(|c| &table.desc.columns[*c]).collect();
        let types: Vec<_> = columns.iter().map(|column| column.ty.scalar).collect();
        let named = columns.iter().map(|column| (column.name.clone(), column.ty)).collect();
        let settings = self.variables.format().clone();
        let mut reader = CopyReader::new(&copy.options, named, &item.name, &settings)?;
        out.copy_in_response(wire_format(&copy.options), columns.len());
        out.flush().await?;
        let (mut count, mut at_end) = (0, false);
        let (mut rows, mut lines) = (Vec::with_capacity(ROWS_AT_ONCE), Vec::new());
        while !at_end {
            match self.cancel.or(out.copy_in_data()).await? {
                Some(data) => reader.push(&data),
                None => {
                    reader.finish();
                    at_end = true;
                }
            }
            while let Some(row) = reader.next()? {
                lines.push(reader.line_number());
                rows.push(row);
                if rows.len() == ROWS_AT_ONCE {
                    let put = self.put_copied(&copy, &rows, &types, &lines).await;
                    count += put.map_err(|fault| on_line(&reader, fault))?;
                    rows.clear();
                    lines.clear();
                }
            }
        }
        let put = self.put_copied(&copy, &rows, &types, &lines).await;
        count += put.map_err(|fault| on_line(&reader, fault))?;
        Ok(Outcome::Done(format!("COPY {count}")))
    }

    /// Commits what a lone COPY has put. Where it meets a concurrent statement, its data cannot be
    /// asked for again, but its rows are there: they are put once more while nobody else commits.
    pub(super) async fn commit_copied(&mut self) -> Result<()> {
        let asynchronous = !self.variables.synchronous_commit();
        let engine = self.engine.clone();
        let transaction = self.transaction_mut()?;
        if transaction.is_empty() {
            return Ok(());
        }
        let commit = transaction.take_commit(&engine, asynchronous, None)?;
        let writes = commit.writes.clone();
        match self.engine.client.commit(commit).await {
            // What replaces a fact is told from what was there: it cannot be put as it is.
            Err(error)
                if error.code == SqlState::SERIALIZATION_FAILURE
                    && !self.writes_facts(&writes)? => {}
            result => return self.committed(asynchronous, result.map(|_| ())),
        }
        let exclusive = self.cancel.or(self.engine.client.exclusive()).await?;
        self.abandon();
        self.open(Mode::Implicit, true).await?;
        for write in writes {
            if self.transaction()?.catalog.get(write.table).is_none() {
                return Err(dropped());
            }
            self.put_encoded(write.table, Arc::unwrap_or_clone(write.updates)).await?;
        }
        self.commit_work(Some(exclusive.token())).await
    }

    /// Puts rows that came on these lines. Where one of them is refused, they are put one by one,
    /// to find which.
    async fn put_copied(
        &mut self,
        copy: &CopyFrom,
        rows: &[Row],
        types: &[ScalarType],
        lines: &[u64],
    ) -> std::result::Result<usize, (Error, Option<u64>)> {
        let error = match self.put_given(copy, rows, types).await {
            Ok(count) => return Ok(count),
            Err(error) => error,
        };
        for (row, line) in rows.iter().zip(lines) {
            if let Err(error) = self.put_given(copy, std::slice::from_ref(row), types).await {
                return Err((error, Some(*line)));
            }
        }
        Err((error, None))
    }

    async fn put_given(
        &mut self,
        copy: &CopyFrom,
        rows: &[Row],
        types: &[ScalarType],
    ) -> Result<usize> {
        if rows.is_empty() {
            return Ok(0);
        }
        let rows = self.complete_rows(copy.table, &copy.columns, rows, types).await?;
        Ok(self.put_rows(copy.table, rows, false).await?.len())
    }

    /// Sends rows or changes as data.
    pub(super) async fn copy_out<F: Frontend>(
        &mut self,
        inner: &mut Outcome,
        options: &CopyOptions,
        out: &mut F,
    ) -> Result<()> {
        let desc = match inner {
            Outcome::Rows { desc, .. } => desc.clone(),
            Outcome::Changes(watch) => watch.desc().clone(),
            _ => return Err(Error::internal("COPY of a statement without rows")),
        };
        let columns = desc.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        let settings = self.variables.format().clone();
        let mut writer = CopyWriter::new(options, columns, &settings);
        out.copy_out_response(wire_format(options), desc.arity());
        let mut line = Vec::new();
        writer.header(&mut line);
        // Clients look for the first row behind the binary one, in the same message.
        if options.format != CopyFormat::Binary {
            send_line(&mut line, out);
        }
        let count = match inner {
            Outcome::Rows { rows, .. } => {
                let mut count = 0u64;
                while let Some(row) = rows.next(&self.cancel).await? {
                    let mut datums = Vec::with_capacity(rows.types.len());
                    decode_values(&rows.types, row.bytes(), &mut datums);
                    let projected: Vec<_> = rows.project.iter().map(|c| datums[*c]).collect();
                    writer.row(&projected, &mut line);
                    send_line(&mut line, out);
                    out.ready().await?;
                    count += 1;
                }
                count
            }
            Outcome::Changes(watch) => {
                let (types, mut count) = (desc.scalars(), 0u64);
                while !watch.is_ended() {
                    while let Some(row) = watch.pop() {
                        let mut datums = Vec::with_capacity(types.len());
                        decode_values(&types, row.bytes(), &mut datums);
                        writer.row(&datums, &mut line);
                        send_line(&mut line, out);
                        out.ready().await?;
                        count += 1;
                    }
                    if watch.is_ended() {
                        break;
                    }
                    out.flush().await?;
                    watch.more(&self.cancel).await?;
                }
                count
            }
            _ => 0,
        };
        writer.trailer(&mut line);
        send_line(&mut line, out);
        out.copy_done();
        out.command_complete(&format!("COPY {count}"));
        Ok(())
    }
}

fn send_line<F: Frontend>(line: &mut Vec<u8>, out: &mut F) {
    if !line.is_empty() {
        out.copy_data(line);
        line.clear();
    }
}

/// The error about a row, with the line that it came on.
fn on_line(reader: &CopyReader, (error, line): (Error, Option<u64>)) -> Error {
    match line {
        Some(line) => error.with_context(reader.line_context(line)),
        None => error,
    }
}

fn wire_format(options: &CopyOptions) -> Format {
    match options.format {
        CopyFormat::Text | CopyFormat::Csv => Format::Text,
        CopyFormat::Binary => Format::Binary,
    }
}
