//! What a client asks for in its startup message: settings by name, and a command line.

use crate::error::{Error, Result, SqlState};

/// Names of a startup message that are no settings.
const NOT_SETTINGS: &[&str] = &["user", "database", "replication", "options"];

/// The settings that a startup message asks for, in the order in which they take effect: first
/// those of its command line.
pub fn requested(startup: &[(String, String)]) -> Result<Vec<(String, String)>> {
    let mut requested = Vec::new();
    for (name, value) in startup {
        if name == "options" {
            command_line(value, &mut requested)?;
        }
    }
    for (name, value) in startup {
        if !NOT_SETTINGS.contains(&name.as_str()) && !name.starts_with("_pq_.") {
            requested.push((name.clone(), value.clone()));
        }
    }
    Ok(requested)
}

/// Reads `-c name=value` and `--name=value`.
fn command_line(text: &str, requested: &mut Vec<(String, String)>) -> Result<()> {
    let mut words = split_words(text).into_iter();
    while let Some(word) = words.next() {
        let (assignment, switch) = if let Some(long) = word.strip_prefix("--") {
            (long.to_owned(), "--")
        } else if word == "-c" {
            let next = words.next().ok_or_else(|| not_understood(&word))?;
            (next, "-c ")
        } else if let Some(short) = word.strip_prefix("-c") {
            (short.to_owned(), "-c ")
        } else {
            return Err(not_understood(&word));
        };
        let Some((name, value)) = assignment.split_once('=') else {
            let message = format!("{switch}{assignment} requires a value");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        requested.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(())
}

fn not_understood(word: &str) -> Error {
    let message = format!("invalid command-line argument for server process: {word}");
    Error::new(SqlState::SYNTAX_ERROR, message).with_hint("Write -c name=value.")
}

/// Words between white space; a backslash takes the next character as it is.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return words;
        }
        let mut word = String::new();
        while let Some(c) = chars.next_if(|c| !c.is_ascii_whitespace()) {
            match c {
                '\\' => word.extend(chars.next()),
                _ => word.push(c),
            }
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &str) -> Result<Vec<(String, String)>> {
        requested(&[
            ("user".into(), "u".into()),
            ("DateStyle".into(), "ISO".into()),
            ("options".into(), options.into()),
        ])
    }

    #[test]
    fn the_command_line_comes_first() {
        let pairs = of(" -c a.b=1\\ 2  --statement-timeout=5s -cx= ").unwrap();
        let shown: Vec<_> = pairs.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(shown, ["a.b=1 2", "statement_timeout=5s", "x=", "DateStyle=ISO"]);
        assert_eq!(of("-c a").unwrap_err().message, "-c a requires a value");
        assert_eq!(of("-z").unwrap_err().code, SqlState::SYNTAX_ERROR);
    }
}
