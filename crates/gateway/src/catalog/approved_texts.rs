//! The texts of approved definitions in the store, with which later changes are shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kitbag_config::ServerLock;
use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use kitbag_fetch::Secrets;
use kitbag_upstream::{Listing, Server, mask_json};
use kitbag_wire::Raw;

use crate::catalog::drift;
use crate::state::gateway::Gateway;

/// The secrets that were already masked in all stored texts, by server.
#[derive(Debug, Default)]
pub(crate) struct MaskedSecrets(Mutex<HashMap<ServerName, Arc<Secrets>>>);

impl MaskedSecrets {
    fn contains(&self, server: &ServerName, secrets: &Arc<Secrets>) -> bool {
        let masked = lock(&self.0);
        masked
            .get(server)
            .is_some_and(|it| Arc::ptr_eq(it, secrets))
    }

    fn insert(&self, server: &ServerName, secrets: Arc<Secrets>) {
        lock(&self.0).insert(server.clone(), secrets);
    }
}

/// Stores the texts of the approved definitions, even if they were approved on another machine, so
/// that a later change can be shown as a diff.
pub(crate) async fn store_approved_texts(
    gateway: &Gateway,
    server: &ServerName,
    listing: &Listing,
) {
    let ServerLock::Locked(locked) = gateway.lock.server_lock(server) else {
        return;
    };
    let listed = drift::listed_offer(listing).definitions().into_iter();
    let approved = listed.filter(|it| locked.is_approved(it));
    let approved: Vec<_> = approved.map(drift::approved_definition).collect();
    let store = &gateway.services.store;
    if let Err(error) = store.put_approved_definitions(&approved).await {
        tracing::warn!(%server, %error, "failed to store the approved definitions");
    }
}

/// Masks a server's secrets in all stored texts: earlier versions stored them in clear. A secret
/// that is known already is in no text, because new texts are masked before they are stored.
pub(crate) async fn mask_stored_texts(gateway: &Gateway, server: &Server) {
    let (name, secrets) = (server.name(), server.secrets());
    let masked = &gateway.services.masked_secrets;
    if secrets.is_empty() || masked.contains(name, &secrets) {
        return;
    }
    let mask = |text: &str| {
        let definition: Raw = serde_json::from_str(text).ok()?;
        Some(mask_json(&definition, &secrets)?.get().to_owned())
    };
    let store = &gateway.services.store;
    match store.rewrite_approved_bodies(mask).await {
        Ok(count) => {
            if count > 0 {
                tracing::info!(server = %name, count, "masked secrets in stored definitions");
            }
            masked.insert(name, secrets.clone());
        }
        Err(error) => {
            tracing::warn!(server = %name, %error, "failed to mask secrets in stored definitions");
        }
    }
}
