//! `[catalog]` and `[endpoints.ID]`: the effective tool files, and the endpoints their tools call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kitbag_policy::{AddressRules, Pattern};
use kitbag_tool_spec::{ToolId, ToolNameError};
use toml::Spanned;
use url::Url;

use super::provider::{parse_base_url, parse_networks};
use super::surfaces::compile_pattern;
use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::raw::{ByName, Texts};
use crate::rows::{KeyRow, KeyTable, Secrecy, SectionRow, TableLayout, ValueType};
use crate::values::Section;

pub(crate) const SECTION: SectionRow = SectionRow::one(&TABLE, |config| {
    format!(
        "{:?} {:?} {:?}",
        config.catalog.directories, config.catalog.data, config.catalog.tools
    )
});

pub(crate) const ENDPOINTS_SECTION: SectionRow = SectionRow {
    name: "endpoints",
    layout: TableLayout::Each(&ENDPOINT),
    fingerprint: Some(|config| {
        let catalog = &config.catalog;
        format!("{:?} {:?}", catalog.endpoints, catalog.endpoint_patterns)
    }),
};

const TABLE: KeyTable = KeyTable {
    path: "catalog",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "directories",
            value: ValueType::Texts,
            meaning: "The directories of your own [tool files](tool-files.md), `*.toml`. Their tools are always offered. \
                      Changes are picked up while the gateway runs.",
            ..KeyRow::unset("`tools` in the data directory")
        },
        KeyRow {
            name: "data",
            meaning: "Files of your own [dated data](tool-files.md#dated-data), such as the profile for \
                      [`icp_scorer`](tools/icp-scorer.md). They are read for each call.",
            ..KeyRow::texts(Vec::new)
        },
        KeyRow {
            name: "tools",
            meaning: "The [built-in tools](tools/README.md) to offer, by id; `*` matches anything. A tool whose \
                      credential is set is offered without being listed here.",
            ..KeyRow::texts(Vec::new)
        },
    ],
};

const ENDPOINT: KeyTable = KeyTable {
    path: "endpoints.ID",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "url",
            secrecy: Secrecy::Address,
            meaning: "The base address that the tool calls.",
            ..KeyRow::unset("from the tool file")
        },
        KeyRow {
            name: "token_url",
            secrecy: Secrecy::Address,
            meaning: "The OAuth 2.0 token URL, if it uses OAuth 2.0.",
            ..KeyRow::unset("from the tool file")
        },
        KeyRow {
            name: "authorize_url",
            secrecy: Secrecy::Address,
            meaning: "The URL that `kitbag secret login` opens in a browser.",
            ..KeyRow::unset("from the tool file")
        },
        KeyRow {
            name: "storage_url",
            secrecy: Secrecy::Address,
            meaning: "The URL of the folder for its images, if it stores images.",
            ..KeyRow::unset("from the tool file")
        },
        KeyRow {
            name: "allow_private",
            meaning: "`true` allows loopback and private addresses.",
            ..KeyRow::flag(|| false)
        },
        KeyRow {
            name: "allow_addresses",
            meaning: "Addresses and ranges that are always allowed.",
            ..KeyRow::texts(Vec::new)
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawCatalog {
    directories: Option<Vec<String>>,
    data: Vec<String>,
    tools: Texts,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawEndpoint {
    url: Option<Spanned<String>>,
    token_url: Option<Spanned<String>>,
    authorize_url: Option<Spanned<String>>,
    storage_url: Option<Spanned<String>>,
    allow_private: bool,
    allow_addresses: Texts,
}

/// The effective tool files.
#[derive(Debug, Clone, Default)]
pub struct CatalogSettings {
    pub directories: Vec<PathBuf>,
    /// The operator's files of dated data.
    pub data: Vec<PathBuf>,
    /// Built-in tools that are offered whether or not their credential is set.
    pub tools: Vec<Pattern>,
    pub endpoints: BTreeMap<ToolId, ToolEndpoint>,
    /// The endpoints of all tools whose id matches a pattern, longest pattern first.
    pub endpoint_patterns: Vec<(Pattern, ToolEndpoint)>,
}

impl CatalogSettings {
    /// The name that rules use for all tools that come from files: `catalog/aws_ses`. No server can
    /// have it.
    pub const SERVER: &str = "catalog";

    /// Returns the operator's endpoint for a tool: under its id, or else under the longest matching
    /// pattern.
    pub fn endpoint(&self, tool: &ToolId) -> ToolEndpoint {
        let by_pattern = || {
            let mut patterns = self.endpoint_patterns.iter();
            patterns.find(|(pattern, _)| pattern.matches(tool.as_str()))
        };
        let named = self.endpoints.get(tool);
        named
            .or_else(|| by_pattern().map(|(_, endpoint)| endpoint))
            .cloned()
            .unwrap_or_default()
    }
}

/// The operator's changes to the endpoint that a tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolEndpoint {
    pub url: Option<Url>,
    pub token_url: Option<Url>,
    pub authorize_url: Option<Url>,
    pub storage_url: Option<Url>,
    pub addresses: AddressRules,
}

pub(crate) fn build(
    raw: RawCatalog,
    endpoints: ByName<RawEndpoint>,
    base_dirs: &BaseDirs,
) -> Result<CatalogSettings, Fault> {
    let section = Section::new("catalog");
    let tools = raw.tools.iter();
    let (of_patterns, of_tools) = endpoints
        .into_iter()
        .partition::<Vec<_>, _>(|(id, _)| id.get_ref().contains('*'));
    Ok(CatalogSettings {
        directories: match raw.directories {
            Some(directories) => directories
                .iter()
                .map(|it| base_dirs.resolve_path(it))
                .collect(),
            None => vec![base_dirs.data_dir.join("tools")],
        },
        data: raw
            .data
            .iter()
            .map(|it| base_dirs.resolve_path(it))
            .collect(),
        tools: tools
            .map(|text| compile_pattern(&section, "tools", text, Pattern::for_any_text))
            .collect::<Result<_, Fault>>()?,
        endpoints: of_tools
            .into_iter()
            .map(|(id, raw)| Ok((parse_tool_id(&id, id.get_ref())?, parse_endpoint(&id, raw)?)))
            .collect::<Result<_, Fault>>()?,
        endpoint_patterns: parse_endpoint_patterns(of_patterns)?,
    })
}

fn parse_endpoint_patterns(
    endpoints: Vec<(Spanned<String>, RawEndpoint)>,
) -> Result<Vec<(Pattern, ToolEndpoint)>, Fault> {
    let mut patterns = Vec::new();
    for (id, raw) in endpoints {
        // The parts between the stars must be valid in an id.
        parse_tool_id(&id, &id.get_ref().replace('*', "x"))?;
        let pattern = compile_pattern(&Section::new("endpoints"), "*", &id, Pattern::for_any_text)?;
        patterns.push((pattern, parse_endpoint(&id, raw)?));
    }
    patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.as_str().len()));
    Ok(patterns)
}

