//! The storage for images in answers, which are too large for most contexts.

use std::collections::BTreeSet;

use crate::auth::AuthScheme;
use crate::placeholder::Placeholder;
use crate::text_pattern::TextPattern;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageSpec {
    /// The folder for the images; it may only contain fields of the credential.
    pub url: TextPattern,
    pub auth: AuthScheme,
    /// The argument with which a caller requests the images themselves.
    pub unless: String,
}

impl StorageSpec {
    /// Returns the fields of the credential that storing requires.
    pub fn credential_fields(&self) -> BTreeSet<&str> {
        let patterns = self.auth.patterns().into_iter().chain([&self.url]);
        let named = patterns.flat_map(TextPattern::placeholders);
        let named = named.filter_map(Placeholder::credential_field);
        named
            .chain(self.auth.required_fields().iter().copied())
            .collect()
    }
}
