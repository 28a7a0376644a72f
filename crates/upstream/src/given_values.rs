//! The values that a server is given in its environment or its headers, filled in.

use std::fmt;

use kitbag_domain::Template;

use crate::server::Server;

/// A variable or header as the server gets it.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenValue<'a> {
    pub name: &'a str,
    /// The value as it stands in the configuration.
    pub source: &'a str,
    pub value: String,
}

impl Server {
    /// Returns the variables or headers. One that cannot be filled in now is left out.
    pub fn given(&self) -> Vec<GivenValue<'_>> {
        self.spec()
            .named_values()
            .iter()
            .filter_map(|(name, template)| self.filled(name, template))
            .collect()
    }

    fn filled<'a>(&self, name: &'a str, template: &'a Template) -> Option<GivenValue<'a>> {
        let value = template
            .resolve(|variable| (self.context.lookup)(variable))
            .ok()?;
        Some(GivenValue {
            name,
            source: template.source(),
            value,
        })
    }
}

impl fmt::Debug for GivenValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenValue")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
