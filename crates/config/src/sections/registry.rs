//! `[registry]`: the registry that `kitbag servers find` searches.

use kitbag_registry::Registry;
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::rows::{Fallback, KeyRow, KeyTable, Secrecy, SectionRow, TableLayout, text_value};
use crate::values::{Section, parse_web_address};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "registry",
    layout: TableLayout::One(&TABLE),
    fingerprint: Some(|config| config.registry.to_string()),
};

const TABLE: KeyTable = KeyTable {
    path: "registry",
    alternatives: &[],
    rows: &[KeyRow {
        name: "url",
        default: Fallback::Value(|| text_value(Registry::OFFICIAL)),
        secrecy: Secrecy::Address,
        meaning: "The base URL of an MCP registry, without `/v0.1/servers`.",
        ..KeyRow::PLAIN
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawRegistry {
    url: Option<Spanned<String>>,
}

pub(crate) fn build(raw: RawRegistry) -> Result<Url, Fault> {
    let Some(text) = raw.url else {
        return Ok(official_url());
    };
    parse_registry_url(text.get_ref())
        .map_err(|problem| Section::new("registry").fault_at("url", &text, problem))
}

/// Parses the URL of a registry, without the final `/v0.1`.
pub fn parse_registry_url(text: &str) -> Result<Url, Problem> {
    parse_web_address(text).ok_or(Problem::RegistryUrl)
}

fn official_url() -> Url {
    Url::parse(Registry::OFFICIAL).expect("a valid URL")
}
