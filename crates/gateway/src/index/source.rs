//! Converts a tool's definition to its index entry.

use std::collections::HashSet;
use std::sync::Arc;

use http::Method;
use kitbag_apis::ProviderSpec;
use kitbag_config::ToolOverride;
use kitbag_domain::text::{strip_invisible, strip_to_one_line};
use kitbag_domain::{Timestamp, WriteClass};
use kitbag_relevance::tool_kind::{CategorySource, ToolCategory, ToolComplexity};
use kitbag_relevance::tool_text::ToolText;
use kitbag_relevance::{Document, IndexedTool};
use kitbag_store::TextHash;
use kitbag_tool_files::{ToolFile, definition};
use kitbag_wire::RawObject;
use serde_json::{Map, Value, json};

use super::priors::Priors;
use crate::catalog;

/// A tool ready to be indexed: the document, still without its vector, and the text to embed.
#[derive(Debug, Clone)]
pub struct IndexSource {
    pub(crate) document: Document,
    pub(crate) text: String,
    pub(crate) hash: TextHash,
    pub(crate) priors: Priors,
    /// A fingerprint of everything that the entry was built from; the same as long as the tool is
    /// unchanged.
    pub(crate) definition: String,
}

impl IndexSource {
    /// Returns the same tool with other priors.
    pub(super) fn with_priors(&self, priors: Priors) -> Self {
        let mut source = self.clone();
        let entry = Arc::make_mut(&mut source.document.entry);
        entry.estimated_cost_usd = priors.cost_usd;
        entry.p95_latency_ms = priors.p95_latency_ms;
        entry.p99_latency_ms = priors.p99_latency_ms;
        entry.success_rate = priors.success_rate;
        source.priors = priors;
        source.set_changed_at(self.document.entry.last_updated_at);
        source
    }

    /// Sets the time of the last change to that of the definition, unless the priors are newer.
    pub(super) fn set_changed_at(&mut self, definition: i64) {
        let priors = self.priors.updated_at.map(|at| at.0 / 1_000);
        let since = definition.max(priors.unwrap_or(i64::MIN));
        Arc::make_mut(&mut self.document.entry).last_updated_at = since;
    }
}

/// A tool's data for the index, from a server's definition or a line of an evaluation set.
#[derive(Debug, Default)]
pub struct ToolSource {
    /// The name by which a client calls the tool.
    pub exposed: String,
    pub name: String,
    pub server: String,
    pub description: String,
    pub schema: Value,
    /// As declared; derived if empty.
    pub tags: Vec<String>,
    pub scopes: Vec<String>,
    /// The server by default.
    pub group: Option<String>,
    pub write_class: Option<WriteClass>,
}

impl ToolSource {
    pub(crate) fn from_entry(entry: &catalog::CatalogEntry) -> Self {
        let definition = RawObject::open(&entry.definition).unwrap_or_default();
        Self {
            exposed: entry.exposed.clone(),
            name: strip_to_one_line(&entry.capability.name),
            server: entry.server_or_provider().to_owned(),
            description: strip_invisible(
                &definition.read::<String>("description").unwrap_or_default(),
            )
            .into_owned(),
            schema: definition.read("inputSchema").unwrap_or_default(),
            tags: entry
                .tags
                .iter()
                .map(|tag| strip_to_one_line(tag))
                .collect(),
            scopes: Vec::new(),
            group: None,
            write_class: Some(entry.write_class),
        }
    }

    /// Returns a tool as declared by its tool file.
    pub fn from_tool_file(file: &ToolFile) -> Self {
        let mut definition = definition(file);
        Self {
            exposed: file.name.to_string(),
            name: file.name.to_string(),
            server: strip_to_one_line(&file.provider),
            description: strip_invisible(&file.description).into_owned(),
            schema: definition["inputSchema"].take(),
            tags: file.tags.iter().map(|tag| strip_to_one_line(tag)).collect(),
            scopes: file.scopes.clone(),
            group: Some(file.provider.clone()),
            write_class: Some(file.write_class()),
        }
    }

    /// Returns an HTTP API, found by its name, description and host.
    pub(crate) fn from_provider(spec: &ProviderSpec) -> Self {
        let host = spec.url.host_str().unwrap_or_default();
        let description = match &spec.description {
            Some(description) => format!("{} ({host})", description.trim_end_matches('.')),
            None => format!("The HTTP API of {host}"),
        };
        let reads = spec.methods.iter().all(Method::is_safe);
        Self {
            exposed: spec.name.to_string(),
            name: spec.name.to_string(),
            server: spec.name.to_string(),
            description,
            schema: json!(["path", "query"]),
            write_class: reads.then_some(WriteClass::Read),
            ..Self::default()
        }
    }

