//! `[store]`: the location of the database.

use std::path::PathBuf;

use kitbag_domain::Template;
use toml::Spanned;

use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::rows::{Alternative, Fallback, KeyRow, KeyTable, Restart, Secrecy, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.store));

const TABLE: KeyTable = KeyTable {
    path: "store",
    alternatives: &[
        Alternative {
            key: "url",
            description: "a store with a `url`",
        },
        Alternative {
            key: "path",
            description: "a store with a `path`",
        },
    ],
    rows: &[
        KeyRow {
            name: "path",
            default: Fallback::FromConfig(
                |config| config.data_dir.join(FILE_NAME).display().to_string().into(),
                "`kitbag.db` in the data directory",
            ),
            only_with: Some("path"),
            restart: Some(Restart::unless_same(|a, b| {
                a.store.file_path() == b.store.file_path()
            })),
            meaning: "The SQLite database. The API keys also depend on the file `pepper` next to it, so back up \
                      both, best with `kitbag store backup`.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "url",
            secrecy: Secrecy::Address,
            fills_variables: true,
            only_with: Some("url"),
            restart: Some(Restart::unless_same(|a, b| {
                a.store.server_url() == b.store.server_url()
            })),
            meaning: "The URL of a PostgreSQL database instead, such as `\"postgres://kitbag:${PGPASSWORD}@db.example/kitbag\"`. May \
                      contain `${VARIABLE}`. [Stores](store.md) lists the parameters.",
            ..KeyRow::unset("none")
        },
    ],
};

const FILE_NAME: &str = "kitbag.db";

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawStore {
    path: Option<String>,
    url: Option<Spanned<String>>,
}

/// The location of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A SQLite database.
    File(PathBuf),
    /// The URL of a PostgreSQL database. Its variables come only from the environment, because the
    /// secrets are in the database.
    Postgres(Template),
}

impl StoreLocation {
    /// Parses `postgres://…` as a database URL, and everything else as a path.
    pub(crate) fn parse(text: &str, path: impl FnOnce(&str) -> PathBuf) -> Self {
        if is_postgres(text) {
            Self::Postgres(Template::new(text))
        } else {
            Self::File(path(text))
        }
    }

    fn file_path(&self) -> Option<&PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    fn server_url(&self) -> Option<&Template> {
        match self {
            Self::Postgres(address) => Some(address),
            Self::File(_) => None,
        }
    }
}

fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

pub(crate) fn build(raw: RawStore, base_dirs: &BaseDirs) -> Result<StoreLocation, Fault> {
    match (raw.path, raw.url) {
        (Some(_), Some(url)) => {
            Err(Section::new("store").fault_at("url", &url, Problem::PathAndUrl))
        }
        (None, Some(url)) => parse_postgres(&url),
        (Some(path), None) => Ok(StoreLocation::File(base_dirs.resolve_path(&path))),
        (None, None) => Ok(StoreLocation::File(base_dirs.data_dir.join(FILE_NAME))),
    }
}

fn parse_postgres(url: &Spanned<String>) -> Result<StoreLocation, Fault> {
    let section = Section::new("store");
    if !is_postgres(url.get_ref()) {
        return Err(section.fault_at("url", url, Problem::StoreUrl));
    }
    let template = Template::new(url.get_ref());
    if template
        .variables()
        .any(|name| name.starts_with(Template::SECRET))
    {
        return Err(section.fault_at("url", url, Problem::SecretOfStore));
    }
    Ok(StoreLocation::Postgres(template))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;

    #[test]
    fn a_store_is_a_file_or_a_database_url() {
        let store = |text: &str| config(text).unwrap().store;
        let url = "postgres://ann:${PASSWORD}@db.example/bags";
        assert_eq!(
            store(&format!("store.url = '{url}'")),
            StoreLocation::Postgres(Template::new(url))
        );
        let StoreLocation::File(path) = store("store.path = '/tmp/a.db'") else {
            panic!("a file")
        };
        assert_eq!(path, PathBuf::from("/tmp/a.db"));
    }

    #[test]
    fn an_invalid_store_is_rejected() {
        for (text, fragment) in [
            ("url = 'mysql://db/bags'", "postgres://"),
            ("url = 'postgres://db/bags'\npath = 'a.db'", "both"),
            (
                "url = 'postgres://ann:${secret:PASSWORD}@db/bags'",
                "variable",
            ),
        ] {
            let error = config(&format!("[store]\n{text}")).unwrap_err();
            let message = format!("{error}; {}", error.remedy().unwrap());
            assert!(message.contains(fragment), "{message}");
        }
    }
}
