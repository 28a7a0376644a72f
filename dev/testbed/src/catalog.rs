//! Tools of other servers, read from a file, so that a measurement can put any list of servers
//! behind a gateway without running them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use kitbag_wire::{Raw, RawObject};

/// The tools of each server, by its name.
pub(crate) type ForeignCatalog = BTreeMap<String, Vec<ForeignTool>>;

/// A tool of another server, which gives every call the same answer.
#[derive(Debug)]
pub(crate) struct ForeignTool {
    pub(crate) definition: Raw,
    name: Option<String>,
    /// A JSON value. A tool without one repeats the arguments.
    pub(crate) answer: Option<Raw>,
    /// The duration of every call.
    pub(crate) takes: Duration,
}

#[derive(Debug, serde::Deserialize)]
struct CatalogLine {
    server: String,
    tool: Raw,
    answer: Option<Raw>,
    #[serde(default)]
    takes_ms: u64,
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
        tools.push(ForeignTool {
            name: RawObject::open(&line.tool)
                .ok()
                .and_then(|tool| tool.read("name")),
            definition: line.tool,
            answer: line.answer,
            takes: Duration::from_millis(line.takes_ms),
        });
    }
    Ok(catalog)
}

pub(crate) fn find<'a>(tools: &'a [ForeignTool], name: &str) -> Option<&'a ForeignTool> {
    tools.iter().find(|it| it.name.as_deref() == Some(name))
}
