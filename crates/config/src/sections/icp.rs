//! `[icp]`: the ideal customer profiles that `icp_scorer` compares companies with.

use std::path::PathBuf;

use crate::load::Ground;
use crate::rows::{Fallback, KeyRow, KeyTable, SectionRow, TableLayout};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "icp",
    layout: TableLayout::One(&TABLE),
    in_force: Some(|config| format!("{:?}", config.icp)),
};

const TABLE: KeyTable = KeyTable {
    path: "icp",
    alternatives: &[],
    rows: &[KeyRow {
        name: "profiles",
        default: Fallback::Unset("none; `icp_scorer` answers `CONFIG_MISSING`"),
        meaning: "The [file of profiles](platform-tools.md#icp_scorer), relative to this one. It is read for each call, so \
                  that a change holds at once.",
        ..KeyRow::PLAIN
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawIcp {
    profiles: Option<String>,
}

/// The ideal customer profiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IcpSettings {
    pub profiles: Option<PathBuf>,
}

pub(crate) fn build(raw: RawIcp, ground: &Ground) -> IcpSettings {
    IcpSettings {
        profiles: raw.profiles.map(|path| ground.path(&path)),
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::config;

    #[test]
    fn profiles_are_relative_to_the_configuration() {
        let icp = config("[icp]\nprofiles = 'icp.toml'").unwrap().icp;
        assert!(icp.profiles.unwrap().ends_with("icp.toml"));
        assert_eq!(config("").unwrap().icp.profiles, None);
        assert!(!config("").unwrap().context.enabled);
        assert!(config("[context]\nenabled = true").unwrap().context.enabled);
    }
}
