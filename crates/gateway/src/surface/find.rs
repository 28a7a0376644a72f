//! Finds tools for a query, in the same way for the model's tool, the HTTP endpoint and the command
//! line. The search applies the policy, ranks built-in tools lower, and estimates its confidence.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use kitbag_agents::Library;
use kitbag_domain::{Caller, InquiryKind, ServerName};
use kitbag_relevance::learning::Votes;
use kitbag_relevance::{Candidate, Confidence, Options, Retrieved};
use serde_json::json;

use crate::catalog::Catalog;
use crate::catalog::pending_listings::PendingListings;
use crate::index::IndexSubject;
use crate::index::embedded_query::EmbeddedQuery;
use crate::state::gateway::Gateway;
use crate::surface::withheld::{CompletedSearch, WithheldTools};
use crate::telemetry::audit::queries::{AuditedQuery, QueryOutcome};
use crate::turn::Turn;

/// Returns the note for a probably wrong answer; `None` if it is likely to be right.
#[must_use]
pub fn doubt_note(confidence: Confidence) -> Option<String> {
    if confidence.is_likely() {
        return None;
    }
    Some(match confidence.is_hopeless() {
        true => format!("{NOTHING}; {REMEDIES}. {NEAREST}."),
        false => format!("No close match; {}. {REWORD}.", NEAREST.to_lowercase()),
    })
}

const NOTHING: &str = "Nothing here seems to do this";

/// How an operator can get a tool for a query without a match.
const REMEDIES: &str =
    "it may need another server (`kitbag servers find`) or an API (`kitbag tools import`)";

const NEAREST: &str = "The nearest are below";

const REWORD: &str = "Reword, or do it in steps (read, then compute)";

/// The default number of tools that a search shows: most tasks need three to five.
pub(crate) const DEFAULT_LIMIT: usize = 5;

/// How long a search waits for a gateway that has just started.
const STARTUP_WAIT: Duration = Duration::from_secs(10);

/// How long a search waits for servers that are being listed, and for the index to include those
/// that were.
const INDEX_WAIT: Duration = Duration::from_secs(2);

/// A failing server sends no notification here, so a waiting search polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// If the text mentions no agent, the built-in tools are in the answer only with a score of at
/// least `MIN_BUILT_IN_SCORE` that exceeds every other score by `MIN_LEAD`.
const MIN_BUILT_IN_SCORE: f32 = 0.42;
const MIN_LEAD: f32 = 0.02;

pub(crate) struct Findings {
    pub(crate) candidates: Vec<Candidate>,
    /// The probability that the tools do what the query asks; `None` if unknown.
    pub(crate) confidence: Option<Confidence>,
    /// The votes of past uses, if any.
    pub(crate) votes: Option<Votes>,
    /// The reason why only keywords were compared, although vectors were requested.
    pub(crate) degraded: Option<String>,
    /// The query's language, if the model is known not to support it.
    pub(crate) language: Option<&'static str>,
    /// The query with corrected spelling, if it had mistakes.
    pub(crate) corrected: Option<String>,
    /// The servers and tools that were not known yet during the search.
    pub(crate) unfinished: PendingListings,
    /// The tools that would be in the answer if nothing withheld them.
    pub(crate) withheld: WithheldTools,
    /// The catalog in which to look the tools up. A search that waited for the index may use a
    /// later one than its request.
    pub(crate) catalog: Arc<Catalog>,
}

impl Findings {
    /// Returns a note that a query in another language finds less.
    pub(crate) fn language_note(&self) -> Option<String> {
        let language = self.language?;
        Some(format!(
            "The request looks like {language}; the index knows English. Ask in English to find more."
        ))
    }

    /// Returns a note with the corrected query, if it was corrected.
    pub(crate) fn correction_note(&self) -> Option<String> {
        let corrected = self.corrected.as_ref()?;
        Some(format!("Searched for: {corrected}"))
    }

    /// Returns the note for a probably wrong answer. While servers are being listed, it says only
    /// that.
    pub(crate) fn doubt_note(&self) -> Option<String> {
        let doubt = self.confidence.and_then(doubt_note)?;
        Some(self.unfinished.note().unwrap_or(doubt))
    }

    /// True if a tool is likely to do what the query asks; `None` if unknown.
    pub(crate) fn is_confident(&self) -> Option<bool> {
        self.confidence.map(Confidence::is_likely)
    }
}

/// Finds the best few tools for a query, and writes an audit row. The answer goes to a program, or
/// only a part of it to a model, so its tokens are not counted.
pub(crate) async fn find_audited(turn: &Turn, route: &str, text: &str, top_k: usize) -> Findings {
    let (started, arguments) = (Instant::now(), json!({ "query": text }).to_string());
    let found = find_when_indexed(
        &turn.gateway,
        turn.caller(),
        text,
        &best_options(turn.caller(), top_k),
    )
    .await;
    let query = AuditedQuery {
        kind: InquiryKind::Search,
        subject: route,
        arguments: &arguments,
        started,
    };
    query.record(
        turn.into(),
        &QueryOutcome::with_results(found.candidates.len(), None),
    );
    found
}

/// Finds the best few tools that a caller may know of.
pub(crate) async fn find_best(
    gateway: &Gateway,
    caller: &Caller,
    text: &str,
    top_k: usize,
) -> Findings {
    find_tools(gateway, caller, text, &best_options(caller, top_k)).await
}

/// Returns the options of a search for the best few tools.
pub(crate) fn best_options(caller: &Caller, top_k: usize) -> Options {
    Options {
        top_k,
        tenant: Some(caller.tenant.clone()),
        ..Options::default()
    }
}

