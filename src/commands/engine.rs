//! `weir engine`: the server proper.
//!
//! It listens first, so that a port that is taken is known at once; then it opens the data
//! directory, which may take as long as recovery takes; then it lets clients in, and says so to
//! its supervisor by a line on standard output. Its end says the rest: see
//! [`crate::commands::exit`].

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::commands::{exit, logging};
use crate::config::Serve;
use crate::error::{Error, Result, SqlState};
use crate::profile::memory;
use crate::server::listener::{Limits, Server};
use crate::session::boot::{self, EngineConfig};
use crate::session::engine::Engine;
use crate::session::introspection::{feeder, tracer};

/// The environment variable that names the supervisor's process.
pub const SUPERVISOR: &str = "WEIR_SUPERVISOR_PID";

/// How long clients may take to hear that the server stops.
const CLIENTS_LIMIT: Duration = Duration::from_secs(2);
/// How long what runs beside may take to end.
const RUNTIME_LIMIT: Duration = Duration::from_millis(500);

/// Runs a server until it is stopped, or has to be recovered.
pub fn run(config: &Serve) -> ExitCode {
    logging::start(config);
    if !follow_supervisor() {
        return ExitCode::from(exit::STOPPED);
    }
    memory::claim_thread();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = match builder.enable_all().on_thread_start(memory::claim_thread).build() {
        Ok(runtime) => runtime,
        Err(e) => {
            logging::error(&Error::internal(format!("could not start threads: {e}")));
            return ExitCode::from(exit::CANNOT_START);
        }
    };
    let code = runtime.block_on(serve(config)).unwrap_or_else(|error| {
        logging::error(&error);
        exit::CANNOT_START
    });
    if code == exit::CRASHED {
        // What still runs is of no use, and must not do any more.
        std::process::exit(i32::from(code));
    }
    runtime.shutdown_timeout(RUNTIME_LIMIT);
    ExitCode::from(code)
}

/// Makes this process end with its supervisor, however that ends. False if it already has.
///
/// The engine is killed and not asked: whoever starts another server at once must find the data
/// directory unlocked.
fn follow_supervisor() -> bool {
    let named = std::env::var(SUPERVISOR).ok();
    let Some(supervisor) = named.and_then(|pid| pid.parse::<libc::pid_t>().ok()) else {
        return true;
    };
    // SAFETY: both calls touch no memory of ours.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The supervisor may have died before it was to be followed.
        libc::getppid() == supervisor
    }
}

/// The signals that ask the server to stop.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn new() -> std::io::Result<StopSignals> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(StopSignals { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Serves. The code is that of the process's end; an error is a reason not to have started.
async fn serve(config: &Serve) -> Result<u8> {
    config.check()?;
    let mut signals = StopSignals::new()
        .map_err(|e| Error::internal(format!("could not listen to signals: {e}")))?;
    let listener = bind(config.listen).await?;
    let address = listener.local_addr().unwrap_or(config.listen);
    let server = Arc::new(Server::new(Limits {
        connections_max: config.max_connections,
        message_bytes_max: config.max_message_bytes,
        client_timeout: config.client_timeout,
    }));
    let accepting = tokio::spawn({
        let server = server.clone();
        async move { server.accept(listener).await }
    });
    let opening = tokio::task::spawn_blocking({
        let engine = EngineConfig {
            data_dir: config.data_dir.clone(),
            workers: config.worker_count(),
            retain_ms: config.retain_history.as_millis() as u64,
            checkpoint_log_bytes: config.checkpoint_log_bytes,
            introspection_ms: config.introspection_interval.as_millis() as u64,
        };
        move || boot::open(&engine)
    });
    let (coordinator, engine) = tokio::select! {
        opened = opening => {
            opened.map_err(|e| Error::internal(format!("start-up failed: {e}")))??
        }
        () = signals.received() => {
            // Recovery changes nothing that it could leave half done.
            tracing::info!("stopped while starting up");
            std::process::exit(i32::from(exit::STOPPED));
        }
    };
    let mut running = tokio::spawn(coordinator.run());
    tokio::spawn(feeder::run(engine.clone()));
    tokio::spawn(tracer::run(engine.clone()));
    server.open(engine.clone());
    let directory = config.data_dir.display();
    tracing::info!("ready for connections on {address}, data in {directory}");
    // Without a supervisor, nobody may be there to hear it.
    let _ = writeln!(std::io::stdout(), "serving {address}");
    tokio::select! {
        () = signals.received() => Ok(stop(&server, accepting, &engine, running).await),
        ended = &mut running => Ok(crashed(ended)),
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| {
        let error = Error::new(SqlState::IO_ERROR, format!("could not listen on {address}: {e}"));
        match e.kind() {
            std::io::ErrorKind::AddrInUse => error.with_hint(format!(
                "Is another server already running on port {}?",
                address.port()
            )),
            _ => error,
        }
    })
}

/// Tells the clients, then ends the engine.
async fn stop(
    server: &Server<Engine>,
    accepting: JoinHandle<()>,
    engine: &Engine,
    running: JoinHandle<Result<()>>,
) -> u8 {
    tracing::info!("stopping");
    server.stop();
    if tokio::time::timeout(CLIENTS_LIMIT, accepting).await.is_err() {
        tracing::warn!("some connections have not ended in time");
    }
    engine.stop().await;
    match running.await {
        Ok(Ok(())) => {
            tracing::info!("stopped");
            exit::STOPPED
        }
        ended => crashed(ended),
    }
}

/// The coordinator has ended, though nobody had asked it to, or could not end well.
fn crashed(ended: std::result::Result<Result<()>, tokio::task::JoinError>) -> u8 {
    match ended {
        Ok(Err(error)) => logging::error(&error),
        Ok(Ok(())) => tracing::error!("the coordinator ended by itself"),
        Err(e) => tracing::error!("the coordinator failed: {e}"),
    }
    exit::CRASHED
}
