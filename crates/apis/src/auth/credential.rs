//! A tenant's fields for an API.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kitbag_fetch::secrets::is_secret_name;

/// Distinguishes the credentials of tenants: tokens and limits are per credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CredentialOwner(Arc<str>);

/// A credential as of a call. Its values are never shown.
#[derive(Clone)]
pub struct Credential {
    owner: CredentialOwner,
    fields: BTreeMap<String, String>,
}

impl CredentialOwner {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Credential {
    pub fn new(owner: CredentialOwner, fields: BTreeMap<String, String>) -> Self {
        Self { owner, fields }
    }

    pub fn owner(&self) -> &CredentialOwner {
        &self.owner
    }

    /// Returns a field; an empty one counts as missing.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let value = self.fields.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// Returns a field whose presence was checked.
    pub(crate) fn field_or_empty(&self, name: &str) -> String {
        self.field(name).unwrap_or_default().to_owned()
    }

    pub(crate) fn missing_fields(&self, needed: &BTreeSet<&str>) -> Vec<String> {
        let absent = needed.iter().filter(|name| self.field(name).is_none());
        absent.map(|name| (*name).to_owned()).collect()
    }

    /// Returns the fields that must not appear in an answer. A region or an account number may.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secret = self.fields.iter().filter(|(name, _)| is_secret_name(name));
        secret.map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("owner", &self.owner)
            .field("fields", &self.fields.keys())
            .finish()
    }
}
