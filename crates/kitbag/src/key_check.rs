//! Checks that the existing keys fit the configuration: a gateway that wants keys needs one, and a
//! key needs a tenant that the configuration knows.

use std::collections::BTreeSet;

use kitbag_config::Serve;
use kitbag_domain::{Role, Tenant};
use kitbag_policy::Policy;
use kitbag_store::{KeyInfo, Store};

use kitbag_gateway::state::clock::now;

#[derive(Debug, thiserror::Error)]
#[error("this configuration lets in no client without a key, and there is no key yet")]
pub(crate) struct NoKeys;

impl NoKeys {
    pub(crate) const REMEDY: &str = "create one with `kitbag key create --tenant NAME`";
}

/// Refuses to serve when keys are required and none exists.
pub(crate) async fn check_keys(serve: &Serve, store: &Store) -> anyhow::Result<()> {
    if serve.allows_keyless() || store.has_active_keys(now()).await? {
        return Ok(());
    }
    Err(NoKeys.into())
}

/// Tenants that have keys which open nothing, because the configuration does not name them.
pub(crate) async fn unknown_tenants(
    policy: &Policy,
    store: &Store,
) -> Result<BTreeSet<Tenant>, kitbag_store::Error> {
    let keys = store.keys().await?.into_iter();
    let opening = keys.filter(|key| key.role == Role::User && is_active(key));
    let tenants = opening.map(|key| key.tenant);
    Ok(tenants.filter(|tenant| !policy.knows(tenant)).collect())
}

/// True if the key still opens something.
pub(crate) fn is_active(key: &KeyInfo) -> bool {
    key.revoked_at.is_none() && !key.is_expired(now())
}

pub(crate) struct UnknownTenant;

impl UnknownTenant {
    pub(crate) const WHAT: &str =
        "keys of this tenant open nothing: it has no table under [tenants]";

    pub(crate) fn remedy(tenant: &Tenant) -> String {
        format!(
            "add `[tenants.{tenant}]` to the configuration (it may stay empty), set `unknown = \"allow\"` under \
             [tenants], or revoke the keys"
        )
    }
}
