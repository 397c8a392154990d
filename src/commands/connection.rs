//! The connection that commands have to a running server: an ordinary client's.

use tokio_postgres::{Client, Config, NoTls};

use crate::config::Remote;
use crate::error::{Error, Result, SqlState};

/// Connects. The connection is driven by a task of its own.
pub async fn connect(remote: &Remote) -> Result<Client> {
    let mut config = Config::new();
    config.host(&remote.host).port(remote.port).user(&remote.user).dbname("weir");
    config.application_name("weir");
    let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
    tokio::spawn(async move {
        // Who uses the client hears of it.
        drop(connection.await);
    });
    Ok(client)
}

/// What the server, or the way to it, said.
pub fn failed(error: tokio_postgres::Error) -> Error {
    let Some(answer) = error.as_db_error() else {
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            if !message.contains(&inner.to_string()) {
                message = format!("{message}: {inner}");
            }
            source = inner.source();
        }
        return Error::new(SqlState::IO_ERROR, message);
    };
    let mut error = Error::new(SqlState::IO_ERROR, answer.message());
    error.detail = answer.detail().map(str::to_owned);
    error.hint = answer.hint().map(str::to_owned);
    error
}

/// Says what went wrong, on standard error.
pub fn report(error: &Error) {
    eprintln!("weir: {}", error.message);
    for (what, text) in [("DETAIL", &error.detail), ("HINT", &error.hint)] {
        if let Some(text) = text {
            eprintln!("{what}: {text}");
        }
    }
}
