//! The rows of answers: a capability in full, in brief, or as one row of many.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::library::Term;
use crate::record::{
    AgentCapability, AgentFile, Availability, CitedSource, ImplementationNotes, RecordStatus,
};

/// The description of a capability that no document mentions. Without it, a model would take `null`
/// for a no.
const UNDOCUMENTED: &str = "No document that was read says whether it has this.";

/// Returns everything about one capability of one agent.
pub(crate) fn full_row(agent: &AgentFile, term: &Term) -> Value {
    match agent.capability(&term.name) {
        Some(known) if known.available != Availability::Unknown => known_row(known),
        other => unknown(agent, term, other),
    }
}

fn known_row(capability: &AgentCapability) -> Value {
    let mut row = json!({
        "name": capability.name,
        "category": capability.category,
        "available": capability.available,
    });
    if capability.available == Availability::Yes {
        row["tier"] = json!(capability.tier);
        row["maturityLevel"] = json!(capability.maturity_level);
    }
    row["description"] = json!(capability.description);
    put_some(&mut row, "vendorTerm", capability.vendor_term.as_ref());
    let notes = capability.implementation_notes.as_ref();
    put_some(&mut row, "implementationNotes", notes);
    row["sources"] = capability.sources.iter().map(source_row).collect();
    row
}

fn source_row(source: &CitedSource) -> Value {
    json!({ "url": source.url, "verifiedDate": source.verified_date })
}

/// Returns one of several candidates, with enough detail for an answer.
pub(crate) fn brief_row(agent: &AgentFile, term: &Term, confidence: f32) -> Value {
    let capability = agent.capability(&term.name);
    let available = agent.availability(&term.name);
    let mut row = json!({
        "name": term.name,
        "matchConfidence": round_confidence(confidence),
        "available": available,
    });
    let description = capability.and_then(|known| known.description.as_ref());
    put_some(&mut row, "description", description);
    row
}

pub(crate) fn candidate_rows(terms: &[(&Term, f32)]) -> Value {
    let rows = terms.iter().map(|(term, confidence)| {
        json!({
            "name": term.name,
            "category": term.category,
            "matchConfidence": round_confidence(*confidence),
        })
    });
    rows.collect()
}

/// Returns the row of an agent without the capability, according to its documents.
pub(crate) fn unavailable_row(agent: &str) -> Value {
    json!({ "agent": agent, "available": false })
}

/// Returns one agent for a comparison. An agent without the capability gets a short row.
pub(crate) fn comparison_row(agent: &AgentFile, term: &Term) -> Value {
    let id = &agent.agent.id;
    let capability = match agent.capability(&term.name) {
        Some(known) if known.available == Availability::Yes => known,
        _ => return unavailable_row(id),
    };
    let mut row = json!({
        "agent": id,
        "available": true,
        "tier": capability.tier,
        "maturityLevel": capability.maturity_level,
    });
    let notes = capability.implementation_notes.as_ref();
    put_some(&mut row, "implementationNotes", notes.and_then(first_steps));
    row
}

fn first_steps(notes: &ImplementationNotes) -> Option<Value> {
    let mut steps = json!({});
    put_some(&mut steps, "setup", notes.setup.as_ref());
    put_some(&mut steps, "startUrl", notes.start_url.as_ref());
    Some(steps).filter(|steps| *steps != json!({}))
}

/// Returns one row of a list. A capability without any known fact has none.
pub(crate) fn list_row(agent: Option<&str>, capability: &AgentCapability) -> Option<Value> {
    let mut row = json!({});
    put_some(&mut row, "agent", agent);
    row["name"] = json!(capability.name);
    row["category"] = json!(capability.category);
    row["tier"] = match capability.available {
        Availability::Unknown => return None,
        // Every row has the same fields; a missing capability has no price.
        Availability::No => Value::Null,
        Availability::Yes => json!(capability.tier),
    };
    row["available"] = json!(capability.available);
    Some(row)
}

pub(crate) fn sources(
    agent: Option<&str>,
    capability: &AgentCapability,
) -> impl Iterator<Item = Value> {
    capability.sources.iter().map(move |source| {
        let mut row = json!({});
        put_some(&mut row, "agent", agent);
        cite(&mut row, source);
        row
    })
}

/// Returns every source of an agent once, with the capabilities that it is cited for.
pub(crate) fn every_source(agent: &AgentFile) -> Value {
    let cited = cited_sources(agent).into_iter();
    let rows = cited.map(|(source, names)| {
        let mut row = json!({});
        cite(&mut row, source);
        row["capabilities"] = json!(names);
        row
    });
    rows.collect()
}

fn cited_sources(agent: &AgentFile) -> Vec<(&CitedSource, Vec<&str>)> {
    let mut cited: Vec<(&CitedSource, Vec<&str>)> = Vec::new();
    let mut positions: BTreeMap<&str, usize> = BTreeMap::new();
    for capability in &agent.capabilities {
        for source in &capability.sources {
            let position = positions.entry(source.url.as_str()).or_insert(cited.len());
            match cited.get_mut(*position) {
                Some((_, names)) => names.push(&capability.name),
                None => cited.push((source, vec![&capability.name])),
            }
        }
    }
    cited
}

/// Returns the documentation of an agent as a whole.
pub(crate) fn outline(agent: &AgentFile) -> Value {
    let page = agent.documentation.official_docs.as_ref();
    let status = match page {
        Some(_) if has_active_source(agent) => RecordStatus::Active,
        _ => RecordStatus::Unknown,
    };
    let mut row = json!({ "agent": agent.agent.id });
    put_some(&mut row, "url", page);
    let (name, vendor) = (&agent.agent.name, &agent.agent.vendor);
    row["description"] = json!(format!("Documentation of {name} by {vendor}"));
    row["verifiedDate"] = json!(agent.agent.last_updated);
    row["status"] = json!(status);
    row
}

/// The page of an agent is active if any of its sources is.
fn has_active_source(agent: &AgentFile) -> bool {
    let capabilities = agent.capabilities.iter();
    let mut sources = capabilities.flat_map(|capability| &capability.sources);
    sources.any(|source| source.status == RecordStatus::Active)
}

/// Rounds to two digits, the precision of the score.
pub(crate) fn round_confidence(confidence: f32) -> Value {
    json!((f64::from(confidence) * 100.0).round() / 100.0)
}

/// Returns notes on the nearest equivalent, if there are any, or else the page to read.
fn unknown(agent: &AgentFile, term: &Term, capability: Option<&AgentCapability>) -> Value {
    let description = capability.and_then(|known| known.description.as_deref());
    let mut row = json!({
        "name": term.name,
        "category": term.category,
        "available": null,
        "description": description.unwrap_or(UNDOCUMENTED),
    });
    let notes = capability.and_then(|known| known.implementation_notes.as_ref());
    let page = agent.documentation.official_docs.as_ref();
    let notes = notes.map(|notes| json!(notes));
    let page = page.map(|page| json!({ "startUrl": page }));
    put_some(&mut row, "implementationNotes", notes.or(page));
    row
}

fn cite(row: &mut Value, source: &CitedSource) {
    row["url"] = json!(source.url);
    row["description"] = json!(source.description);
    row["verifiedDate"] = json!(source.verified_date);
    row["status"] = json!(source.status);
}

fn put_some<T: serde::Serialize>(row: &mut Value, key: &str, value: Option<T>) {
    if let Some(value) = value {
        row[key] = json!(value);
    }
}