/// Like `find_best`, for an answer that a user or a model reads: a doubtful answer waits briefly
/// for servers and tools that are not indexed yet.
pub(crate) async fn find_when_indexed(
    gateway: &Gateway,
    caller: &Caller,
    text: &str,
    options: &Options,
) -> Findings {
    let found = find_tools(gateway, caller, text, options).await;
    if found.is_confident() == Some(true) || !found.unfinished.is_pending() {
        return found;
    }
    let mut published = gateway.services.index.subscribe();
    let all_indexed = async {
        while PendingListings::new(gateway, &gateway.catalog(), caller).is_pending() {
            let _ = tokio::time::timeout(POLL_INTERVAL, published.changed()).await;
        }
    };
    let _ = tokio::time::timeout(INDEX_WAIT, all_indexed).await;
    find_tools(gateway, caller, text, options).await
}

/// Finds the best tools that a caller may know of.
pub(crate) async fn find_tools(
    gateway: &Gateway,
    caller: &Caller,
    text: &str,
    options: &Options,
) -> Findings {
    // A client that starts its own gateway searches before anything is indexed.
    let _ = tokio::time::timeout(STARTUP_WAIT, gateway.services.index.wait_until_begun()).await;
    let catalog = gateway.catalog();
    let unfinished = PendingListings::new(gateway, &catalog, caller);
    let mut query = gateway.services.index.prepare_query(text).await;
    query.votes = learned_votes(gateway, caller, &query).await;
    let may_find_now = |it: &IndexSubject| may_find(gateway, &catalog, caller, it);
    let index = &gateway.services.index;
    index.embed_first(&query, options, may_find_now).await;
    // Embedding takes a moment, in which the catalog may change.
    let (snapshot, catalog) = (gateway.services.index.snapshot(), gateway.catalog());
    let may_find = |it: &IndexSubject| may_find(gateway, &catalog, caller, it);
    let matches = snapshot.match_query(&query, options);
    let mut found = matches.rank(options, may_find);
    if !is_limited_to_built_in(gateway, options)
        && best_candidate(gateway, &found.candidates, true).is_some()
        && !is_about_agents(gateway, text, &found.candidates)
    {
        found = matches.rank(options, |it| {
            may_find(it) && !gateway.is_built_in(it.owner())
        });
    }
    let withheld = WithheldTools::from_search(&CompletedSearch {
        gateway,
        catalog: &catalog,
        caller,
        matches: &matches,
        options,
    });
    let Retrieved {
        candidates,
        confidence,
    } = found;
    // The probabilities were calibrated on queries in English.
    let can_tell = query.language.is_none() && gateway.services.index.is_calibrated();
    Findings {
        candidates,
        confidence: confidence.filter(|_| can_tell),
        withheld,
        language: query.language,
        corrected: query.corrected,
        unfinished,
        votes: query.votes,
        degraded: query.degraded,
        catalog,
    }
}

/// Returns the votes of the caller's tenant on similar queries.
async fn learned_votes(gateway: &Gateway, caller: &Caller, query: &EmbeddedQuery) -> Option<Votes> {
    query.vector()?;
    let learner = &gateway.services.learner;
    let query = query.as_query();
    learner
        .votes_on_query(&gateway.learning, caller, &query)
        .await
}

/// The index follows the catalog with a delay, so unapproved tools are checked in the catalog.
fn may_find(gateway: &Gateway, catalog: &Catalog, caller: &Caller, subject: &IndexSubject) -> bool {
    match subject {
        IndexSubject::Tool(entry) => {
            let tool = &entry.capability;
            gateway.policy.is_visible(caller, tool) && catalog.unapproved.reason(tool).is_none()
        }
        IndexSubject::Unapproved(_) => false,
        IndexSubject::Provider(name) => {
            gateway.providers.get(name).is_some() && gateway.policy.may_reach(caller, name)
        }
    }
}

/// True if the client filters by the name of a built-in server.
fn is_limited_to_built_in(gateway: &Gateway, options: &Options) -> bool {
    let mut servers = options.servers.iter();
    servers.any(|server| is_built_in(gateway, server))
}

/// Returns the best of the candidates that are built in, or of the others.
fn best_candidate<'a>(
    gateway: &Gateway,
    found: &'a [Candidate],
    built_in: bool,
) -> Option<&'a Candidate> {
    found
        .iter()
        .find(|it| is_built_in(gateway, &it.entry.server) == built_in)
}

fn is_built_in(gateway: &Gateway, server: &str) -> bool {
    server
        .parse::<ServerName>()
        .is_ok_and(|name| gateway.is_built_in(&name))
}

/// True if a search is about coding agents. The built-in tools concern those and every caller has
/// them, but most searches are about something else.
fn is_about_agents(gateway: &Gateway, text: &str, found: &[Candidate]) -> bool {
    static AGENTS: LazyLock<Library> = LazyLock::new(Library::built_in);
    let others = best_candidate(gateway, found, false).map_or(0.0, |it| it.score);
    best_candidate(gateway, found, true).is_some_and(|it| stands_out(it, others))
        || AGENTS.mentions_an_agent(text)
        || mentions_agents(text)
}

/// Keyword scores are generous and do not count here, unless the query names the tool.
fn stands_out(built_in: &Candidate, others: f32) -> bool {
    let is_named = built_in.parts.named > 0.0;
    let is_better = built_in.score >= MIN_BUILT_IN_SCORE && built_in.score - others >= MIN_LEAD;
    is_named || built_in.cosine.is_some() && is_better
}

/// True if the text mentions the subject of the built-in tools, apart from names of agents.
fn mentions_agents(text: &str) -> bool {
    let text = text.to_lowercase();
    ["coding agent", "coding assistant"]
        .iter()
        .any(|name| text.contains(name))
}
