//! Secrets that configuration refers to by name, encrypted under a key that is not in the
//! database.
//!
//! The code that opens the [`Vault`] gives the key, or names the [`KeyKeeper`] that keeps it. A
//! secret is bound to its name: moved to another row, it does not open.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use kitbag_domain::Timestamp;

use crate::sqlite::{PreparationLock, Sqlite};
use crate::vault_key::{KeyKeeper, VaultKey};
use crate::{Error, Store, failed, unreadable};

/// Letters, digits, `-`, `_` and `.`, at most [`SecretName::MAX`] of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a name for a secret: use 1 to {max} letters, digits, `-`, `_` or `.`", max = SecretName::MAX)]
pub struct SecretNameError {
    pub name: String,
}

/// The value of a secret, which `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretInfo {
    pub name: SecretName,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Vault {
    pub(crate) sqlite: Sqlite,
    database: PathBuf,
    key: KeySource,
}

#[derive(Debug, Clone)]
enum KeySource {
    Given(VaultKey),
    Kept(Arc<dyn KeyKeeper>),
}

impl Store {
    /// The secrets under the given key, or else under the one in the file beside the database.
    pub fn vault(&self, given: Option<VaultKey>) -> Vault {
        match given {
            Some(key) => self.vault_under(KeySource::Given(key)),
            None => self.vault_kept_by(Arc::new(self.key_file())),
        }
    }

    /// The secrets, under a key that is kept elsewhere.
    pub fn vault_kept_by(&self, keeper: Arc<dyn KeyKeeper>) -> Vault {
        self.vault_under(KeySource::Kept(keeper))
    }

    fn vault_under(&self, key: KeySource) -> Vault {
        Vault {
            sqlite: self.sqlite.clone(),
            database: self.path.to_path_buf(),
            key,
        }
    }
}

impl Vault {
    /// Keeps a secret in place of the one that has the name so far. The first secret of all creates
    /// the file with the key, if no key was given.
    pub async fn put(&self, name: &SecretName, value: &Secret, at: Timestamp) -> Result<(), Error> {
        let sealed = self.key_for_writing().await?.seal(&name.0, value);
        sqlx::query(
            "INSERT INTO secrets (name, sealed, updated_at) VALUES (?, ?, ?)
             ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
        )
        .bind(&name.0)
        .bind(sealed)
        .bind(at.0)
        .execute(&self.sqlite.writer)
        .await
        .map_err(failed("keep a secret"))?;
        Ok(())
    }

    /// Returns the names, without the values.
    pub async fn list(&self) -> Result<Vec<SecretInfo>, Error> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT name, updated_at FROM secrets ORDER BY name")
                .fetch_all(&self.sqlite.reader)
                .await
                .map_err(failed("list the secrets"))?;
        let infos = rows.into_iter().map(|(name, at)| read_info(name, at));
        infos.collect()
    }

    /// Returns true if there was such a secret.
    pub async fn remove(&self, name: &SecretName) -> Result<bool, Error> {
        let done = sqlx::query("DELETE FROM secrets WHERE name = ?")
            .bind(&name.0)
            .execute(&self.sqlite.writer)
            .await
            .map_err(failed("remove a secret"))?;
        Ok(done.rows_affected() == 1)
    }

    /// Opens every secret.
    pub async fn open_all(&self) -> Result<BTreeMap<SecretName, Secret>, Error> {
        let rows: Vec<(String, Vec<u8>)> = sqlx::query_as("SELECT name, sealed FROM secrets")
            .fetch_all(&self.sqlite.reader)
            .await
            .map_err(failed("read the secrets"))?;
        if rows.is_empty() {
            return Ok(BTreeMap::new());
        }
        let key = self.key_for_reading()?;
        let secrets = rows
            .into_iter()
            .map(|(name, sealed)| open(&key, name, sealed));
        secrets.collect()
    }

    /// Copies the key to another keeper and makes sure that it has arrived. Returns false if there
    /// is no key, which is then created when the first secret is sealed.
    pub async fn copy_key_to(&self, other: &dyn KeyKeeper) -> Result<bool, Error> {
        let _alone = PreparationLock::take(&self.database).await?;
        let Some(key) = self.key()? else {
            return if self.holds_anything().await? {
                Err(self.missing())
            } else {
                Ok(false)
            };
        };
        // A key that opens nothing would lock everything away.
        self.open_all().await?;
        self.check_logins().await?;
        copy(&key, other)?;
        Ok(true)
    }

    pub(crate) fn key_for_reading(&self) -> Result<VaultKey, Error> {
        self.key()?.ok_or_else(|| self.missing())
    }

    fn key(&self) -> Result<Option<VaultKey>, Error> {
        match &self.key {
            KeySource::Given(key) => Ok(Some(key.clone())),
            KeySource::Kept(keeper) => keeper.read(),
        }
    }

    /// A new key could not open what was encrypted under a lost one, so it is created only while
    /// nothing is encrypted.
    pub(crate) async fn key_for_writing(&self) -> Result<VaultKey, Error> {
        let keeper = match &self.key {
            KeySource::Given(key) => return Ok(key.clone()),
            KeySource::Kept(keeper) => keeper,
        };
        if let Some(key) = keeper.read()? {
            return Ok(key);
        }
        let alone = PreparationLock::take(&self.database).await?;
        match keeper.read()? {
            Some(made_meanwhile) => Ok(made_meanwhile),
            None if self.holds_anything().await? => Err(self.missing()),
            None => create_key(&**keeper, &alone),
        }
    }

    fn missing(&self) -> Error {
        let place = match &self.key {
            KeySource::Given(_) => "the key".to_owned(),
            KeySource::Kept(keeper) => keeper.place(),
        };
        Error::SecretKeyMissing { place }
    }

    async fn holds_anything(&self) -> Result<bool, Error> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM secrets) OR EXISTS (SELECT 1 FROM logins)")
            .fetch_one(&self.sqlite.reader)
            .await
            .map_err(failed("look for secrets"))
    }
}

