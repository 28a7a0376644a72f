//! The hosts that a tool's requests and redirects may reach.

use std::fmt;
use std::str::FromStr;

/// A host, in which `*` matches one label: `email.*.amazonaws.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    labels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    #[error("`{found}` is not a host")]
    NotHost { found: String },
    #[error("`{found}` would allow whole top-level domains")]
    TooWide { found: String },
}

impl HostPattern {
    /// Compares a host as in URLs, without port.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let labels: Vec<&str> = host.split('.').collect();
        labels.len() == self.labels.len()
            && self
                .labels
                .iter()
                .zip(labels)
                .all(|(pattern, label)| label_matches(pattern, label))
    }
}

/// A star may be part of a label: `bedrock-*`.
fn label_matches(pattern: &str, label: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == label,
        Some((before, after)) => {
            label.len() > before.len() + after.len()
                && label.starts_with(before)
                && label.ends_with(after)
        }
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        let found = text.to_owned();
        let labels: Vec<String> = text.split('.').map(str::to_ascii_lowercase).collect();
        if !labels.iter().all(|label| is_label(label)) {
            return Err(HostPatternError::NotHost { found });
        }
        let fixed = labels.iter().rev().take_while(|label| !label.contains('*'));
        // A host without dots is one of the operator's own.
        if fixed.count() < labels.len().min(2) {
            return Err(HostPatternError::TooWide { found });
        }
        Ok(Self { labels })
    }
}

fn is_label(label: &str) -> bool {
    let stars = label.matches('*').count();
    !label.is_empty()
        && stars <= 1
        && label
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*'))
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.labels.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_a_part_of_one_label() {
        for (pattern, host, expected) in [
            ("api.example", "api.example", true),
            ("api.example", "API.Example.", true),
            ("api.example", "x.api.example", false),
            (
                "email.*.amazonaws.com",
                "email.eu-west-1.amazonaws.com",
                true,
            ),
            ("email.*.amazonaws.com", "email.a.b.amazonaws.com", false),
            ("email.*.amazonaws.com", "email.x.evil.com", false),
            ("*-api.example.com", "eu-api.example.com", true),
            ("*-api.example.com", "-api.example.com", false),
            ("localhost", "localhost", true),
        ] {
            let read: HostPattern = pattern.parse().unwrap();
            assert_eq!(read.matches(host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn a_pattern_for_whole_top_level_domains_is_rejected() {
        for pattern in [
            "",
            "*",
            "*.com",
            "a.*",
            "api.*.com",
            "https://a.example",
            "a..b",
            "a.example:80",
        ] {
            assert!(pattern.parse::<HostPattern>().is_err(), "{pattern}");
        }
    }
}
