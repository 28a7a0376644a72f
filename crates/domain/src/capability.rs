//! The identity of a tool, prompt or resource.

use serde::{Deserialize, Serialize};

use crate::{ServerName, ShortText};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Tool,
    Prompt,
    Resource,
}

/// One of the lists of definitions that a server may have. All but tools and prompts are identified
/// by a URI, and requested as resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    Tool,
    Prompt,
    ResourceTemplate,
    Skill,
    Resource,
}

/// The hash of a definition before a secret was masked in it, as the lock file writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmaskedHash {
    pub kind: DefinitionKind,
    pub name: String,
    pub hash: String,
}

/// The identity of a tool, prompt or resource: its server, and the server's own name for it (for a
/// resource, the URI).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Capability {
    pub server: ServerName,
    pub kind: Kind,
    pub name: String,
}

impl Capability {
    pub fn tool(server: ServerName, name: impl Into<String>) -> Self {
        Self {
            server,
            kind: Kind::Tool,
            name: name.into(),
        }
    }

    /// Returns the capability with a short name for records. Rules are compared with the whole
    /// name.
    pub fn into_shortened(mut self) -> Self {
        let short = ShortText::truncate(&self.name);
        if short.as_str() != self.name {
            self.name = short.as_str().to_owned();
        }
        self
    }
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl DefinitionKind {
    pub const ALL: [Self; 5] = [
        Self::Tool,
        Self::Prompt,
        Self::ResourceTemplate,
        Self::Skill,
        Self::Resource,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::ResourceTemplate => "resource template",
            Self::Skill => "skill",
            Self::Resource => "resource",
        }
    }

    /// The member that identifies a definition.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::ResourceTemplate => "uriTemplate",
            Self::Skill | Self::Resource => "uri",
        }
    }

    /// True if a URI identifies a definition.
    pub fn has_uri(self) -> bool {
        !matches!(self, Self::Tool | Self::Prompt)
    }
}

/// Splits `list_issues`, `list-issues` and `listIssues` alike.
pub fn split_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        let begins = c.is_uppercase() && small;
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        small = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut() {
            let letter = c.is_alphanumeric().then(|| c.to_lowercase());
            word.extend(letter.into_iter().flatten());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
