//! Parses single values of a table, and locates a wrong value.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use kitbag_domain::{Template, TomlProblem};
use toml::Spanned;
use url::Url;

use super::error::{Fault, Problem};
use super::raw::{ByName, RawDuration};

/// The table that a value belongs to: its path, and its position in the text.
pub(crate) struct Section {
    pub(crate) key: String,
    pub(crate) span: Range<usize>,
}

impl Section {
    /// A table in which only single values can be wrong.
    pub(crate) fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            span: 0..0,
        }
    }

    /// The table of a name that the user chose.
    pub(crate) fn for_name(section: &str, name: &Spanned<String>) -> Self {
        Self {
            key: format!("{section}.{}", name.get_ref()),
            span: name.span(),
        }
    }

    pub(crate) fn fault(&self, problem: impl Into<Problem>) -> Fault {
        Fault::new(self.span.clone(), &self.key, problem)
    }

    pub(crate) fn fault_at<T>(
        &self,
        key: &str,
        value: &Spanned<T>,
        problem: impl Into<Problem>,
    ) -> Fault {
        Fault::new(value.span(), format!("{}.{key}", self.key), problem)
    }

    /// Returns a whole number of at least `least`, or the default.
    pub(crate) fn parse_number(
        &self,
        key: &str,
        value: Option<Spanned<i64>>,
        least: i64,
        default: usize,
    ) -> Result<usize, Fault> {
        let Some(value) = value else {
            return Ok(default);
        };
        let found = *value.get_ref();
        usize::try_from(found)
            .ok()
            .filter(|_| found >= least)
            .ok_or_else(|| {
                let found = found.to_string();
                self.fault_at(key, &value, TomlProblem::TooSmall { found, least })
            })
    }

    pub(crate) fn parse_duration(
        &self,
        key: &str,
        value: Option<Spanned<RawDuration>>,
        default: Duration,
    ) -> Result<Duration, Fault> {
        let Some(value) = value else {
            return Ok(default);
        };
        parse_duration(value.get_ref()).map_err(|problem| self.fault_at(key, &value, problem))
    }

    /// Parses a duration of which zero means disabled.
    pub(crate) fn parse_duration_or_off(
        &self,
        key: &str,
        value: Option<Spanned<RawDuration>>,
        default: Duration,
    ) -> Result<Duration, Fault> {
        if value.as_ref().is_some_and(|it| is_zero(it.get_ref())) {
            return Ok(Duration::ZERO);
        }
        self.parse_duration(key, value, default)
    }

    pub(crate) fn parse_choice<T: Copy>(
        &self,
        key: &str,
        text: Option<Spanned<String>>,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some(text) = text else { return Ok(None) };
        let found = text.get_ref();
        match choices.iter().find(|(choice, _)| choice == found) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let names = choices.iter().map(|(choice, _)| *choice).collect();
                Err(self.fault_at(key, &text, TomlProblem::not_one_of(found, names)))
            }
        }
    }

    pub(crate) fn check_header_name(&self, name: &Spanned<String>) -> Result<(), Fault> {
        if HeaderName::try_from(name.get_ref()).is_ok() {
            return Ok(());
        }
        let problem = TomlProblem::HeaderName {
            name: name.get_ref().clone(),
        };
        Err(self.fault_at("headers", name, problem))
    }
}

pub(crate) fn parse_templates(
    raw: Option<Spanned<ByName<String>>>,
    check: impl Fn(&Spanned<String>) -> Result<(), Fault>,
) -> Result<BTreeMap<String, Template>, Fault> {
    raw.map(Spanned::into_inner)
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| check(&name).map(|()| (name.into_inner(), Template::new(value))))
        .collect()
}

/// Parses a name that the user chose for a table of `section`.
pub(crate) fn parse_key<T, E>(name: &Spanned<String>, section: &str) -> Result<T, Fault>
where
    T: FromStr<Err = E>,
    Problem: From<E>,
{
    name.get_ref()
        .parse()
        .map_err(|error: E| Fault::new(name.span(), section, error))
}

fn is_zero(raw: &RawDuration) -> bool {
    match raw {
        RawDuration::Seconds(seconds) => *seconds == 0,
        RawDuration::Text(text) => {
            text.trim() == "0"
                || text
                    .parse::<jiff::SignedDuration>()
                    .is_ok_and(|it| it.is_zero())
        }
    }
}

fn parse_duration(raw: &RawDuration) -> Result<Duration, TomlProblem> {
    let (parsed, found) = match raw {
        RawDuration::Seconds(seconds) => (
            u64::try_from(*seconds).ok().map(Duration::from_secs),
            seconds.to_string(),
        ),
        RawDuration::Text(text) => {
            let signed: Option<jiff::SignedDuration> = text.parse().ok();
            (
                signed.and_then(|signed| Duration::try_from(signed).ok()),
                text.clone(),
            )
        }
    };
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or(TomlProblem::Duration { found })
}

/// Parses a web URL to which a path can be appended.
pub(crate) fn parse_web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_base = url.has_host() && url.query().is_none() && url.fragment().is_none();
    (matches!(url.scheme(), "http" | "https") && is_base).then_some(url)
}
