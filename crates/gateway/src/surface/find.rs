//! Finds tools for an intent, in the same way for the model's tool, the HTTP endpoint and the
//! command line. The search follows the policy, keeps the built-in tools back, and says how sure
//! the result is.

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

/// Returns what a search says of an answer that is probably not right; `None` if it is likely to be.
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

/// The ways in which an operator can get a tool for a request that no tool here does.
const REMEDIES: &str =
    "it may take another server (`kitbag servers find`) or an API (`kitbag tools import`)";

const NEAREST: &str = "The nearest are below";

const REWORD: &str = "Reword, or do it in steps (read, then compute)";

/// The tools that a search shows unless it is asked for more or fewer: most tasks need three to five.
pub(crate) const DEFAULT_LIMIT: usize = 5;

/// The time that a search waits for a gateway that has just been started.
const STARTUP_WAIT: Duration = Duration::from_secs(10);

/// The longest time that a search waits for servers that have not said what they offer, and for the
/// index to take in those that have.
const INDEX_WAIT: Duration = Duration::from_secs(2);

/// No notice arrives here when a server fails, so a search that waits looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// If the text mentions no agent, the built-in tools are in the answer only with a score of at
/// least `GOOD` that is by `LEAD` better than that of everything else.
const MIN_BUILT_IN_SCORE: f32 = 0.42;
const MIN_LEAD: f32 = 0.02;

pub(crate) struct Findings {
    pub(crate) candidates: Vec<Candidate>,
    /// The probability that the tools do what was asked; `None` where that cannot be told.
    pub(crate) confidence: Option<Confidence>,
    /// The votes of past uses, where there are any.
    pub(crate) votes: Option<Votes>,
    /// The reason why words alone decided, though vectors were wanted.
    pub(crate) degraded: Option<String>,
    /// The language of the request, if the model is known not to know it.
    pub(crate) language: Option<&'static str>,
    /// The request with its misspelt words corrected, if it had any.
    pub(crate) corrected: Option<String>,
    /// The servers and tools that were not known yet when the search was made.
    pub(crate) unfinished: PendingListings,
    /// The tools that would stand here if nothing kept them out.
    pub(crate) withheld: WithheldTools,
    /// The catalog to look the tools up in. A search that waited for the index may be about a later
    /// one than its request began with.
    pub(crate) catalog: Arc<Catalog>,
}

impl Findings {
    /// Says that a request in another language finds less.
    pub(crate) fn language_note(&self) -> Option<String> {
        let language = self.language?;
        Some(format!(
            "The request looks like {language}; the index knows English. Ask in English to find more."
        ))
    }

    /// Says which words were searched for, if they are not those of the request.
    pub(crate) fn correction_note(&self) -> Option<String> {
        let corrected = self.corrected.as_ref()?;
        Some(format!("Searched for: {corrected}"))
    }

    /// Returns the line above an answer that is probably not right. While servers are still being
    /// asked, nothing more can be said.
    pub(crate) fn doubt_note(&self) -> Option<String> {
        let doubt = self.confidence.and_then(doubt_note)?;
        Some(self.unfinished.note().unwrap_or(doubt))
    }

    /// True if a tool is likely to do what was asked; `None` where that cannot be told.
    pub(crate) fn is_confident(&self) -> Option<bool> {
        self.confidence.map(Confidence::is_likely)
    }
}

/// The best few for a request in words that came in by this way, with a row in the audit. The answer
/// goes to a program, or only a part of it to a model, so that its tokens are not counted.
pub(crate) async fn find_audited(turn: &Turn, way: &str, text: &str, top_k: usize) -> Findings {
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
        subject: way,
        arguments: &arguments,
        started,
    };
    query.record(
        turn.into(),
        &QueryOutcome::with_results(found.candidates.len(), None),
    );
    found
}

/// The best few for an intent among what a caller may know of.
pub(crate) async fn find_best(
    gateway: &Gateway,
    caller: &Caller,
    text: &str,
    top_k: usize,
) -> Findings {
    find_tools(gateway, caller, text, &best_options(caller, top_k)).await
}

/// The options of a search for the best few.
pub(crate) fn best_options(caller: &Caller, top_k: usize) -> Options {
    Options {
        top_k,
        tenant: Some(caller.tenant.clone()),
        ..Options::default()
    }
}

