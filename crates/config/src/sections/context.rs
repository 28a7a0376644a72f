//! `[context]`: the context plane, which gives agents facts.

use crate::rows::{KeyRow, KeyTable, SectionRow};

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.context));

const TABLE: KeyTable = KeyTable {
    path: "context",
    alternatives: &[],
    rows: &[KeyRow {
        name: "enabled",
        meaning: "`true` lets agents query the facts that `kitbag context import` imported. Otherwise `context_query` and \
                  `context_explain` answer `CONTEXT_PLANE_UNAVAILABLE`.",
        ..KeyRow::flag(|| false)
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
