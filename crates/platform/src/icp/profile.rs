//! The operator's file of ideal customer profiles: the traits that count, and the days on which they do.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, de};

use crate::PlatformError;

/// All profiles of a file, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcpProfiles {
    profiles: BTreeMap<String, IcpProfile>,
}

/// The traits of the ideal customer, each with what it counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcpProfile {
    valid_from: Option<Day>,
    /// The last day.
    valid_until: Option<Day>,
    pub(super) industry: Option<TextCriterion>,
    pub(super) country: Option<TextCriterion>,
    pub(super) technologies: Option<TextCriterion>,
    pub(super) employees: Option<NumberCriterion>,
    pub(super) revenue_usd: Option<NumberCriterion>,
}

/// A trait in words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextCriterion {
    pub(super) weight: Weight,
    #[serde(default)]
    pub(super) best: Vec<String>,
    /// They count half.
    #[serde(default)]
    pub(super) good: Vec<String>,
    /// A company that has one of these is no customer at all.
    #[serde(default)]
    pub(super) excluded: Vec<String>,
}

/// A trait in numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NumberCriterion {
    pub(super) weight: Weight,
    pub(super) best: NumberRange,
    /// It counts half.
    pub(super) good: Option<NumberRange>,
}

/// The share of a trait beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Weight(pub(super) f64);

/// The first and the last number that fit.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "[f64; 2]")]
pub(super) struct NumberRange {
    from: f64,
    to: f64,
}

#[derive(Debug, Clone, Copy)]
struct Day(Date);

impl IcpProfiles {
    /// Reads a file. The error says what is wrong, and on which line.
    pub fn read(text: &str) -> Result<Self, String> {
        let read: Self = toml::from_str(text).map_err(|error| mistake(text, &error))?;
        if read.profiles.is_empty() {
            return Err("it has no profile; write a table [profiles.NAME]".to_owned());
        }
        for (name, profile) in &read.profiles {
            if profile.weights() <= 0.0 {
                return Err(format!("nothing counts in the profile `{name}`"));
            }
        }
        Ok(read)
    }

    /// Returns the profile of that name, or the only one, of those that are in force on a day.
    pub fn in_force(
        &self,
        name: Option<&str>,
        today: Date,
    ) -> Result<(&str, &IcpProfile), PlatformError> {
        let valid = self.profiles.iter().filter(|(_, it)| it.is_in_force(today));
        let valid: Vec<(&str, &IcpProfile)> = valid.map(|(name, it)| (name.as_str(), it)).collect();
        let known = || valid.iter().map(|(name, _)| (*name).to_owned()).collect();
        match (name, valid.as_slice()) {
            (_, []) => Err(PlatformError::NoIcpProfileInForce),
            (None, [only]) => Ok(*only),
            (None, _) => Err(PlatformError::WhichIcpProfile { known: known() }),
            (Some(wanted), some) => {
                let found = some.iter().find(|(name, _)| *name == wanted);
                found
                    .copied()
                    .ok_or_else(|| PlatformError::UnknownIcpProfile {
                        wanted: wanted.to_owned(),
                        known: known(),
                    })
            }
        }
    }
}

impl IcpProfile {
    fn is_in_force(&self, today: Date) -> bool {
        self.valid_from.is_none_or(|Day(first)| first <= today)
            && self.valid_until.is_none_or(|Day(last)| today <= last)
    }

    /// Returns the sum of all weights.
    pub(super) fn weights(&self) -> f64 {
        let texts = [&self.industry, &self.country, &self.technologies];
        let texts = texts.into_iter().flatten().map(|it| it.weight.0);
        let numbers = [&self.employees, &self.revenue_usd];
        let numbers = numbers.into_iter().flatten().map(|it| it.weight.0);
        texts.chain(numbers).sum()
    }
}

impl NumberRange {
    pub(super) fn contains(self, number: f64) -> bool {
        (self.from..=self.to).contains(&number)
    }
}

fn mistake(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    match error.span() {
        Some(span) => {
            let before = text.get(..span.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message.to_owned(),
    }
}

impl TryFrom<f64> for Weight {
    type Error = &'static str;

    fn try_from(weight: f64) -> Result<Self, &'static str> {
        match weight.is_finite() && weight >= 0.0 {
            true => Ok(Self(weight)),
            false => Err("a weight is a number from 0"),
        }
    }
}

impl TryFrom<[f64; 2]> for NumberRange {
    type Error = &'static str;

    fn try_from([from, to]: [f64; 2]) -> Result<Self, &'static str> {
        match from <= to {
            true => Ok(Self { from, to }),
            false => Err("a range has the smaller number first"),
        }
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let day = text.parse().map(Self);
        day.map_err(|_| de::Error::custom(format!("`{text}` is no day: write \"2026-11-16\"")))
    }
}