/// The same, for an answer that a person or a model reads: where it is doubtful, it waits a moment for what the
/// gateway does not know yet.
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
    let settled = async {
        while PendingListings::new(gateway, &gateway.catalog(), caller).is_pending() {
            let _ = tokio::time::timeout(POLL_INTERVAL, published.changed()).await;
        }
    };
    let _ = tokio::time::timeout(INDEX_WAIT, settled).await;
    find_tools(gateway, caller, text, options).await
}

/// The best for an intent among what a caller may know of.
pub(crate) async fn find_tools(
    gateway: &Gateway,
    caller: &Caller,
    text: &str,
    options: &Options,
) -> Findings {
    // A client that starts its own gateway asks before the first words are in the index.
    let _ = tokio::time::timeout(STARTUP_WAIT, gateway.services.index.wait_until_begun()).await;
    let catalog = gateway.catalog();
    let unfinished = PendingListings::new(gateway, &catalog, caller);
    let mut intent = gateway.services.index.prepare_query(text).await;
    intent.votes = learned_votes(gateway, caller, &intent).await;
    let may_find_now = |it: &IndexSubject| may_find(gateway, &catalog, caller, it);
    let index = &gateway.services.index;
    index.embed_first(&intent, options, may_find_now).await;
    // Embedding takes a moment, in which the catalog may change.
    let (snapshot, catalog) = (gateway.services.index.snapshot(), gateway.catalog());
    let may_find = |it: &IndexSubject| may_find(gateway, &catalog, caller, it);
    let matches = snapshot.match_query(&intent, options);
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
    // The probabilities were fitted on requests in English.
    let can_tell = intent.language.is_none() && gateway.services.index.is_calibrated();
    Findings {
        candidates,
        confidence: confidence.filter(|_| can_tell),
        withheld,
        language: intent.language,
        corrected: intent.corrected,
        unfinished,
        votes: intent.votes,
        degraded: intent.degraded,
        catalog,
    }
}

/// The votes of what the tenant of the caller did in like cases.
async fn learned_votes(
    gateway: &Gateway,
    caller: &Caller,
    intent: &EmbeddedQuery,
) -> Option<Votes> {
    intent.vector()?;
    let learner = &gateway.services.learner;
    let intent = intent.as_intent();
    learner
        .votes_on_query(&gateway.learning, caller, &intent)
        .await
}

/// The index follows the catalog with a delay, so what is held back is looked up.
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

/// True if the client asks for tools of a built-in server by the server's name.
fn is_limited_to_built_in(gateway: &Gateway, options: &Options) -> bool {
    let mut providers = options.servers.iter();
    providers.any(|provider| is_built_in(gateway, provider))
}

/// The best of the candidates that are built in, or of those that are not.
fn best_candidate<'a>(
    gateway: &Gateway,
    found: &'a [Candidate],
    built_in: bool,
) -> Option<&'a Candidate> {
    found
        .iter()
        .find(|it| is_built_in(gateway, &it.entry.server) == built_in)
}

fn is_built_in(gateway: &Gateway, provider: &str) -> bool {
    provider
        .parse::<ServerName>()
        .is_ok_and(|name| gateway.is_built_in(&name))
}

/// True if a search is about coding agents. The built-in tools know about those and every caller
/// has them, but most searches are about something else.
fn is_about_agents(gateway: &Gateway, text: &str, found: &[Candidate]) -> bool {
    static AGENTS: LazyLock<Library> = LazyLock::new(Library::built_in);
    let others = best_candidate(gateway, found, false).map_or(0.0, |it| it.score);
    best_candidate(gateway, found, true).is_some_and(|it| stands_out(it, others))
        || AGENTS.mentions_an_agent(text)
        || mentions_agents(text)
}

/// Scores without a vector are generous and say nothing here, unless the request names the tool.
fn stands_out(built_in: &Candidate, others: f32) -> bool {
    let is_named = built_in.parts.named > 0.0;
    let is_better = built_in.score >= MIN_BUILT_IN_SCORE && built_in.score - others >= MIN_LEAD;
    is_named || built_in.cosine.is_some() && is_better
}

/// Words for what the built-in tools are about, besides the names of agents.
fn mentions_agents(text: &str) -> bool {
    let text = text.to_lowercase();
    ["coding agent", "coding assistant"]
        .iter()
        .any(|name| text.contains(name))
}
