//! Formats a template for people and programs.

use std::fmt::Write as _;

use kitbag_domain::Tenant;
use kitbag_intents::{LearnedState, LearnedTemplate};
use serde::Serialize;
use serde_json::{Value, json};

use super::lookup::FoundTemplate;
use crate::cli::output::format_date;

#[derive(Debug, Serialize)]
pub(crate) struct TemplateListRow {
    pub(crate) name: String,
    pub(crate) origin: &'static str,
    /// Absent for files, which are for every tenant.
    pub(crate) tenant: Option<Tenant>,
    pub(crate) state: &'static str,
    pub(crate) successes: Option<u32>,
    pub(crate) failures: Option<u32>,
    pub(crate) intents: Vec<String>,
}

pub(crate) fn to_row(found: &FoundTemplate<'_>) -> TemplateListRow {
    let template = found.template();
    let evidence = learned_template(found).map(LearnedTemplate::evidence);
    TemplateListRow {
        name: template.name().to_string(),
        origin: origin(found),
        tenant: found.tenant().cloned(),
        state: state(found),
        successes: evidence.map(|it| it.successes),
        failures: evidence.map(|it| it.failures),
        intents: template.intents().iter().map(ToString::to_string).collect(),
    }
}

impl TemplateListRow {
    /// The results of a learned template's runs.
    pub(crate) fn describe_runs(&self) -> String {
        match (self.successes, self.failures) {
            (Some(good), Some(0)) => format!("{good} good"),
            (Some(good), Some(bad)) => format!("{good} good, {bad} bad"),
            _ => String::new(),
        }
    }
}

pub(super) fn cells(row: &TemplateListRow) -> [String; 6] {
    let tenant = row.tenant.as_ref().map_or("(all)", Tenant::as_str);
    [
        row.name.clone(),
        row.origin.to_owned(),
        tenant.to_owned(),
        row.state.to_owned(),
        row.describe_runs(),
        row.intents.first().cloned().unwrap_or_default(),
    ]
}

/// Returns all details of a template as JSON.
pub(super) fn to_json(found: &FoundTemplate<'_>) -> Value {
    let template = found.template();
    let mut whole = json!(to_row(found));
    whole["description"] = json!(template.description());
    whole["uses"] = template.uses().iter().map(ToString::to_string).collect();
    whole["read_only"] = json!(template.read_only());
    whole["cache_seconds"] = json!(template.cache_for().map(|it| it.as_secs()));
    whole["parameters"] = template.parameters().schema();
    whole["code"] = json!(template.code());
    if let Some(learned) = learned_template(found) {
        whole["id"] = json!(learned.id());
        whole["parameter_sets"] = json!(learned.evidence().parameter_sets.len());
        whole["learned_at"] = json!(format_date(learned.learned_at()));
        whole["changed_at"] = json!(format_date(learned.changed_at()));
    }
    whole
}

/// Formats all details of a template for people.
pub(super) fn format_page(found: &FoundTemplate<'_>) -> String {
    let template = found.template();
    let mut page = format!("{}: {}\n\n", template.name(), template.description());
    let effect = if template.read_only() {
        "reads"
    } else {
        "writes"
    };
    let mut facts = vec![
        ("Origin", origin(found).to_owned()),
        ("State", state(found).to_owned()),
        ("Effect", effect.to_owned()),
    ];
    facts.extend(found.tenant().map(|it| ("Tenant", it.to_string())));
    facts.extend(learned_template(found).map(|it| ("Runs", describe_runs(it))));
    let uses: Vec<String> = template.uses().iter().map(ToString::to_string).collect();
    facts.push(("Uses", uses.join(", ")));
    for (name, value) in facts {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{name:<8}{value}");
    }
    page.push_str("\nIntents\n");
    for intent in template.intents() {
        let _ = writeln!(page, "  {intent}");
    }
    page.push_str(&parameters(found));
    let _ = write!(page, "\nProgram\n{}", indent(template.code()));
    page
}

fn parameters(found: &FoundTemplate<'_>) -> String {
    let parameters = found.template().parameters();
    let required: Vec<&str> = parameters.required_names().collect();
    let mut text = String::new();
    for name in parameters.names() {
        if text.is_empty() {
            text.push_str("\nParameters\n");
        }
        let schema = parameters.schema_of(name).unwrap_or_default();
        let needed = if required.contains(&name) {
            "required"
        } else {
            "optional"
        };
        let about = schema["description"].as_str().unwrap_or_default();
        let kind = schema["type"].to_string().replace('"', "");
        let _ = writeln!(text, "  {name} ({kind}, {needed}) {about}");
    }
    text
}

fn describe_runs(learned: &LearnedTemplate) -> String {
    let evidence = learned.evidence();
    format!(
        "{} good, {} bad, with {} parameter sets, since {}",
        evidence.successes,
        evidence.failures,
        evidence.parameter_sets.len(),
        format_date(learned.learned_at())
    )
}

fn indent(code: &str) -> String {
    let lines: Vec<String> = code
        .trim()
        .lines()
        .map(|line| format!("  {line}"))
        .collect();
    lines.join("\n")
}

fn learned_template<'a>(found: &FoundTemplate<'a>) -> Option<&'a LearnedTemplate> {
    match found {
        FoundTemplate::File { .. } => None,
        FoundTemplate::Learned(row) => Some(&row.learned),
    }
}

fn origin(found: &FoundTemplate<'_>) -> &'static str {
    match found {
        FoundTemplate::File { entry, .. } => entry.origin.as_str(),
        FoundTemplate::Learned(_) => "learned",
    }
}

/// Files are always in use. `rejected` is shown as `removed`, like the verb.
fn state(found: &FoundTemplate<'_>) -> &'static str {
    match learned_template(found).map(LearnedTemplate::state) {
        None => "in use",
        Some(LearnedState::Rejected) => "removed",
        Some(state) => state.as_str(),
    }
}
