//! The place that keeps the images of answers, which are too large for most contexts.

use std::collections::BTreeSet;

use crate::auth::AuthScheme;
use crate::placeholder::Placeholder;
use crate::text_template::TextTemplate;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageDeclaration {
    /// The folder that images are put into; only fields of the credential can be in it.
    pub url: TextTemplate,
    pub auth: AuthScheme,
    /// The argument by which a caller asks for the images themselves.
    pub unless: String,
}

impl StorageDeclaration {
    /// Returns the fields of the credential without which nothing can be stored.
    pub fn fields(&self) -> BTreeSet<&str> {
        let templates = self.auth.templates().into_iter().chain([&self.url]);
        let named = templates.flat_map(TextTemplate::placeholders);
        let named = named.filter_map(Placeholder::credential_field);
        named.chain(self.auth.fields().iter().copied()).collect()
    }
}