fn create_key(keeper: &dyn KeyKeeper, alone: &PreparationLock) -> Result<VaultKey, Error> {
    let key = VaultKey::random();
    keeper.write(&key)?;
    alone.sync()?;
    Ok(key)
}

/// Writes the key and reads it again; a keeper that has another key is left alone.
fn copy(key: &VaultKey, other: &dyn KeyKeeper) -> Result<(), Error> {
    let place = other.place();
    match other.read()? {
        Some(there) if there == *key => return Ok(()),
        Some(_) => return Err(Error::AnotherKey { place }),
        None => other.write(key)?,
    }
    match other.read()? {
        Some(there) if there == *key => Ok(()),
        _ => Err(Error::KeyNotKept { place }),
    }
}

fn read_info(name: String, at: i64) -> Result<SecretInfo, Error> {
    Ok(SecretInfo {
        name: parse(name)?,
        updated_at: Timestamp(at),
    })
}

fn open(key: &VaultKey, name: String, sealed: Vec<u8>) -> Result<(SecretName, Secret), Error> {
    let name = parse(name)?;
    match key.open(&name.0, sealed) {
        Some(secret) => Ok((name, secret)),
        None => Err(Error::Sealed { name: name.0 }),
    }
}

fn parse(name: String) -> Result<SecretName, Error> {
    name.parse()
        .map_err(|_| unreadable("name of a secret", name))
}

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl SecretName {
    /// Long enough for the name of an environment variable, short enough for a line of a table.
    pub const MAX: usize = 64;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = SecretNameError;

    fn from_str(name: &str) -> Result<Self, SecretNameError> {
        if name.is_empty() || name.len() > Self::MAX || !name.chars().all(may_be_in_name) {
            return Err(SecretNameError {
                name: name.to_owned(),
            });
        }
        Ok(Self(name.to_owned()))
    }
}

