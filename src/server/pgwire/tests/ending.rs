//! How connections end: clients that leave, servers that stop.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::server::listener::{Limits, Server};
use crate::server::pgwire::tests::harness::{Raw, frame, query, start};
use crate::server::pgwire::tests::mock::MockEngine;

#[tokio::test]
async fn a_client_that_leaves_is_noticed_at_once() {
    let running = start(10).await;
    let polite = async || {
        let mut raw = running.client().await;
        raw.send(&[query("silent"), frame(b'X', b"")].concat()).await;
    };
    let rude = async || running.client().await.send(&query("silent")).await;
    let copying = async || running.client().await.send(&query("copy 10")).await;
    // Its queue is full, so that its end is not the next thing to be read.
    let busy = async || {
        let mut raw = running.client().await;
        raw.send(&[query("silent"), query("rows 1").repeat(2000)].concat()).await;
    };
    // The server is blocked in writing to it.
    let deaf = async || {
        let mut raw = running.client().await;
        raw.send(&query("rows 5000000")).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    polite().await;
    rude().await;
    copying().await;
    busy().await;
    deaf().await;
    drop(running.client().await);
    running.sessions(0).await;
}

#[tokio::test]
async fn a_stopping_server_tells_everybody() {
    let running = start(10).await;
    let (mut idle, mut busy) = (running.client().await, running.client().await);
    let _undecided = Raw::connect(running.port).await;
    busy.send(&query("silent")).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    running.server.stop();
    assert_eq!(idle.fatal().await, "57P01");
    assert_eq!(busy.fatal().await, "57P01");
    drop((idle, busy));
    timeout(Duration::from_secs(3), running.accepting).await.expect("in time").expect("no panic");
}

#[tokio::test]
async fn a_starting_server_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let limits = Limits {
        connections_max: 1,
        message_bytes_max: 1 << 20,
        client_timeout: Duration::from_secs(60),
    };
    let server: Arc<Server<MockEngine>> = Arc::new(Server::new(limits));
    tokio::spawn({
        let server = server.clone();
        async move { server.accept(listener).await }
    });
    let mut early = Raw::connect(port).await;
    early.startup(3 << 16, &["user", "me"]).await;
    assert_eq!(early.fatal().await, "57P03");
    server.open(MockEngine::default());
    let mut late = Raw::connect(port).await;
    late.startup(3 << 16, &["user", "me"]).await;
    late.greeting().await;
}
