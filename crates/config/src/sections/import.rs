//! `[import]`: clients whose new servers are imported while the gateway runs.

use kitbag_clients::Client;

use crate::error::Fault;
use crate::raw::Texts;
use crate::rows::{Fallback, KeyRow, KeyTable, SectionRow, TableLayout, ValueType, texts_value};
use crate::values::Section;

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "import",
    layout: TableLayout::One(&TABLE),
    fingerprint: Some(|config| format!("{:?}", config.follow)),
};

const TABLE: KeyTable = KeyTable {
    path: "import",
    alternatives: &[],
    rows: &[KeyRow {
        name: "follow",
        value: ValueType::Texts,
        default: Fallback::Value(|| texts_value(&[])),
        meaning: "Clients, such as `\"cursor\"`, whose files a running gateway follows: a server that is added there \
                  is imported as `kitbag import` would, and served. Only what a file did not have when it was last \
                  looked at counts as added (remembered in `imported.json` in the data directory), so what you \
                  remove or change here stays so. What would do more than start a server, such as `sh -c`, is \
                  imported switched off, and the log says why. Nothing is removed here when it is removed there. \
                  Files that lie in a project are not followed, since they came along with it: those are for `kitbag \
                  import`, which asks.",
        ..KeyRow::PLAIN
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawImport {
    follow: Texts,
}

pub(crate) fn build(raw: RawImport) -> Result<Vec<Client>, Fault> {
    let section = Section::new("import");
    let clients = Client::ALL.map(|client| (client.name(), client));
    let chosen = raw
        .follow
        .into_iter()
        .map(|name| section.parse_choice("follow", Some(name), &clients))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(chosen.into_iter().flatten().collect())
}
