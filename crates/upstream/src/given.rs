//! What a server is given in its environment or its headers, filled in.

use std::fmt;

use kitbag_domain::Template;

use crate::server::Server;

/// A variable or header as a server has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Given<'a> {
    pub name: &'a str,
    /// As it stands in the configuration.
    pub source: &'a str,
    pub value: String,
}

impl Server {
    /// What cannot be filled in now is left out.
    pub fn given(&self) -> Vec<Given<'_>> {
        self.spec()
            .named_values()
            .iter()
            .filter_map(|(name, template)| self.filled(name, template))
            .collect()
    }

    fn filled<'a>(&self, name: &'a str, template: &'a Template) -> Option<Given<'a>> {
        let value = template
            .resolve(|variable| (self.ground.lookup)(variable))
            .ok()?;
        Some(Given {
            name,
            source: template.source(),
            value,
        })
    }
}

impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
