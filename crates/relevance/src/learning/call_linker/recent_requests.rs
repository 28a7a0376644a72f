//! A client's recent requests, and the evidence that a call followed from one of them.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use crate::dense::similarity;
use crate::terms::split_terms;

/// A later call may have found its tool elsewhere. Twice this time doubles the wrong links in
/// `kitbag eval week`.
const MAX_AGE: i64 = 5 * 60_000;
/// Requests above this similarity repeat each other. Most pairs of requests for one tool are below
/// it.
const SAME_REQUEST: f32 = 0.8;
/// Arguments agree with a request if they share this many terms. In `evals/week`, 21 % of the
/// requests share two with the arguments of their own call and 0.1 % with those of another call;
/// one term is shared by 43 % and 2 %.
const MIN_SHARED_TERMS: usize = 2;
/// Shorter terms are mostly units, flags and small numbers.
const MIN_TERM_LENGTH: usize = 3;
/// A client seldom returns to an older search.
const MAX_REQUESTS: usize = 8;

/// A search, or a prompt that the client stated.
#[derive(Debug, Clone)]
pub(super) struct ClientRequest {
    /// Identifies the request.
    pub(super) number: u64,
    pub(super) words: Arc<str>,
    /// Text without a vector cannot be compared and teaches nothing.
    pub(super) vector: Arc<[f32]>,
    pub(super) found: Arc<[String]>,
    /// True if the calls of this conversation or run are meant to carry the request out.
    is_prompt: bool,
    pub(super) at: Timestamp,
}

/// Evidence that a call followed from a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkEvidence {
    /// The rank of the tool in the search results.
    Found(usize),
    /// The request came with the call, or the arguments agree with it.
    Said,
}

/// The latest requests of one client or run, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentRequests(VecDeque<ClientRequest>);

impl ClientRequest {
    pub(super) fn from_prompt(
        number: u64,
        words: &Arc<str>,
        vector: Option<Arc<[f32]>>,
        at: Timestamp,
    ) -> Option<Self> {
        let searched = Self::from_search(number, words, vector, &Arc::default(), at)?;
        Some(Self {
            is_prompt: true,
            ..searched
        })
    }

    pub(super) fn from_search(
        number: u64,
        words: &Arc<str>,
        vector: Option<Arc<[f32]>>,
        found: &Arc<[String]>,
        at: Timestamp,
    ) -> Option<Self> {
        Some(Self {
            number,
            words: words.clone(),
            vector: vector?,
            found: found.clone(),
            is_prompt: false,
            at,
        })
    }

    pub(super) fn is_similar_to(&self, other: &Self) -> bool {
        similarity(&self.vector, &other.vector) >= SAME_REQUEST
    }

    fn is_recent(&self, at: Timestamp) -> bool {
        at.0 - self.at.0 <= MAX_AGE
    }

    fn rank_evidence(&self, tool: &str) -> Option<LinkEvidence> {
        let rank = self.found.iter().position(|found| found == tool);
        rank.map(LinkEvidence::Found)
    }

    fn agrees_with(&self, values: &HashSet<String>) -> bool {
        significant_terms(&self.words).intersection(values).count() >= MIN_SHARED_TERMS
    }
}

impl RecentRequests {
    pub(super) fn add(&mut self, request: ClientRequest) {
        if self.0.len() == MAX_REQUESTS {
            self.0.pop_front();
        }
        self.0.push_back(request);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ClientRequest> {
        self.0.iter()
    }

    /// Returns the request that a call followed from: the latest search that returned the tool,
    /// else the prompt that came with the call, else the latest request that the arguments agree
    /// with. `credential_requests` arrived outside MCP.
    pub(super) fn find_for_call(
        &self,
        credential_requests: &[ClientRequest],
        tool: &str,
        values: &str,
        at: Timestamp,
    ) -> Option<(ClientRequest, LinkEvidence)> {
        let all = self
            .0
            .iter()
            .chain(credential_requests)
            .filter(|it| it.is_recent(at));
        let mut all: Vec<&ClientRequest> = all.collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.number));
        let found = all
            .iter()
            .find_map(|it| Some((*it, it.rank_evidence(tool)?)));
        let prompt = || {
            let mut own = self.0.iter().rev();
            own.find(|it| it.is_prompt && it.is_recent(at))
        };
        let agreeing = || {
            let values = significant_terms(values);
            all.iter().copied().find(|it| it.agrees_with(&values))
        };
        let link = found.or_else(|| {
            let request = prompt().or_else(agreeing)?;
            Some((request, LinkEvidence::Said))
        });
        link.map(|(request, evidence)| (request.clone(), evidence))
    }
}

fn significant_terms(text: &str) -> HashSet<String> {
    let terms = split_terms(text).into_iter();
    terms.filter(|term| term.len() >= MIN_TERM_LENGTH).collect()
}
