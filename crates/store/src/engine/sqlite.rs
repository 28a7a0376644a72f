//! The database file, its connections and its migrations.
//!
//! One connection writes, so that writers in this process queue up in memory instead of fighting
//! for the file; a few others read concurrently, which WAL permits. Every commit is synced to disk
//! before it is acknowledged.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};

use super::migrations::{MigrationFile, build_migrator, migration_files};
use crate::address::directory_of;
use crate::{Error, store_error};

const MIGRATION_FILES: &[MigrationFile] = migration_files![
    "sqlite":
    "0001_listings_keys_audit",
    "0002_vectors_mirror",
    "0003_secrets",
    "0004_logins",
    "0005_audit_events",
    "0006_key_role_expiry_use",
    "0007_mirror_owners",
    "0008_namespaces_properties_changes",
    "0009_runs_learned_templates",
    "0010_priors_audit_costs",
    "0011_lessons",
    "0012_approved_definitions",
    "0013_credentials",
    "0014_agent_state_feedback_facts",
    "0015_audit_filters",
];

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| build_migrator(MIGRATION_FILES));

/// Reads are short and come from memory, so a few connections serve many requests.
const READERS: u32 = 4;

/// How long a write waits for another writing process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct Sqlite {
    pub(crate) writer: SqlitePool,
    pub(crate) reader: SqlitePool,
}

impl Sqlite {
    /// The caller must hold the [`PreparationLock`] of the same path.
    pub(crate) async fn connect(path: &Path) -> Result<Self, Error> {
        let writing = connect_options(path).journal_mode(SqliteJournalMode::Wal);
        let writer = pool_options(1).connect_with(writing).await;
        let writer = writer.map_err(store_error("open the database"))?;
        run_migrations(&writer, path).await?;
        let reader = pool_options(READERS)
            .connect_lazy_with(connect_options(path).pragma("query_only", "ON"));
        open_first_reader(&reader).await?;
        Ok(Self { writer, reader })
    }

    /// Begins to write. Other connections, and the next start, see nothing of it before
    /// [`SqliteTransaction::commit`].
    pub(crate) async fn begin(&self, action: &'static str) -> Result<SqliteTransaction, Error> {
        Self::begin_with("BEGIN IMMEDIATE", &self.writer, action).await
    }

    /// Begins to read one snapshot of the database.
    pub(crate) async fn begin_snapshot(
        &self,
        action: &'static str,
    ) -> Result<SqliteTransaction, Error> {
        Self::begin_with("BEGIN", &self.reader, action).await
    }

    async fn begin_with(
        begin: &'static str,
        pool: &SqlitePool,
        action: &'static str,
    ) -> Result<SqliteTransaction, Error> {
        let connection = pool.acquire().await.map_err(store_error(action))?;
        let mut transaction = SqliteTransaction {
            connection,
            committed: false,
        };
        sqlx::query(begin)
            .execute(&mut *transaction)
            .await
            .map_err(store_error(action))?;
        Ok(transaction)
    }

    pub(crate) async fn check_writable(&self) -> Result<(), Error> {
        // A number in the file's header that Kitbag does not use otherwise.
        sqlx::query("PRAGMA user_version = 0")
            .execute(&self.writer)
            .await
            .map(drop)
            .map_err(store_error("write"))
    }

    pub(crate) async fn close(&self) {
        // The last connection to close checkpoints the log into the database, and only the writer
        // may do that.
        self.reader.close().await;
        self.writer.close().await;
    }
}

/// A connection during a transaction.
///
/// A transaction that ends without `commit` closes its connection, and the next one opens a new
/// one. When the disk is full SQLite rolls back by itself, and sqlx may then be wrong about the
/// state of the connection. Closing it is always correct, and rolls back.
#[derive(Debug)]
pub(crate) struct SqliteTransaction {
    connection: PoolConnection<sqlx::Sqlite>,
    committed: bool,
}

impl SqliteTransaction {
    pub(crate) async fn commit(mut self, action: &'static str) -> Result<(), Error> {
        sqlx::query("COMMIT")
            .execute(&mut *self.connection)
            .await
            .map_err(store_error(action))?;
        self.committed = true;
        Ok(())
    }
}

