//! The key for secrets in the keyring of the operating system.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use keyring_core::{CredentialStore, Entry};
use kitbag_store::{Error, KeyKeeper, VaultKey};

/// One entry per database, so that two databases never share or overwrite a key.
pub(crate) struct Keyring {
    account: String,
    open: OpenKeyring,
    /// The user may be asked to unlock the keyring, which should happen once only.
    known: OnceLock<VaultKey>,
}

type OpenKeyring = fn() -> Result<Arc<CredentialStore>, KeyringError>;

const SERVICE: &str = "kitbag";

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("no keyring is available: {reason}")]
    Unreachable { reason: String },
    #[error("the keyring returned an error: {0}")]
    Refused(keyring_core::Error),
    #[error("the keyring entry is not a valid key: {0}")]
    Damaged(kitbag_store::VaultKeyError),
}

impl KeyringError {
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::Refused(_) => {
                "log in to a desktop session and unlock its keyring; without a keyring, set KITBAG_SECRET_KEY \
                 or write `key = \"file\"` under [secrets]"
            }
            Self::Damaged(_) => {
                "remove the entry `kitbag` from the keyring, or restore its previous value"
            }
        }
    }
}

impl Keyring {
    pub(crate) fn for_database(database: &Path) -> Self {
        Self::with_opener(native, database)
    }

    fn with_opener(open: OpenKeyring, database: &Path) -> Self {
        Self {
            account: database.display().to_string(),
            open,
            known: OnceLock::new(),
        }
    }

    /// Runs in a separate thread: the keyring library blocks, and uses its own runtime.
    fn with_entry<T: Send>(
        &self,
        work: impl FnOnce(&Entry) -> Result<T, KeyringError> + Send,
    ) -> Result<T, Error> {
        let done = std::thread::scope(|scope| {
            let working = scope.spawn(|| {
                let entry = (self.open)()?
                    .build(SERVICE, &self.account, None)
                    .map_err(KeyringError::Refused)?;
                work(&entry)
            });
            working.join().expect("keyring access does not panic")
        });
        done.map_err(|error| Error::Keeper {
            location: self.location(),
            source: Box::new(error),
        })
    }
}

impl KeyKeeper for Keyring {
    fn read(&self) -> Result<Option<VaultKey>, Error> {
        if let Some(known) = self.known.get() {
            return Ok(Some(known.clone()));
        }
        let found = self.with_entry(|entry| match entry.get_password() {
            Ok(text) => text.parse().map(Some).map_err(KeyringError::Damaged),
            Err(keyring_core::Error::NoEntry) => Ok(None),
            Err(error) => Err(KeyringError::Refused(error)),
        })?;
        Ok(found.map(|key| self.known.get_or_init(|| key).clone()))
    }

    fn write(&self, key: &VaultKey) -> Result<(), Error> {
        self.with_entry(|entry| {
            entry
                .set_password(&key.reveal())
                .map_err(KeyringError::Refused)
        })
    }

    fn remove(&self) -> Result<(), Error> {
        self.with_entry(|entry| match entry.delete_credential() {
            Ok(()) | Err(keyring_core::Error::NoEntry) => Ok(()),
            Err(error) => Err(KeyringError::Refused(error)),
        })
    }

    fn location(&self) -> String {
        format!("the key `{SERVICE}` for `{}` in the keyring", self.account)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "keyring")]
fn native() -> Result<Arc<CredentialStore>, KeyringError> {
    let status = keyring::Entry::store_status();
    status.as_ref().map_err(|error| KeyringError::Unreachable {
        reason: error.to_string(),
    })?;
    Ok(keyring_core::get_default_store().expect("it was set a moment ago"))
}

#[cfg(not(feature = "keyring"))]
fn native() -> Result<Arc<CredentialStore>, KeyringError> {
    let reason = "this kitbag was built without `--features keyring`".to_owned();
    Err(KeyringError::Unreachable { reason })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use kitbag_domain::Timestamp;
    use kitbag_store::{Secret, Store};

    use super::*;

    fn in_memory() -> Result<Arc<CredentialStore>, KeyringError> {
        static STORE: LazyLock<Arc<CredentialStore>> =
            LazyLock::new(|| keyring_core::mock::Store::new().unwrap());
        Ok(STORE.clone())
    }

    #[tokio::test]
    async fn secrets_open_with_a_key_from_the_keyring_and_each_database_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kitbag.db");
        let store = Store::open(&path).await.unwrap();
        let keyring = || Arc::new(Keyring::with_opener(in_memory, &path));
        let name = "token".parse().unwrap();
        store
            .vault_kept_by(keyring())
            .put_secret(&name, &Secret::new("s3cret"), Timestamp(1))
            .await
            .unwrap();
        assert!(!path.with_file_name("secret.key").exists());
        assert_eq!(
            store.vault_kept_by(keyring()).open_all().await.unwrap()[&name].reveal(),
            "s3cret"
        );
        assert_eq!(
            Keyring::with_opener(in_memory, Path::new("/other.db"))
                .read()
                .unwrap(),
            None
        );

        assert!(
            store
                .vault_kept_by(keyring())
                .copy_key_to(&store.key_file())
                .await
                .unwrap()
        );
        keyring().remove().unwrap();
        keyring().remove().unwrap();
        assert_eq!(
            store.vault(None).open_all().await.unwrap()[&name].reveal(),
            "s3cret"
        );
        let error = store.vault_kept_by(keyring()).open_all().await.unwrap_err();
        assert!(
            error.to_string().contains("in the keyring is missing"),
            "{error}"
        );
    }

    #[cfg(feature = "keyring")]
    #[test]
    #[ignore = "needs a desktop session with an unlocked keyring"]
    fn the_system_keyring_stores_and_removes_a_key() {
        let keyring = || Keyring::for_database(Path::new("/a test of kitbag/kitbag.db"));
        let key: VaultKey = "0f".repeat(32).parse().unwrap();
        assert_eq!(keyring().read().unwrap(), None);
        keyring().write(&key).unwrap();
        assert_eq!(keyring().read().unwrap(), Some(key));
        keyring().remove().unwrap();
        assert_eq!(keyring().read().unwrap(), None);
    }

    #[test]
    fn a_missing_keyring_suggests_a_remedy() {
        let absent: OpenKeyring = || {
            Err(KeyringError::Unreachable {
                reason: "no session bus".to_owned(),
            })
        };
        let error = Keyring::with_opener(absent, Path::new("/data/kitbag.db"))
            .read()
            .unwrap_err();
        let message = format!("{:#}", anyhow::Error::from(error));
        let expected = "the key `kitbag` for `/data/kitbag.db` in the keyring cannot be used: no keyring is available: \
                        no session bus";
        assert_eq!(message, expected);
    }
}
