//! The secret beside the database that the key hashes depend on.
//!
//! Whoever gets hold of the database alone can neither check nor forge a key.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Error;
use crate::sqlite::Opening;

pub(crate) struct Pepper([u8; Self::LENGTH]);

impl Pepper {
    const LENGTH: usize = 32;

    pub(crate) fn hash(&self, secret: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.0, secret.as_bytes())
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

/// Reads the pepper, or creates it unless there are keys that were hashed with a lost one.
pub(crate) fn load(opening: &Opening, path: &Path, has_keys: bool) -> Result<Pepper, Error> {
    let error = |action| {
        move |source| Error::File {
            action,
            path: path.to_owned(),
            source,
        }
    };
    match fs::read(path) {
        Ok(bytes) => bytes
            .try_into()
            .map(Pepper)
            .map_err(|bytes: Vec<u8>| Error::WrongLength {
                path: path.to_owned(),
                found: bytes.len(),
            }),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
            if has_keys {
                return Err(Error::PepperMissing {
                    path: path.to_owned(),
                });
            }
            let pepper = create(path).map_err(error("create"))?;
            opening.sync()?;
            Ok(pepper)
        }
        Err(other) => Err(error("read")(other)),
    }
}

fn create(path: &Path) -> io::Result<Pepper> {
    let bytes = random();
    write(path, &bytes)?;
    Ok(Pepper(bytes))
}

/// Written under another name and then renamed, so that nobody ever meets half of it.
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
