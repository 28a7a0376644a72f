//! A credential: its name, the tenants that may use it, and its fields.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use kitbag_domain::{Tenant, TenantError, Timestamp};
use kitbag_tool_spec::CredentialName;

use crate::secrets::Secret;
use crate::{Error, unreadable_error};

/// The tenants that may use a credential.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CredentialHolder {
    /// All tenants without a credential of that name.
    AllTenants,
    Tenant(Tenant),
}

/// Identifies a credential.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialKey {
    pub holder: CredentialHolder,
    pub name: CredentialName,
}

/// The values of a credential, by field name. `Debug` does not print them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialFields(BTreeMap<String, Secret>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialInfo {
    pub key: CredentialKey,
    /// The names, without the values.
    pub fields: Vec<String>,
    pub updated_at: Timestamp,
}

/// Fields to set, and fields to remove.
#[derive(Debug, Clone, Default)]
pub struct CredentialChange {
    changes: Vec<(String, Option<Secret>)>,
}

impl CredentialHolder {
    /// Stands for all tenants; it is not a valid tenant name.
    pub const ALL: &str = "*";

    /// The value in the column `tenant`.
    pub(super) fn to_column(&self) -> &str {
        match self {
            Self::AllTenants => "",
            Self::Tenant(tenant) => tenant.as_str(),
        }
    }
}

impl FromStr for CredentialHolder {
    type Err = TenantError;

    fn from_str(text: &str) -> Result<Self, TenantError> {
        match text {
            Self::ALL => Ok(Self::AllTenants),
            tenant => tenant.parse().map(Self::Tenant),
        }
    }
}

impl fmt::Display for CredentialHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllTenants => f.write_str(Self::ALL),
            Self::Tenant(tenant) => tenant.fmt(f),
        }
    }
}

impl fmt::Display for CredentialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            CredentialHolder::AllTenants => write!(f, "{} of all tenants", self.name),
            CredentialHolder::Tenant(tenant) => write!(f, "{} of {tenant}", self.name),
        }
    }
}

impl CredentialKey {
    pub(super) fn sealed_name(&self) -> String {
        sealed_for(self.holder.to_column(), self.name.as_str())
    }
}

/// The name that the credential is sealed for. It contains spaces, unlike the name of a secret, so
/// that neither opens in the row of the other.
pub(super) fn sealed_for(tenant: &str, name: &str) -> String {
    format!("credential {name} of {tenant}")
}

impl CredentialFields {
    pub fn get(&self, field: &str) -> Option<&Secret> {
        self.0.get(field)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn to_json(&self) -> String {
        let plain: BTreeMap<&str, &str> = self
            .iter()
            .map(|(name, value)| (name, value.reveal()))
            .collect();
        serde_json::to_string(&plain).expect("texts can be written as JSON")
    }

    pub(super) fn from_json(text: &str) -> Option<Self> {
        let plain: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
        let fields = plain
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)));
        Some(Self(fields.collect()))
    }
}

impl CredentialInfo {
    pub(super) fn from_row(
        (tenant, name, fields, at): (String, String, String, i64),
    ) -> Result<Self, Error> {
        let holder = match tenant.as_str() {
            "" => CredentialHolder::AllTenants,
            named => {
                let tenant = named.parse();
                CredentialHolder::Tenant(tenant.map_err(|_| unreadable_error("tenant", named))?)
            }
        };
        let name = name
            .parse()
            .map_err(|_| unreadable_error("name of a credential", name))?;
        Ok(Self {
            key: CredentialKey { holder, name },
            fields: fields.lines().map(str::to_owned).collect(),
            updated_at: Timestamp(at),
        })
    }
}

impl CredentialChange {
    pub fn set(fields: impl IntoIterator<Item = (String, Secret)>) -> Self {
        let changes = fields.into_iter().map(|(name, value)| (name, Some(value)));
        Self {
            changes: changes.collect(),
        }
    }

    pub fn remove(fields: impl IntoIterator<Item = String>) -> Self {
        Self {
            changes: fields.into_iter().map(|name| (name, None)).collect(),
        }
    }

    pub(super) fn apply(self, fields: &mut CredentialFields) {
        for (name, value) in self.changes {
            match value {
                Some(value) => fields.0.insert(name, value),
                None => fields.0.remove(&name),
            };
        }
    }
}
