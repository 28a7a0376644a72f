//! `[secrets]`: where the key that encrypts secrets and logins is stored.

use toml::Spanned;

use crate::error::Fault;
use crate::rows::{KeyRow, KeyTable, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.secret_key));

const TABLE: KeyTable = KeyTable {
    path: "secrets",
    alternatives: &[],
    rows: &[KeyRow {
        name: "key",
        meaning: "Where the key that encrypts secrets and logins is stored: `\"file\"` is a file named \
                  `secret.key` next to the database that only its owner can read, `\"env\"` only the variable `KITBAG_SECRET_KEY`.",
        ..KeyRow::text(|| KeyLocation::default().as_str().to_owned())
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawSecrets {
    key: Option<Spanned<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyLocation {
    /// In a file next to the database.
    #[default]
    File,
    /// Only in the environment.
    Env,
}

impl KeyLocation {
    pub const ALL: [(&str, Self); 2] = [("file", Self::File), ("env", Self::Env)];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Env => "env",
        }
    }
}

pub(crate) fn build(raw: RawSecrets) -> Result<KeyLocation, Fault> {
    let chosen = Section::new("secrets").parse_choice("key", raw.key, &KeyLocation::ALL)?;
    Ok(chosen.unwrap_or_default())
}
