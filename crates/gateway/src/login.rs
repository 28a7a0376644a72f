//! Keeps the logins at servers, and tells a running gateway of new ones.

use std::any::Any;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use kitbag_config::Config;
use kitbag_domain::ServerName;
use kitbag_fetch::AddressGuard;
use kitbag_policy::AddressRules;
use kitbag_store::{Secret, Store, Vault};
use kitbag_upstream::oauth::{AddressGuards, Grant, GrantStore, GrantStoreError, Logins};

use crate::clock::now;
use crate::vault;

/// Returns what servers need for logging in, kept in this store.
pub fn logins(config: &Config, store: &Store) -> anyhow::Result<Logins> {
    let grants = StoredGrants {
        vault: vault::vault(config.secret_key, store)?,
        locks: config.data_dir.join("logins"),
    };
    let guards = AddressGuards {
        public: guard(false),
        private: guard(true),
    };
    Ok(Logins {
        store: Arc::new(grants),
        guards,
    })
}

fn guard(private: bool) -> AddressGuard {
    let rules = AddressRules {
        private,
        networks: Vec::new(),
    };
    Arc::new(move |address| rules.check(address).map_err(|refused| refused.to_string()))
}

struct StoredGrants {
    vault: Vault,
    /// A file for each server, locked by the process that renews its login.
    locks: PathBuf,
}

#[async_trait]
impl GrantStore for StoredGrants {
    async fn read(&self, server: &ServerName) -> Result<Option<Grant>, GrantStoreError> {
        let Some(kept) = self.vault.login(server).await.map_err(failed)? else {
            return Ok(None);
        };
        serde_json::from_str(kept.reveal())
            .map(Some)
            .map_err(failed)
    }

    async fn write(&self, server: &ServerName, grant: &Grant) -> Result<(), GrantStoreError> {
        let text = serde_json::to_string(grant).map_err(failed)?;
        self.vault
            .put_login(server, &Secret::new(text), now())
            .await
            .map_err(failed)
    }

    async fn remove(&self, server: &ServerName) -> Result<bool, GrantStoreError> {
        self.vault.remove_login(server).await.map_err(failed)
    }

    async fn lock(&self, server: &ServerName) -> Result<Box<dyn Any + Send>, GrantStoreError> {
        let path = self.locks.join(format!("{server}.lock"));
        let locked = tokio::task::spawn_blocking(move || lock(&path)).await;
        let file = locked.map_err(failed)?.map_err(failed)?;
        Ok(Box::new(file))
    }
}

/// Released when the file is closed, also by a process that dies.
fn lock(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = File::create(path)?;
    file.lock()?;
    Ok(file)
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> GrantStoreError {
    GrantStoreError(Box::new(error))
}
