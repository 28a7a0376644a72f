//! `[audit]`: the audit trail.

use std::time::Duration;

use toml::Spanned;

use crate::error::Fault;
use crate::rows::{KeyRow, KeyTable, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.audit));

const TABLE: KeyTable = KeyTable {
    path: "audit",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "keep_days",
            meaning: "How many days to keep the record of calls. Older rows are removed in the background while the \
                      gateway serves.",
            ..KeyRow::number(|| KEEP_DAYS)
        },
        KeyRow {
            name: "arguments",
            meaning: "How to record call arguments and search queries. `\"none\"`: not at all. `\"hash\"`: as a hash \
                      with a key of this store, which shows whether two calls have the same arguments. \
                      `\"redacted\"`: the beginning of the text, without values that look like secrets; other private \
                      data in it is visible to everyone who reads the audit.",
            ..KeyRow::text(|| ArgumentRecording::None.as_str().to_owned())
        },
        KeyRow {
            name: "required",
            meaning: "`true` rejects a call that cannot be recorded. A call is then sent only once its row is on \
                      disk, so that a gateway that is killed loses no row; calls that wait at the same time share one \
                      sync. A row says `unfinished` until the call has ended, and permanently if the gateway is \
                      killed in between.",
            ..KeyRow::flag(|| false)
        },
    ],
};

const KEEP_DAYS: usize = 90;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawAudit {
    keep_days: Option<Spanned<i64>>,
    arguments: Option<Spanned<String>>,
    required: bool,
}

/// The audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    /// How long a record is kept.
    pub retention: Duration,
    /// True if a call that cannot be recorded is rejected.
    pub required: bool,
    pub arguments: ArgumentRecording,
}

/// How call arguments are recorded. There is no option to keep them whole, because clients pass
/// passwords and tokens as arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArgumentRecording {
    #[default]
    None,
    Hash,
    Redacted,
}

impl ArgumentRecording {
    const ALL: [Self; 3] = [Self::None, Self::Hash, Self::Redacted];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hash => "hash",
            Self::Redacted => "redacted",
        }
    }
}

pub(crate) fn build(raw: RawAudit) -> Result<Audit, Fault> {
    let section = Section::new("audit");
    let days = section.parse_number("keep_days", raw.keep_days, 1, KEEP_DAYS)?;
    let keep = Duration::from_secs(86_400).saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
    let choices = ArgumentRecording::ALL.map(|it| (it.as_str(), it));
    Ok(Audit {
        retention: keep,
        required: raw.required,
        arguments: section
            .parse_choice("arguments", raw.arguments, &choices)?
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::{check, config};

    #[test]
    fn the_record_of_calls_is_kept_for_days() {
        let days = |text: &str| config(text).unwrap().audit.retention.as_secs() / 86_400;
        assert_eq!((days(""), days("[audit]\nkeep_days = 7")), (90, 7));
        check(
            "[audit]\nkeep_days = 0",
            "line 2, in `audit.keep_days`: expected a number of at least 1, found 0",
        );
        check(
            "[audit]\narguments = \"full\"",
            "line 2, in `audit.arguments`: `full` is not one of `none`, `hash`, `redacted`",
        );
    }
}
