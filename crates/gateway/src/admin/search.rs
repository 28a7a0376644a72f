//! Searches and verifies the index for the command line.

use std::time::Instant;

use futures::{StreamExt as _, stream};
use kitbag_domain::{
    Caller, InquiryKind, Origin, Purpose, ServerName, ShortText, Tenant, WriteClass,
};
use kitbag_relevance::dense::is_comparable;
use kitbag_relevance::learning::{Neighbour, Votes};
use kitbag_relevance::{Candidate, Confidence, Document, Options, Parts};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::index::Snapshot;
use crate::state::gateway::Gateway;
use crate::surface::find::find_when_indexed;
use crate::surface::search::found_line;
use crate::surface::withheld::{WithheldCounts, WithheldTool};
use crate::telemetry::audit::queries::{AuditedQuery, QueryContext, QueryOutcome};

/// A found tool, and the reasons for its rank.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundTool {
    pub tool_name: String,
    /// The line with which a search describes it to a model.
    #[serde(default)]
    pub line: String,
    pub score: f32,
    pub parts: Parts,
    pub cosine: Option<f32>,
    pub description: String,
    pub write_class: WriteClass,
    /// Category and complexity, as in `query/simple`.
    #[serde(default)]
    pub kind: String,
    /// The same tool on other servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The lessons for or against the tool, heaviest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    #[serde(default)]
    pub priors: FoundPriors,
}

/// A tool's priors.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FoundPriors {
    pub success_rate: Option<f64>,
    pub p95_latency_ms: Option<f64>,
    pub estimated_cost_usd: Option<f64>,
    /// Seconds since the Unix epoch: the last change of the definition or of the priors.
    pub last_updated_at: i64,
}

/// The complete result of a search.
#[derive(Debug, Serialize, Deserialize)]
pub struct SearchResult {
    pub found: Vec<FoundTool>,
    /// The probability that the tools do what the query asks; `None` if unknown.
    pub confidence: Option<Confidence>,
    /// A line about an answer that is probably wrong.
    #[serde(default)]
    pub doubt: Option<String>,
    /// The corrected query, if it differs from the original one.
    #[serde(default)]
    pub corrected: Option<String>,
    /// The reason why the search was limited: the query's language, or missing vectors.
    pub warning: Option<String>,
    /// The number of tools that were withheld.
    #[serde(default)]
    pub withheld: WithheldCounts,
    /// The withheld tools by name; for an operator, who may read the rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld_tools: Vec<WithheldTool>,
}

/// A search by an operator.
#[derive(Debug, Clone)]
pub struct OperatorSearch<'a> {
    pub text: &'a str,
    pub options: &'a Options,
    /// The tenant for whom tools are found: its rules and lessons apply.
    pub tenant: Tenant,
    /// The operator.
    pub by: Caller,
    /// The route of this search in the audit.
    pub program: &'a str,
    /// Whether the search counts as use.
    pub purpose: Purpose,
}

impl<'a> OperatorSearch<'a> {
    /// A search by the local user for itself.
    pub fn local(text: &'a str, options: &'a Options) -> Self {
        Self {
            text,
            options,
            tenant: Tenant::local(),
            by: Caller::local(),
            program: VERB,
            purpose: Purpose::Use,
        }
    }
}

/// A problem with one capability in the index.
#[derive(Debug, Serialize)]
pub struct IndexFlaw {
    pub tool_name: String,
    pub problem: String,
}

#[derive(Debug, Serialize)]
pub struct IndexVerdict {
    pub tools: usize,
    pub embedded: usize,
    /// Tools ranked in the top three for their own description.
    pub found_by_description: usize,
    pub flaws: Vec<IndexFlaw>,
}

/// The route of this search in the audit.
const VERB: &str = "kitbag search";

/// The lowest acceptable rank of a tool for its own description.
const DESCRIPTION_TOP_K: usize = 3;

pub(crate) async fn search_index(gateway: &Gateway, search: OperatorSearch<'_>) -> SearchResult {
    let OperatorSearch {
        text,
        options,
        tenant,
        by,
        program,
        purpose,
    } = search;
    let started = Instant::now();
    // Without a key: the operator reads the rules, and learns what they withhold.
    let caller = Caller {
        tenant,
        ..Caller::local()
    };
    let findings = find_when_indexed(gateway, &caller, text, options).await;
    let query = AuditedQuery {
        kind: InquiryKind::Search,
        subject: program,
        arguments: &json!({ "query": text }).to_string(),
        started,
    };
    let context = QueryContext {
        gateway,
        caller: &by,
        client: Some(&ShortText::truncate(program)),
        origin: &Origin::default(),
        purpose,
    };
    query.record(
        context,
        &QueryOutcome::with_results(findings.candidates.len(), None),
    );
    SearchResult {
        found: findings
            .candidates
            .iter()
            .enumerate()
            .map(|(rank, it)| {
                let line = found_line(gateway, &caller, &findings.catalog, it, rank);
                FoundTool {
                    line: line.unwrap_or_default(),
                    ..FoundTool::from_candidate(it, findings.votes.as_ref())
                }
            })
            .collect(),
        confidence: findings.confidence,
        doubt: findings.doubt_note().or_else(|| {
            let is_empty = findings.candidates.is_empty();
            findings.unfinished.note().filter(|_| is_empty)
        }),
        corrected: findings.corrected.clone(),
        warning: findings.language_note().or(findings.degraded),
        withheld: findings.withheld.counts(),
        withheld_tools: findings.withheld.tools(),
    }
}

