//! `[surfaces]` and `[groups]`: the surface each client gets, and groups of tools.

use kitbag_domain::{Surface, TomlProblem};
use kitbag_policy::{Pattern, PatternError};
use toml::Spanned;

use crate::error::Fault;
use crate::raw::{ByName, Texts};
use crate::rows::{KeyRow, KeyTable, SectionRow, TableLayout};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| config.surfaces.without_groups());

pub(crate) const GROUPS_SECTION: SectionRow = SectionRow {
    name: "groups",
    layout: TableLayout::Named,
    fingerprint: Some(|config| format!("{:?}", config.surfaces.groups)),
};

const TABLE: KeyTable = KeyTable {
    path: "surfaces",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "default",
            meaning: "The surface at `/mcp` and on stdio.",
            ..KeyRow::text(|| Surfaces::default().default.as_str().to_owned())
        },
        KeyRow {
            name: "keys",
            meaning: "The surface by key, under the id that `kitbag key list` shows.",
            ..KeyRow::PAIRS
        },
        KeyRow {
            name: "clients",
            meaning: "The surface by the client's own name; `*` matches anything: `{ \"claude-code*\" = \"all\" }`.",
            ..KeyRow::PAIRS
        },
        KeyRow {
            name: "pinned",
            meaning: "Tools the adaptive surface always lists, as `\"<server>/<tool>\"` with `*`.",
            ..KeyRow::texts(Vec::new)
        },
        KeyRow {
            name: "cold_start",
            meaning: "The list on the adaptive surface for a credential without history: `\"capped\"` has the 20 tools \
                      that best match the client, `\"all\"` has every tool, however many there are.",
            ..KeyRow::text(|| COLD_STARTS[0].0.to_owned())
        },
        KeyRow {
            name: "result_tokens",
            meaning: "A longer result is truncated, and its remainder is stored for an hour. Does not apply to `all` \
                      and `/servers/{name}/mcp`.",
            ..KeyRow::number(|| Surfaces::default().result_tokens)
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawSurfaces {
    default: Option<Spanned<String>>,
    keys: ByName<Spanned<String>>,
    clients: ByName<Spanned<String>>,
    pinned: Texts,
    cold_start: Option<Spanned<String>>,
    result_tokens: Option<Spanned<i64>>,
}

/// The rules that choose a surface for clients whose path names none, and the token limit of a
/// result.
#[derive(Debug, Clone)]
pub struct Surfaces {
    pub default: Surface,
    /// The surface for a key, by key id.
    pub keys: Vec<(String, Surface)>,
    /// The surface for a client, by the client's own name.
    pub clients: Vec<(Pattern, Surface)>,
    /// The tools that the adaptive surface always lists.
    pub pinned: Vec<Pattern>,
    pub cold_start: ColdStart,
    /// The groups in the configuration, each with its tools.
    pub groups: Vec<(String, Vec<Pattern>)>,
    /// The tokens a result may have before it is truncated.
    pub result_tokens: usize,
}

/// The list for a client without history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColdStart {
    All,
    #[default]
    Capped,
}

const COLD_STARTS: [(&str, ColdStart); 2] =
    [("capped", ColdStart::Capped), ("all", ColdStart::All)];

impl Surfaces {
    /// Serializes everything except the groups, which are a section of their own.
    fn without_groups(&self) -> String {
        let rest = Self {
            groups: Vec::new(),
            ..self.clone()
        };
        format!("{rest:?}")
    }
}

impl Default for Surfaces {
    fn default() -> Self {
        Self {
            default: Surface::Search,
            keys: Vec::new(),
            clients: Vec::new(),
            pinned: Vec::new(),
            cold_start: ColdStart::default(),
            groups: Vec::new(),
            result_tokens: 8_000,
        }
    }
}

pub(crate) fn build(raw: RawSurfaces, groups: ByName<Texts>) -> Result<Surfaces, Fault> {
    let section = Section::new("surfaces");
    let default = Surfaces::default();
    let keys = raw
        .keys
        .into_iter()
        .map(|(id, name)| Ok((id.into_inner(), parse_surface(&section, "keys", &name)?)));
    let clients = raw.clients.into_iter().map(|(client, name)| {
        let pattern = compile_pattern(&section, "clients", &client, Pattern::for_any_text)?;
        Ok((pattern, parse_surface(&section, "clients", &name)?))
    });
    let groups = groups.into_iter().map(|(name, members)| {
        let section = Section::new("groups");
        let patterns = members
            .iter()
            .map(|text| compile_pattern(&section, name.get_ref(), text, Pattern::for_tools))
            .collect::<Result<_, Fault>>()?;
        Ok((name.into_inner(), patterns))
    });
    Ok(Surfaces {
        default: raw.default.map_or(Ok(default.default), |name| {
            parse_surface(&section, "default", &name)
        })?,
        keys: keys.collect::<Result<_, Fault>>()?,
        clients: clients.collect::<Result<_, Fault>>()?,
        pinned: raw
            .pinned
            .iter()
            .map(|text| compile_pattern(&section, "pinned", text, Pattern::for_tools))
            .collect::<Result<_, Fault>>()?,
        cold_start: section
            .parse_choice("cold_start", raw.cold_start, &COLD_STARTS)?
            .unwrap_or_default(),
        groups: groups.collect::<Result<_, Fault>>()?,
        result_tokens: section.parse_number(
            "result_tokens",
            raw.result_tokens,
            200,
            default.result_tokens,
        )?,
    })
}

pub(crate) fn parse_surface(
    section: &Section,
    key: &str,
    name: &Spanned<String>,
) -> Result<Surface, Fault> {
    name.get_ref().parse().map_err(|_| {
        let known = Surface::ALL.map(Surface::as_str).to_vec();
        section.fault_at(key, name, TomlProblem::not_one_of(name.get_ref(), known))
    })
}

pub(super) fn compile_pattern(
    section: &Section,
    key: &str,
    text: &Spanned<String>,
    compile: fn(&str) -> Result<Pattern, PatternError>,
) -> Result<Pattern, Fault> {
    compile(text.get_ref()).map_err(|error| section.fault_at(key, text, error))
}
