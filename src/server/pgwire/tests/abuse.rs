//! Clients that do not keep to the protocol, or do not keep up.

use tokio::io::AsyncWriteExt;

use crate::server::pgwire::tests::harness::{Raw, frame, query, start};

#[tokio::test]
async fn wrong_bodies_fail_and_the_connection_goes_on() {
    let running = start(10).await;
    let mut raw = running.client().await;
    for (wrong, code) in [
        (frame(b'Q', b"rows 1"), "08P01"),
        (frame(b'Q', b"rows\0 1\0"), "08P01"),
        (frame(b'Q', b"rows \xff\0"), "22021"),
        (frame(b'F', b"anything"), "0A000"),
    ] {
        raw.send(&wrong).await;
        let said = raw.until_ready().await;
        assert_eq!(said[0].field(b'C').as_deref(), Some(code));
    }
    // What has no place outside of a COPY is ignored there.
    raw.send(&[frame(b'd', b"x"), frame(b'f', b"cut"), query("rows 1")].concat()).await;
    assert_eq!(raw.kinds().await, "TDCZ");
}

#[tokio::test]
async fn broken_frames_get_an_explanation_and_an_end() {
    let running = start(10).await;
    let junk = vec![b'x'; 3 << 20];
    for (wrong, code) in [
        (b"?\0\0\0\x04".to_vec(), "08P01"),
        (b"p\0\0\0\x04".to_vec(), "08P01"),
        (b"Q\0\0\0\0".to_vec(), "08P01"),
        (b"S\0\x01\0\0".to_vec(), "08P01"),
        (b"Q\x7f\xff\xff\xff".to_vec(), "54000"),
        // The explanation arrives though most of what was sent is never understood.
        ([b"B\xff\xff\xff\xff".to_vec(), junk].concat(), "54000"),
    ] {
        let mut raw = running.client().await;
        raw.send(&wrong).await;
        assert_eq!(raw.fatal().await, code);
    }
    running.sessions(0).await;
}

#[tokio::test]
async fn long_messages_pass_up_to_the_limit() {
    let running = start(10).await;
    let mut raw = running.client().await;
    let padding = "x".repeat((4 << 20) - 5);
    raw.send(&query(&padding)).await;
    assert_eq!(raw.kinds().await, "EZ");
    raw.send(&query("long 30000000")).await;
    let said = raw.until_ready().await;
    assert_eq!(said[0].body.len(), 30_000_006);
    raw.send(&query(&format!("{padding}x"))).await;
    assert_eq!(raw.fatal().await, "54000");
}

#[tokio::test]
async fn a_panic_ends_its_own_session_alone() {
    let running = start(10).await;
    let (mut unlucky, mut other) = (running.client().await, running.client().await);
    unlucky.send(&query("panic")).await;
    assert_eq!(unlucky.fatal().await, "XX000");
    running.sessions(1).await;
    other.send(&query("rows 1")).await;
    assert_eq!(other.kinds().await, "TDCZ");
}

#[tokio::test]
async fn there_are_not_more_clients_than_allowed() {
    let running = start(2).await;
    let first = running.client().await;
    let _second = running.client().await;
    let mut third = Raw::connect(running.port).await;
    third.startup(3 << 16, &["user", "me"]).await;
    assert_eq!(third.fatal().await, "53300");
    drop(first);
    running.sessions(1).await;
    running.client().await;
}

#[tokio::test]
async fn a_startup_that_cannot_be_is_refused() {
    let running = start(10).await;
    let mut wrong = Raw::connect(running.port).await;
    wrong.startup(3 << 16, &["user", "me", "wrong", "x"]).await;
    assert_eq!(wrong.fatal().await, "22023");
    let mut old = Raw::connect(running.port).await;
    old.startup(2 << 16, &["user", "me"]).await;
    assert_eq!(old.fatal().await, "0A000");
    let mut web = Raw::connect(running.port).await;
    web.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(web.fatal().await, "08P01");
    let mut half = Raw::connect(running.port).await;
    half.send(&[0, 0, 0, 50, 0]).await;
    half.stream.shutdown().await.expect("open");
    assert!(half.next().await.is_none());
    running.sessions(0).await;
}
