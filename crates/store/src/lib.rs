//! Remembers and recalls what the gateway must not forget.
//!
//! What a method has returned `Ok` for survives the death of the process at any moment. Several
//! processes may hold the same store open at once, such as a running gateway and the command
//! line. SQL stays in here: callers see domain values and [`Error`].
//!
//! # Layout
//! - [`listings`]: what each server offered when it was last asked
//! - [`vectors`]: the embeddings of texts, by what was embedded and by which model
//! - [`mirror`]: what an index says of its entries, by exact name; [`mirror_owners`]: for which configuration
//! - [`keys`]: API keys, kept as keyed hashes; [`key_door`]: how one is recognised
//! - [`secrets`]: what configuration refers to by name, encrypted
//! - `vault_key`: the key they are encrypted under, and where it is kept
//! - [`logins`]: what logging in at servers left behind, encrypted too
//! - [`audit`]: the table of what happened; [`audit_query`]: reading it
//! - [`audit_tracks`]: how tools have done lately, out of that table
//! - [`favourites`]: what a credential used most, out of that table
//! - [`sink`]: writes to that table off the hot path; `audit_queue`: what waits for that
//! - `sqlite`: the file, its connections and its migrations
//! - `pepper`: the secret beside the database that the key hashes depend on

pub mod audit;
pub mod audit_query;
mod audit_queue;
pub mod audit_tracks;
pub mod favourites;
pub mod key_door;
pub mod keys;
pub mod listings;
pub mod logins;
pub mod mirror;
pub mod mirror_owners;
mod pepper;
pub mod secrets;
pub mod sink;
mod sqlite;
mod vault_key;
pub mod vectors;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use audit::{Record, RowId};
pub use audit_query::{AuditQuery, AuditRow, Entry, Part, What};
pub use audit_tracks::Track;
pub use key_door::Recognition;
pub use keys::{KeyInfo, KeyOrder, NewKey, Rotated, Token};
pub use listings::StoredListing;
pub use secrets::{Secret, SecretInfo, SecretName, SecretNameError, Vault};
pub use sink::{AuditSink, Unrecorded};
pub use vault_key::{KeyFile, KeyKeeper, VaultKey, VaultKeyError};
pub use vectors::TextHash;

/// A cheap handle; clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    path: Arc<Path>,
    sqlite: sqlite::Sqlite,
    door: Arc<key_door::Door>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {action} `{}`", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "the database `{}` belongs to a newer version of kitbag (its schema is {found}, this version \
         knows {known}); update kitbag or choose another database",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "`{}` is missing, and without it no API key in the database can be recognised; restore it from \
         a backup, or put 32 random bytes there and create new keys",
        path.display()
    )]
    PepperMissing { path: PathBuf },
    #[error("`{}` should hold 32 bytes and holds {found}; restore it from a backup", path.display())]
    WrongLength { path: PathBuf, found: usize },
    #[error(
        "{place} is missing, and without it no secret in the database can be opened; restore it from a \
         backup, set KITBAG_SECRET_KEY, or remove the secrets and set them anew"
    )]
    SecretKeyMissing { place: String },
    /// A place for the key that this crate knows nothing of could not be used.
    #[error("{place} cannot be used")]
    Keeper {
        place: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{place} is another key already, and may be what other secrets are encrypted under")]
    AnotherKey { place: String },
    #[error("{place} was written and could not be read again")]
    KeyNotKept { place: String },
    #[error(
        "the secret `{name}` does not open with the key at hand: it was set under another one; set it anew, or \
         bring back the former key"
    )]
    Sealed { name: String },
    #[error("the store could not {action}")]
    Database {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store holds a {what} that cannot be read: {value:?}")]
    Unreadable { what: &'static str, value: String },
}

impl Store {
    /// Opens the database at `path`, and creates it with whatever directories it needs.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        let opening = sqlite::Opening::begin(path).await?;
        let sqlite = sqlite::Sqlite::connect(path).await?;
        let has_keys = keys::any_unrevoked(&sqlite.writer).await?;
        let pepper = pepper::load(&opening, &path.with_file_name("pepper"), has_keys)?;
        Ok(Self {
            path: path.into(),
            sqlite,
            door: Arc::new(key_door::Door::new(pepper)),
        })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is there already: that a disk is full shows only in writing.
    pub async fn check_writable(&self) -> Result<(), Error> {
        // A number in the file's head that nothing else here uses.
        sqlx::query("PRAGMA user_version = 0")
            .execute(&self.sqlite.writer)
            .await
            .map(drop)
            .map_err(failed("write"))
    }

    /// Waits for what is under way and closes the files. Clones stop working too.
    pub async fn close(&self) {
        self.sqlite.close().await;
    }
}

fn failed<E>(action: &'static str) -> impl FnOnce(E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| Error::Database {
        action,
        source: Box::new(source),
    }
}

fn unreadable(what: &'static str, value: impl Into<String>) -> Error {
    Error::Unreadable {
        what,
        value: value.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
    async fn whether_the_store_can_be_written_is_found_out_by_writing() {
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
        assert!(waiting.is_err(), "somebody else is writing");
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
    async fn many_can_open_a_new_store_at_once() {
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
    async fn a_lost_pepper_is_reported_rather_than_replaced_under_living_keys() {
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
