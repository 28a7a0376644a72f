//! How far a source is trusted.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// From most to least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthorityTier {
    /// The system or the document that decides: a signed contract, the books.
    Authoritative,
    /// A maintained source, such as a customer database.
    Reliable,
    /// Written or said by people who should know.
    Reported,
    Hearsay,
}

impl AuthorityTier {
    pub const ALL: [Self; 4] = [
        Self::Authoritative,
        Self::Reliable,
        Self::Reported,
        Self::Hearsay,
    ];

    /// From 1, the most trusted.
    pub fn number(self) -> i64 {
        self as i64 + 1
    }

    /// Unknown numbers are trusted least.
    pub fn from_number(number: i64) -> Self {
        let known = Self::ALL.into_iter().find(|tier| tier.number() == number);
        known.unwrap_or(Self::Hearsay)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authoritative => "authoritative",
            Self::Reliable => "reliable",
            Self::Reported => "reported",
            Self::Hearsay => "hearsay",
        }
    }
}

impl fmt::Display for AuthorityTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tier {}, {}", self.number(), self.as_str())
    }
}

impl<'de> Deserialize<'de> for AuthorityTier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "the authority must be a number from 1 to 4 or its name"
        )]
        enum Written {
            Number(i64),
            Name(String),
        }
        let written = Written::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|tier| match &written {
            Written::Number(number) => tier.number() == *number,
            Written::Name(name) => tier.as_str() == name,
        });
        found.ok_or_else(|| {
            de::Error::custom(
                "the authority must be 1 (authoritative), 2 (reliable), 3 (reported) or 4 (hearsay)",
            )
        })
    }
}
