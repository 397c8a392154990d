//! The data directory: its lock, its format, which generation is current.
//!
//! ```text
//! weir-data/
//!   LOCK          locked while a server runs; holds its process id
//!   FORMAT        "weir data directory, format 1"
//!   WATERMARK     lease, and how far the log was acknowledged
//!   CURRENT       "gen-7": renamed into place, so one generation or the other is current
//!   FAULTS        which objects crashed the server (see `faults`)
//!   gen-7/        checkpoint, log/ (sled)
//! ```
//!
//! A new directory gets FORMAT first and CURRENT last. So a directory with FORMAT and without
//! CURRENT never acknowledged anything, and is made again; one with generations and without FORMAT
//! lost a file, and is refused.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result, SqlState};
use crate::storage::files;

/// The format that this program writes, and the newest it reads.
const FORMAT: u32 = 1;
/// What stands before the number in the format file.
const FORMAT_TITLE: &str = "weir data directory, format ";

/// A locked data directory whose format is ours. The lock ends with this value, or the process.
pub(super) struct Directory {
    /// Where it is.
    pub path: PathBuf,
    _lock: File,
}

/// A generation's number out of its name.
fn generation_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("gen-")?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

impl Directory {
    /// Locks a directory, which is created if it is missing, and checks its format.
    pub fn open(path: &Path) -> Result<Directory> {
        if !path.is_dir() {
            files::create_directory(path)?;
            // What is stored is for the server's user alone.
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))
                .map_err(|e| files::io_error("set permissions of directory", path, &e))?;
        }
        let lock = lock(path)?;
        let directory = Directory { path: path.to_owned(), _lock: lock };
        directory.check_format()?;
        Ok(directory)
    }

    fn check_format(&self) -> Result<()> {
        let path = self.path.join("FORMAT");
        let Some(content) = files::read_small(&path)? else {
            if self.file("CURRENT").exists()
                || self.watermark().exists()
                || !self.generations()?.is_empty()
            {
                return Err(files::corrupted(&path, "it is missing, but the data is there"));
            }
            return files::replace_file(&path, format!("{FORMAT_TITLE}{FORMAT}\n").as_bytes());
        };
        let found = std::str::from_utf8(&content)
            .ok()
            .and_then(|text| text.trim_end().strip_prefix(FORMAT_TITLE)?.parse::<u32>().ok())
            .ok_or_else(|| files::corrupted(&path, "it does not name a format"))?;
        if found == FORMAT {
            return Ok(());
        }
        Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "database files are incompatible with server",
        )
        .with_detail(format!(
            "The data directory has format {found}, and this version reads format {FORMAT}."
        ))
        .with_hint("Start the version that wrote it, or a later one."))
    }

    /// A file of this directory.
    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The watermark's file.
    pub fn watermark(&self) -> PathBuf {
        self.file("WATERMARK")
    }

    /// The directory of a generation.
    pub fn generation(&self, number: u64) -> PathBuf {
        self.file(&format!("gen-{number}"))
    }

    /// The generations whose directories exist, current or not.
    fn generations(&self) -> Result<Vec<u64>> {
        let entries = fs::read_dir(&self.path)
            .map_err(|e| files::io_error("read directory", &self.path, &e))?;
        Ok(entries.flatten().filter_map(|e| generation_of(e.file_name().to_str()?)).collect())
    }

    /// The current generation; `None` in a directory that is still to be filled.
    pub fn current(&self) -> Result<Option<u64>> {
        let path = self.file("CURRENT");
        let Some(content) = files::read_small(&path)? else {
            // Only generation 0 exists before there is a current one.
            return match self.generations()?.into_iter().find(|number| *number != 0) {
                None => Ok(None),
                Some(number) => {
                    Err(files::corrupted(&path, format!("it is missing, but gen-{number} exists")))
                }
            };
        };
        let number = std::str::from_utf8(&content)
            .ok()
            .and_then(|text| generation_of(text.trim_end()))
            .ok_or_else(|| files::corrupted(&path, "it does not name a generation"))?;
        if !self.generation(number).is_dir() {
            return Err(files::corrupted(&path, format!("gen-{number} does not exist")));
        }
        Ok(Some(number))
    }

    /// Makes a generation the current one, durably. An error leaves open which one is.
    pub fn set_current(&self, number: u64) -> Result<()> {
        files::replace_file(&self.file("CURRENT"), format!("gen-{number}\n").as_bytes())
    }

    /// Removes every generation but this one: what an unfinished fold left behind, and what a
    /// finished one did not get to remove.
    pub fn remove_other_generations(&self, current: u64) -> Result<()> {
        for number in self.generations()? {
            if number != current {
                files::remove_directory(&self.generation(number))?;
            }
        }
        Ok(())
    }
}

/// Takes the lock, or says who has it.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("LOCK");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|e| files::io_error("open lock file", &path, &e))?;
    // A server that was just killed has the lock until the kernel has taken it apart, and so has
    // a child process between its fork and its exec.
    let mut attempts_left = 25;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if attempts_left > 0 => {
                attempts_left -= 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Err(in_use(directory, &mut file)),
            Err(TryLockError::Error(e)) => return Err(files::io_error("lock file", &path, &e)),
        }
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
    written.map_err(|e| files::io_error("write lock file", &path, &e))?;
    Ok(file)
}

fn in_use(directory: &Path, lock: &mut File) -> Error {
    let mut holder = String::new();
    let read = lock.rewind().and_then(|()| lock.read_to_string(&mut holder));
    let who = match (read, holder.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!("another server (PID {pid})"),
        _ => "another server".to_owned(),
    };
    let name = directory.display();
    Error::new(SqlState::OBJECT_IN_USE, format!("data directory \"{name}\" is in use"))
        .with_hint(format!("Is {who} running in data directory \"{name}\"?"))
}
