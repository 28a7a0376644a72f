//! A backup: the whole store in one SQLite file, whichever its engine. To restore it, it is opened
//! like any store and copied into a new one.

use std::fs::File;
use std::io;
use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use super::{CopyProgress, copy_engine_data};
use crate::address::directory_of;
use crate::engine::Engine;
use crate::engine::sqlite::{Sqlite, create_private_file};
use crate::{Error, Store, StoreAddress, private_file, store_error};

const ACTION: &str = "write a backup";

impl Store {
    /// Writes everything into a new file, which only its owner can read. It contains the pepper of
    /// the keys, but not the key of the secrets.
    pub async fn back_up(
        &self,
        path: &Path,
        progress: impl FnMut(CopyProgress),
    ) -> Result<(), Error> {
        if path.exists() {
            return Err(Error::BackupExists {
                path: path.to_owned(),
            });
        }
        let draft = path.with_added_extension("part");
        remove_draft(&draft)?;
        match &self.engine {
            Engine::Sqlite(it) => self.vacuum_into(it, &draft).await?,
            Engine::Postgres(_) => self.copy_into(&draft, progress).await?,
        }
        publish_draft(&draft, path)
    }

    /// SQLite writes a consistent copy by itself.
    async fn vacuum_into(&self, sqlite: &Sqlite, path: &Path) -> Result<(), Error> {
        create_private_file(path).map_err(|source| Error::file_error("create", path, source))?;
        sqlx::query("VACUUM INTO ?")
            .bind(path.display().to_string())
            .execute(&sqlite.writer)
            .await
            .map_err(store_error(ACTION))?;
        self.add_pepper(path).await
    }

    async fn add_pepper(&self, path: &Path) -> Result<(), Error> {
        let options = SqliteConnectOptions::new().filename(path);
        let mut backup = options.connect().await.map_err(store_error(ACTION))?;
        sqlx::query("INSERT OR REPLACE INTO properties (name, value) VALUES ('pepper', ?)")
            .bind(self.key_cache.pepper().as_bytes())
            .execute(&mut backup)
            .await
            .map_err(store_error(ACTION))?;
        backup.close().await.map_err(store_error(ACTION))
    }

    async fn copy_into(
        &self,
        path: &Path,
        progress: impl FnMut(CopyProgress),
    ) -> Result<(), Error> {
        let address = StoreAddress::from(path);
        let (backup, guard) = Engine::connect_and_migrate(&address).await?;
        // The copy takes the same lock.
        guard.release().await;
        let pepper = self.key_cache.pepper();
        let copied = copy_engine_data(&self.engine, (&backup, &address), &pepper, progress).await;
        backup.close().await;
        copied.map(drop)
    }
}

/// Removes the rest of an interrupted backup.
fn remove_draft(draft: &Path) -> Result<(), Error> {
    let draft = draft.as_os_str();
    for side_file in ["", "-wal", "-shm"] {
        let mut name = draft.to_owned();
        name.push(side_file);
        private_file::remove_if_present(Path::new(&name))?;
    }
    Ok(())
}

/// A backup gets its name only when it is completely on disk.
fn publish_draft(draft: &Path, path: &Path) -> Result<(), Error> {
    let done = sync_file(draft)
        .and_then(|()| std::fs::rename(draft, path))
        .and_then(|()| sync_file(directory_of(path)));
    done.map_err(|source| Error::file_error("write", path, source))
}

fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
