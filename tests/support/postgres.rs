//! PostgreSQL 15, the oracle: found on the path or where Debian puts it, started as a user that
//! is not root, on its own data and port.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use tempfile::TempDir;

use super::weir::free_port;
use super::wire::Client;

/// Where Debian and others put the programs that are not for everybody.
const FOLDERS: [&str; 3] =
    ["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/usr/local/pgsql/bin"];

/// A running server. It is stopped when this is dropped.
pub struct Postgres {
    child: Child,
    pub port: u16,
    _folder: TempDir,
}

impl Postgres {
    /// Starts a server on no data. None where PostgreSQL 15 is not installed, which under CI is
    /// a failure.
    pub fn start_if_installed() -> Option<Postgres> {
        let programs = programs();
        let hint = "PostgreSQL 15 is the oracle: install postgresql-15";
        assert!(programs.is_some() || env::var_os("CI").is_none(), "{hint}");
        if programs.is_none() {
            println!("skipped: {hint}");
        }
        programs.map(|programs| Postgres::start(&programs))
    }

    fn start(programs: &Path) -> Postgres {
        let folder = tempfile::Builder::new().prefix("weir-oracle-").tempdir().unwrap();
        let account = account();
        if let Some((user, group)) = account {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(folder.path()).env("TZ", "UTC").stdin(Stdio::null());
            if let Some((user, group)) = account {
                command.uid(user).gid(group);
            }
            command
        };
        let data = folder.path().join("data");
        let made = command("initdb")
            .args(["--auth=trust", "--username=weir", "--encoding=UTF8"])
            // The order of code points, and Unicode's letters: what Weir has.
            .args(["--locale=C.UTF-8", "--lc-collate=C"])
            .args(["--no-sync", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = command("postgres")
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-k", ""])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", "timezone=UTC", "-c", "shared_buffers=64MB"])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut postgres = Postgres { child, port, _folder: folder };
        postgres.wait();
        postgres
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(30);
        while let Err(error) = Client::connect(self.port) {
            let gone = self.child.try_wait().unwrap().is_some();
            assert!(!gone && Instant::now() < end, "PostgreSQL does not answer: {error}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.port).unwrap()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SAFETY: kill touches no memory of ours. SIGQUIT is PostgreSQL's immediate shutdown.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGQUIT) };
        let _ = self.child.wait();
    }
}

/// The folder of initdb and postgres.
fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = FOLDERS.iter().map(PathBuf::from).chain(env::split_paths(&path));
    let is_right = |folder: &PathBuf| {
        let version = Command::new(folder.join("initdb")).arg("--version").output();
        version.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains(") 15."))
    };
    folders.into_iter().find(is_right)
}

/// Whom to be instead of root; none where nobody has to change.
fn account() -> Option<(u32, u32)> {
    // SAFETY: geteuid only returns a number.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    Some(find("postgres").or_else(|| find("nobody")).expect("an account that is not root"))
}
