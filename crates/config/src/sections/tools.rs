//! `[tools."NAME"]`: the operator's overrides of single tools.

use std::collections::{BTreeMap, BTreeSet};

use kitbag_domain::{ExposedName, WriteClass};
use serde_json::{Map, Value};
use toml::Spanned;

use crate::error::{Fault, Problem};
use crate::raw::ByName;
use crate::rows::{KeyRow, KeyTable, SectionRow, TableLayout, ValueType};
use crate::values::Section;

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "tools",
    layout: TableLayout::Each(&TABLE),
    fingerprint: Some(|config| format!("{:?}", config.tools)),
};

const TABLE: KeyTable = KeyTable {
    path: "tools.\"NAME\"",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "cost_usd",
            value: ValueType::Number,
            meaning: "The cost of a call, in US dollars.",
            ..KeyRow::unset("the cost of its results, if tokens have a price")
        },
        KeyRow {
            name: "p95_latency_ms",
            value: ValueType::Number,
            meaning: "The latency that 95 of 100 calls stay below.",
            ..KeyRow::unset("measured")
        },
        KeyRow {
            name: "p99_latency_ms",
            value: ValueType::Number,
            meaning: "The same for 99 of 100.",
            ..KeyRow::unset("measured from 100 calls on")
        },
        KeyRow {
            name: "success_rate",
            value: ValueType::Number,
            meaning: "The share of calls that succeed, from 0 to 1.",
            ..KeyRow::unset("measured")
        },
        KeyRow {
            name: "tags",
            value: ValueType::Texts,
            meaning: "Words for its purpose; each is a group.",
            ..KeyRow::unset("from the definition")
        },
        KeyRow {
            name: "scopes",
            value: ValueType::Texts,
            meaning: "The systems it acts on.",
            ..KeyRow::unset("from server and name")
        },
        KeyRow {
            name: "group",
            meaning: "The group the tool belongs to.",
            ..KeyRow::unset("the server")
        },
        KeyRow {
            name: "write_class",
            meaning: "The effect of a call: `\"read\"`, `\"write\"` or `\"destructive\"`. Programs may call tools \
                      that only read without asking.",
            ..KeyRow::unset("from the definition")
        },
        KeyRow {
            name: "description",
            meaning: "The description that clients and the search get instead of the server's.",
            ..KeyRow::unset("the server's")
        },
        KeyRow {
            name: "alias",
            meaning: "The name that clients see instead of `NAME`; calls of `NAME` still work. Letters, digits, `_` and `-`, \
                      without `__`. Rules and the audit keep the server's own name.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "hidden",
            value: ValueType::Flag,
            meaning: "`true` hides the tool from every client.",
            ..KeyRow::unset("`false`")
        },
        KeyRow {
            name: "fixed_arguments",
            value: ValueType::Values,
            meaning: "Arguments added to every call, whatever the client sends. They are removed from the schema that clients see.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "hidden_arguments",
            value: ValueType::Texts,
            meaning: "Optional arguments that clients do not see and may not send.",
            ..KeyRow::unset("none")
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawTool {
    cost_usd: Option<Spanned<f64>>,
    p95_latency_ms: Option<Spanned<f64>>,
    p99_latency_ms: Option<Spanned<f64>>,
    success_rate: Option<Spanned<f64>>,
    tags: Vec<String>,
    scopes: Vec<String>,
    group: Option<String>,
    write_class: Option<Spanned<String>>,
    description: Option<String>,
    alias: Option<Spanned<String>>,
    hidden: bool,
    fixed_arguments: BTreeMap<String, toml::Value>,
    hidden_arguments: Vec<String>,
}

/// Facts about a tool that its definition does not contain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOverride {
    pub cost_usd: Option<f64>,
    pub p95_latency_ms: Option<f64>,
    pub p99_latency_ms: Option<f64>,
    pub success_rate: Option<f64>,
    pub tags: Vec<String>,
    pub scopes: Vec<String>,
    pub group: Option<String>,
    pub write_class: Option<WriteClass>,
    pub description: Option<String>,
    /// The name that clients see.
    pub alias: Option<String>,
    /// True if no client gets the tool.
    pub hidden: bool,
    pub fixed_arguments: Map<String, Value>,
    pub hidden_arguments: Vec<String>,
}

impl ToolOverride {
    /// True if clients get a different definition than the server's.
    pub fn changes_definition(&self) -> bool {
        self.description.is_some()
            || !self.fixed_arguments.is_empty()
            || !self.hidden_arguments.is_empty()
    }
}

pub(crate) fn build(raw: ByName<RawTool>) -> Result<BTreeMap<String, ToolOverride>, Fault> {
    let mut aliases = BTreeSet::new();
    raw.into_iter()
        .map(|(name, raw)| {
            let section = Section::for_name("tools", &name);
            if let Some(alias) = &raw.alias {
                check_alias(alias, &section)?;
                if !aliases.insert(alias.get_ref().clone()) {
                    return Err(alias_taken(alias, &section));
                }
            }
            Ok((name.into_inner(), build_tool(raw, &section)?))
        })
        .collect()
}

