//! Tools of other servers, read from a file, so that a measurement can put any list of servers
//! behind a gateway without running one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use kitbag_wire::Raw;

/// The definitions of each server's tools, by its name.
pub(crate) type ForeignCatalog = BTreeMap<String, Vec<Raw>>;

#[derive(Debug, serde::Deserialize)]
struct CatalogLine {
    server: String,
    tool: Raw,
}

pub(crate) fn read(file: &Path) -> anyhow::Result<ForeignCatalog> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let mut catalog = ForeignCatalog::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let CatalogLine { server, tool } = serde_json::from_str(line)
            .with_context(|| format!("{}, line {}", file.display(), number + 1))?;
        catalog.entry(server).or_default().push(tool);
    }
    Ok(catalog)
}
