//! Durable operations on files, and their errors in PostgreSQL's words.
//!
//! A new name is durable only once its directory is synced, and a replaced file only if it was
//! written beside the old one, synced and renamed: these are here so that nobody forgets a step.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result, SqlState};

/// The error of a failed operation on a file; `action` is a verb with its noun, `write to file`.
pub(super) fn io_error(action: &str, path: &Path, error: &std::io::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SqlState::DISK_FULL,
        ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        _ => SqlState::IO_ERROR,
    };
    // sled hands its errors on in their debugging form; this one people should understand.
    let why: &dyn std::fmt::Display =
        if code == SqlState::DISK_FULL { &"No space left on device" } else { error };
    Error::new(code, format!("could not {action} \"{}\": {why}", path.display()))
}

/// The error of stored bytes that are not what was written.
pub(super) fn corrupted(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("file \"{}\" is damaged: {what}", path.display()))
        .with_hint("Restore the data directory from a backup.")
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| io_error("fsync directory", path, &e))
}

/// Makes the content of a file durable.
pub(super) fn sync_file(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| io_error("fsync file", path, &e))
}

/// Creates a directory and makes its name durable.
pub(super) fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| io_error("create directory", path, &e))?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

/// Removes a directory with all in it; it may be gone already.
pub(super) fn remove_directory(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(io_error("remove directory", path, &e)),
        _ => Ok(()),
    }
}

/// Replaces a file by one with this content, all or nothing, durably.
pub(super) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let beside = path.with_extension("tmp");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&beside)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
    written.map_err(|e| io_error("write to file", &beside, &e))?;
    fs::rename(&beside, path).map_err(|e| io_error("rename file", &beside, &e))?;
    sync_directory(path.parent().unwrap_or(Path::new(".")))
}

/// The content of a small file, `None` if there is no such file.
pub(super) fn read_small(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io_error("read file", path, &e)),
    }
}

/// Bytes that the file system has given to all files below a directory.
pub(super) fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        // It was removed meanwhile.
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Bytes that an ordinary process may still write to the file system of a directory.
pub(super) fn free_space(path: &Path) -> Result<u64> {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::internal("the data directory's name holds a zero byte"))?;
    let mut answer = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // The name ends in a zero byte and the answer is as large as the call expects.
    let status = unsafe { libc::statvfs(name.as_ptr(), answer.as_mut_ptr()) };
    if status != 0 {
        return Err(io_error("read space of", path, &std::io::Error::last_os_error()));
    }
    // The call succeeded, so it has filled the answer, which zeros were a valid value of anyway.
    let answer = unsafe { answer.assume_init() };
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}
