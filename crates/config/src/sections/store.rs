//! `[store]`: the place of the database.

use std::path::PathBuf;

use crate::load::Ground;
use crate::rows::{Fallback, KeyRow, KeyTable, Restart, SectionRow, TableLayout, text};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "store",
    layout: TableLayout::One(&TABLE),
    in_force: Some(|config| format!("{:?}", config.store_path)),
};

const TABLE: KeyTable = KeyTable {
    path: "store",
    alternatives: &[],
    rows: &[KeyRow {
        name: "path",
        default: Fallback::OfMachine(
            |config| text(&config.data_dir.join(FILE_NAME).display().to_string()),
            "`kitbag.db` in the data directory",
        ),
        restart: Some(Restart::unless(|a, b| a.store_path == b.store_path)),
        meaning: "The SQLite database. A file named `pepper` lies beside it; the API keys depend on it, so back up \
                  both.",
        ..KeyRow::PLAIN
    }],
};

const FILE_NAME: &str = "kitbag.db";

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawStore {
    path: Option<String>,
}

pub(crate) fn build(raw: RawStore, ground: &Ground) -> PathBuf {
    match raw.path {
        Some(path) => ground.path(&path),
        None => ground.data_dir.join(FILE_NAME),
    }
}