impl Deref for SqliteTransaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for SqliteTransaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if !self.committed {
            self.connection.close_on_drop();
        }
    }
}

/// The exclusive right to prepare a store, across processes, until it is dropped.
///
/// Switching to WAL fails at once instead of waiting when another process is connected, two
/// processes must not run the same migration, and there must be only one pepper. The lock is on the
/// directory, which needs no additional file; a lock on the database file itself would interfere
/// with SQLite's.
#[derive(Debug)]
pub(crate) struct PreparationLock {
    path: PathBuf,
    directory: File,
}

impl PreparationLock {
    /// Creates the missing parts of the directory and the database file, and takes the lock.
    pub(crate) async fn acquire(path: &Path) -> Result<Self, Error> {
        let path = path.to_owned();
        let prepared = tokio::task::spawn_blocking(move || Self::create_and_lock(&path)).await;
        prepared.map_err(store_error("prepare the database files"))?
    }

    fn create_and_lock(path: &Path) -> Result<Self, Error> {
        let taken = Self::lock_directory(directory_of(path))?;
        create_private_file(path).map_err(|source| Error::file_error("create", path, source))?;
        taken.sync_directory()?;
        Ok(taken)
    }

    fn lock_directory(path: &Path) -> Result<Self, Error> {
        create_directory(path)
            .map_err(|source| Error::file_error("create the directory", path, source))?;
        let directory = File::open(path)
            .map_err(|source| Error::file_error("open the directory", path, source))?;
        directory
            .lock()
            .map_err(|source| Error::file_error("lock the directory", path, source))?;
        Ok(Self {
            path: path.to_owned(),
            directory,
        })
    }

    /// Ensures that files created in the directory survive a power failure.
    pub(crate) fn sync_directory(&self) -> Result<(), Error> {
        self.directory
            .sync_all()
            .map_err(|source| Error::file_error("sync the directory", &self.path, source))
    }
}

pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// SQLite gives its side files the mode of the database, so only the database has to be created
/// first. An existing file is not even opened: closing it would drop the locks that SQLite holds on
/// it elsewhere in this process.
pub(crate) fn create_private_file(path: &Path) -> io::Result<()> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        // A text that is masked or deleted later must not remain in the file.
        .pragma("secure_delete", "FAST")
        .disable_statement_logging()
}

fn pool_options(connections: u32) -> SqlitePoolOptions {
    // A connection to a file does not go stale, so there is nothing to renew or to test.
    SqlitePoolOptions::new()
        .max_connections(connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Reads once. SQLite's side files exist as long as a connection has read: this reader keeps them,
/// or nothing could be read on a full disk once the writer's connection was closed.
async fn open_first_reader(reader: &SqlitePool) -> Result<(), Error> {
    sqlx::query("PRAGMA schema_version")
        .execute(reader)
        .await
        .map(drop)
        .map_err(store_error("read the database"))
}

async fn run_migrations(writer: &SqlitePool, path: &Path) -> Result<(), Error> {
    MIGRATIONS.run(writer).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) => Error::Newer {
            location: path.display().to_string(),
            found,
            known: super::newest_version(&MIGRATIONS),
        },
        other => store_error("migrate the database")(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, TextHash};

    #[tokio::test]
    async fn vectors_without_a_namespace_are_migrated_to_the_capabilities() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kitbag.db");
        let old = pool_options(1)
            .connect_with(connect_options(&path).create_if_missing(true))
            .await
            .unwrap();
        MIGRATIONS.run_to(7, &old).await.unwrap();
        let hash = TextHash::for_text("text").to_string();
        let insert = format!("INSERT INTO vectors VALUES ('m', x'{hash}', 1, x'0000803f')");
        sqlx::query(sqlx::AssertSqlSafe(insert))
            .execute(&old)
            .await
            .unwrap();
        old.close().await;
        let store = Store::open(&path).await.unwrap();
        let wanted = TextHash::for_text("text");
        let found = store.vectors("m", &[wanted]).await.unwrap();
        assert_eq!(found[&wanted], [1.0]);
    }
}