fn may_be_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tests::{path, store};

    fn name(text: &str) -> SecretName {
        text.parse().unwrap()
    }

    async fn put(vault: &Vault, at: &str, value: &str) {
        vault
            .put(&name(at), &Secret::new(value), Timestamp(1))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_secret_comes_back_and_is_in_no_file_in_the_clear() {
        let (directory, store) = store().await;
        let vault = store.vault(None);
        assert_eq!(vault.open_all().await.unwrap(), BTreeMap::new());
        put(&vault, "API_KEY", "first-s3cret").await;
        put(&vault, "API_KEY", "second-s3cret").await;
        let expected = BTreeMap::from([(name("API_KEY"), Secret::new("second-s3cret"))]);
        assert_eq!(store.vault(None).open_all().await.unwrap(), expected);

        store.close().await;
        let key = directory.path().join("data/secret.key");
        assert_eq!(
            std::fs::metadata(&key).unwrap().permissions().mode() & 0o777,
            0o600
        );
        for file in std::fs::read_dir(directory.path().join("data")).unwrap() {
            let file = file.unwrap().path();
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes.windows(6).any(|window| window == b"s3cret");
            assert!(!found, "{}", file.display());
        }
        assert!(!format!("{expected:?} {vault:?}").contains("s3cret"));
    }

    #[tokio::test]
    async fn names_are_listed_and_removed() {
        let (_directory, store) = store().await;
        let vault = store.vault(None);
        put(&vault, "b", "1").await;
        put(&vault, "a", "2").await;
        let names = async || -> Vec<String> {
            vault
                .list()
                .await
                .unwrap()
                .into_iter()
                .map(|info| info.name.to_string())
                .collect()
        };
        assert_eq!(names().await, ["a", "b"]);
        assert!(vault.remove(&name("a")).await.unwrap());
        assert!(!vault.remove(&name("a")).await.unwrap());
        assert_eq!(names().await, ["b"]);
    }

    #[tokio::test]
    async fn another_key_opens_nothing_and_a_lost_one_is_not_replaced() {
        let (directory, store) = store().await;
        put(&store.vault(None), "a", "1").await;
        let other: VaultKey = "0f".repeat(32).parse().unwrap();
        let error = store.vault(Some(other)).open_all().await.unwrap_err();
        assert!(
            matches!(&error, Error::Sealed { name } if name == "a"),
            "{error}"
        );

        std::fs::remove_file(path(&directory).with_file_name("secret.key")).unwrap();
        let error = store.vault(None).open_all().await.unwrap_err();
        assert!(matches!(error, Error::SecretKeyMissing { .. }), "{error}");
        let error = store
            .vault(None)
            .put(&name("b"), &Secret::new("2"), Timestamp(1))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::SecretKeyMissing { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_given_key_needs_no_file() {
        let (directory, store) = store().await;
        let key: VaultKey = "aB".repeat(32).parse().unwrap();
        put(&store.vault(Some(key.clone())), "a", "1").await;
        assert!(!path(&directory).with_file_name("secret.key").exists());
        let opened = store.vault(Some(key)).open_all().await.unwrap();
        assert_eq!(opened, BTreeMap::from([(name("a"), Secret::new("1"))]));
    }

    /// A keeper other than the file.
    #[derive(Debug, Default)]
    struct MemoryKeeper(std::sync::Mutex<Option<VaultKey>>);

    impl KeyKeeper for MemoryKeeper {
        fn read(&self) -> Result<Option<VaultKey>, Error> {
            Ok(self.0.lock().unwrap().clone())
        }

        fn write(&self, key: &VaultKey) -> Result<(), Error> {
            *self.0.lock().unwrap() = Some(key.clone());
            Ok(())
        }

        fn remove(&self) -> Result<(), Error> {
            *self.0.lock().unwrap() = None;
            Ok(())
        }

        fn place(&self) -> String {
            "the memory".to_owned()
        }
    }

    #[tokio::test]
    async fn a_key_is_copied_to_another_place_and_never_over_another_one() {
        let (directory, store) = store().await;
        let (memory, file) = (Arc::new(MemoryKeeper::default()), store.key_file());
        let kept = store.vault_kept_by(memory.clone());
        assert!(
            !store.vault(None).copy_key_to(&*memory).await.unwrap(),
            "there is no key yet"
        );

        put(&store.vault(None), "a", "1").await;
        assert!(matches!(
            kept.open_all().await,
            Err(Error::SecretKeyMissing { .. })
        ));
        assert!(store.vault(None).copy_key_to(&*memory).await.unwrap());
        file.remove().unwrap();
        assert!(!path(&directory).with_file_name("secret.key").exists());
        assert_eq!(kept.open_all().await.unwrap().len(), 1);
        put(&kept, "b", "2").await;
        assert!(kept.copy_key_to(&file).await.unwrap());
        assert_eq!(store.vault(None).open_all().await.unwrap().len(), 2);

        memory.write(&VaultKey::random()).unwrap();
        let error = store.vault(None).copy_key_to(&*memory).await.unwrap_err();
        assert!(matches!(error, Error::AnotherKey { .. }), "{error}");
        let error = kept.copy_key_to(&file).await.unwrap_err();
        assert!(
            matches!(error, Error::Sealed { .. }),
            "a key that opens nothing is not spread: {error}"
        );
    }

    #[tokio::test]
    async fn a_secret_moved_to_another_name_or_changed_does_not_open() {
        let (_directory, store) = store().await;
        let vault = store.vault(None);
        put(&vault, "harmless", "1").await;
        for change in [
            "UPDATE secrets SET name = 'admin'",
            "UPDATE secrets SET sealed = x'00'",
        ] {
            sqlx::query(change)
                .execute(&store.sqlite.writer)
                .await
                .unwrap();
            assert!(
                matches!(vault.open_all().await, Err(Error::Sealed { .. })),
                "{change}"
            );
        }
    }

    #[test]
    fn names_are_plain_words() {
        for text in ["", "a b", "a}", "é", &"x".repeat(65)] {
            assert!(text.parse::<SecretName>().is_err(), "{text}");
        }
        assert!("GitHub_token-2.x".parse::<SecretName>().is_ok());
    }
}
