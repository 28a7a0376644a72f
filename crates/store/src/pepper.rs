//! The secret that the key hashes depend on.
//!
//! With SQLite it is in a file next to the database, so that a thief who has only the database can
//! neither check nor forge a key. With PostgreSQL it is a row: gateways on several machines share
//! it, but no file. Someone who steals the database then has it, too, but still cannot
//! guess a secret of 256 random bits. A copied store has it as a row in either engine, so that a
//! backup is one file.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use crate::engine::Engine;
use crate::keys::KeyHash;
use crate::private_file::{self, random_bytes};
use crate::properties::Property;
use crate::{Error, keys};

#[derive(Clone)]
pub(crate) struct Pepper([u8; Self::LENGTH]);

impl Pepper {
    /// The length of a key of the hash function.
    const LENGTH: usize = blake3::KEY_LEN;

    pub(crate) fn hash_secret(&self, secret: &str) -> KeyHash {
        KeyHash::new(blake3::keyed_hash(&self.0, secret.as_bytes()))
    }

    /// Hashes the arguments of a call for the audit. A reader of the audit can see which arguments
    /// are equal, but cannot find short ones by trying.
    pub(crate) fn hash_arguments(&self, text: &str) -> String {
        // A different hash than a key's with the same text.
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(b"arguments of a call\0");
        hasher.update(text.as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn from_bytes(bytes: Vec<u8>, location: impl FnOnce() -> String) -> Result<Self, Error> {
        let found = bytes.len();
        let bytes = bytes.try_into().map_err(|_| Error::WrongLength {
            location: location(),
            found,
        })?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

/// Reads the pepper. If there is none it is created, unless there are keys, which were hashed with
/// the lost one. The caller must hold the preparation lock.
pub(crate) async fn load_or_create(engine: &Engine, files: &Path) -> Result<Pepper, Error> {
    if let Some(row) = engine.read_property(Property::Pepper).await? {
        return Pepper::from_bytes(row, row_location);
    }
    let file = files.join("pepper");
    let is_file = matches!(engine, Engine::Sqlite(_));
    if is_file {
        match fs::read(&file) {
            Ok(bytes) => return Pepper::from_bytes(bytes, || file_location(&file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file_error("read", &file, error)),
        }
    }
    if keys::has_unrevoked_keys(engine).await? {
        let location = if is_file {
            file_location(&file)
        } else {
            row_location()
        };
        return Err(Error::PepperMissing { location });
    }
    let pepper = Pepper(random_bytes());
    if is_file {
        private_file::write_atomically(&file, &pepper.0)
            .map_err(|source| Error::file_error("create", &file, source))?;
    } else {
        const ACTION: &str = "create the pepper of its keys";
        let mut transaction = engine.begin(ACTION).await?;
        transaction
            .put_property(Property::Pepper, &pepper.0)
            .await?;
        transaction.commit(ACTION).await?;
    }
    Ok(pepper)
}

fn file_location(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn row_location() -> String {
    "the row `pepper` of the table `properties`".to_owned()
}
