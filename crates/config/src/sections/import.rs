//! `[import]`: clients whose new servers are imported while the gateway runs.

use kitbag_clients::Client;

use crate::error::Fault;
use crate::raw::Texts;
use crate::rows::{KeyRow, KeyTable, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.follow));

const TABLE: KeyTable = KeyTable {
    path: "import",
    alternatives: &[],
    rows: &[KeyRow {
        name: "follow",
        meaning: "Clients, such as `\"cursor\"`, whose files a running gateway follows: servers added there are \
                      imported as by `kitbag import`. Only servers that are new since the last import count as added \
                      (recorded in `imported.json` in the data directory), so servers that you removed or changed \
                      here stay that way. A server that could do more than start a program, such as `sh -c`, is \
                      imported disabled, and the log says why. A server removed there is not removed here. Files in a \
                      project are not followed, since their author is unknown; use `kitbag import` for them, which \
                      asks for confirmation.",
        ..KeyRow::texts(Vec::new)
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
