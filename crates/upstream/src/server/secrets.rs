//! A server's secrets, so that no caller reads them in its output.

use std::sync::{Arc, Mutex};

use kitbag_domain::Lookup;
use kitbag_domain::sync::lock;
use kitbag_fetch::Secrets;

use super::Server;
use crate::listing::Listing;
use crate::spec::ServerSpec;

/// Finds the secrets among a server's values, with variables expanded.
pub type FindSecrets = fn(&ServerSpec, &Lookup) -> Vec<String>;

/// A token is refreshed every few minutes at most, and a call does not take hours.
const MAX_VALUES: usize = 64;

/// The secrets so far: a program keeps the ones of its start when others are set.
#[derive(Default)]
pub(super) struct KnownSecrets(Mutex<SecretSearch>);

#[derive(Default)]
struct SecretSearch {
    /// The latest come last.
    values: Vec<String>,
    search: Arc<Secrets>,
}

impl Server {
    /// Returns a search for all its secrets so far, including its login's.
    pub fn secrets(&self) -> Arc<Secrets> {
        let mut found = (self.context.find_secrets)(&self.spec, &self.context.lookup);
        found.extend(
            self.credentials()
                .into_iter()
                .flat_map(|it| it.secret_tokens()),
        );
        let mut known = lock(&self.secrets.0);
        found.retain(|value| !known.values.contains(value));
        if !found.is_empty() {
            known.values.append(&mut found);
            let outdated = known.values.len().saturating_sub(MAX_VALUES);
            known.values.drain(..outdated);
            known.search = Arc::new(Secrets::from_values(&known.values));
        }
        known.search.clone()
    }

    /// Returns the lists without those secrets.
    pub(super) fn mask_listing(&self, mut listing: Listing) -> Listing {
        listing.mask_secrets(&self.secrets(), self.context.hash_definition);
        listing
    }
}
