//! `[registry]`: the registry that `kitbag servers find` searches.

use kitbag_registry::Registry;
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::rows::{KeyRow, KeyTable, Secrecy, SectionRow};
use crate::values::{Section, parse_web_address};

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| config.registry.to_string());

const TABLE: KeyTable = KeyTable {
    path: "registry",
    alternatives: &[],
    rows: &[KeyRow {
        name: "url",
        secrecy: Secrecy::Address,
        meaning: "The base URL of an MCP registry, without `/v0.1/servers`.",
        ..KeyRow::text(|| Registry::OFFICIAL.to_owned())
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawRegistry {
    url: Option<Spanned<String>>,
}

pub(crate) fn build(raw: RawRegistry) -> Result<Url, Fault> {
    let Some(text) = raw.url else {
        return Ok(Url::parse(Registry::OFFICIAL).expect("a valid URL"));
    };
    parse_registry_url(text.get_ref())
        .map_err(|problem| Section::new("registry").fault_at("url", &text, problem))
}

/// Parses the URL of a registry, without the final `/v0.1`.
pub fn parse_registry_url(text: &str) -> Result<Url, Problem> {
    parse_web_address(text).ok_or(Problem::RegistryUrl)
}
