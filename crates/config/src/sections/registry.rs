//! `[registry]`: the registry that `kitbag servers find` searches.

use kitbag_registry::Registry;
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::rows::{Fallback, KeyRow, KeyTable, Secrecy, SectionRow, TableLayout, text};
use crate::values::{Section, web_address};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "registry",
    layout: TableLayout::One(&TABLE),
    in_force: Some(|config| config.registry.to_string()),
};

const TABLE: KeyTable = KeyTable {
    path: "registry",
    alternatives: &[],
    rows: &[KeyRow {
        name: "url",
        default: Fallback::Value(|| text(Registry::OFFICIAL)),
        secrecy: Secrecy::Address,
        meaning: "An MCP registry: the part of its address before `/v0.1/servers`.",
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
        return Ok(official());
    };
    parse_registry(text.get_ref())
        .map_err(|problem| Section::of("registry").wrong_at("url", &text, problem))
}

/// Reads the address of a registry, without the final `/v0.1`.
pub fn parse_registry(text: &str) -> Result<Url, Problem> {
    web_address(text).ok_or(Problem::RegistryUrl)
}

fn official() -> Url {
    Url::parse(Registry::OFFICIAL).expect("a constant that is an address")
}
