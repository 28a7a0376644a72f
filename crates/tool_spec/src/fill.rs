//! The values that replace placeholders.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

/// Returns a field of the credential, if the credential has it.
pub type CredentialFields<'a> = &'a (dyn Fn(&str) -> Option<String> + Send + Sync);

/// The arguments of a call and the credential of its tenant.
///
/// A field that the credential lacks is omitted, like a missing argument. Required fields are
/// checked beforehand, with
/// [`ApiSpec::needed_fields`](crate::api::ApiSpec::needed_fields).
pub struct FillValues<'a> {
    arguments: &'a Map<String, Value>,
    defaults: &'a Map<String, Value>,
    /// The arguments that patterns name, which `{*}` therefore leaves out.
    named: BTreeSet<&'a str>,
    credential: CredentialFields<'a>,
}

impl<'a> FillValues<'a> {
    pub fn new(
        arguments: &'a Map<String, Value>,
        defaults: &'a Map<String, Value>,
        named: BTreeSet<&'a str>,
        credential: CredentialFields<'a>,
    ) -> Self {
        Self {
            arguments,
            defaults,
            named,
            credential,
        }
    }

    pub fn argument(&self, name: &str) -> Option<&'a Value> {
        self.arguments.get(name).or_else(|| self.defaults.get(name))
    }

    pub fn credential_field(&self, field: &str) -> Option<String> {
        (self.credential)(field)
    }

    /// Returns the arguments that no pattern names.
    pub fn remaining_arguments(&self) -> Map<String, Value> {
        let absent = self.defaults.iter();
        let absent = absent.filter(|(name, _)| !self.arguments.contains_key(*name));
        let all = self.arguments.iter().chain(absent);
        all.filter(|(name, _)| !self.named.contains(name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

/// Shows the names of the arguments; their values and the credential stay hidden.
impl fmt::Debug for FillValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.arguments.keys().collect();
        f.debug_struct("FillValues")
            .field("arguments", &names)
            .finish_non_exhaustive()
    }
}
