//! `[policy]` and `[tenants]`: the rules for every tenant, and for single tenants.

use kitbag_domain::{Tenant, TomlProblem};
use kitbag_policy::{CodeWrites, Policy, RuleText, Rules, UnknownTenants};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Fault, Problem};
use crate::raw::{ByName, Texts};
use crate::rows::{KeyRow, KeyTable, SectionRow, TableLayout, ValueType};
use crate::values::{Section, parse_key};

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&RULES, |config| format!("{:?}", config.policy));

pub(crate) const TENANTS_SECTION: SectionRow = SectionRow {
    name: "tenants",
    layout: TableLayout::EachAndOwn {
        own: &TENANTS,
        each: &RULES,
    },
    // The rules of tenants and of `[policy]` are one value.
    fingerprint: None,
};

const RULES: KeyTable = KeyTable {
    path: "policy",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "allow_servers",
            value: ValueType::Texts,
            meaning: "Patterns for servers. If present, the tenant sees no other server.",
            ..KeyRow::unset("everything")
        },
        KeyRow {
            name: "deny_servers",
            value: ValueType::Texts,
            meaning: "Patterns for servers the tenant does not see.",
            ..KeyRow::unset("nothing")
        },
        KeyRow {
            name: "allow_tools",
            value: ValueType::Texts,
            meaning: "Patterns for `<server>/<name>`. If present, all others are denied.",
            ..KeyRow::unset("everything")
        },
        KeyRow {
            name: "deny_tools",
            value: ValueType::Texts,
            meaning: "Patterns for `<server>/<name>` that are denied.",
            ..KeyRow::unset("nothing")
        },
        KeyRow {
            name: "code_writes",
            meaning: "What a program may do with tools that write. Tools that only read are always allowed. \
                      `\"allow\"` lets it call them, `\"ask\"` asks the user before each call if the client supports \
                      it, `\"deny\"` denies them.",
            ..KeyRow::unset("`\"ask\"`")
        },
    ],
};

const TENANTS: KeyTable = KeyTable {
    path: "tenants",
    alternatives: &[],
    rows: &[KeyRow {
        name: UNKNOWN,
        meaning: "The rights of a key whose tenant has no table here: none (`\"deny\"`), or the rights that \
                  `[policy]` gives every tenant (`\"allow\"`). The tenant `local` needs no table.",
        ..KeyRow::text(|| "deny".to_owned())
    }],
};

const UNKNOWN: &str = "unknown";

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawRules {
    allow_servers: Option<Spanned<Texts>>,
    deny_servers: Option<Spanned<Texts>>,
    allow_tools: Option<Spanned<Texts>>,
    deny_tools: Option<Spanned<Texts>>,
    code_writes: Option<Spanned<String>>,
}

/// The keys under `[tenants]` that are not tables of tenants.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawTenants {
    unknown: Option<Spanned<String>>,
}

impl RawTenants {
    /// `unknown` under `[tenants]` is a setting; every other key there is the name of a tenant.
    pub(crate) fn take_from(document: &mut DeTable<'_>) -> Result<Self, Fault> {
        let Some(DeValue::Table(tenants)) = document.get_mut("tenants").map(Spanned::get_mut)
        else {
            return Ok(Self::default());
        };
        let unknown = tenants.remove(UNKNOWN).map(parse_unknown).transpose()?;
        Ok(Self { unknown })
    }
}

fn parse_unknown(value: Spanned<DeValue<'_>>) -> Result<Spanned<String>, Fault> {
    let span = value.span();
    let problem = match value.into_inner() {
        DeValue::String(text) => return Ok(Spanned::new(span, text.into_owned())),
        DeValue::Table(_) => Problem::ReservedTenant,
        other => TomlProblem::WrongType {
            expected: "a string".to_owned(),
            found: other.type_str(),
        }
        .into(),
    };
    Err(Fault::new(span, "tenants.unknown", problem))
}

pub(crate) fn build(
    default: RawRules,
    tenants: ByName<RawRules>,
    all: RawTenants,
) -> Result<Policy, Fault> {
    let section = Section::new("tenants");
    let unknown = section.parse_choice(UNKNOWN, all.unknown, &UnknownTenants::ALL)?;
    let tenants = tenants.into_iter().map(|(name, raw)| {
        let tenant: Tenant = parse_key(&name, "tenants")?;
        let rules = build_rules(raw, format!("tenants.{}", name.get_ref()))?;
        Ok((tenant, rules))
    });
    Ok(Policy::new(
        build_rules(default, "policy".to_owned())?,
        tenants.collect::<Result<_, Fault>>()?,
        unknown.unwrap_or_default(),
    ))
}

fn build_rules(raw: RawRules, key: String) -> Result<Rules, Fault> {
    type List = fn(&mut RuleText) -> &mut Vec<String>;
    let lists: [(&'static str, Option<Spanned<Texts>>, List); 4] = [
        ("allow_servers", raw.allow_servers, |text| {
            &mut text.allow_servers
        }),
        ("deny_servers", raw.deny_servers, |text| {
            &mut text.deny_servers
        }),
        ("allow_tools", raw.allow_tools, |text| &mut text.allow_tools),
        ("deny_tools", raw.deny_tools, |text| &mut text.deny_tools),
    ];
    let section = Section::new(key);
    let mut text = RuleText {
        code_writes: section.parse_choice("code_writes", raw.code_writes, &CodeWrites::ALL)?,
        ..RuleText::default()
    };
    for (key, patterns, list) in lists {
        let Some(patterns) = patterns else { continue };
        if patterns.get_ref().is_empty() && key.starts_with("allow_") {
            return Err(section.fault_at(key, &patterns, Problem::EmptyAllowList { key }));
        }
        for pattern in patterns.into_inner() {
            // Each pattern is first compiled by itself, so that an error can report the invalid
            // one.
            let mut alone = RuleText::default();
            list(&mut alone).push(pattern.get_ref().clone());
            Rules::compile(&alone).map_err(|error| section.fault_at(key, &pattern, error))?;
            list(&mut text).push(pattern.into_inner());
        }
    }
    Rules::compile(&text).map_err(|error| section.fault(error))
}
