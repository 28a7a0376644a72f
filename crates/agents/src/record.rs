//! The data of one agent, as in the file that people maintain.

use jiff::civil::Date;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use url::Url;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentFile {
    #[serde(rename = "$schema", default, skip_serializing)]
    pub schema: Option<String>,
    pub agent: Agent,
    #[serde(default)]
    pub documentation: Documentation,
    pub capabilities: Vec<AgentCapability>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Agent {
    pub id: String,
    pub name: String,
    pub vendor: String,
    /// The version of the product or of the documentation that was read.
    pub version: String,
    #[serde(deserialize_with = "day")]
    pub last_updated: Date,
    #[serde(default)]
    pub first_class: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Documentation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub official_docs: Option<Url>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_notes: Option<Url>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub github: Option<Url>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentCapability {
    pub name: String,
    pub category: Category,
    #[serde(deserialize_with = "required_availability")]
    pub available: Availability,
    #[serde(default)]
    pub tier: Tier,
    #[serde(default)]
    pub maturity_level: Maturity,
    pub status: RecordStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The vendor's own name for it, if different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor_term: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_notes: Option<ImplementationNotes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<CitedSource>,
}

/// Written as `true`, as `false`, or as `null` if no document that was read answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<bool>", into = "Option<bool>")]
pub enum Availability {
    Yes,
    No,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImplementationNotes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_url: Option<Url>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gotchas: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CitedSource {
    pub url: Url,
    pub description: String,
    #[serde(deserialize_with = "day")]
    pub verified_date: Date,
    pub status: RecordStatus,
    pub granularity: Granularity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

/// The state of a record or a source, not of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordStatus {
    Active,
    Deprecated,
    Unknown,
}

/// The cheapest plan that includes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    Free,
    Pro,
    Business,
    Enterprise,
    #[default]
    Unknown,
}

/// The maturity that the vendor states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maturity {
    Experimental,
    Preview,
    Beta,
    Stable,
    Deprecated,
    #[default]
    Unknown,
}

/// How specific a source is to the capability that it is cited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// A page about this capability only.
    Dedicated,
    /// A section with an address of its own.
    Section,
    /// A page about more than this.
    Page,
    /// A quotation, if nothing more specific can be linked to.
    Excerpt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    Account,
    AgentOrchestration,
    ApiIntegration,
    ChatAssistance,
    CodeCompletion,
    CodeExplanation,
    CodeGeneration,
    CodeRefactoring,
    Collaboration,
    CommandLine,
    ContextAwareness,
    Customization,
    Debugging,
    Documentation,
    IdeIntegration,
    LanguageSupport,
    ModelSelection,
    MultiFileEditing,
    Observability,
    Security,
    SessionManagement,
    Testing,
}

impl AgentFile {
    pub fn capability(&self, name: &str) -> Option<&AgentCapability> {
        let mut capabilities = self.capabilities.iter();
        capabilities.find(|capability| capability.name == name)
    }

    pub fn availability(&self, name: &str) -> Availability {
        let capability = self.capability(name);
        capability.map_or(Availability::Unknown, |known| known.available)
    }
}

impl Category {
    /// The name in the files.
    pub fn name(self) -> String {
        let written = serde_json::to_value(self).expect("a unit variant is written as a string");
        written.as_str().unwrap_or_default().to_owned()
    }
}

impl From<Option<bool>> for Availability {
    fn from(written: Option<bool>) -> Self {
        match written {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

impl From<Availability> for Option<bool> {
    fn from(availability: Availability) -> Self {
        match availability {
            Availability::Yes => Some(true),
            Availability::No => Some(false),
            Availability::Unknown => None,
        }
    }
}

/// Makes the field required: `null` is a statement, a missing field is not.
fn required_availability<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Availability, D::Error> {
    Availability::deserialize(deserializer)
}

/// Parses a date. The parser by itself would also accept a time, and drop it.
fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let text = String::deserialize(deserializer)?;
    let date = text
        .parse()
        .ok()
        .filter(|date: &Date| date.to_string() == text);
    date.ok_or_else(|| D::Error::custom(format!("`{text}` is not a day like 2026-08-22")))
}
