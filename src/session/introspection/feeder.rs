//! The task that asks what the engine does, and feeds the relations with it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::error::{Result, SqlState};
use crate::session::engine::Engine;
use crate::session::introspection::operators::Operators;
use crate::session::introspection::server::{Known, Server};
use crate::session::introspection::sessions::Sessions;
use crate::session::introspection::tracer;

/// Looking takes one part in so many of the time, at the most.
const SHARE: u32 = 20;

/// Feeds the relations for as long as the engine runs, once in the engine's interval of
/// introspection. While that is zero they stay as they are.
pub async fn run(engine: Engine) {
    match feed(&engine).await {
        Ok(()) => {}
        // A relation is declared otherwise than it is fed.
        Err(error) if error.code == SqlState::INTERNAL_ERROR => {
            tracing::error!(%error, "introspection ends");
        }
        // The engine has ended.
        Err(error) => tracing::debug!(%error, "introspection ends"),
    }
}

async fn feed(engine: &Engine) -> Result<()> {
    let mut operators = Operators::new(engine)?;
    let mut server = Server::new(engine)?;
    let mut sessions = Sessions::new(engine)?;
    let trace = tracer::relation()?;
    let mut interval = engine.introspection.subscribe();
    // The engine has the log opened where the interval is not zero at its start.
    let mut is_on = !interval.borrow_and_update().is_zero();
    engine.activity.switch(is_on);
    loop {
        let pause = *interval.borrow_and_update();
        if std::mem::replace(&mut is_on, !pause.is_zero()) != is_on {
            engine.client.switch_introspection(is_on);
            engine.listeners.send_modify(BTreeSet::clear);
            engine.activity.switch(is_on);
        }
        if pause.is_zero() {
            if interval.changed().await.is_err() {
                return Ok(());
            }
            continue;
        }
        let told = engine.client.introspect().await?;
        engine.listeners.send_if_modified(|known| {
            let now = tracer::listeners(&told, trace);
            let is_new = *known != now;
            *known = now;
            is_new
        });
        let began = Instant::now();
        let reporting = told.workers.iter().map(|report| report.took_ns).max().unwrap_or(0);
        operators.take(&told)?;
        sessions.take(&engine.activity)?;
        let contents = operators.contents().chain(sessions.contents());
        let own = contents.map(|content| content.bytes()).sum();
        let known = Known {
            arranged: operators.arranged_bytes(),
            sessions: engine.activity.bytes(),
            introspection: own,
        };
        server.take(&told, &known)?;
        let contents = operators.contents().chain(server.contents()).chain(sessions.contents());
        engine.client.feed(contents.filter_map(|content| content.take()).collect());
        let took = began.elapsed() + Duration::from_nanos(reporting);
        tokio::select! {
            () = tokio::time::sleep(pause.max(took * SHARE)) => {}
            _ = interval.changed() => {}
        }
    }
}
