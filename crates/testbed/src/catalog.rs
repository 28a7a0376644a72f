//! Tools of other servers, read from a file, so that a measurement can put any list of servers
//! behind a gateway without running one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use kitbag_wire::{Raw, RawObject};

/// The tools of each server, by its name.
pub(crate) type ForeignCatalog = BTreeMap<String, Vec<ForeignTool>>;

/// A tool of another server, which every call gets the same answer of.
#[derive(Debug)]
pub(crate) struct ForeignTool {
    pub(crate) definition: Raw,
    name: Option<String>,
    /// A JSON value. A tool without one repeats the arguments.
    answer: Option<Raw>,
}

#[derive(Debug, serde::Deserialize)]
struct CatalogLine {
    server: String,
    tool: Raw,
    answer: Option<Raw>,
}

pub(crate) fn read(file: &Path) -> anyhow::Result<ForeignCatalog> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let mut catalog = ForeignCatalog::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let line: CatalogLine = serde_json::from_str(line)
            .with_context(|| format!("{}, line {}", file.display(), number + 1))?;
        let tools = catalog.entry(line.server).or_default();
        tools.push(ForeignTool::new(line.tool, line.answer));
    }
    Ok(catalog)
}

/// The text that a call of this tool is answered with.
pub(crate) fn answer<'a>(tools: &'a [ForeignTool], name: &str) -> Option<&'a str> {
    let mut named = tools.iter().filter(|it| it.name.as_deref() == Some(name));
    Some(named.next()?.answer.as_ref()?.get())
}

impl ForeignTool {
    fn new(definition: Raw, answer: Option<Raw>) -> Self {
        let opened = RawObject::open(&definition).unwrap_or_default();
        Self {
            name: opened.read("name"),
            definition,
            answer,
        }
    }
}
