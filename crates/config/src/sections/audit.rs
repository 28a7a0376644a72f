//! `[audit]`: the record of what happened.

use std::time::Duration;

use toml::{Spanned, Value};

use crate::error::Fault;
use crate::rows::{Fallback, KeyRow, KeyTable, SectionRow, TableLayout, ValueType, number};
use crate::values::Section;

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "audit",
    layout: TableLayout::One(&TABLE),
    in_force: Some(|config| format!("{:?}", config.audit)),
};

const TABLE: KeyTable = KeyTable {
    path: "audit",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "keep_days",
            value: ValueType::WholeNumber,
            default: Fallback::Value(|| number(KEEP_DAYS)),
            meaning: "The number of days for which the record of calls is kept. Older rows are removed in the \
                      background while the gateway serves.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "required",
            value: ValueType::Flag,
            default: Fallback::Value(|| Value::Boolean(false)),
            meaning: "`true` refuses a call that cannot be recorded. A call then goes out only when its row is on the \
                      disk; calls that wait at the same time share one sync. A row says `unfinished` until the call \
                      has ended, and for good if the gateway dies meanwhile.",
            ..KeyRow::PLAIN
        },
    ],
};

const KEEP_DAYS: usize = 90;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawAudit {
    keep_days: Option<Spanned<i64>>,
    required: bool,
}

/// The record of what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    /// The time for which a record is kept.
    pub keep: Duration,
    /// True if a call that cannot be recorded is refused.
    pub required: bool,
}

pub(crate) fn build(raw: RawAudit) -> Result<Audit, Fault> {
    let days = Section::of("audit").number("keep_days", raw.keep_days, 1, KEEP_DAYS)?;
    let keep = Duration::from_secs(86_400).saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
    Ok(Audit {
        keep,
        required: raw.required,
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{check, config};

    #[test]
    fn the_record_of_calls_is_kept_for_days() {
        let days = |text: &str| config(text).unwrap().audit.keep.as_secs() / 86_400;
        assert_eq!((days(""), days("[audit]\nkeep_days = 7")), (90, 7));
        check(
            "[audit]\nkeep_days = 0",
            "line 2, in `audit.keep_days`: expected a number of at least 1, found 0",
        );
    }
}
