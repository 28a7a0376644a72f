//! The secret beside the database that the key hashes depend on.
//!
//! A thief who has the database alone can neither check nor forge a key.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Error;
use crate::keys::KeyHash;
use crate::sqlite::PreparationLock;

pub(crate) struct Pepper([u8; Self::LENGTH]);

impl Pepper {
    /// The length of a key of the hash function.
    const LENGTH: usize = blake3::KEY_LEN;

    pub(crate) fn hash(&self, secret: &str) -> KeyHash {
        KeyHash::new(blake3::keyed_hash(&self.0, secret.as_bytes()))
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

/// Reads the pepper. If there is none it is created, unless there are keys, which were hashed with
/// the one that was lost.
pub(crate) fn load(
    preparing: &PreparationLock,
    path: &Path,
    has_keys: bool,
) -> Result<Pepper, Error> {
    match fs::read(path) {
        Ok(bytes) => read(bytes, path),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("read", path, error))
        }
        Err(_) if has_keys => Err(Error::PepperMissing {
            path: path.to_owned(),
        }),
        Err(_) => create(preparing, path),
    }
}

fn read(bytes: Vec<u8>, path: &Path) -> Result<Pepper, Error> {
    let found = bytes.len();
    let bytes = bytes.try_into().map_err(|_| Error::WrongLength {
        path: path.to_owned(),
        found,
    })?;
    Ok(Pepper(bytes))
}

fn create(preparing: &PreparationLock, path: &Path) -> Result<Pepper, Error> {
    let bytes = random();
    write(path, &bytes).map_err(|source| Error::file("create", path, source))?;
    preparing.sync()?;
    Ok(Pepper(bytes))
}

/// Writes the file under another name and then renames it, so that no process ever reads half of it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness to give");
    bytes
}
