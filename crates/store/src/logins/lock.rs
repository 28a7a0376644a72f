//! The right to renew the login at a server, which one gateway at a time has: a second one would
//! present a token that the first has used up.

use std::fs::File;
use std::path::{Path, PathBuf};

use kitbag_domain::ServerName;

use crate::engine::ByEngine;
use crate::engine::advisory::AdvisoryLock;
use crate::engine::sqlite::create_directory;
use crate::{Error, Store, StoreAddress, failed};

/// Held until it is dropped, or until the process dies. With SQLite it is a locked file beside the
/// database; with PostgreSQL an advisory lock, which gateways on several machines share.
#[derive(Debug)]
pub struct LoginLock {
    _held: ByEngine<File, AdvisoryLock>,
}

impl Store {
    /// Waits until no other process renews the login at this server.
    pub async fn lock_login(&self, server: &ServerName) -> Result<LoginLock, Error> {
        let held = match &*self.address {
            StoreAddress::Sqlite(_) => {
                let name = format!("logins/{server}.lock");
                ByEngine::Sqlite(lock_file(self.address.files().join(name)).await?)
            }
            StoreAddress::Postgres(address) => {
                let name = format!("login {server}");
                ByEngine::Postgres(AdvisoryLock::take(address, &name).await?)
            }
        };
        Ok(LoginLock { _held: held })
    }
}

async fn lock_file(path: PathBuf) -> Result<File, Error> {
    let locked = tokio::task::spawn_blocking(move || lock(&path)).await;
    locked.map_err(failed("lock a login"))?
}

fn lock(path: &Path) -> Result<File, Error> {
    let directory = path.parent().unwrap_or(path);
    create_directory(directory)
        .map_err(|source| Error::file("create the directory", directory, source))?;
    let file = File::create(path).map_err(|source| Error::file("create", path, source))?;
    file.lock()
        .map_err(|source| Error::file("lock", path, source))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_place::{TestPlace, each_engine};

    each_engine!(one_store_at_a_time_renews_the_login_at_a_server);

    async fn one_store_at_a_time_renews_the_login_at_a_server(place: TestPlace) {
        let (here, elsewhere) = (place.open().await, place.open().await);
        let [docs, other]: [ServerName; 2] = ["docs", "other"].map(|name| name.parse().unwrap());
        let held = here.lock_login(&docs).await.unwrap();
        elsewhere.lock_login(&other).await.unwrap();
        let waiting = elsewhere.lock_login(&docs);
        let mut waiting = std::pin::pin!(waiting);
        let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
        assert!(early.is_err(), "another store holds it");
        drop(held);
        waiting.await.unwrap();
    }
}
