//! Named secrets for the configuration, encrypted with a key that is not in the database.
//!
//! The code that opens the [`Vault`] passes the key, or the [`KeyStore`] that stores it. A secret
//! is bound to its name: moved to another row, it cannot be decrypted.

mod secret;
use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_domain::Timestamp;
pub use secret::{Secret, SecretName, SecretNameError};

use crate::engine::{Engine, PreparationGuard};
use crate::vault_key::{KeyStore, VaultKey};
use crate::{Error, Store, StoreAddress, skip_unreadable, unreadable_error};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretInfo {
    pub name: SecretName,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Vault {
    pub(crate) engine: Engine,
    address: Arc<StoreAddress>,
    key: KeySource,
}

/// The name that a value is sealed for, and the sealed value.
pub(crate) type SealedRow = (String, Vec<u8>);

#[derive(Debug, Clone)]
enum KeySource {
    Given(VaultKey),
    Stored(Arc<dyn KeyStore>),
}

impl Store {
    /// The secrets with the given key, or else with the one in [`Store::key_file`].
    pub fn vault(&self, given: Option<VaultKey>) -> Vault {
        match given {
            Some(key) => self.vault_under(KeySource::Given(key)),
            None => self.vault_with_key_store(Arc::new(self.key_file())),
        }
    }

    /// The secrets with a key that is stored elsewhere.
    pub fn vault_with_key_store(&self, key_store: Arc<dyn KeyStore>) -> Vault {
        self.vault_under(KeySource::Stored(key_store))
    }

    fn vault_under(&self, key: KeySource) -> Vault {
        Vault {
            engine: self.engine.clone(),
            address: self.address.clone(),
            key,
        }
    }
}

impl Vault {
    /// Stores a secret in place of the current one with that name. The first secret of all creates
    /// the key file, if no key was given.
    pub async fn put_secret(
        &self,
        name: &SecretName,
        value: &Secret,
        at: Timestamp,
    ) -> Result<(), Error> {
        let sealed = self.seal(name.as_str(), value).await?;
        self.engine
            .query(
                "INSERT INTO secrets (name, sealed, updated_at) VALUES ($1, $2, $3)
                 ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
            )
            .bind(name.as_str())
            .bind(sealed)
            .bind(at.0)
            .execute("store a secret")
            .await
            .map(drop)
    }

    /// Returns the names, without the values.
    pub async fn list_secrets(&self) -> Result<Vec<SecretInfo>, Error> {
        let rows = self
            .engine
            .query("SELECT name, updated_at FROM secrets ORDER BY name")
            .fetch_all("list the secrets")
            .await?;
        Ok(skip_unreadable(rows, |(name, at)| {
            Ok(SecretInfo {
                name: parse_name(name)?,
                updated_at: Timestamp(at),
            })
        }))
    }

    /// Returns true if there was such a secret.
    pub async fn remove_secret(&self, name: &SecretName) -> Result<bool, Error> {
        self.engine
            .query("DELETE FROM secrets WHERE name = $1")
            .bind(name.as_str())
            .execute_on_row("remove a secret")
            .await
    }

    /// Decrypts every secret.
    pub async fn open_all(&self) -> Result<BTreeMap<SecretName, Secret>, Error> {
        let rows = self.sealed_secrets().await?;
        if rows.is_empty() {
            return Ok(BTreeMap::new());
        }
        let key = self.key_for_reading()?;
        self.check_key(&key, &rows)?;
        let secrets = rows.into_iter().map(|(name, sealed)| {
            let name = parse_name(name)?;
            let secret = open_with(&key, name.as_str(), sealed)?;
            Ok((name, secret))
        });
        secrets.collect()
    }

    async fn sealed_secrets(&self) -> Result<Vec<SealedRow>, Error> {
        self.engine
            .query("SELECT name, sealed FROM secrets ORDER BY name")
            .fetch_all("read the secrets")
            .await
    }

    /// Copies the key to another key store and verifies it. Returns false if there is no key yet; it is
    /// created with the first secret.
    pub async fn copy_key_to(&self, other: &dyn KeyStore) -> Result<bool, Error> {
        let _guard = PreparationGuard::acquire(&self.address).await?;
        let sealed = self.all_sealed_rows().await?;
        let Some(key) = self.read_key()? else {
            return if sealed.is_empty() {
                Ok(false)
            } else {
                Err(self.missing_key_error())
            };
        };
        // A key that does not open everything would lock the rest away.
        for (name, value) in sealed {
            open_with(&key, &name, value)?;
        }
        copy_key(&key, other)?;
        Ok(true)
    }

    pub(crate) fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// Encrypts a value, which can be decrypted only for the same name.
    pub(crate) async fn seal(&self, name: &str, value: &Secret) -> Result<Vec<u8>, Error> {
        Ok(self.key_for_writing(name).await?.seal(name, value))
    }

    pub(crate) fn open(&self, name: &str, sealed: Vec<u8>) -> Result<Secret, Error> {
        open_with(&self.key_for_reading()?, name, sealed)
    }

    fn key_for_reading(&self) -> Result<VaultKey, Error> {
        self.read_key()?.ok_or_else(|| self.missing_key_error())
    }

    fn read_key(&self) -> Result<Option<VaultKey>, Error> {
        match &self.key {
            KeySource::Given(key) => Ok(Some(key.clone())),
            KeySource::Stored(key_store) => key_store.read(),
        }
    }

    /// Returns the key for sealing the value of that name. A key that opens none of the other
    /// values is rejected: gateways with different keys would lock each other out.
    async fn key_for_writing(&self, name: &str) -> Result<VaultKey, Error> {
        let key = match self.read_key()? {
            Some(key) => key,
            None => self.create_key().await?,
        };
        let mut others = self.all_sealed_rows().await?;
        others.retain(|(other, _)| other != name);
        self.check_key(&key, &others)?;
        Ok(key)
    }

    /// A new key cannot decrypt values that a lost one encrypted, so it is created only while
    /// nothing is encrypted.
    async fn create_key(&self) -> Result<VaultKey, Error> {
        let KeySource::Stored(key_store) = &self.key else {
            return Err(self.missing_key_error());
        };
        let _guard = PreparationGuard::acquire(&self.address).await?;
        if let Some(existing) = key_store.read()? {
            return Ok(existing);
        }
        if !self.all_sealed_rows().await?.is_empty() {
            return Err(self.missing_key_error());
        }
        let key = VaultKey::random();
        key_store.write(&key)?;
        Ok(key)
    }

    /// Fails if the key opens none of the values, so it must be a different one.
    fn check_key(&self, key: &VaultKey, sealed: &[SealedRow]) -> Result<(), Error> {
        let mut values = sealed.iter();
        if sealed.is_empty() || values.any(|(name, value)| key.open(name, value.clone()).is_some())
        {
            return Ok(());
        }
        Err(Error::WrongSecretKey {
            location: self.key_location(),
        })
    }

    fn missing_key_error(&self) -> Error {
        Error::SecretKeyMissing {
            location: self.key_location(),
        }
    }

    fn key_location(&self) -> String {
        match &self.key {
            KeySource::Given(_) => "the given key".to_owned(),
            KeySource::Stored(key_store) => key_store.location(),
        }
    }

    async fn all_sealed_rows(&self) -> Result<Vec<SealedRow>, Error> {
        let mut all = self.sealed_secrets().await?;
        all.extend(self.sealed_logins().await?);
        all.extend(self.sealed_credentials().await?);
        Ok(all)
    }
}

/// Writes the key and reads it back; a key store with another key is not changed.
fn copy_key(key: &VaultKey, other: &dyn KeyStore) -> Result<(), Error> {
    let location = other.location();
    match other.read()? {
        Some(there) if there == *key => return Ok(()),
        Some(_) => return Err(Error::AnotherKey { location }),
        None => other.write(key)?,
    }
    match other.read()? {
        Some(there) if there == *key => Ok(()),
        _ => Err(Error::KeyNotKept { location }),
    }
}

fn open_with(key: &VaultKey, name: &str, sealed: Vec<u8>) -> Result<Secret, Error> {
    key.open(name, sealed).ok_or_else(|| Error::Sealed {
        name: name.to_owned(),
    })
}

fn parse_name(name: String) -> Result<SecretName, Error> {
    name.parse()
        .map_err(|_| unreadable_error("name of a secret", name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::test_store::{TestPlace, each_engine, execute};

    each_engine!(
        a_secret_is_returned_and_is_in_no_file_in_plain_text,
        names_are_listed_and_removed,
        another_key_opens_nothing_and_a_lost_one_is_not_replaced,
        a_given_key_needs_no_file,
        a_key_is_copied_to_another_keeper_and_never_over_another_key,
        a_secret_moved_to_another_name_or_changed_does_not_open,
    );

    fn name(text: &str) -> SecretName {
        text.parse().unwrap()
    }

    async fn put(vault: &Vault, at: &str, value: &str) {
        vault
            .put_secret(&name(at), &Secret::new(value), Timestamp(1))
            .await
            .unwrap();
    }

    async fn a_secret_is_returned_and_is_in_no_file_in_plain_text(place: TestPlace) {
        let store = place.open().await;
        let vault = store.vault(None);
        assert_eq!(vault.open_all().await.unwrap(), BTreeMap::new());
        put(&vault, "API_KEY", "first-s3cret").await;
        put(&vault, "API_KEY", "second-s3cret").await;
        let expected = BTreeMap::from([(name("API_KEY"), Secret::new("second-s3cret"))]);
        assert_eq!(store.vault(None).open_all().await.unwrap(), expected);

        store.close().await;
        let key = place.key_file();
        assert_eq!(
            std::fs::metadata(&key).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(!place.holds("s3cret").await);
        assert!(!format!("{expected:?} {vault:?}").contains("s3cret"));
    }

    async fn names_are_listed_and_removed(place: TestPlace) {
        let store = place.open().await;
        let vault = store.vault(None);
        put(&vault, "b", "1").await;
        put(&vault, "a", "2").await;
        let names = async || -> Vec<String> {
            vault
                .list_secrets()
                .await
                .unwrap()
                .into_iter()
                .map(|info| info.name.to_string())
                .collect()
        };
        assert_eq!(names().await, ["a", "b"]);
        assert!(vault.remove_secret(&name("a")).await.unwrap());
        assert!(!vault.remove_secret(&name("a")).await.unwrap());
        assert_eq!(names().await, ["b"]);
    }

    async fn another_key_opens_nothing_and_a_lost_one_is_not_replaced(place: TestPlace) {
        let store = place.open().await;
        put(&store.vault(None), "a", "1").await;
        let other: VaultKey = "0f".repeat(32).parse().unwrap();
        let under_other = store.vault(Some(other));
        let error = under_other.open_all().await.unwrap_err();
        assert!(matches!(error, Error::WrongSecretKey { .. }), "{error}");
        let mixed = under_other
            .put_secret(&name("b"), &Secret::new("2"), Timestamp(1))
            .await;
        assert!(matches!(mixed, Err(Error::WrongSecretKey { .. })));

        std::fs::remove_file(place.key_file()).unwrap();
        let error = store.vault(None).open_all().await.unwrap_err();
        assert!(matches!(error, Error::SecretKeyMissing { .. }), "{error}");
        let error = store
            .vault(None)
            .put_secret(&name("b"), &Secret::new("2"), Timestamp(1))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::SecretKeyMissing { .. }), "{error}");
    }

    async fn a_given_key_needs_no_file(place: TestPlace) {
        let store = place.open().await;
        let key: VaultKey = "aB".repeat(32).parse().unwrap();
        put(&store.vault(Some(key.clone())), "a", "1").await;
        assert!(!place.key_file().exists());
        let opened = store.vault(Some(key)).open_all().await.unwrap();
        assert_eq!(opened, BTreeMap::from([(name("a"), Secret::new("1"))]));
    }

    /// A key store in memory.
    #[derive(Debug, Default)]
    struct MemoryKeyStore(std::sync::Mutex<Option<VaultKey>>);

    impl KeyStore for MemoryKeyStore {
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

        fn location(&self) -> String {
            "the memory".to_owned()
        }
    }

    async fn a_key_is_copied_to_another_keeper_and_never_over_another_key(place: TestPlace) {
        let store = place.open().await;
        let (memory, file) = (Arc::new(MemoryKeyStore::default()), store.key_file());
        let kept = store.vault_with_key_store(memory.clone());
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
        assert!(!place.key_file().exists());
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

    async fn a_secret_moved_to_another_name_or_changed_does_not_open(place: TestPlace) {
        let store = place.open().await;
        let vault = store.vault(None);
        put(&vault, "harmless", "1").await;
        put(&vault, "other", "2").await;
        for change in [
            "UPDATE secrets SET name = 'admin' WHERE name = 'harmless'",
            "UPDATE secrets SET sealed = '' WHERE name = 'admin'",
        ] {
            execute(&store, &engine_bytes(&store, change)).await;
            assert!(
                matches!(vault.open_all().await, Err(Error::Sealed { name }) if name == "admin"),
                "{change}"
            );
        }
    }

    /// SQLite distinguishes bytes from text, PostgreSQL reads either as bytes.
    fn engine_bytes(store: &Store, sql: &str) -> String {
        match &store.engine {
            Engine::Sqlite(_) => sql.replace("''", "x''"),
            Engine::Postgres(_) => sql.to_owned(),
        }
    }
}
