//! Other people's tools, read from a file, so that a measurement can stand any list of
//! servers behind a gateway without running one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use kitbag_wire::Raw;

/// The definitions of each server's tools, by its name.
pub(crate) type Catalog = BTreeMap<String, Vec<Raw>>;

#[derive(Debug, serde::Deserialize)]
struct Line {
    server: String,
    tool: Raw,
}

pub(crate) fn read(file: &Path) -> anyhow::Result<Catalog> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let mut catalog = Catalog::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let Line { server, tool } = serde_json::from_str(line)
            .with_context(|| format!("{}, line {}", file.display(), number + 1))?;
        catalog.entry(server).or_default().push(tool);
    }
    Ok(catalog)
}
