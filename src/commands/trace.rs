//! `weir trace`: what happened on a server's workers, to a file.
//!
//! A server records events while somebody subscribes to `weir_trace`; this does, and writes what
//! comes. The file is whole after each chunk, however the recording ends.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::binary_copy::BinaryCopyOutStream;
use tokio_postgres::types::Type;

use crate::commands::connection::{connect, failed, report};
use crate::config::{Record, Trace};
use crate::error::{Error, Result, SqlState};
use crate::profile::trace;

/// What is asked of the server.
const QUERY: &str = "COPY (SUBSCRIBE TO weir_catalog.weir_trace WITH (SNAPSHOT = false)) \
    TO STDOUT (FORMAT binary)";
/// Its columns: time and change, then those of the relation.
const COLUMNS: [Type; 6] =
    [Type::INT8, Type::INT8, Type::INT8, Type::INT4, Type::INT8, Type::BYTEA];
/// How long the first chunk may take.
const FIRST_LIMIT: Duration = Duration::from_secs(20);

/// What was recorded.
#[derive(Default)]
struct Recorded {
    chunks: u64,
    events: u64,
    bytes: u64,
    /// Chunks that the server had and that did not come.
    missed: u64,
}

/// Does what was asked.
pub fn run(command: &Trace) -> ExitCode {
    let Trace::Record(asked) = command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let recorded = match runtime {
        Ok(runtime) => runtime.block_on(record(asked)),
        Err(error) => Err(Error::internal(format!("could not start: {error}"))),
    };
    match recorded {
        Ok(Recorded { chunks, events, bytes, missed }) => {
            let (file, workers) = (asked.file.display(), chunks);
            println!("{file}: {events} events in {workers} chunks, {bytes} bytes");
            if missed > 0 {
                println!("{missed} chunks came too fast, and are not there");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

async fn record(asked: &Record) -> Result<Recorded> {
    let client = connect(&asked.remote).await?;
    let path = asked.file.display();
    let unwritten = |error: std::io::Error| {
        Error::new(SqlState::IO_ERROR, format!("could not write \"{path}\": {error}"))
    };
    let mut file = BufWriter::new(File::create(&asked.file).map_err(unwritten)?);
    file.write_all(&trace::header()).map_err(unwritten)?;
    let rows = client.copy_out(QUERY).await.map_err(failed)?;
    let mut rows = pin!(BinaryCopyOutStream::new(rows, &COLUMNS));
    let mut recorded = Recorded::default();
    let mut next_number = None;
    let mut end = Instant::now() + FIRST_LIMIT;
    while let Ok(Some(row)) = timeout_at(end, rows.next()).await {
        let row = row.map_err(failed)?;
        let cell = |error| failed(error);
        let (diff, number): (i64, i64) =
            (row.try_get(1).map_err(cell)?, row.try_get(2).map_err(cell)?);
        if diff < 0 {
            continue;
        }
        let bytes: &[u8] = row.try_get(5).map_err(cell)?;
        if recorded.chunks == 0 {
            end = Instant::now() + asked.seconds;
        }
        recorded.events += trace::chunk(bytes)?.events.len() as u64;
        recorded.chunks += 1;
        recorded.bytes += bytes.len() as u64;
        recorded.missed += number.abs_diff(next_number.unwrap_or(number));
        next_number = Some(number + 1);
        file.write_all(bytes).map_err(unwritten)?;
        file.flush().map_err(unwritten)?;
    }
    if recorded.chunks == 0 {
        return Err(Error::new(SqlState::IO_ERROR, "the server recorded nothing").with_hint(
            "Introspection may be off: ALTER SYSTEM SET introspection_interval = '1s'.",
        ));
    }
    Ok(recorded)
}
