//! A server under test: the built program, with its own data directory and port.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::wire::Client;

/// How long a server may take to let clients in.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to stop.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// A running server. It is killed when this is dropped.
pub struct Weir {
    child: Option<Child>,
    workers: usize,
    folder: TempDir,
    flags: Vec<String>,
    pub port: u16,
}

impl Weir {
    /// Starts a server on no data, and waits until it lets clients in.
    pub fn start(workers: usize) -> Weir {
        Weir::start_with(workers, &[])
    }

    /// Starts a server with more flags.
    pub fn start_with(workers: usize, flags: &[&str]) -> Weir {
        let folder = tempfile::Builder::new().prefix("weir-test-").tempdir().unwrap();
        let flags = flags.iter().map(|flag| flag.to_string()).collect();
        let mut weir = Weir { child: None, workers, folder, flags, port: free_port() };
        weir.begin();
        weir.wait();
        weir
    }

    /// Starts the program again, on the same data and port, and waits until it lets clients in.
    pub fn resume(&mut self) {
        self.begin();
        self.wait();
    }

    /// Starts the program again without waiting for it.
    pub fn begin(&mut self) {
        assert!(self.child.is_none(), "it is running");
        let log = File::options().append(true).create(true).open(self.log_path()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .arg("serve")
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--data-dir")
            .arg(self.data_dir())
            .args(["--workers", &self.workers.to_string()])
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Waits until the server lets clients in.
    pub fn wait(&mut self) {
        let end = Instant::now() + START_LIMIT;
        loop {
            let error = match Client::connect(self.port) {
                Ok(_) => return,
                Err(error) => error,
            };
            let gone = self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
            if gone || Instant::now() > end {
                panic!("the server does not answer: {error}\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server as a power failure would: supervisor and engine.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let engines = engines(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        for engine in engines {
            signal(engine, libc::SIGKILL);
            while Path::new(&format!("/proc/{engine}")).exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Kills the engine alone: its supervisor starts another one.
    pub fn kill_engine(&mut self) {
        let supervisor = self.child.as_ref().expect("it is running").id();
        for engine in engines(supervisor) {
            signal(engine, libc::SIGKILL);
            while Path::new(&format!("/proc/{engine}")).exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.wait();
    }

    /// Stops the server as SIGTERM does; it has to end well.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        signal(child.id(), libc::SIGTERM);
        let end = Instant::now() + STOP_LIMIT;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "ended with {status}\n{}", self.log());
                return;
            }
            if Instant::now() > end {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("the server does not stop\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.port)
            .unwrap_or_else(|error| panic!("cannot connect: {error}\n{}", self.log()))
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// How many lines the server has logged with these words.
    pub fn logged(&self, words: &str) -> usize {
        let log = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&log).lines().filter(|line| line.contains(words)).count()
    }

    /// The end of what the server has logged.
    pub fn log(&self) -> String {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the server's log ends so:\n{}", self.log());
        }
        self.kill();
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The children of a process.
fn engines(supervisor: u32) -> Vec<u32> {
    let path = format!("/proc/{supervisor}/task/{supervisor}/children");
    let children = fs::read_to_string(path).unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn signal(pid: u32, signal: i32) {
    // SAFETY: kill touches no memory of ours.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}
