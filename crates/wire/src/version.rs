//! Protocol revisions and the two eras they fall into.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The family of protocol revisions that a peer speaks.
///
/// The revision of 2026-07-28 is a break: no handshake, no sessions, no requests from
/// server to client. Everything before it is one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    Legacy,
    Modern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProtocolVersion {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl ProtocolVersion {
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    pub const LATEST: Self = Self::V2026_07_28;

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// Returns the version for the answer to `initialize`: the proposed one if it is a legacy
    /// version, or else the latest legacy one.
    pub fn negotiate_legacy(proposed: &str) -> Self {
        Self::parse(proposed)
            .filter(|version| version.era() == Era::Legacy)
            .unwrap_or(Self::LATEST_LEGACY)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}