impl FoundTool {
    fn from_candidate(candidate: &Candidate, votes: Option<&Votes>) -> Self {
        let entry = &candidate.entry;
        let copies = candidate.copies.iter();
        Self {
            tool_name: entry.tool_name.clone(),
            line: String::new(),
            score: candidate.score,
            parts: candidate.parts,
            cosine: candidate.cosine,
            description: entry.description.clone(),
            write_class: entry.write_class,
            kind: entry.kind(),
            also: copies.map(|copy| copy.tool_name.clone()).collect(),
            priors: FoundPriors {
                success_rate: entry.success_rate,
                p95_latency_ms: entry.p95_latency_ms,
                estimated_cost_usd: entry.estimated_cost_usd,
                last_updated_at: entry.last_updated_at,
            },
            neighbours: votes.map_or_else(Vec::new, |votes| {
                heaviest_neighbours(votes, &entry.tool_name)
            }),
        }
    }
}

/// Returns the lessons that contributed to the score of a tool, heaviest first.
fn heaviest_neighbours(votes: &Votes, tool: &str) -> Vec<Neighbour> {
    let vote = votes.get(tool);
    let mut neighbours = vote.map_or_else(Vec::new, |vote| vote.neighbours.clone());
    neighbours.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    neighbours
}

/// Checks that every tool of the catalog and every HTTP API is indexed, has a valid vector, and is
/// found by its own description.
pub(crate) async fn verify_index(gateway: &Gateway) -> IndexVerdict {
    let (catalog, snapshot) = (gateway.catalog(), gateway.services.index.snapshot());
    let tools = catalog.tools.iter().map(|entry| entry.exposed.as_str());
    let names: Vec<&str> = tools
        .chain(gateway.providers.names().map(ServerName::as_str))
        .collect();
    let judging = names
        .iter()
        .map(|name| check_entry(gateway, &snapshot, name));
    let judged: Vec<Vec<IndexProblem>> = stream::iter(judging)
        .buffered(CHECKED_AT_ONCE)
        .collect()
        .await;
    let flaws = names.iter().zip(&judged).flat_map(|(name, problems)| {
        problems.iter().map(|problem| IndexFlaw {
            tool_name: (*name).to_owned(),
            problem: problem.to_string(),
        })
    });
    IndexVerdict {
        tools: names.len(),
        embedded: snapshot.count_served().1,
        found_by_description: judged.iter().filter(|it| is_found(it)).count(),
        flaws: flaws.collect(),
    }
}

/// Enough to keep all cores, or an embedding service, busy.
const CHECKED_AT_ONCE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum IndexProblem {
    #[error("it is not in the index")]
    Missing,
    #[error("it has no vector")]
    NoVector,
    #[error("its vector is empty or not finite")]
    UnsoundVector,
    #[error("a search for its own description does not find it")]
    NotFound,
}

fn is_found(problems: &[IndexProblem]) -> bool {
    !problems.iter().any(|problem| problem.prevents_finding())
}

impl IndexProblem {
    fn prevents_finding(self) -> bool {
        matches!(self, Self::Missing | Self::NotFound)
    }
}

async fn check_entry(gateway: &Gateway, snapshot: &Snapshot, name: &str) -> Vec<IndexProblem> {
    let Some(document) = snapshot.index.get(name) else {
        return vec![IndexProblem::Missing];
    };
    let mut problems = Vec::new();
    match &document.vector {
        None => problems.push(IndexProblem::NoVector),
        Some(vector) if !is_comparable(vector) => problems.push(IndexProblem::UnsoundVector),
        Some(_) => {}
    }
    if !is_found_by_description(gateway, snapshot, document).await {
        problems.push(IndexProblem::NotFound);
    }
    problems
}

async fn is_found_by_description(
    gateway: &Gateway,
    snapshot: &Snapshot,
    document: &Document,
) -> bool {
    let description = document.entry.description.trim();
    let own_text = if description.is_empty() {
        document.name.as_str()
    } else {
        description
    };
    let options = Options {
        top_k: DESCRIPTION_TOP_K,
        ..Options::default()
    };
    let query = gateway.services.index.embed_query(own_text).await;
    // Tools with identical texts cannot be distinguished; any of them counts.
    snapshot
        .match_query(&query, &options)
        .rank(&options, |it| !it.is_unapproved())
        .candidates
        .iter()
        .any(|it| {
            it.entry.tool_name == document.entry.tool_name
                || it.entry.description.trim() == description
        })
}
