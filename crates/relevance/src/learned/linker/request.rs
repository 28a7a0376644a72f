//! Words that a client said or searched for, and the signs that a call followed from them.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use crate::dense::similarity;
use crate::terms::terms;

/// A call that comes later may have found its tool elsewhere. Twice as long doubles the wrong links in the
/// week of `kitbag eval week`.
const WORDS_HOLD: i64 = 5 * 60_000;
/// Words of this similarity ask for the same again. Two requests for one tool are mostly below it.
const SAME_AGAIN: f32 = 0.8;
/// Arguments agree with words if they share as many terms. Of the wordings in `evals/week`, 21 % share two
/// with the arguments of their own call, and 0.1 % with those of another call; one is shared by 43 % and 2 %.
const AGREEING_TERMS: usize = 2;
/// Shorter terms are mostly units, flags and small numbers.
const SHORTEST_TERM: usize = 3;
/// A client seldom turns back to an older search.
const MOST_REMEMBERED: usize = 8;

/// Words that a client said or searched for.
#[derive(Debug, Clone)]
pub(super) struct RequestInWords {
    /// Tells requests apart.
    pub(super) number: u64,
    pub(super) words: Arc<str>,
    /// Words without a vector cannot be compared, and teach nothing.
    pub(super) vector: Arc<[f32]>,
    pub(super) found: Arc<[String]>,
    /// True if the words were said so that the calls of this conversation or run carry them out.
    comes_with_calls: bool,
    pub(super) at: Timestamp,
}

/// The sign that a call followed from words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkEvidence {
    /// The tool was at this place in the answer of the search.
    Found(usize),
    /// The words came with the call, or its arguments agree with them.
    Said,
}

/// The latest words of one client, or of one run, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct LatestRequests(VecDeque<RequestInWords>);

impl RequestInWords {
    pub(super) fn said(
        number: u64,
        words: &Arc<str>,
        vector: Option<Arc<[f32]>>,
        at: Timestamp,
    ) -> Option<Self> {
        let searched = Self::searched(number, words, vector, &Arc::default(), at)?;
        Some(Self {
            comes_with_calls: true,
            ..searched
        })
    }

    pub(super) fn searched(
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
            comes_with_calls: false,
            at,
        })
    }

    pub(super) fn asks_the_same_as(&self, other: &Self) -> bool {
        similarity(&self.vector, &other.vector) >= SAME_AGAIN
    }

    fn holds(&self, at: Timestamp) -> bool {
        at.0 - self.at.0 <= WORDS_HOLD
    }

    fn found(&self, tool: &str) -> Option<LinkEvidence> {
        let place = self.found.iter().position(|found| found == tool);
        place.map(LinkEvidence::Found)
    }

    fn agrees_with(&self, values: &HashSet<String>) -> bool {
        telling_terms(&self.words).intersection(values).count() >= AGREEING_TERMS
    }
}

impl LatestRequests {
    pub(super) fn add(&mut self, request: RequestInWords) {
        if self.0.len() == MOST_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(request);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &RequestInWords> {
        self.0.iter()
    }

    /// Returns the words that a call followed from: the latest search that found the tool, or else the words
    /// that the call came with, or else the latest that its arguments agree with. `heard` are words that came
    /// in beside the protocol.
    pub(super) fn behind_call(
        &self,
        heard: &[RequestInWords],
        tool: &str,
        values: &str,
        at: Timestamp,
    ) -> Option<(RequestInWords, LinkEvidence)> {
        let all = self.0.iter().chain(heard).filter(|it| it.holds(at));
        let mut all: Vec<&RequestInWords> = all.collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.number));
        let found = all.iter().find_map(|it| Some((*it, it.found(tool)?)));
        let said = || {
            let mut own = self.0.iter().rev();
            own.find(|it| it.comes_with_calls && it.holds(at))
        };
        let agreeing = || {
            let values = telling_terms(values);
            all.iter().copied().find(|it| it.agrees_with(&values))
        };
        let link = found.or_else(|| {
            let request = said().or_else(agreeing)?;
            Some((request, LinkEvidence::Said))
        });
        link.map(|(request, evidence)| (request.clone(), evidence))
    }
}

fn telling_terms(text: &str) -> HashSet<String> {
    let terms = terms(text).into_iter();
    terms.filter(|term| term.len() >= SHORTEST_TERM).collect()
}