fn parse_endpoint(id: &Spanned<String>, raw: RawEndpoint) -> Result<ToolEndpoint, Fault> {
    let section = Section::for_name("endpoints", id);
    let parse = |key, url: Option<Spanned<String>>| {
        let parsed = url.map(|url| {
            parse_base_url(url.get_ref())
                .map_err(|reason| section.fault_at(key, &url, Problem::ProviderUrl { reason }))
        });
        parsed.transpose()
    };
    Ok(ToolEndpoint {
        url: parse("url", raw.url)?,
        token_url: parse("token_url", raw.token_url)?,
        authorize_url: parse("authorize_url", raw.authorize_url)?,
        storage_url: parse("storage_url", raw.storage_url)?,
        addresses: AddressRules {
            private: raw.allow_private,
            networks: parse_networks(&raw.allow_addresses, &section)?,
        },
    })
}

fn parse_tool_id(id: &Spanned<String>, text: &str) -> Result<ToolId, Fault> {
    let parsed: Result<ToolId, ToolNameError> = text.parse();
    parsed.map_err(|error| {
        let reason = error.to_string();
        Fault::new(id.span(), "endpoints", Problem::ToolId { reason })
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{check, config};

    #[test]
    fn directories_tools_and_endpoints_are_read() {
        let config = config(
            "[catalog]\ndirectories = ['mine']\ndata = ['icp.toml']\ntools = ['aws-*']\n\
             [endpoints.aws-ses]\nurl = 'http://127.0.0.1:5000'\nallow_private = true",
        );
        let catalog = config.unwrap().catalog;
        assert!(catalog.directories[0].ends_with("mine"));
        assert!(catalog.data[0].ends_with("icp.toml"));
        assert!(catalog.tools[0].matches("aws-ses"));
        let endpoint = &catalog.endpoints[&"aws-ses".parse().unwrap()];
        assert_eq!(endpoint.url.as_ref().unwrap().port(), Some(5000));
        assert!(endpoint.addresses.private);
    }

    #[test]
    fn an_endpoint_pattern_covers_many_tools_and_the_longest_wins() {
        let config = config(
            "[endpoints.'desk-*']\nurl = 'http://127.0.0.1:1'\n[endpoints.'desk-admin-*']\nurl = 'http://127.0.0.1:2'\n\
             [endpoints.desk-admin-users]\nurl = 'http://127.0.0.1:3'\n[endpoints.'*']\nallow_private = true",
        );
        let catalog = config.unwrap().catalog;
        for (id, port) in [
            ("desk-list", Some(1)),
            ("desk-admin-keys", Some(2)),
            ("desk-admin-users", Some(3)),
            ("shop", None),
        ] {
            let endpoint = catalog.endpoint(&id.parse().unwrap());
            assert_eq!(endpoint.url.and_then(|url| url.port()), port, "{id}");
            assert_eq!(endpoint.addresses.private, port.is_none(), "{id}");
        }
    }

    #[test]
    fn a_reserved_or_invalid_name_is_rejected() {
        check(
            "[servers.catalog]\ncommand = 'x'",
            "line 1, in `servers.catalog`: `catalog` is reserved for tools from tool files => \
             give it another name",
        );
        check(
            "[endpoints.'AWS SES']",
            "line 1, in `endpoints`: the id `AWS SES` contains 'A'; use lower-case letters, digits and `-`",
        );
        check(
            "[endpoints.'desk_*']",
            "line 1, in `endpoints`: the id `desk_x` contains '_'; use lower-case letters, digits and `-`",
        );
    }
}
