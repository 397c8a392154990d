//! The task that asks what the engine does, and feeds the relations with it.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::session::engine::Engine;
use crate::session::introspection::operators::Operators;
use crate::session::introspection::server::Server;

/// Looking takes one part in so many of the time, at the most.
const SHARE: u32 = 20;

/// Feeds the relations for as long as the engine runs, once in an interval. Where that is zero,
/// they stay empty.
pub async fn run(engine: Engine, interval: Duration) {
    if interval.is_zero() {
        return;
    }
    if let Err(error) = feed(&engine, interval).await {
        // The engine has ended, or a relation is declared otherwise than it is fed.
        tracing::debug!(%error, "introspection ends");
    }
}

async fn feed(engine: &Engine, interval: Duration) -> Result<()> {
    let mut operators = Operators::new(engine)?;
    let mut server = Server::new(engine)?;
    loop {
        let told = engine.client.introspect().await?;
        let began = Instant::now();
        let reporting = told.workers.iter().map(|report| report.took_ns).max().unwrap_or(0);
        for report in &told.workers {
            operators.take(report)?;
        }
        server.take(&told, operators.arranged_bytes())?;
        let contents = operators.contents().chain(server.contents());
        engine.client.feed(contents.filter_map(|content| content.take()).collect());
        let took = began.elapsed() + Duration::from_nanos(reporting);
        tokio::time::sleep(interval.max(took * SHARE)).await;
    }
}
