//! Which objects crashed the server, and how often.
//!
//! The file FAULTS of the data directory has a line for each crash: the id of the object whose
//! dataflow was running. It is written by a process that is about to end, so a line is appended
//! and synced, and nothing else is relied on; a line that cannot be read counts for nothing. Who
//! removes the file has everything tried again.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::repr::GlobalId;
use crate::storage::files;

/// The name of the file in the data directory.
pub const FAULTS_FILE: &str = "FAULTS";

/// Adds a crash of an object's dataflow, durably.
pub fn record(data_dir: &Path, object: GlobalId) -> Result<()> {
    let path = path(data_dir);
    let is_new = !path.exists();
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| writeln!(file, "{object}").and_then(|()| file.sync_all()));
    written.map_err(|e| files::io_error("write to file", &path, &e))?;
    if is_new { files::sync_directory(data_dir) } else { Ok(()) }
}

/// How often each object's dataflow crashed the server.
pub fn recorded(data_dir: &Path) -> Result<BTreeMap<GlobalId, usize>> {
    let content = files::read_small(&path(data_dir))?.unwrap_or_default();
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&content).lines() {
        let id = line.trim().strip_prefix('u').and_then(|number| number.parse().ok());
        if let Some(id) = id {
            *counts.entry(GlobalId(id)).or_default() += 1;
        }
    }
    Ok(counts)
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FAULTS_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_are_counted_by_object_and_torn_lines_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        assert_eq!(recorded(dir).unwrap(), BTreeMap::new());
        for id in [20_000, 20_001, 20_000] {
            record(dir, GlobalId(id)).unwrap();
        }
        let mut content = std::fs::read(path(dir)).unwrap();
        content.extend_from_slice(b"u\xff\nt3\n20001\n");
        std::fs::write(path(dir), content).unwrap();
        let expected = BTreeMap::from([(GlobalId(20_000), 2), (GlobalId(20_001), 1)]);
        assert_eq!(recorded(dir).unwrap(), expected);
    }
}
