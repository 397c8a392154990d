//! Clients as people have them: psql, psycopg 3, tokio-postgres.
//!
//! Each connects, defines, passes parameters, copies, runs transactions, meets errors, cancels and
//! subscribes. Others do not keep up, or vanish (`ending`); psql's backslash commands print what
//! they print on PostgreSQL (`backslash`). `profile` finds planted faults by SQL alone. Where psql
//! or psycopg is not installed its test says so and passes, but not under CI. `WEIR_TEST_PYTHON`
//! names a python that has psycopg.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "clients/backslash.rs"]
mod backslash;
#[path = "clients/ending.rs"]
mod ending;
#[path = "clients/profile.rs"]
mod profile;
mod support;
#[path = "clients/tokio.rs"]
mod tokio_client;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::weir::Weir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Whether a program is there; under CI it has to be.
fn is_installed(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    assert!(is_there || std::env::var_os("CI").is_none(), "{program} {arguments:?} is missing");
    if !is_there {
        println!("skipped: {program} {arguments:?} is missing");
    }
    is_there
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// A script with everything that psql does differently from other clients, and what it printed.
#[test]
fn psql() {
    if !is_installed("psql", &["--version"]) {
        return;
    }
    let weir = Weir::start(1);
    let output = Command::new("bash")
        .arg("-c")
        .arg("psql -X -f psql.sql 2>&1")
        .current_dir(folder())
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", weir.port.to_string())
        .env("PGUSER", "weir")
        .env("PGDATABASE", "weir")
        .output()
        .unwrap();
    let printed = text(&output);
    let golden = folder().join("psql.out");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(golden, printed).unwrap();
        return;
    }
    let expected = fs::read_to_string(golden).unwrap();
    assert!(printed == expected, "--- expected\n{expected}\n--- printed\n{printed}");
}

#[test]
fn psycopg() {
    let python = std::env::var("WEIR_TEST_PYTHON").unwrap_or_else(|_| "python3".to_string());
    if !is_installed(&python, &["-c", "import psycopg"]) {
        return;
    }
    let weir = Weir::start(1);
    let output = Command::new(python)
        .arg(folder().join("psycopg_client.py"))
        .arg(weir.port.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
}