    /// Replaces the server's values by the operator's.
    pub(crate) fn with_override(mut self, declared: &ToolOverride) -> Self {
        if !declared.tags.is_empty() {
            self.tags.clone_from(&declared.tags);
        }
        self.scopes.clone_from(&declared.scopes);
        self.group.clone_from(&declared.group);
        self.write_class = declared.write_class.or(self.write_class);
        self
    }

    pub fn into_source(self, priors: Priors, now: Timestamp) -> IndexSource {
        let (definition, twin) = (self.fingerprint(), self.twin());
        let parameters: Vec<String> = parameter_names(&self.schema)
            .iter()
            .map(|it| strip_to_one_line(it))
            .collect();
        let text = ToolText {
            name: &self.name,
            description: &self.description,
            server: &self.server,
            group: self.group.as_deref().unwrap_or_default(),
            parameters: &parameters,
            scopes: &self.scopes,
            tags: &self.tags,
        };
        let (scopes, tags, text) = (text.scopes(), text.tags(), text.to_embedded_text());
        let document = Document {
            name: self.name.clone(),
            entry: Arc::new(IndexedTool {
                scopes,
                tags,
                ..self.into_entry(priors, now)
            }),
            parameters,
            twin,
            vector: None,
        };
        IndexSource {
            priors,
            hash: TextHash::for_text(&text),
            text,
            document,
            definition,
        }
    }

    /// Converts to the tool's entry, with its scopes and tags as written.
    fn into_entry(self, priors: Priors, now: Timestamp) -> IndexedTool {
        IndexedTool {
            category: self.category(),
            complexity: ToolComplexity::from_schema(&self.schema),
            tool_name: self.exposed,
            description: self.description,
            scopes: self.scopes,
            tags: self.tags,
            estimated_cost_usd: priors.cost_usd,
            p95_latency_ms: priors.p95_latency_ms,
            p99_latency_ms: priors.p99_latency_ms,
            success_rate: priors.success_rate,
            last_updated_at: now.0 / 1_000,
            write_class: self.write_class.unwrap_or_default(),
            group: Some(self.group.unwrap_or_else(|| self.server.clone())),
            server: self.server,
            tenants: Vec::new(),
        }
    }

    fn category(&self) -> ToolCategory {
        ToolCategory::from_definition(CategorySource {
            name: &self.name,
            description: &self.description,
            write_class: self.write_class.unwrap_or_default(),
        })
    }

    /// Equal for tools with the same name, description and schema; `None` without a description,
    /// because such tools may differ.
    fn twin(&self) -> Option<u64> {
        let whole = json!([self.name, self.description.trim(), self.schema]).to_string();
        let hash = blake3::hash(whole.as_bytes());
        let first = hash
            .as_bytes()
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes));
        first.filter(|_| !self.description.trim().is_empty())
    }

    fn fingerprint(&self) -> String {
        let Self {
            exposed: _,
            name,
            server,
            description,
            schema,
            tags,
            scopes,
            group,
            write_class,
        } = self;
        let whole = json!([
            name,
            server,
            description,
            schema,
            tags,
            scopes,
            group,
            write_class
        ]);
        blake3::hash(whole.to_string().as_bytes()).to_hex()[..32].to_owned()
    }
}

/// Returns parameter names, required ones first. Supports JSON Schema and the formats of evaluation
/// sets.
fn parameter_names(schema: &Value) -> Vec<String> {
    match schema {
        Value::Array(_) => read_names(Some(schema)),
        Value::Object(members) => match members.get("properties") {
            Some(Value::Object(properties)) => {
                required_first(properties, read_names(members.get("required")))
            }
            _ if members.get("required").is_some_and(Value::is_array) => [
                read_names(members.get("required")),
                read_names(members.get("optional")),
            ]
            .concat(),
            _ => members
                .iter()
                .filter(|(_, value)| value.is_object())
                .map(|(name, _)| name.clone())
                .collect(),
        },
        _ => Vec::new(),
    }
}

fn required_first(properties: &Map<String, Value>, required: Vec<String>) -> Vec<String> {
    let mut found = required;
    found.retain(|name| properties.contains_key(name));
    found.extend(properties.keys().cloned());
    let mut seen = HashSet::new();
    found.retain(|name| seen.insert(name.clone()));
    found
}

/// Returns the names from a list of names, or of objects with a name.
fn read_names(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items
        .filter_map(|it| it.as_str().or_else(|| it.get("name")?.as_str()))
        .map(str::to_owned)
        .collect()
}
