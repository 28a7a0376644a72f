//! `[context]`: the context plane, which gives agents facts.

use toml::Value;

use crate::rows::{Fallback, KeyRow, KeyTable, SectionRow, TableLayout, ValueType};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "context",
    layout: TableLayout::One(&TABLE),
    fingerprint: Some(|config| format!("{:?}", config.context)),
};

const TABLE: KeyTable = KeyTable {
    path: "context",
    alternatives: &[],
    rows: &[KeyRow {
        name: "enabled",
        value: ValueType::Flag,
        default: Fallback::Value(|| Value::Boolean(false)),
        meaning: "`true` lets agents query the facts that `kitbag context import` imported. Otherwise `context_query` and \
                  `context_explain` answer `CONTEXT_PLANE_UNAVAILABLE`.",
        ..KeyRow::PLAIN
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawContext {
    enabled: bool,
}

/// The context plane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextSettings {
    pub enabled: bool,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "every section is built from its raw form"
)]
pub(crate) fn build(raw: RawContext) -> ContextSettings {
    ContextSettings {
        enabled: raw.enabled,
    }
}
