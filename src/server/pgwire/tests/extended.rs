//! The extended protocol: order of answers, errors and Sync.

use crate::server::pgwire::tests::harness::{frame, query, run_extended, start};

#[tokio::test]
async fn portals_run_and_describe() {
    let running = start(10).await;
    let mut raw = running.client().await;
    let (sync, flush) = (frame(b'S', b""), frame(b'H', b""));
    raw.send(&[run_extended("rows 2", 1), sync.clone()].concat()).await;
    let said = raw.until_ready().await;
    let kinds: Vec<u8> = said.iter().map(|said| said.kind).collect();
    assert_eq!(kinds, b"12DDCZ");
    assert_eq!(said[3].body, [0, 1, 0, 0, 0, 4, 0, 0, 0, 1]);

    let describe = [
        frame(b'P', b"s\0rows 1\0\0\0"),
        frame(b'D', b"Ss\0"),
        frame(b'B', b"p\0s\0\0\0\0\0\0\0"),
        frame(b'D', b"Pp\0"),
        frame(b'D', b"Snone\0"),
        frame(b'E', b"p\0\x7f\xff\xff\xff"),
        frame(b'E', b"p\0\xff\xff\xff\xff"),
        frame(b'C', b"Pp\0"),
        frame(b'C', b"Ss\0"),
    ];
    raw.send(&[describe.concat(), flush].concat()).await;
    let mut kinds = Vec::new();
    for _ in 0..12 {
        kinds.push(raw.next().await.expect("Flush sends").kind);
    }
    assert_eq!(kinds, b"1tT2TtnsDC33");
    raw.send(&sync).await;
    assert_eq!(raw.kinds().await, "Z");
}

#[tokio::test]
async fn an_error_skips_to_sync() {
    let running = start(10).await;
    let mut raw = running.client().await;
    let sync = frame(b'S', b"");
    for wrong in [
        frame(b'P', b"\0wrong\0\0\0"),
        frame(b'P', b"\0cut"),
        frame(b'P', b"\0\xff\0\0\0"),
        frame(b'B', b"\0none\0\0\0\0\0\0\0"),
        frame(b'B', b"\0\0\0\x01\0\x07\0\0\0\0"),
        frame(b'D', b"Xs\0"),
        frame(b'C', b"Xs\0"),
    ] {
        let all = [wrong, run_extended("rows 1", 0), query("rows 1"), frame(b'd', b"x")];
        raw.send(&[all.concat(), sync.clone(), run_extended("rows 1", 0), sync.clone()].concat())
            .await;
        assert_eq!(raw.kinds().await, "EZ");
        assert_eq!(raw.kinds().await, "12DCZ");
    }
    // A Sync that is wrong itself, and one that has nothing to end.
    raw.send(&[frame(b'S', b"x"), sync].concat()).await;
    assert_eq!(raw.kinds().await, "EZ");
    assert_eq!(raw.kinds().await, "Z");
}

#[tokio::test]
async fn a_copy_fails_up_to_sync() {
    let running = start(10).await;
    let mut raw = running.client().await;
    let (data, done, sync) = (frame(b'd', &[b'x'; 100]), frame(b'c', b""), frame(b'S', b""));
    let failing = [run_extended("copy 10", 0), data.clone(), data.clone(), done.clone()].concat();
    let working = [run_extended("copy 1000", 0), data, done].concat();
    raw.send(&[failing, sync.clone(), working, sync].concat()).await;
    assert_eq!(raw.kinds().await, "12GEZ");
    assert_eq!(raw.kinds().await, "12GCZ");
}

#[tokio::test]
async fn answers_without_sync_do_not_pile_up() {
    let running = start(10).await;
    let mut raw = running.client().await;
    // Nobody asked for these to be sent; a client may read them all the same.
    raw.send(&frame(b'P', b"\0rows 1\0\0\0").repeat(20_000)).await;
    for _ in 0..13_000 {
        assert_eq!(raw.next().await.expect("sent").kind, b'1');
    }
}
