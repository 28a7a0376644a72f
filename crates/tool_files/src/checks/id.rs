//! The ids of the checks.

use std::fmt;
use std::str::FromStr;

/// The id of a check. The checks of the first manifest keep their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckId {
    Tenancy,
    Manifest,
    StrictSchemas,
    Pages,
    Files,
    WriteClass,
    Hosts,
    Arguments,
    Examples,
    Intents,
    Secrets,
    DatedData,
}

/// There is no check with that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a check; the checks are {}", names().join(", "))]
pub struct NoSuchCheck {
    found: String,
}

impl CheckId {
    pub const ALL: [Self; 12] = [
        Self::Tenancy,
        Self::Manifest,
        Self::StrictSchemas,
        Self::Pages,
        Self::Files,
        Self::WriteClass,
        Self::Hosts,
        Self::Arguments,
        Self::Examples,
        Self::Intents,
        Self::Secrets,
        Self::DatedData,
    ];

    /// Returns the name without its number, such as `strict schemas`.
    fn words(self) -> &'static str {
        let name = self.as_str();
        name.trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start()
    }

    /// Returns the number, if it has one, such as `08`.
    fn number(self) -> Option<&'static str> {
        let (number, _) = self.as_str().split_once(' ')?;
        number.parse::<u8>().is_ok().then_some(number)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tenancy => "03 tenancy",
            Self::Manifest => "04 manifest",
            Self::StrictSchemas => "08 strict schemas",
            Self::Pages => "14 pages",
            Self::Files => "files",
            Self::WriteClass => "write class",
            Self::Hosts => "hosts",
            Self::Arguments => "arguments",
            Self::Examples => "examples",
            Self::Intents => "intents",
            Self::Secrets => "secrets",
            Self::DatedData => "dated data",
        }
    }

    /// Returns the claim that holds if there are no findings.
    pub const fn claim(self) -> &'static str {
        match self {
            Self::Tenancy => "no argument names a tenant",
            Self::Manifest => "the manifest and the files agree",
            Self::StrictSchemas => "every schema rejects unknown members",
            Self::Pages => "every tool has a page that lists its actions",
            Self::Files => "every file can be read",
            Self::WriteClass => "every action declares its effect",
            Self::Hosts => "every address is among the hosts that the tool may reach",
            Self::Arguments => "every argument is used in the request",
            Self::Examples => "every example matches its schema",
            Self::Intents => "every tool has requests by which it is found",
            Self::Secrets => "no file contains a secret",
            Self::DatedData => "exactly one row of dated data applies at any time",
        }
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CheckId {
    type Err = NoSuchCheck;

    /// Parses the number of a check, or its name, with spaces or hyphens between the words.
    fn from_str(text: &str) -> Result<Self, NoSuchCheck> {
        let wanted = text.trim().replace(['-', '_'], " ");
        let mut all = Self::ALL.into_iter();
        let found = all.find(|it| {
            it.as_str() == wanted || it.words() == wanted || it.number() == Some(wanted.as_str())
        });
        found.ok_or_else(|| NoSuchCheck {
            found: text.to_owned(),
        })
    }
}

/// Returns the names as users type them on a command line.
fn names() -> Vec<String> {
    let all = CheckId::ALL.into_iter();
    all.map(|it| match it.number() {
        Some(number) => number.to_owned(),
        None => it.words().replace(' ', "-"),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_known_by_its_number_and_by_its_name() {
        for text in [
            "08",
            "strict-schemas",
            "08 strict schemas",
            "strict schemas",
        ] {
            assert_eq!(text.parse(), Ok(CheckId::StrictSchemas), "{text}");
        }
        assert_eq!("write-class".parse(), Ok(CheckId::WriteClass));
        let message = "9".parse::<CheckId>().unwrap_err().to_string();
        assert_eq!(
            message,
            "`9` is not a check; the checks are 03, 04, 08, 14, files, write-class, hosts, arguments, examples, intents, \
             secrets, dated-data"
        );
    }
}
