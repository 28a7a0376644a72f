//! How each thing is written in an answer: whole, in brief, or as one row of many.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::library::Term;
use crate::record::{AgentFile, Availability, Capability, Source, Status};

/// Said of what no document mentions; a model would otherwise read it as a no.
const UNDOCUMENTED: &str = "No document that was read says whether it has this.";

/// Everything about one capability of one agent.
pub(crate) fn whole(agent: &AgentFile, term: &Term) -> Value {
    let it = match agent.capability(&term.name) {
        Some(it) if it.available != Availability::Unknown => it,
        other => return unknown(agent, term, other),
    };
    let mut row = json!({ "name": it.name, "category": it.category, "available": it.available });
    if it.available == Availability::Yes {
        row["tier"] = json!(it.tier);
        row["maturityLevel"] = json!(it.maturity_level);
    }
    row["description"] = json!(it.description);
    put_some(&mut row, "vendorTerm", it.vendor_term.as_ref());
    put_some(
        &mut row,
        "implementationNotes",
        it.implementation_notes.as_ref(),
    );
    let dated = |it: &Source| json!({ "url": it.url, "verifiedDate": it.verified_date });
    row["sources"] = it.sources.iter().map(dated).collect();
    row
}

/// One of several that may have been meant: enough to answer with, where it is the right one.
pub(crate) fn brief(agent: &AgentFile, term: &Term, confidence: f32) -> Value {
    let mut row = json!({ "name": term.name, "matchConfidence": rounded(confidence) });
    let it = agent.capability(&term.name);
    row["available"] = json!(it.map_or(Availability::Unknown, |it| it.available));
    put_some(
        &mut row,
        "description",
        it.and_then(|it| it.description.as_ref()),
    );
    row
}

pub(crate) fn likely(terms: &[(&Term, f32)]) -> Value {
    let row = |(term, confidence): &(&Term, f32)| json!({ "name": term.name, "category": term.category, "matchConfidence": rounded(*confidence) });
    terms.iter().map(row).collect()
}

/// One agent beside others. Whoever does not have it, or is not known to, is one short line.
pub(crate) fn compared(agent: &AgentFile, term: &Term) -> Value {
    let id = &agent.agent.id;
    let it = match agent.capability(&term.name) {
        Some(it) if it.available == Availability::Yes => it,
        other => {
            return json!({ "agent": id, "available": other.and_then(|it| Option::<bool>::from(it.available)) });
        }
    };
    let mut row = json!({ "agent": id, "available": true, "tier": it.tier, "maturityLevel": it.maturity_level });
    let notes = it.implementation_notes.as_ref();
    let mut first_steps = json!({});
    put_some(
        &mut first_steps,
        "setup",
        notes.and_then(|it| it.setup.as_ref()),
    );
    put_some(
        &mut first_steps,
        "startUrl",
        notes.and_then(|it| it.start_url.as_ref()),
    );
    if first_steps != json!({}) {
        row["implementationNotes"] = first_steps;
    }
    row
}

/// One row of a list; what nobody knows about has none.
pub(crate) fn listed(agent: Option<&str>, it: &Capability) -> Option<Value> {
    let mut row = json!({});
    put_some(&mut row, "agent", agent);
    row["name"] = json!(it.name);
    row["category"] = json!(it.category);
    row["tier"] = match it.available {
        Availability::Unknown => return None,
        // Every row has the same fields; what is not there has no price.
        Availability::No => Value::Null,
        Availability::Yes => json!(it.tier),
    };
    row["available"] = json!(it.available);
    Some(row)
}

pub(crate) fn sources(agent: Option<&str>, it: &Capability) -> impl Iterator<Item = Value> {
    it.sources.iter().map(move |source| {
        let mut row = json!({});
        put_some(&mut row, "agent", agent);
        cite(&mut row, source);
        row
    })
}

/// Every source of an agent once, with what it is cited for.
pub(crate) fn every_source(agent: &AgentFile) -> Value {
    let mut cited: Vec<(&Source, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for it in &agent.capabilities {
        for source in &it.sources {
            let at = *places.entry(source.url.as_str()).or_insert(cited.len());
            match cited.get_mut(at) {
                Some((_, names)) => names.push(&it.name),
                None => cited.push((source, vec![&it.name])),
            }
        }
    }
    let row = |(source, names): (&Source, Vec<&str>)| {
        let mut row = json!({});
        cite(&mut row, source);
        row["capabilities"] = json!(names);
        row
    };
    cited.into_iter().map(row).collect()
}

/// Where an agent is documented as a whole. The page is in use where any
/// source of the agent is.
pub(crate) fn outline(agent: &AgentFile) -> Value {
    let page = agent.documentation.official_docs.as_ref();
    let mut sources = agent.capabilities.iter().flat_map(|it| &it.sources);
    let status = match page {
        Some(_) if sources.any(|it| it.status == Status::Active) => Status::Active,
        _ => Status::Unknown,
    };
    let mut row = json!({ "agent": agent.agent.id });
    put_some(&mut row, "url", page);
    row["description"] = json!(format!(
        "Documentation of {} by {}",
        agent.agent.name, agent.agent.vendor
    ));
    row["verifiedDate"] = json!(agent.agent.last_updated);
    row["status"] = json!(status);
    row
}

/// Two digits are more than the figure is worth.
pub(crate) fn rounded(confidence: f32) -> Value {
    json!((f64::from(confidence) * 100.0).round() / 100.0)
}

/// What comes near it, where somebody wrote that down; else where to go on reading.
fn unknown(agent: &AgentFile, term: &Term, it: Option<&Capability>) -> Value {
    let description = it
        .and_then(|it| it.description.as_deref())
        .unwrap_or(UNDOCUMENTED);
    let mut row = json!({ "name": term.name, "category": term.category, "available": null, "description": description });
    let page = || {
        agent
            .documentation
            .official_docs
            .as_ref()
            .map(|page| json!({ "startUrl": page }))
    };
    let notes = it
        .and_then(|it| it.implementation_notes.as_ref())
        .map(|notes| json!(notes));
    put_some(&mut row, "implementationNotes", notes.or_else(page));
    row
}

fn cite(row: &mut Value, source: &Source) {
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
