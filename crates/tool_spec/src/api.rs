//! The API behind a tool: its location, the hosts it may reach, and the credential it needs.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use http::HeaderName;

use crate::action::ActionSpec;
use crate::auth::AuthScheme;
use crate::host::HostPattern;
use crate::names::CredentialName;
use crate::placeholder::Placeholder;
use crate::storage::StorageSpec;
use crate::text_pattern::TextPattern;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSpec {
    /// The base of all addresses, without a trailing slash; it may only contain fields of the
    /// credential.
    pub url: TextPattern,
    /// Never empty.
    pub hosts: Vec<HostPattern>,
    pub credential: Option<CredentialName>,
    /// Fields of the credential that may be missing.
    pub optional_fields: Vec<String>,
    pub auth: AuthScheme,
    pub headers: Vec<(HeaderName, TextPattern)>,
    pub timeout: Duration,
    pub max_response_bytes: usize,
    /// For each tenant.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Absent if images stay in the answers.
    pub storage: Option<StorageSpec>,
}

impl ApiSpec {
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
    pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

    pub fn may_reach(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host))
    }

    /// Returns the fields of the credential that the action requires.
    pub fn needed_fields<'a>(&'a self, action: &'a ActionSpec) -> BTreeSet<&'a str> {
        let mut fields = self.credential_fields();
        let of_action = action.placeholders().into_iter();
        fields.extend(of_action.filter_map(Placeholder::credential_field));
        fields.retain(|field| !self.is_optional(field));
        fields
    }

    /// Returns every field that the API itself names, whichever action is called.
    pub fn credential_fields(&self) -> BTreeSet<&str> {
        let patterns = self.headers.iter().map(|(_, pattern)| pattern);
        let patterns = patterns.chain([&self.url]).chain(self.auth.patterns());
        let named = patterns.flat_map(TextPattern::placeholders);
        let named = named.filter_map(Placeholder::credential_field);
        named
            .chain(self.auth.required_fields().iter().copied())
            .collect()
    }

    pub fn is_optional(&self, field: &str) -> bool {
        self.optional_fields
            .iter()
            .any(|optional| optional == field)
            || self.auth.optional_fields().contains(&field)
    }
}
