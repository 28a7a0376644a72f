//! Reads the text of a file, with limits.

use std::fs;
use std::io;
use std::path::Path;

use crate::client::{ClientFile, Scope};
use crate::directories::ClientDirectories;

/// Claude Code stores much more than servers in its file, yet needs only a tenth of this.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Reads the text of a file. Reading a pipe or a device would never end, and a file larger than any
/// settings would only fill the memory.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let found = fs::metadata(path)?;
    if !found.is_file() && !found.is_dir() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > MAX_BYTES {
        return Err(io::Error::other("it is too large for a settings file"));
    }
    fs::read_to_string(path)
}

/// Reads a file that another file mentions. A project's file may mention the project's files, but
/// none of the user's.
pub(super) fn read_mentioned(
    path: &Path,
    by: &ClientFile,
    directories: &ClientDirectories,
) -> Option<String> {
    if by.scope == Scope::Project {
        let project = fs::canonicalize(&directories.cwd).ok()?;
        let path = fs::canonicalize(path).ok()?;
        path.starts_with(project).then_some(())?;
    }
    read_text(path).ok()
}
