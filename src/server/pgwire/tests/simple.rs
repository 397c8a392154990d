//! Startup, simple queries, COPY, cancel.

use std::sync::atomic::Ordering;

use crate::server::pgwire::tests::harness::{Raw, frame, query, start};

#[tokio::test]
async fn a_client_is_greeted() {
    let running = start(10).await;
    let mut raw = Raw::connect(running.port).await;
    raw.startup(3 << 16, &["user", "me"]).await;
    let said = raw.greeting().await;
    let kinds: Vec<u8> = said.iter().map(|said| said.kind).collect();
    assert_eq!(kinds, b"RSKZ");
    assert_eq!(said[1].body, b"client_encoding\0UTF8\0");
    assert_eq!(raw.secret.len(), 4);

    let mut modern = Raw::connect(running.port).await;
    modern.startup(3 << 16 | 9999, &["user", "me"]).await;
    let said = modern.greeting().await;
    assert_eq!(said[0].kind, b'v');
    assert_eq!(said[0].body, [0, 3, 0, 2, 0, 0, 0, 0]);
    assert_eq!(modern.secret.len(), 32);
}

#[tokio::test]
async fn simple_queries_answer_and_fail() {
    let running = start(10).await;
    let mut raw = running.client().await;
    raw.send(&[query("rows 2"), query(""), query("notice"), query("wrong")].concat()).await;
    assert_eq!(raw.kinds().await, "TDDCZ");
    assert_eq!(raw.kinds().await, "IZ");
    assert_eq!(raw.kinds().await, "NSCZ");
    let said = raw.until_ready().await;
    assert_eq!(said[0].field(b'C').as_deref(), Some("42601"));
    assert_eq!(said[0].field(b'S').as_deref(), Some("ERROR"));
    assert_eq!(said[0].field(b'P').as_deref(), Some("3"));
    assert_eq!(running.engine.errors.load(Ordering::SeqCst), 1);
    raw.send(&query("rows 200000")).await;
    assert_eq!(raw.until_ready().await.len(), 200_003);
}

#[tokio::test]
async fn a_statement_is_cancelled_while_it_runs_and_only_then() {
    let running = start(10).await;
    let mut raw = running.client().await;
    raw.cancel(running.port).await;
    raw.send(&query("rows 1")).await;
    assert_eq!(raw.kinds().await, "TDCZ");
    raw.send(&query("silent")).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    raw.cancel(running.port).await;
    let said = raw.until_ready().await;
    assert_eq!(said[0].field(b'C').as_deref(), Some("57014"));
    // A client that does not read blocks the server in a write, which a cancel ends as well.
    raw.send(&query("rows 5000000")).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    raw.cancel(running.port).await;
    let said = raw.until_ready().await;
    assert!(said.len() < 5_000_000);
    assert_eq!(said[said.len() - 2].field(b'C').as_deref(), Some("57014"));
}

#[tokio::test]
async fn copy_in_takes_data_until_its_end() {
    let running = start(10).await;
    let mut raw = running.client().await;
    let data = frame(b'd', &[b'x'; 1000]);
    let (done, fail) = (frame(b'c', b""), frame(b'f', b"enough\0"));
    // Sync and Flush have no meaning in between.
    let (sync, flush) = (frame(b'S', b""), frame(b'H', b""));
    let all = [query("copy 9999"), data.clone(), sync.clone(), flush, data.clone(), done.clone()];
    raw.send(&all.concat()).await;
    let said = raw.until_ready().await;
    assert_eq!(said[0].kind, b'G');
    assert_eq!(said[0].body, [0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(said[1].body, b"COPY 2000\0");

    raw.send(&[query("copy 9999"), data.clone(), fail].concat()).await;
    let said = raw.until_ready().await;
    assert_eq!(said[1].field(b'C').as_deref(), Some("57014"));
    assert_eq!(said[1].field(b'M').as_deref(), Some("COPY from stdin failed: enough"));

    // What follows a failed COPY is of no interest, until the client notices.
    let all = [query("copy 1500"), data.repeat(5), done, query("rows 1")];
    raw.send(&all.concat()).await;
    assert_eq!(raw.kinds().await, "GEZ");
    assert_eq!(raw.kinds().await, "TDCZ");
}

#[tokio::test]
async fn a_query_in_the_middle_of_a_copy_ends_the_connection() {
    let running = start(10).await;
    let mut raw = running.client().await;
    raw.send(&[query("copy 9999"), query("rows 1")].concat()).await;
    assert_eq!(raw.fatal().await, "08P01");
    running.sessions(0).await;
}
