//! What was typed, and what it means.
//!
//! Every flag has an environment twin, `WEIR_` and its name in capitals; the flag wins. Nothing
//! else configures a server: there is no file.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::error::{Error, Result, SqlState};

/// The smallest `--max-message-bytes`: below it, ordinary statements would not fit.
const MESSAGE_BYTES_MIN: usize = 64 << 10;
/// The largest: PostgreSQL's own limit, just below one gigabyte.
const MESSAGE_BYTES_MAX: usize = 0x3fff_fffe;

/// A reactive database: it tells you when an answer changes.
///
/// Speaks the PostgreSQL protocol. Without a command, `weir` serves:
///
///     weir
///     psql -h localhost -p 9347
///
/// Any user and database name will do. Ctrl-C and SIGTERM stop the server cleanly.
#[derive(Debug, Parser)]
#[command(name = "weir", version, args_conflicts_with_subcommands = true, verbatim_doc_comment)]
pub struct Arguments {
    /// What to do; to serve, where nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The flags of `serve`.
    #[command(flatten)]
    pub serve: Serve,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Starts a server (the default).
    Serve(Serve),
    /// Shows what a running server is doing: relations, operators, sessions, subscriptions.
    Top(Top),
    /// Records what happens on the workers of a running server.
    #[command(subcommand)]
    Trace(Trace),
    /// Runs the server proper, below the supervisor that `serve` is.
    #[command(hide = true)]
    Engine(Serve),
}

/// The commands about traces.
#[derive(Clone, Debug, Subcommand)]
pub enum Trace {
    /// Writes every event of a running server's workers to a file, for a while.
    Record(Record),
}

/// The flags of `trace record`.
#[derive(Clone, Debug, Args)]
pub struct Record {
    /// The file; one that is there is overwritten.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// How long to record, from the first event on: a number of seconds, or a number with a unit.
    #[arg(long, value_name = "DURATION", default_value = "10", value_parser = parse_seconds)]
    pub seconds: Duration,

    /// Where the server is.
    #[command(flatten)]
    pub remote: Remote,
}

/// The flags of `top`.
#[derive(Clone, Debug, Args)]
pub struct Top {
    /// Where the server is.
    #[command(flatten)]
    pub remote: Remote,

    /// How often to look.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_seconds)]
    pub interval: Duration,

    /// The page to begin with: 1 relations, 2 critical operators, 3 sessions, 4 subscriptions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_page)]
    pub page: usize,

    /// Print one picture, and end.
    #[arg(long)]
    pub once: bool,

    /// How wide that picture is.
    #[arg(long, value_name = "COLUMNS", default_value_t = 100)]
    pub width: u16,

    /// How high it is.
    #[arg(long, value_name = "LINES", default_value_t = 24)]
    pub height: u16,
}

/// Where a running server is.
#[derive(Clone, Debug, Args)]
pub struct Remote {
    /// The server's host.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub host: String,

    /// The server's port.
    #[arg(long, value_name = "PORT", default_value_t = 9347)]
    pub port: u16,

    /// The user to connect as.
    #[arg(long, value_name = "USER", default_value = "weir")]
    pub user: String,
}

/// The flags of a server.
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// Address and port to listen on. Whoever connects to a loopback address is trusted.
    #[arg(
        long,
        env = "WEIR_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:9347"
    )]
    #[arg(value_parser = parse_address)]
    pub listen: SocketAddr,

    /// Directory of the transaction log and its checkpoints; made if it does not exist.
    #[arg(long, env = "WEIR_DATA_DIR", value_name = "DIRECTORY", default_value = "./weir-data")]
    pub data_dir: PathBuf,

    /// Number of dataflow workers [default: the number of cores].
    #[arg(long, env = "WEIR_WORKERS", value_name = "N", value_parser = parse_workers)]
    pub workers: Option<usize>,

    /// How long the past stays readable (`AS OF`), where a relation says nothing else.
    ///
    /// A number with a unit: ms, s, min, h or d.
    #[arg(long, env = "WEIR_RETAIN_HISTORY", value_name = "DURATION", default_value = "30s")]
    #[arg(value_parser = parse_duration)]
    pub retain_history: Duration,

    /// How many bytes the log grows, at the least, before it is folded into a checkpoint.
    ///
    /// It is not folded before it is longer than the checkpoint either.
    #[arg(long, env = "WEIR_CHECKPOINT_LOG_BYTES", value_name = "BYTES")]
    #[arg(default_value_t = 64 << 20)]
    pub checkpoint_log_bytes: u64,

    /// How often the engine looks at itself, for `EXPLAIN ANALYZE` and the `weir_` relations.
    ///
    /// 0 turns that off: then nothing is measured while dataflows run.
    #[arg(long, env = "WEIR_INTROSPECTION_INTERVAL", value_name = "DURATION")]
    #[arg(default_value = "1s", value_parser = parse_interval)]
    pub introspection_interval: Duration,

    /// How clients prove who they are. `trust` admits everyone, on loopback addresses only.
    #[arg(long, env = "WEIR_AUTH", value_name = "METHOD", default_value = "trust")]
    pub auth: Auth,

    /// How many clients may be connected at once.
    #[arg(long, env = "WEIR_MAX_CONNECTIONS", value_name = "N", default_value_t = 1000)]
    pub max_connections: usize,

    /// The longest message that a client may send, and so the longest statement and parameter.
    #[arg(long, env = "WEIR_MAX_MESSAGE_BYTES", value_name = "BYTES", default_value_t = 256 << 20)]
    #[arg(value_parser = parse_message_bytes)]
    pub max_message_bytes: usize,

    /// How long a client's machine may take nothing and answer nothing before it counts as gone.
    ///
    /// A client that closes its connection is noticed at once.
    #[arg(long, env = "WEIR_CLIENT_TIMEOUT", value_name = "DURATION", default_value = "10min")]
    #[arg(value_parser = parse_duration)]
    pub client_timeout: Duration,

    /// The form of the server's log, which goes to standard error.
    #[arg(long, env = "WEIR_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// What is logged: error, warn, info, debug or trace, also by module
    /// (`info,weir::coord=debug`).
    #[arg(long, env = "WEIR_LOG_LEVEL", value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
}

