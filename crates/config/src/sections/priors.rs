//! `[priors]`: the schedule for computing tools' priors from the audit.

use std::fmt;

use cronexpr::{Crontab, FallbackTimezoneOption, ParseOptions, parse_crontab_with};
use kitbag_domain::Timestamp;
use toml::Spanned;

use super::tools::parse_amount;
use crate::error::{Fault, Problem};
use crate::rows::{KeyRow, KeyTable, SectionRow, ValueType};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.priors));

const TABLE: KeyTable = KeyTable {
    path: "priors",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "schedule",
            meaning: "When to compute success rates, latencies and costs of tools from the audit: minute, hour, day, \
                      month and weekday as in a crontab, in the machine's time zone, or in a zone named after them \
                      (`\"0 3 * * * Europe/Berlin\"`). `\"never\"` leaves it to `kitbag learned priors run`.",
            ..KeyRow::text(|| NIGHTLY.to_owned())
        },
        KeyRow {
            name: "usd_per_million_tokens",
            value: ValueType::Number,
            meaning: "The price in US dollars of a million tokens read by a model. It is used to estimate the cost of \
                      a tool without `cost_usd` from the size of its results.",
            ..KeyRow::unset("tokens are free")
        },
    ],
};

const NIGHTLY: &str = "0 3 * * *";
const NEVER: &str = "never";

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawPriors {
    schedule: Option<Spanned<String>>,
    usd_per_million_tokens: Option<Spanned<f64>>,
}

/// The computation of priors.
#[derive(Debug, Clone)]
pub struct PriorsSettings {
    /// `None` if it is started only by hand.
    pub schedule: Option<CronSchedule>,
    pub usd_per_million_tokens: Option<f64>,
}

/// The moments at which something is due, as in a crontab.
#[derive(Clone)]
pub struct CronSchedule {
    text: String,
    crontab: Crontab,
}

impl CronSchedule {
    fn parse(text: &str) -> Option<Self> {
        let mut options = ParseOptions::default();
        options.fallback_timezone_option = FallbackTimezoneOption::System;
        let crontab = parse_crontab_with(text, options).ok()?;
        // The 30th of February never comes.
        crontab.find_next(jiff::Timestamp::UNIX_EPOCH).ok()?;
        Some(Self {
            text: text.to_owned(),
            crontab,
        })
    }

    /// Returns the first moment after `at`.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
        let next = self.crontab.find_next(at).ok()?;
        Some(Timestamp(next.timestamp().as_millisecond()))
    }
}

impl fmt::Debug for CronSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(crate) fn build(raw: RawPriors) -> Result<PriorsSettings, Fault> {
    let section = Section::new("priors");
    let key = "usd_per_million_tokens";
    Ok(PriorsSettings {
        schedule: match raw.schedule {
            Some(text) if text.get_ref() == NEVER => None,
            Some(text) => Some(CronSchedule::parse(text.get_ref()).ok_or_else(|| {
                let found = text.get_ref().clone();
                section.fault_at("schedule", &text, Problem::Schedule { found })
            })?),
            None => CronSchedule::parse(NIGHTLY),
        },
        usd_per_million_tokens: parse_amount(&section, key, raw.usd_per_million_tokens)?,
    })
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Timestamp;

    use crate::tests::{check, config};

    #[test]
    fn a_schedule_is_a_crontab_in_a_time_zone_and_can_be_switched_off() {
        let next = |schedule: &str| {
            let text = format!("[priors]\nschedule = \"{schedule}\"");
            let schedule = config(&text).unwrap().priors.schedule?;
            Some(schedule.next_after(Timestamp(0))?.0 / 3_600_000)
        };
        assert_eq!(next("0 3 * * * UTC"), Some(3));
        assert_eq!(next("0 3 * * * Asia/Tokyo"), Some(18));
        assert_eq!(next("30 */6 * * 5 UTC"), Some(24));
        assert_eq!(next("never"), None);
        assert!(config("").unwrap().priors.schedule.is_some());
        for wrong in ["hourly", "0 3 * *", "61 3 * * *", "0 3 30 2 * UTC"] {
            check(
                &format!("[priors]\nschedule = \"{wrong}\""),
                &format!(
                    "line 2, in `priors.schedule`: `{wrong}` is not a valid schedule => write minute, hour, day, \
                     month and weekday, like \"0 3 * * *\", or \"never\""
                ),
            );
        }
    }
}
