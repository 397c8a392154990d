//! Connections are accepted, counted, and told to end.
//!
//! The door opens before the data directory does: until [`Server::open`] is called, clients are
//! told that the server is starting up, as PostgreSQL tells them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::server::pgwire::backend::Engine;
use crate::server::pgwire::connection::{Context, converse};
use crate::server::registry::Registry;

/// How many connections may be open that have not been admitted, in addition to those that have:
/// cancel requests come on such ones.
const UNADMITTED_MAX: usize = 100;
/// How long to wait when no connection can be accepted for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long an idle connection stays silent before its peer is asked whether it is still there.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// How long between two questions.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// The limits of a server's connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many clients may be connected.
    pub connections_max: usize,
    /// The longest message that a client may send.
    pub message_bytes_max: usize,
    /// How long a peer may take nothing and answer nothing.
    pub client_timeout: Duration,
}

/// A server of the PostgreSQL protocol.
#[derive(Debug)]
pub struct Server<E> {
    context: Arc<Context<E>>,
    limits: Limits,
}

impl<E: Engine> Server<E> {
    /// A server that does not let anybody in yet.
    pub fn new(limits: Limits) -> Server<E> {
        let context = Context {
            engine: OnceLock::new(),
            registry: Registry::new(limits.connections_max),
            message_bytes_max: limits.message_bytes_max,
            stopping: CancellationToken::new(),
        };
        Server { context: Arc::new(context), limits }
    }

    /// Lets clients in. Only the first call has an effect.
    pub fn open(&self, engine: E) {
        // The engine that is already there stays.
        let _ = self.context.engine.set(engine);
    }

    /// Tells every client that the server ends, and lets nobody in any more.
    pub fn stop(&self) {
        self.context.registry.stop();
        self.context.stopping.cancel();
    }

    /// Accepts connections until the server is stopped and the last one has ended.
    pub async fn accept(&self, listener: TcpListener) {
        let places = self.limits.connections_max.saturating_add(UNADMITTED_MAX);
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let next = async {
                let place = places.clone().acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                () = self.context.stopping.cancelled() => break,
                next = next => next,
            };
            match accepted {
                Ok((stream, _)) => {
                    self.set_options(&stream);
                    let context = self.context.clone();
                    connections.spawn(async move {
                        converse(stream, &context).await;
                        drop(place);
                    });
                }
                Err(e) => {
                    tracing::warn!("could not accept a connection: {e}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    /// Answers are sent when they are written; a peer that has vanished is noticed.
    fn set_options(&self, stream: &TcpStream) {
        let socket = SockRef::from(stream);
        let keepalive =
            TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL);
        let result = socket
            .set_tcp_nodelay(true)
            .and_then(|()| socket.set_tcp_keepalive(&keepalive))
            .and_then(|()| socket.set_tcp_user_timeout(Some(self.limits.client_timeout)));
        if let Err(e) = result {
            tracing::debug!("could not set a connection's options: {e}");
        }
    }
}