/// How clients prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Auth {
    /// Not at all.
    Trust,
    /// By a password that never crosses the wire (SCRAM-SHA-256).
    Scram,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Serve {
    /// Refuses what would not be safe, or does not exist yet.
    pub fn check(&self) -> Result<()> {
        if self.auth == Auth::Scram {
            return Err(Error::unsupported(
                "authentication by SCRAM",
                "Listen on a loopback address, where everyone is trusted, with --auth trust.",
            ));
        }
        if !self.listen.ip().is_loopback() {
            let address = self.listen;
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("refusing to listen on {address} without authentication"),
            )
            .with_detail("Everyone who reaches a server with --auth trust may do everything.")
            .with_hint("Listen on a loopback address such as 127.0.0.1, or use --auth scram."));
        }
        Ok(())
    }

    /// The number of workers: what was asked for, or one a core.
    pub fn worker_count(&self) -> usize {
        self.workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get()))
    }
}

fn parse_address(text: &str) -> std::result::Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found = text.to_socket_addrs().map_err(|e| e.to_string())?;
    // A name such as `localhost` may stand for both families; the older one reaches everybody.
    found.min_by_key(|address| address.is_ipv6()).ok_or_else(|| "no such address".to_owned())
}

fn parse_workers(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=256) => Ok(count),
        _ => Err("expected a number from 1 to 256".to_owned()),
    }
}

fn parse_page(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(page @ 1..=4) => Ok(page),
        _ => Err("expected a number from 1 to 4".to_owned()),
    }
}

fn parse_message_bytes(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(bytes @ MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX) => Ok(bytes),
        _ => Err(format!("expected a number from {MESSAGE_BYTES_MIN} to {MESSAGE_BYTES_MAX}")),
    }
}

/// A duration, or `0`.
fn parse_interval(text: &str) -> std::result::Result<Duration, String> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { parse_duration(text) }
}

/// A duration; seconds, where it has no unit.
fn parse_seconds(text: &str) -> std::result::Result<Duration, String> {
    let is_number = text.trim().bytes().all(|byte| byte.is_ascii_digit());
    if is_number { parse_duration(&format!("{text}s")) } else { parse_duration(text) }
}

fn parse_duration(text: &str) -> std::result::Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit_ms: u64 = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "min" | "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("expected a number with a unit: ms, s, min, h or d".to_owned()),
    };
    // A century bounds all later arithmetic on times.
    let limit_ms = 36_525 * 86_400_000;
    let millis = number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit_ms));
    match millis {
        Some(millis) if millis <= limit_ms => Ok(Duration::from_millis(millis)),
        _ => Err("expected a duration of at most 36525d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn serve(arguments: &[&str]) -> Serve {
        let all = std::iter::once("weir").chain(arguments.iter().copied());
        let parsed = Arguments::try_parse_from(all).expect("valid arguments");
        match parsed.command {
            None => parsed.serve,
            Some(Command::Serve(serve) | Command::Engine(serve)) => serve,
            Some(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn serving_is_the_default_command() {
        Arguments::command().debug_assert();
        for arguments in [&[][..], &["serve"], &["engine"]] {
            let serve = serve(arguments);
            assert_eq!(serve.listen.to_string(), "127.0.0.1:9347");
            assert_eq!(serve.retain_history, Duration::from_secs(30));
            serve.check().expect("safe");
        }
        for arguments in [&["--workers", "3"][..], &["serve", "--workers", "3"]] {
            assert_eq!(serve(arguments).worker_count(), 3);
        }
    }

    #[test]
    fn a_recording_has_a_file_and_a_length() {
        let parsed = Arguments::try_parse_from(["weir", "trace", "record", "f", "--seconds", "3"]);
        let Some(Command::Trace(Trace::Record(record))) = parsed.expect("valid").command else {
            panic!("another command");
        };
        assert_eq!(record.seconds, Duration::from_secs(3));
        assert_eq!((record.remote.host.as_str(), record.remote.port), ("127.0.0.1", 9347));
        assert_eq!(parse_seconds("1500ms"), Ok(Duration::from_millis(1500)));
        assert!(Arguments::try_parse_from(["weir", "trace"]).is_err());
    }

    #[test]
    fn trust_is_for_loopback_only() {
        assert!(serve(&["--listen", "0.0.0.0:1"]).check().is_err());
        assert!(serve(&["--listen", "[::1]:1"]).check().is_ok());
        let scram = serve(&["--listen", "0.0.0.0:1", "--auth", "scram"]).check();
        assert_eq!(scram.expect_err("not there yet").code, SqlState::FEATURE_NOT_SUPPORTED);
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2 h"), Ok(Duration::from_secs(7200)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        for wrong in ["", "5", "s", "-1s", "1.5s", "99999999999999999999s", "99999999d"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
