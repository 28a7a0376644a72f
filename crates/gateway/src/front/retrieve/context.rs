//! The retrieved tools that fit the requesting program's context, and the others.

use kitbag_budget::estimate_tokens;
use kitbag_fetch::Secrets;
use kitbag_llm::tool_schema::{UnsupportedTool, Vendor};
use kitbag_relevance::{Candidate, Parts};
use kitbag_wire::{Raw, RawObject, raw};
use serde::Serialize;
use serde_json::Value;

use super::request::DefinitionFormat;
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use crate::surface::sanitize;
use crate::surface::signature::api_signature;
use kitbag_schema::{LineDetail, signature};

/// The tools for the requesting program's context, and the omitted ones.
#[derive(Debug, Default)]
pub(super) struct RetrievedContext {
    pub(super) tools: Vec<Raw>,
    pub(super) shown: Vec<RetrievedTool>,
    pub(super) left_out: Vec<LeftOutTool>,
    /// Estimated tokens of the tools.
    pub(super) tokens: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct RetrievedTool {
    tool_name: String,
    score: f32,
    parts: Parts,
    #[serde(skip_serializing_if = "Option::is_none")]
    cosine: Option<f32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    latency_from_p95: bool,
    /// The same tool on other servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
    metadata: Value,
}

/// A found tool that is not returned.
#[derive(Debug, Serialize)]
pub(super) struct LeftOutTool {
    tool_name: String,
    reason: String,
}

/// Formats tools as requested.
pub(super) struct ToolWriter<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) catalog: &'a Catalog,
    pub(super) format: DefinitionFormat,
}

impl RetrievedContext {
    /// Adds the best tools first, until the budget is spent. A tool that does not fit is not
    /// replaced by a worse one.
    pub(super) fn within_budget<'a>(
        writer: &ToolWriter<'_>,
        found: impl Iterator<Item = &'a Candidate>,
        budget: Option<usize>,
    ) -> Self {
        let (mut context, mut spent) = (Self::default(), 0);
        for candidate in found {
            let name = &candidate.entry.tool_name;
            // A model usually calls the first.
            let detail = match context.shown.is_empty() {
                true => LineDetail::Guided,
                false => LineDetail::Brief,
            };
            match writer.write_tool(name, detail) {
                Err(unfit) => {
                    context.leave_out(name, &format!("{unfit}, which this vendor does not accept"));
                }
                Ok(tool) => {
                    let tokens = tool.as_ref().map_or(0, |tool| estimate_tokens(tool.get()));
                    spent += tokens;
                    if budget.is_some_and(|budget| spent > budget) {
                        context.leave_out(name, "the token budget is spent");
                        continue;
                    }
                    context.tokens += tokens;
                    context.tools.extend(tool);
                    let template = writer.gateway.code_template(writer.catalog, name);
                    context
                        .shown
                        .push(RetrievedTool::from_candidate(candidate, template));
                }
            }
        }
        context
    }

    fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.push(LeftOutTool {
            tool_name: name.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

impl RetrievedTool {
    fn from_candidate(found: &Candidate, code_template: Option<&str>) -> Self {
        let entry = &*found.entry;
        let mut metadata = serde_json::to_value(entry).expect("an entry is plain JSON");
        metadata["code_template"] = code_template.into();
        Self {
            tool_name: found.entry.tool_name.clone(),
            score: found.score,
            parts: found.parts,
            cosine: found.cosine,
            latency_from_p95: found.latency_from_p95,
            also: found
                .copies
                .iter()
                .map(|copy| copy.tool_name.clone())
                .collect(),
            metadata,
        }
    }
}

impl ToolWriter<'_> {
    /// Formats the tool with this name. An HTTP API is not a tool, so only the line format can
    /// describe it.
    fn write_tool(&self, name: &str, detail: LineDetail) -> Result<Option<Raw>, UnsupportedTool> {
        let Some(entry) = self.catalog.tool(name) else {
            return Ok(self.api_line(name));
        };
        // The definition may come from any author, and a model will read it.
        let definition = sanitize::sanitize_json(entry.definition.clone(), &Secrets::default());
        let written = self
            .format
            .write_definition(&entry.exposed, &definition, detail);
        written.map(Some)
    }

    fn api_line(&self, name: &str) -> Option<Raw> {
        let provider = self.gateway.providers.get(&name.parse().ok()?)?;
        (self.format == DefinitionFormat::Compact).then(|| raw(&api_signature(provider.spec())))
    }
}

impl DefinitionFormat {
    fn write_definition(
        self,
        name: &str,
        definition: &Raw,
        detail: LineDetail,
    ) -> Result<Raw, UnsupportedTool> {
        let object = RawObject::open(definition).unwrap_or_default();
        match self {
            Self::Compact => Ok(raw(&signature(name, &object, detail))),
            Self::Mcp => Ok(definition.clone()),
            Self::Anthropic => for_vendor(Vendor::Anthropic, name, &object),
            Self::Openai => for_vendor(Vendor::OpenAi, name, &object),
        }
    }
}

fn for_vendor(vendor: Vendor, name: &str, definition: &RawObject) -> Result<Raw, UnsupportedTool> {
    let description: String = definition.read("description").unwrap_or_default();
    let schema: Value = definition.read("inputSchema").unwrap_or_default();
    vendor
        .tool(name, &description, &schema)
        .map(|tool| raw(&tool))
}
