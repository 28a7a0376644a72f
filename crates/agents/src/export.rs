//! The same data as a static site, for whoever would rather fetch a URL than call a tool.

use serde_json::{Value, json};

use crate::library::{Library, Term};
use crate::record::{AgentFile, Availability};
use crate::words::key;

const SCHEMA: &str = include_str!("../../../agents/schema/capabilities.schema.json");

/// Every file of the site: its path, and what is in it. The same data gives the same files.
pub fn pages(library: &Library) -> Vec<(String, Value)> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema in the binary is JSON");
    let mut pages = vec![
        (path("index"), index(library)),
        (path("aliases"), json!(library.aliases)),
        (path("schema"), schema),
    ];
    pages.extend(
        library
            .agents
            .iter()
            .map(|it| (path(&agent_page(it)), json!(it))),
    );
    pages.extend(
        library
            .capabilities
            .iter()
            .map(|it| (path(&term_page(it)), compared(library, it))),
    );
    pages
}

fn index(library: &Library) -> Value {
    let agent = |it: &AgentFile| {
        let known = it
            .capabilities
            .iter()
            .filter(|it| it.available != Availability::Unknown)
            .count();
        json!({
            "id": it.agent.id,
            "name": it.agent.name,
            "vendor": it.agent.vendor,
            "firstClass": it.agent.first_class,
            "lastUpdated": it.agent.last_updated,
            "documented": known,
            "url": path(&agent_page(it)),
        })
    };
    let term = |it: &Term| json!({ "name": it.name, "category": it.category, "url": path(&term_page(it)) });
    json!({
        "version": 1,
        "lastUpdated": library.agents.iter().map(|it| it.agent.last_updated).max(),
        "agents": library.agents.iter().map(agent).collect::<Value>(),
        "capabilities": library.capabilities.iter().map(term).collect::<Value>(),
        "aliases": path("aliases"),
        "schema": path("schema"),
    })
}

/// One capability with what is known of it for each agent.
fn compared(library: &Library, term: &Term) -> Value {
    let rows = library.agents.iter().filter_map(|agent| {
        let mut row = json!({ "agent": agent.agent.id });
        let mut it = json!(agent.capability(&term.name)?);
        row.as_object_mut()?.append(it.as_object_mut()?);
        Some(row)
    });
    json!({ "name": term.name, "category": term.category, "agents": rows.collect::<Value>() })
}

fn agent_page(agent: &AgentFile) -> String {
    format!("agents/{}", agent.agent.id)
}

fn term_page(term: &Term) -> String {
    format!("capabilities/{}", key(&term.name).replace(' ', "-"))
}

fn path(page: &str) -> String {
    format!("api/v1/{page}.json")
}
