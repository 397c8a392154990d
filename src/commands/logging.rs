//! Where the server says what it does: standard error, as lines or as JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Serve};
use crate::error::Error;

/// Starts logging. Only the first call of a process has an effect.
pub fn start(config: &Serve) {
    let filter = EnvFilter::try_new(&config.log_level).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match config.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    // A second call fails, and leaves the first one's subscriber where it is.
    drop(started);
}

/// Logs an error with all that it says.
pub fn error(error: &Error) {
    let (detail, hint) = (error.detail.as_deref(), error.hint.as_deref());
    tracing::error!(code = error.code.as_str(), detail, hint, "{}", error.message);
}
