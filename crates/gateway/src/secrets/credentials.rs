//! The credentials of tenants, for calls of tools from tool files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::FutureExt as _;
use kitbag_apis::{Clock, Credential, CredentialOwner, RotatedRefreshToken, TokenCache};
use kitbag_domain::Tenant;
use kitbag_store::{
    CredentialChange, CredentialFields, CredentialHolder, CredentialKey, Error, Secret, Vault,
};
use kitbag_tool_spec::CredentialName;

use crate::state::clock::now;

/// The vault, the names that are set in it, and the fetched tokens.
pub(crate) struct Credentials {
    vault: Vault,
    names: ArcSwap<BTreeSet<CredentialName>>,
    pub(crate) tokens: TokenCache,
}

impl Credentials {
    pub(crate) async fn open(vault: Vault) -> Result<Self, Error> {
        let token_vault = vault.clone();
        let store_token = move |rotated| store_refresh_token(token_vault.clone(), rotated).boxed();
        let credentials = Self {
            vault,
            names: ArcSwap::default(),
            tokens: TokenCache::new(Clock::system(), Arc::new(store_token)),
        };
        credentials.reload_names().await?;
        Ok(credentials)
    }

    /// Returns the names of credentials that any tenant has.
    pub(crate) fn names(&self) -> Arc<BTreeSet<CredentialName>> {
        self.names.load_full()
    }

    /// Reloads the names.
    pub(crate) async fn reload_names(&self) -> Result<(), Error> {
        self.names
            .store(Arc::new(credential_names(&self.vault).await?));
        Ok(())
    }

    /// Returns the tenant's credential, without fields if it has none.
    pub(crate) async fn find_credential(
        &self,
        tenant: &Tenant,
        name: Option<&CredentialName>,
    ) -> Result<Credential, Error> {
        let found = match name {
            Some(name) => self.vault.find_credential(tenant, name).await?,
            None => None,
        };
        Ok(match found {
            Some((key, fields)) => Credential::new(to_owner(&key), reveal_fields(&fields)),
            None => Credential::new(CredentialOwner::new(tenant.as_str()), BTreeMap::new()),
        })
    }
}

/// Reads the names of credentials that any tenant has; this requires no key.
pub(crate) async fn credential_names(vault: &Vault) -> Result<BTreeSet<CredentialName>, Error> {
    let all = vault.list_credentials().await?;
    Ok(all.into_iter().map(|it| it.key.name).collect())
}

fn reveal_fields(fields: &CredentialFields) -> BTreeMap<String, String> {
    let fields = fields.iter();
    fields
        .map(|(name, value)| (name.to_owned(), value.reveal().to_owned()))
        .collect()
}

/// Formats the owner as text, which can be parsed again: no tenant and no name has a slash.
fn to_owner(key: &CredentialKey) -> CredentialOwner {
    CredentialOwner::new(&format!("{}/{}", key.holder, key.name))
}

fn parse_owner(owner: &CredentialOwner) -> Option<CredentialKey> {
    let (holder, name) = owner.as_str().split_once('/')?;
    Some(CredentialKey {
        holder: holder.parse::<CredentialHolder>().ok()?,
        name: name.parse().ok()?,
    })
}

async fn store_refresh_token(vault: Vault, rotated: RotatedRefreshToken) {
    let Some(key) = parse_owner(&rotated.owner) else {
        return;
    };
    let token = Secret::new(rotated.refresh_token);
    let change = CredentialChange::set([("refresh_token".to_owned(), token)]);
    if let Err(error) = vault.change_credential(&key, change, now()).await {
        tracing::error!(credential = %key, %error, "failed to store the new refresh token of a credential");
    }
}
