//! The data as a static site, for programs that fetch a URL instead of calling a tool.

use serde_json::{Value, json};

use crate::library::{Library, Term};
use crate::record::{AgentFile, Availability};
use crate::words::key;

const SCHEMA: &str = include_str!("../../../agents/schema/capabilities.schema.json");

/// Returns every file of the site: its path, and its content. Deterministic.
pub fn pages(library: &Library) -> Vec<(String, Value)> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema in the binary is JSON");
    let mut pages = vec![
        (path("index"), index(library)),
        (path("aliases"), json!(library.aliases)),
        (path("schema"), schema),
    ];
    for agent in &library.agents {
        pages.push((path(&agent_page(agent)), json!(agent)));
    }
    for term in &library.capabilities {
        pages.push((path(&term_page(term)), term_comparison(library, term)));
    }
    pages
}

fn index(library: &Library) -> Value {
    let agents = &library.agents;
    json!({
        "version": 1,
        "lastUpdated": agents.iter().map(|agent| agent.agent.last_updated).max(),
        "agents": agents.iter().map(agent_row).collect::<Value>(),
        "capabilities": library.capabilities.iter().map(term_row).collect::<Value>(),
        "aliases": path("aliases"),
        "schema": path("schema"),
    })
}

fn agent_row(file: &AgentFile) -> Value {
    let capabilities = file.capabilities.iter();
    let known = capabilities.filter(|capability| capability.available != Availability::Unknown);
    json!({
        "id": file.agent.id,
        "name": file.agent.name,
        "vendor": file.agent.vendor,
        "firstClass": file.agent.first_class,
        "lastUpdated": file.agent.last_updated,
        "documented": known.count(),
        "url": path(&agent_page(file)),
    })
}

fn term_row(term: &Term) -> Value {
    json!({ "name": term.name, "category": term.category, "url": path(&term_page(term)) })
}

/// One capability with the data of each agent.
fn term_comparison(library: &Library, term: &Term) -> Value {
    let agents = library.agents.iter();
    let rows = agents.filter_map(|agent| export_row(agent, term));
    json!({ "name": term.name, "category": term.category, "agents": rows.collect::<Value>() })
}

fn export_row(agent: &AgentFile, term: &Term) -> Option<Value> {
    let mut row = json!({ "agent": agent.agent.id });
    let mut capability = json!(agent.capability(&term.name)?);
    row.as_object_mut()?.append(capability.as_object_mut()?);
    Some(row)
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
