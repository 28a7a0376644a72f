//! Who asks, and for which tenant.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The party on whose behalf everything happens: what it may see, what it has done.
///
/// A tenant is only ever taken from a credential, never from an argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tenant(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a tenant name: use 1 to 64 lower-case letters, digits, `-`, `_` or `.`")]
pub struct TenantError {
    pub name: String,
}

/// The public part of an API key, by which it is listed and revoked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId(pub String);

/// The authenticated origin of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    pub tenant: Tenant,
    /// Absent for the person at this machine, who needs no key.
    pub key: Option<KeyId>,
}

impl Tenant {
    /// The tenant of whoever reaches the gateway from this machine without a key.
    pub fn local() -> Self {
        Self("local".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Caller {
    pub fn local() -> Self {
        Self { tenant: Tenant::local(), key: None }
    }
}

impl FromStr for Tenant {
    type Err = TenantError;

    fn from_str(name: &str) -> Result<Self, TenantError> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        if (1..=64).contains(&name.len()) && name.chars().all(fits) {
            Ok(Self(name.into()))
        } else {
            Err(TenantError { name: name.to_owned() })
        }
    }
}

impl TryFrom<String> for Tenant {
    type Error = TenantError;

    fn try_from(name: String) -> Result<Self, TenantError> {
        name.parse()
    }
}

impl From<Tenant> for String {
    fn from(tenant: Tenant) -> Self {
        tenant.0.as_ref().to_owned()
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
