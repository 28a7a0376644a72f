//! User prompts received outside MCP: returns relevant tools, updates the adaptive lists, and
//! informs the learner.

use std::sync::Arc;
use std::time::Instant;

use kitbag_budget::estimate_tokens;
use kitbag_domain::InquiryKind;
use kitbag_domain::text::strip_to_one_line;
use kitbag_relevance::{Candidate, MAX_TOP_K};
use kitbag_schema::{LineDetail, signature};
use kitbag_wire::RawObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::call::observe;
use crate::state::gateway::Gateway;
use crate::surface::adaptive_list;
use crate::surface::find::{Findings, find_best};
use crate::surface::signature::api_signature;
use crate::telemetry::audit::queries::{AuditedQuery, QueryContext, QueryOutcome};

/// The tools for a user's prompt.
#[derive(Debug, Serialize, Deserialize)]
pub struct PromptTools {
    pub tools: Vec<SuggestedTool>,
    /// True if the first tool probably does what the user wants; false also if that is unknown.
    pub is_clear: bool,
}

/// The name of a tool or an HTTP API, and its description in one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct SuggestedTool {
    pub name: String,
    pub line: String,
    pub score: f32,
}

/// A prompt, and how it was received.
#[derive(Clone, Copy)]
pub(crate) struct UserPrompt<'a> {
    pub(crate) text: &'a str,
    pub(crate) route: &'a str,
    /// The most tools to return.
    pub(crate) limit: usize,
}

/// Answers, and writes an audit row.
pub(crate) async fn find_tools_for_prompt(
    by: QueryContext<'_>,
    prompt: UserPrompt<'_>,
) -> PromptTools {
    let (started, gateway, caller) = (Instant::now(), by.gateway, by.caller);
    let limit = prompt.limit.clamp(1, MAX_TOP_K);
    let found = find_best(gateway, caller, prompt.text, limit).await;
    // A prompt that needs no tool should not get the nearest ones.
    let useful: Vec<&Candidate> = match found.is_confident() {
        Some(false) => Vec::new(),
        _ => found.candidates.iter().collect(),
    };
    let names: Arc<[String]> = useful.iter().map(|it| it.entry.tool_name.clone()).collect();
    adaptive_list::add_prompt_tools(gateway, caller, names.iter().map(String::as_str));
    observe::report_prompt(gateway, caller, prompt.text, names);
    let tools = useful
        .iter()
        .filter_map(|it| to_suggested_tool(gateway, &found, it));
    let tools: Vec<SuggestedTool> = tools.collect();
    let query = AuditedQuery {
        kind: InquiryKind::Search,
        subject: prompt.route,
        arguments: &json!({ "text": prompt.text }).to_string(),
        started,
    };
    let tokens = tools.iter().map(|it| estimate_tokens(&it.line)).sum();
    query.record(by, &QueryOutcome::with_results(tools.len(), Some(tokens)));
    PromptTools {
        tools,
        is_clear: found.is_confident() == Some(true),
    }
}

fn to_suggested_tool(
    gateway: &Gateway,
    found: &Findings,
    candidate: &Candidate,
) -> Option<SuggestedTool> {
    let name = candidate.entry.tool_name.clone();
    let line = match found.catalog.tool(&name) {
        Some(entry) => {
            let definition = RawObject::open(&entry.definition).unwrap_or_default();
            strip_to_one_line(&signature(&entry.exposed, &definition, LineDetail::Brief))
        }
        None => api_signature(gateway.providers.get(&name.parse().ok()?)?.spec()),
    };
    let score = candidate.score;
    Some(SuggestedTool { name, line, score })
}