/// Every name of a server's tool contains `__`, so an alias without it cannot collide with one.
/// Kitbag's own tools have names that no alias may use.
fn check_alias(alias: &Spanned<String>, section: &Section) -> Result<(), Fault> {
    let text = alias.get_ref();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_plain =
        !text.is_empty() && text.len() <= ExposedName::MAX && text.chars().all(is_allowed);
    if RESERVED.contains(&text.as_str()) {
        return Err(alias_taken(alias, section));
    }
    match is_plain && ExposedName::split(text).is_none() {
        true => Ok(()),
        false => Err(section.fault_at("alias", alias, Problem::Alias)),
    }
}

fn alias_taken(alias: &Spanned<String>, section: &Section) -> Fault {
    let name = alias.get_ref().clone();
    section.fault_at("alias", alias, Problem::AliasTaken { name })
}

/// The tools that Kitbag itself offers.
pub const RESERVED: [&str; 7] = [
    "search_available_tools",
    "discover_apis",
    "call_api",
    "batch_execute",
    "enable_tool_group",
    "run_intent",
    "run_code",
];

fn build_tool(raw: RawTool, section: &Section) -> Result<ToolOverride, Fault> {
    Ok(ToolOverride {
        cost_usd: parse_amount(section, "cost_usd", raw.cost_usd)?,
        p95_latency_ms: parse_amount(section, "p95_latency_ms", raw.p95_latency_ms)?,
        p99_latency_ms: parse_amount(section, "p99_latency_ms", raw.p99_latency_ms)?,
        success_rate: parse_within(section, "success_rate", raw.success_rate, (1.0, "1"))?,
        tags: raw.tags,
        scopes: raw.scopes,
        group: raw.group,
        write_class: section.parse_choice("write_class", raw.write_class, &WRITE_CLASSES)?,
        description: raw.description,
        alias: raw.alias.map(Spanned::into_inner),
        hidden: raw.hidden,
        fixed_arguments: raw.fixed_arguments.iter().map(to_json_pair).collect(),
        hidden_arguments: raw.hidden_arguments,
    })
}

/// JSON has no dates, so they become text.
fn to_json_pair((name, value): (&String, &toml::Value)) -> (String, Value) {
    (name.clone(), to_json(value))
}

fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Datetime(moment) => Value::from(moment.to_string()),
        toml::Value::Array(items) => items.iter().map(to_json).collect(),
        toml::Value::Table(table) => table.iter().map(to_json_pair).collect::<Map<_, _>>().into(),
    }
}

/// The operator's declaration of a tool's class is trusted.
const WRITE_CLASSES: [(&str, WriteClass); 3] = [
    (WriteClass::Read.as_str(), WriteClass::Read),
    (WriteClass::Write.as_str(), WriteClass::Write),
    (WriteClass::Destructive.as_str(), WriteClass::Destructive),
];

/// Larger numbers are typing errors: no call costs as much or takes as long.
pub(super) fn parse_amount(
    section: &Section,
    key: &str,
    value: Option<Spanned<f64>>,
) -> Result<Option<f64>, Fault> {
    parse_within(section, key, value, (1e9, "a billion"))
}

fn parse_within(
    section: &Section,
    key: &str,
    value: Option<Spanned<f64>>,
    (most, named): (f64, &'static str),
) -> Result<Option<f64>, Fault> {
    match value {
        Some(value) if !(0.0..=most).contains(value.get_ref()) => {
            let found = value.get_ref().to_string();
            Err(section.fault_at(key, &value, Problem::OutOfRange { found, most: named }))
        }
        other => Ok(other.map(Spanned::into_inner)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{check, config};

    #[test]
    fn declared_facts_of_a_tool_are_validated() {
        let text = "[tools.\"crm__search\"]\ncost_usd = 2\np95_latency_ms = 380\nsuccess_rate = 0.97\ntags = ['crm']";
        let expected = ToolOverride {
            cost_usd: Some(2.0),
            p95_latency_ms: Some(380.0),
            success_rate: Some(0.97),
            tags: vec!["crm".to_owned()],
            ..ToolOverride::default()
        };
        assert_eq!(
            config(text).unwrap().tools,
            BTreeMap::from([("crm__search".to_owned(), expected)])
        );
        check(
            "[tools.a]\nsuccess_rate = 97",
            "line 2, in `tools.a.success_rate`: expected a number between 0 and 1, found 97",
        );
        check(
            "[tools.a]\ncost_usd = -1",
            "line 2, in `tools.a.cost_usd`: expected a number between 0 and a billion, found -1",
        );
        check(
            "[tools.a]\ncost_usd = 'low'",
            "line 2, in `tools.a.cost_usd`: expected a number, found a string",
        );
        check(
            "[tools.a]\nalias = 'x__y'",
            "line 2, in `tools.a.alias`: not a valid tool name => write at most 50 letters, digits, `_` and `-`, without `__`",
        );
        check(
            "[tools.a]\nalias = 'call_api'",
            "line 2, in `tools.a.alias`: another tool is already named `call_api` => choose another name",
        );
        check(
            "[tools.a]\nalias = 'x'\n[tools.b]\nalias = 'x'",
            "line 4, in `tools.b.alias`: another tool is already named `x` => choose another name",
        );
        check(
            "[tools.a]\ncost = 1",
            "line 2, in `tools.a`: unknown key `cost` => did you mean `cost_usd`?",
        );
    }
}
