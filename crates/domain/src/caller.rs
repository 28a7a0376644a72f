//! The caller of a request: its tenant, its key and its role.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The party that a caller belongs to. Rules, records and figures are kept per tenant.
///
/// The gateway takes a tenant from a credential, never from an argument.
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

/// The purpose of a key. No role includes another: someone who monitors a gateway need not call its
/// tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Calls tools and reads figures, for one tenant.
    #[default]
    User,
    /// Reads the figures and records of every tenant, and calls nothing.
    Operator,
    /// Reads what an operator reads, and makes changes on the web pages.
    Admin,
}

/// The authenticated origin of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Operators and admins belong to no tenant. They have `local` here, which no rule applies to.
    pub tenant: Tenant,
    /// `None` for the user at this machine, who needs no key.
    pub key: Option<KeyId>,
    pub role: Role,
}

impl Tenant {
    /// In characters; a tenant's name may be a file name and a configuration table.
    const MAX: usize = 64;

    /// The tenant of a caller that reaches the gateway from this machine without a key.
    pub fn local() -> Self {
        Self("local".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Caller {
    /// The user at this machine, who needs no key.
    pub fn local() -> Self {
        Self {
            tenant: Tenant::local(),
            key: None,
            role: Role::User,
        }
    }

    /// A caller with a key of that tenant.
    pub fn user(tenant: Tenant, key: KeyId) -> Self {
        Self {
            tenant,
            key: Some(key),
            role: Role::User,
        }
    }

    pub fn operator(key: KeyId) -> Self {
        Self {
            tenant: Tenant::local(),
            key: Some(key),
            role: Role::Operator,
        }
    }

    pub fn admin(key: KeyId) -> Self {
        Self {
            role: Role::Admin,
            ..Self::operator(key)
        }
    }

    pub fn is_local(&self) -> bool {
        self.key.is_none()
    }

    /// True if the gateway may show this caller figures and records of other tenants, and the last
    /// output of servers, which may concern calls of other tenants.
    pub fn sees_all_tenants(&self) -> bool {
        self.is_local() || self.role != Role::User
    }
}

impl Role {
    pub const ALL: [Self; 3] = [Self::User, Self::Operator, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a role: use `user`, `operator` or `admin`")]
pub struct RoleError {
    pub name: String,
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(name: &str) -> Result<Self, RoleError> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == name);
        found.ok_or_else(|| RoleError {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tenant {
    type Err = TenantError;

    fn from_str(name: &str) -> Result<Self, TenantError> {
        if (1..=Self::MAX).contains(&name.len()) && name.chars().all(is_tenant_char) {
            Ok(Self(name.into()))
        } else {
            Err(TenantError {
                name: name.to_owned(),
            })
        }
    }
}

fn is_tenant_char(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '.')
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
