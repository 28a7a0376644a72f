//! Locks across processes.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::engine::ByEngine;
use crate::engine::advisory::AdvisoryLock;
use crate::engine::sqlite::create_directory;
use crate::{Error, StoreAddress, store_error};

/// Held until it is dropped, or until the process dies. With SQLite it is a locked file next to the
/// database; with PostgreSQL an advisory lock, which gateways on several machines share.
#[derive(Debug)]
pub struct StoreLock {
    _held: ByEngine<File, AdvisoryLock>,
}

impl StoreLock {
    /// Waits for the lock, which is named by a file in one engine and by `name` in the other.
    pub(crate) async fn acquire(
        address: &StoreAddress,
        file: &str,
        name: &str,
    ) -> Result<Self, Error> {
        let held = match address {
            StoreAddress::Sqlite(_) => {
                ByEngine::Sqlite(lock_file(address.data_directory().join(file)).await?)
            }
            StoreAddress::Postgres(address) => {
                ByEngine::Postgres(AdvisoryLock::acquire(address, name).await?)
            }
        };
        Ok(Self { _held: held })
    }
}

async fn lock_file(path: PathBuf) -> Result<File, Error> {
    let locked = tokio::task::spawn_blocking(move || open_and_lock(&path)).await;
    locked.map_err(store_error("lock a file"))?
}

fn open_and_lock(path: &Path) -> Result<File, Error> {
    let directory = path.parent().unwrap_or(path);
    create_directory(directory)
        .map_err(|source| Error::file_error("create the directory", directory, source))?;
    let file = File::create(path).map_err(|source| Error::file_error("create", path, source))?;
    file.lock()
        .map_err(|source| Error::file_error("lock", path, source))?;
    Ok(file)
}
