//! The task that listens: it decodes what the client sends while the session is busy.
//!
//! What it has decoded waits in a queue that is bounded in messages and in bytes; when it is full,
//! nothing is read, and the client has to wait. The end of the stream is noticed at once, also
//! while a statement runs or its answer streams silently, and sets the session's cancel token.
//!
//! When it stops for another reason than the stream's end, it goes on to read and throw away:
//! closing a socket that has unread bytes makes the kernel reset it, and the client might never
//! see the error that explains why.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;
use crate::server::pgwire::decode::{self, Decoded, Malformed, Request};
use crate::session::frontend::{CancelReason, CancelToken};

/// How many requests may wait.
const QUEUE_MESSAGES: usize = 256;
/// How many bytes of requests may wait. A longer request waits alone.
const QUEUE_BYTES: usize = 1 << 20;
/// How much room is made at least before reading.
const READ_BYTES: usize = 16 << 10;
/// How much room is made at most for a message that is only announced.
const AHEAD_BYTES: usize = 1 << 20;
/// How often the end of the stream is looked for while nothing is read.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What the connection is given.
#[derive(Debug)]
pub enum Event {
    /// A request.
    Request(Request),
    /// One that is wrong in itself.
    Malformed(Malformed),
    /// What the connection ends with: nothing behind it can be understood.
    Broken(Error),
}

/// An event, and the room that it takes in the queue until it is dropped.
#[derive(Debug)]
pub struct Queued {
    /// The event.
    pub event: Event,
    _room: Option<OwnedSemaphorePermit>,
}

/// A queue of requests.
pub fn queue() -> (Sender<Queued>, Receiver<Queued>) {
    mpsc::channel(QUEUE_MESSAGES)
}

/// Reads until the stream ends, or nobody wants to know any more.
pub async fn run(
    mut stream: OwnedReadHalf,
    queue: Sender<Queued>,
    cancel: CancelToken,
    message_bytes_max: usize,
) {
    let mut buffer = BytesMut::with_capacity(READ_BYTES);
    let room = Arc::new(Semaphore::new(QUEUE_BYTES));
    loop {
        let (event, bytes) = match decode::request(&mut buffer, message_bytes_max) {
            Decoded::Frame(Ok(request), bytes) => (Event::Request(request), bytes),
            Decoded::Frame(Err(malformed), bytes) => (Event::Malformed(malformed), bytes),
            Decoded::Broken(error) => (Event::Broken(error), 0),
            Decoded::Incomplete(missing) => {
                make_room(&mut buffer, missing);
                match stream.read_buf(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => continue,
                }
            }
        };
        let last = matches!(event, Event::Broken(_) | Event::Request(Request::Terminate));
        let sent = tokio::select! {
            biased;
            sent = send(&queue, &room, event, bytes) => sent,
            () = ended(&stream) => break,
        };
        if last || !sent {
            drop(queue);
            drop(buffer);
            return drain(stream, cancel).await;
        }
    }
    cancel.cancel(CancelReason::Disconnected);
}

/// Makes room for reading, but not on the word of a client alone for all that it announces.
fn make_room(buffer: &mut BytesMut, missing: usize) {
    if buffer.is_empty() && buffer.capacity() > AHEAD_BYTES {
        *buffer = BytesMut::new();
    }
    buffer.reserve(missing.clamp(READ_BYTES, AHEAD_BYTES.max(buffer.len())));
}

/// Queues an event once there is room. False where the connection has ended.
async fn send(queue: &Sender<Queued>, room: &Arc<Semaphore>, event: Event, bytes: usize) -> bool {
    let wanted = bytes.min(QUEUE_BYTES) as u32;
    let room = tokio::select! {
        room = room.clone().acquire_many_owned(wanted) => room.ok(),
        () = queue.closed() => return false,
    };
    queue.send(Queued { event, _room: room }).await.is_ok()
}

/// Returns when the client has closed its side, though not all that it sent has been read.
async fn ended(stream: &OwnedReadHalf) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        // Bytes are waiting, so this returns at once, with what the kernel knows.
        match stream.ready(Interest::READABLE).await {
            Ok(ready) if !ready.is_read_closed() => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// Reads and forgets until the stream ends.
async fn drain(mut stream: OwnedReadHalf, cancel: CancelToken) {
    let mut waste = vec![0; QUEUE_BYTES / 4];
    while matches!(stream.read(&mut waste).await, Ok(1..)) {}
    cancel.cancel(CancelReason::Disconnected);
}
