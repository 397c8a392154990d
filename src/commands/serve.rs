//! `weir serve`: the supervisor, which keeps an engine running.
//!
//! The engine is a child process of the same binary. Where it crashes (a worker's panic, a log
//! that cannot be written, the kernel's OOM killer), what it had acknowledged is on the disk and
//! another one recovers it; so the supervisor starts another one, as PostgreSQL's postmaster does.
//!
//! - A signal to stop goes to the engine once: the engine has a process group of its own, so that
//!   Ctrl-C reaches the supervisor alone. A second one kills the engine, which is safe too.
//! - The engine dies with its supervisor (see [`crate::commands::engine`]), however that dies.
//! - An engine that says by its exit code that it cannot start is not started again. One that
//!   dies before it serves is, a few times.
//!
//! All of this runs on the main thread: the kernel takes the thread that started a child for its
//! parent, and the engine is to die with the process, not with some thread of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::commands::{exit, logging};
use crate::config::Serve;

/// How often an engine may die in a row without having served.
const ATTEMPTS_MAX: u32 = 5;
/// The pause before the first restart. It doubles with each.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// An engine that has served so long crashed by itself, and not by what made the last one crash.
const SETTLED: Duration = Duration::from_secs(30);
/// How long an engine may take to stop.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Runs a server until it is stopped.
pub fn run(config: &Serve) -> ExitCode {
    logging::start(config);
    if let Err(error) = config.check() {
        logging::error(&error);
        return ExitCode::from(exit::CANNOT_START);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.and_then(|runtime| runtime.block_on(supervise()));
    result.unwrap_or_else(|e| {
        tracing::error!("could not run the engine: {e}");
        ExitCode::from(exit::CANNOT_START)
    })
}

/// The signals that ask a server to stop.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// How an engine ended.
struct End {
    status: ExitStatus,
    /// How long it had served; none where it never did.
    served: Option<Duration>,
    /// Whether it had been asked to stop.
    asked: bool,
}

async fn supervise() -> std::io::Result<ExitCode> {
    let mut signals = StopSignals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    let mut pause = PAUSE_MIN;
    let mut attempts = 0;
    loop {
        let end = watch(start()?, &mut signals).await?;
        match end.status.code() {
            _ if end.asked => return Ok(ExitCode::from(exit::STOPPED)),
            Some(code) if code == i32::from(exit::STOPPED) => {
                return Ok(ExitCode::from(exit::STOPPED));
            }
            Some(code) if code == i32::from(exit::CANNOT_START) => {
                return Ok(ExitCode::from(exit::CANNOT_START));
            }
            _ => {}
        }
        match end.served {
            None => attempts += 1,
            Some(served) => {
                attempts = 0;
                if served >= SETTLED {
                    pause = PAUSE_MIN;
                }
            }
        }
        if attempts == ATTEMPTS_MAX {
            tracing::error!(
                "engine died {attempts} times in a row before it served ({}); giving up",
                end.status
            );
            return Ok(ExitCode::from(exit::CANNOT_START));
        }
        let pause_ms = pause.as_millis();
        tracing::error!("engine crashed ({}); starting another in {pause_ms} ms", end.status);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = signals.received() => return Ok(ExitCode::from(exit::STOPPED)),
        }
        pause = PAUSE_MAX.min(pause * 2);
    }
}

/// Starts an engine with the arguments of this process.
fn start() -> std::io::Result<Child> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "serve") {
        arguments.remove(0);
    }
    Command::new(program()?)
        .arg("engine")
        .args(arguments)
        .env(crate::commands::engine::SUPERVISOR, std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// This program's file, also where it was replaced on the disk since.
fn program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { PathBuf::from("/proc/self/exe") })
}

/// Waits for an engine's end, and passes on what asks it to stop.
async fn watch(mut engine: Child, signals: &mut StopSignals) -> std::io::Result<End> {
    let pid = engine.id();
    let stdout = engine.stdout.take().map(|stdout| BufReader::new(stdout).lines());
    let mut lines = stdout.ok_or_else(|| std::io::Error::other("no pipe to the engine"))?;
    let mut serving_since: Option<Instant> = None;
    let mut pipe_open = true;
    let mut stop_by: Option<tokio::time::Instant> = None;
    loop {
        tokio::select! {
            status = engine.wait() => {
                let served = serving_since.map(|since| since.elapsed());
                return Ok(End { status: status?, served, asked: stop_by.is_some() });
            }
            line = lines.next_line(), if pipe_open => match line {
                // The only thing that an engine prints there is that it serves.
                Ok(Some(_)) => {
                    serving_since.get_or_insert_with(Instant::now);
                }
                Ok(None) | Err(_) => pipe_open = false,
            },
            () = signals.received() => {
                if stop_by.is_some() {
                    tracing::warn!("asked to stop again; killing the engine");
                    engine.start_kill()?;
                } else {
                    stop_by = Some(tokio::time::Instant::now() + STOP_LIMIT);
                    terminate(pid);
                }
            }
            () = tokio::time::sleep_until(stop_by.unwrap_or_else(far)), if stop_by.is_some() => {
                tracing::error!("engine has not stopped; killing it");
                engine.start_kill()?;
                stop_by = Some(far());
            }
        }
    }
}

/// A time that does not come.
fn far() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(86_400 * 365)
}

/// Asks a process to stop.
fn terminate(pid: Option<u32>) {
    if let Some(pid) = pid.and_then(|pid| libc::pid_t::try_from(pid).ok()) {
        // SAFETY: kill touches no memory of ours. The process is a child that has not been waited
        // for, so the number is still its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
}
