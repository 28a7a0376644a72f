//! Remembers and recalls what the gateway must not forget.
//!
//! A write survives the death of the process at any moment after its method has returned `Ok`. Several
//! processes may hold the same store open at once, such as a running gateway and the command
//! line. SQL stays in here: callers see domain values and [`Error`].
//!
//! # Layout
//! - [`listings`]: what each server offered when it was last asked
//! - [`vectors`]: the embeddings of texts, by what was embedded and by which model
//! - [`mirror`]: what an index says of its entries, by exact name; [`mirror_owners`]: for which configuration
//! - [`keys`]: API keys, kept as keyed hashes, and how one is recognised
//! - [`secrets`]: the values that configuration refers to by name, encrypted
//! - `vault_key`: the key they are encrypted under, and where it is kept
//! - [`logins`]: what logging in at servers left behind, encrypted too
//! - [`audit`]: the record of what happened: written off the hot path, read page by page
//! - `sqlite`: the file, its connections and its migrations
//! - `pepper`: the secret beside the database that the key hashes depend on
//!
//! Each table has one file with its statements: the file named after it, or the `table.rs` of its
//! folder.

pub mod audit;
mod error;
pub mod keys;
pub mod listings;
pub mod logins;
pub mod mirror;
pub mod mirror_owners;
mod pepper;
pub mod secrets;
mod sqlite;
mod vault_key;
pub mod vectors;

use std::path::Path;
use std::sync::Arc;

pub use audit::query::{AuditPage, AuditQuery};
pub use audit::row::{AuditRow, AuditRowContent, AuditRowKind};
pub use audit::sink::{AuditSink, Unrecorded};
pub use audit::tool_statistics::ToolStatistics;
pub use audit::{AuditRecord, RowId};
pub use error::Error;
use error::{failed, unreadable};
pub use keys::recognise::Recognition;
pub use keys::{KeyInfo, KeyOrder, NewKey, RotatedKey, Token};
pub use listings::StoredListing;
pub use secrets::{Secret, SecretInfo, SecretName, SecretNameError, Vault};
pub use vault_key::{KeyFile, KeyKeeper, VaultKey, VaultKeyError};
pub use vectors::TextHash;

/// A cheap handle; clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    path: Arc<Path>,
    sqlite: sqlite::Sqlite,
    key_cache: Arc<keys::KeyCache>,
}

impl Store {
    /// Opens the database at `path`, and creates it with whatever directories it needs.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        let preparing = sqlite::PreparationLock::take(path).await?;
        let sqlite = sqlite::Sqlite::connect(path).await?;
        let has_keys = keys::table::any_unrevoked(&sqlite.writer).await?;
        let pepper = pepper::load(&preparing, &path.with_file_name("pepper"), has_keys)?;
        Ok(Self {
            path: path.into(),
            sqlite,
            key_cache: Arc::new(keys::KeyCache::new(pepper)),
        })
    }

    /// The path of the database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a value that is there already, because only a write shows that the disk is full.
    pub async fn check_writable(&self) -> Result<(), Error> {
        // A number in the head of the file that Kitbag does not use.
        sqlx::query("PRAGMA user_version = 0")
            .execute(&self.sqlite.writer)
            .await
            .map(drop)
            .map_err(failed("write"))
    }

    /// Waits for the statements under way and closes the files. Clones stop working too.
    pub async fn close(&self) {
        self.sqlite.close().await;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use kitbag_domain::{Tenant, Timestamp};

    use super::*;

    /// A store in a directory of its own, which goes when the first value is dropped.
    pub(crate) async fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&path(&directory)).await.unwrap();
        (directory, store)
    }

    pub(crate) fn path(directory: &tempfile::TempDir) -> PathBuf {
        directory.path().join("data/kitbag.db")
    }

    #[tokio::test]
    async fn only_the_owner_can_read_what_is_stored() {
        let (directory, store) = store().await;
        store
            .create_key(&KeyOrder::user(Tenant::local()), Timestamp(1))
            .await
            .unwrap();
        let data = directory.path().join("data");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&data), 0o700);
        let mut names: Vec<_> = std::fs::read_dir(&data)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort();
        for file in &names {
            assert_eq!(mode(file), 0o600, "{}", file.display());
        }
        let names: Vec<_> = names
            .iter()
            .map(|file| file.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            names,
            ["kitbag.db", "kitbag.db-shm", "kitbag.db-wal", "pepper"]
        );
    }

    #[tokio::test]
    async fn a_database_from_a_newer_version_is_refused() {
        let (directory, store) = store().await;
        sqlx::query("INSERT INTO _sqlx_migrations VALUES (9000, 'later', 0, TRUE, x'00', 0)")
            .execute(&store.sqlite.writer)
            .await
            .unwrap();
        let error = Store::open(&path(&directory)).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Newer {
                    found: 9000,
                    known: 1..,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("update kitbag"), "{error}");
    }

    #[tokio::test]
    async fn check_writable_waits_for_a_writer_and_fails_on_a_closed_store() {
        let (directory, store) = store().await;
        store.check_writable().await.unwrap();
        let other = Store::open(&path(&directory)).await.unwrap();
        let writing = other
            .sqlite
            .writer
            .begin_with("BEGIN IMMEDIATE")
            .await
            .unwrap();
        let waiting = tokio::time::timeout(
            std::time::Duration::from_millis(200),
            store.check_writable(),
        )
        .await;
        assert!(waiting.is_err(), "another process is writing");
        writing.rollback().await.unwrap();
        store.check_writable().await.unwrap();
        store.close().await;
        assert!(store.check_writable().await.is_err());
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kitbag.db");
        std::fs::write(&path, "dear diary".repeat(1000)).unwrap();
        let error = Store::open(&path).await.unwrap_err();
        assert!(matches!(error, Error::Database { .. }), "{error}");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "dear diary".repeat(1000)
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_tasks_can_open_a_new_store_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = path(&directory);
        let mut openings = tokio::task::JoinSet::new();
        for number in 0..8 {
            let path = path.clone();
            openings.spawn(async move {
                let store = Store::open(&path).await?;
                store
                    .create_key(&KeyOrder::user(Tenant::local()), Timestamp(number))
                    .await
            });
        }
        let created = openings.join_all().await;
        let store = Store::open(&path).await.unwrap();
        for key in created {
            let found = store
                .authenticate(key.unwrap().token.reveal(), Timestamp(9))
                .await
                .unwrap();
            assert!(matches!(found, Recognition::Known(_)), "{found:?}");
        }
    }

    #[tokio::test]
    async fn a_lost_pepper_is_reported_and_not_replaced_while_there_are_keys() {
        let (directory, store) = store().await;
        let pepper = directory.path().join("data/pepper");
        std::fs::remove_file(&pepper).unwrap();
        Store::open(&path(&directory))
            .await
            .expect("no key depends on the pepper yet");

        store
            .create_key(&KeyOrder::user(Tenant::local()), Timestamp(1))
            .await
            .unwrap();
        std::fs::remove_file(&pepper).unwrap();
        let error = Store::open(&path(&directory)).await.unwrap_err();
        assert!(matches!(error, Error::PepperMissing { .. }), "{error}");

        std::fs::write(&pepper, "short").unwrap();
        let error = Store::open(&path(&directory)).await.unwrap_err();
        assert!(
            matches!(error, Error::WrongLength { found: 5, .. }),
            "{error}"
        );
    }
}
