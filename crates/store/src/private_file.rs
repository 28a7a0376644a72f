//! Small files with secrets, which only their owner can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Error;
use crate::address::directory_of;
use crate::engine::sqlite::create_directory;

/// Writes the file under another name and then renames it, so that no process ever reads half of
/// it. The file survives a power failure.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = directory_of(path);
    create_directory(directory)?;
    let draft = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(directory)?.sync_all()
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_present(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::file_error("remove", path, source))
        }
        _ => Ok(()),
    }
}

pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides randomness");
    bytes
}
