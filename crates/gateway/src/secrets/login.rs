//! Stores the logins at servers, and notifies a running gateway of new ones.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use kitbag_config::Config;
use kitbag_domain::ServerName;
use kitbag_fetch::AddressGuard;
use kitbag_policy::AddressRules;
use kitbag_store::{Secret, Store, Vault};
use kitbag_upstream::oauth::{AddressGuards, Grant, GrantStore, GrantStoreError, Logins};

use crate::secrets::vault;
use crate::state::address_guard::address_guard;
use crate::state::clock::now;

/// Returns the login storage in this store.
pub fn stored_logins(config: &Config, store: &Store) -> anyhow::Result<Logins> {
    let grants = StoredGrants {
        vault: vault::open_vault(config.secret_key, store)?,
        store: store.clone(),
    };
    Ok(Logins {
        store: Arc::new(grants),
        guards: address_guards(),
    })
}

/// Returns the address rules for authorization servers.
pub fn address_guards() -> AddressGuards {
    AddressGuards {
        public: guard_for(false),
        private: guard_for(true),
    }
}

fn guard_for(private: bool) -> AddressGuard {
    address_guard(AddressRules {
        private,
        networks: Vec::new(),
    })
}

struct StoredGrants {
    vault: Vault,
    store: Store,
}

#[async_trait]
impl GrantStore for StoredGrants {
    async fn read(&self, server: &ServerName) -> Result<Option<Grant>, GrantStoreError> {
        let Some(stored) = self.vault.login(server).await.map_err(store_error)? else {
            return Ok(None);
        };
        serde_json::from_str(stored.reveal())
            .map(Some)
            .map_err(store_error)
    }

    async fn write(&self, server: &ServerName, grant: &Grant) -> Result<(), GrantStoreError> {
        let text = serde_json::to_string(grant).map_err(store_error)?;
        self.vault
            .put_login(server, &Secret::new(text), now())
            .await
            .map_err(store_error)
    }

    async fn remove(&self, server: &ServerName) -> Result<bool, GrantStoreError> {
        self.vault.remove_login(server).await.map_err(store_error)
    }

    async fn lock(&self, server: &ServerName) -> Result<Box<dyn Any + Send>, GrantStoreError> {
        let lock = self.store.lock_login(server).await.map_err(store_error)?;
        Ok(Box::new(lock))
    }
}

fn store_error(error: impl std::error::Error + Send + Sync + 'static) -> GrantStoreError {
    GrantStoreError(Box::new(error))
}
