//! Checks the keys against the configuration: a gateway that requires keys needs one, and a key
//! needs a known tenant.

use std::collections::BTreeSet;

use kitbag_config::Serve;
use kitbag_domain::{Role, Tenant};
use kitbag_policy::Policy;
use kitbag_store::{KeyInfo, Store};

use kitbag_gateway::state::clock::now;

#[derive(Debug, thiserror::Error)]
#[error("the configuration requires a key from every client, but no key exists")]
pub(crate) struct NoKeys;

impl NoKeys {
    pub(crate) const REMEDY: &str = "create one with `kitbag key create --tenant NAME`";
}

/// Fails if keys are required and none exists.
pub(crate) async fn check_keys(serve: &Serve, store: &Store) -> anyhow::Result<()> {
    if serve.allows_keyless() || store.has_active_keys(now()).await? {
        return Ok(());
    }
    Err(NoKeys.into())
}

/// Returns the tenants that have keys but are unknown to the configuration.
pub(crate) async fn unknown_tenants(
    policy: &Policy,
    store: &Store,
) -> Result<BTreeSet<Tenant>, kitbag_store::Error> {
    let keys = store.list_keys().await?.into_iter();
    let active = keys.filter(|key| key.role == Role::User && is_active(key));
    let tenants = active.map(|key| key.tenant);
    Ok(tenants
        .filter(|tenant| !policy.is_known_tenant(tenant))
        .collect())
}

/// True if the key is neither revoked nor expired.
pub(crate) fn is_active(key: &KeyInfo) -> bool {
    key.revoked_at.is_none() && !key.is_expired(now())
}

pub(crate) struct UnknownTenant;

impl UnknownTenant {
    pub(crate) const MESSAGE: &str =
        "keys of this tenant cannot be used: it has no table under [tenants]";

    pub(crate) fn remedy(tenant: &Tenant) -> String {
        format!(
            "add `[tenants.{tenant}]` to the configuration (it may be empty), set `unknown = \"allow\"` under \
             [tenants], or revoke the keys"
        )
    }
}
