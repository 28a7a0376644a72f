//! `[learning]`: what the gateway may learn from tool use, and for how long.

use std::time::Duration;

use toml::Spanned;

use crate::error::Fault;
use crate::rows::{KeyRow, KeyTable, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.learning));

const TABLE: KeyTable = KeyTable {
    path: "learning",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "enabled",
            meaning: "`false` learns nothing and ranks tools by their descriptions only. Earlier lessons are kept \
                      until `kitbag learned forget`.",
            ..KeyRow::flag(|| true)
        },
        KeyRow {
            name: "keep_words",
            meaning: "`true` stores queries with their vectors, so that `kitbag learned` can show them and a new \
                      embedder can recompute the vectors.",
            ..KeyRow::flag(|| false)
        },
        KeyRow {
            name: "arguments",
            meaning: "`false` learns only from queries and not from call arguments. Argument values that look like \
                      secrets are always left out.",
            ..KeyRow::flag(|| true)
        },
        KeyRow {
            name: "keep_days",
            meaning: "The number of days after which a lesson is forgotten.",
            ..KeyRow::number(|| KEEP_DAYS)
        },
        KeyRow {
            name: "shared",
            meaning: "`true` lets the use of all tenants count a little for each tenant, until it has lessons of its \
                      own. No tenant sees a tool that its rules hide, or the queries of another.",
            ..KeyRow::flag(|| false)
        },
    ],
};

/// A lesson of this age weighs an eighth of a new one.
const KEEP_DAYS: usize = 90;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawLearning {
    enabled: Option<bool>,
    keep_words: bool,
    arguments: Option<bool>,
    keep_days: Option<Spanned<i64>>,
    shared: bool,
}

/// What the gateway may learn from tool use, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearningSettings {
    pub enabled: bool,
    /// True if queries are stored with their vectors.
    pub keep_words: bool,
    /// True if call arguments are used for learning, too.
    pub arguments: bool,
    pub retention: Duration,
    /// True if the use of all tenants counts a little for each.
    pub shared: bool,
}

pub(crate) fn build(raw: RawLearning) -> Result<LearningSettings, Fault> {
    let days = Section::new("learning").parse_number("keep_days", raw.keep_days, 1, KEEP_DAYS)?;
    let day = Duration::from_secs(86_400);
    Ok(LearningSettings {
        enabled: raw.enabled.unwrap_or(true),
        keep_words: raw.keep_words,
        arguments: raw.arguments.unwrap_or(true),
        retention: day.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX)),
        shared: raw.shared,
    })
}
