//! The recent activity of one client: its requests, the requests of its runs, and the tools it was
//! shown and used.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::recent_requests::{ClientRequest, LinkEvidence, RecentRequests};
use super::{DraftContext, LessonDraft};
use crate::learning::Signal;
use crate::learning::event::{CallArguments, ClientKey};

/// After a silence this long, the client's next action starts a new session.
const SESSION_TIMEOUT: i64 = 30 * 60_000;
/// A request repeated within this time after a call puts the call in doubt. If another tool is
/// called then, the first one did not help.
const REPEAT_WINDOW: i64 = 60_000;
/// A client seldom has more runs at once.
const MAX_RUNS: usize = 16;
/// Remembered lessons, so that the same call for the same request teaches once.
const MAX_TAUGHT: usize = 1_000;

#[derive(Debug)]
pub(super) struct ClientHistory {
    session: i64,
    seen: Timestamp,
    requests: RecentRequests,
    /// The requests of each program run. They and the run's calls are only linked with each other.
    runs: VecDeque<(Arc<str>, RecentRequests)>,
    surfaced: Arc<[String]>,
    /// The tools used in this session.
    used: HashSet<String>,
    /// Each tool teaches once per request, however often it is called.
    taught: HashSet<(u64, String, Signal)>,
    last_use: Option<LinkedUse>,
    /// The last use, if its request was repeated immediately.
    doubted: Option<LinkedUse>,
}

/// A successful call and the request that led to it.
#[derive(Debug, Clone)]
struct LinkedUse {
    tool: String,
    request: ClientRequest,
    at: Timestamp,
}

/// A call that ended, with or without success.
#[derive(Debug)]
pub(super) struct FinishedCall<'a> {
    pub(super) tool: &'a str,
    pub(super) succeeded: bool,
    pub(super) arguments: CallArguments,
    pub(super) at: Timestamp,
}

impl ClientHistory {
    pub(super) fn new(client: &ClientKey, at: Timestamp) -> Self {
        let mut hasher = DefaultHasher::new();
        (client, at.0).hash(&mut hasher);
        Self {
            session: hasher.finish().cast_signed(),
            seen: at,
            requests: RecentRequests::default(),
            runs: VecDeque::new(),
            surfaced: Arc::default(),
            used: HashSet::new(),
            taught: HashSet::new(),
            last_use: None,
            doubted: None,
        }
    }

    /// Continues the session, or starts another one after a long silence.
    pub(super) fn resume(&mut self, client: &ClientKey, at: Timestamp) {
        if at.0 - self.seen.0 > SESSION_TIMEOUT {
            let surfaced = std::mem::take(&mut self.surfaced);
            *self = Self {
                surfaced,
                ..Self::new(client, at)
            };
        }
        self.seen = at;
    }

    pub(super) fn last_seen(&self) -> Timestamp {
        self.seen
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = &ClientRequest> {
        self.requests.iter()
    }

    pub(super) fn set_surfaced(&mut self, tools: &Arc<[String]>) {
        self.surfaced = tools.clone();
    }

    /// Adds a request. If the last use followed from a similar request, it is in doubt.
    pub(super) fn add_request(&mut self, run: Option<&Arc<str>>, request: Option<ClientRequest>) {
        let last_use = self.last_use.take();
        let Some(request) = request else {
            return;
        };
        let at = request.at;
        let repeated = last_use
            .filter(|last| at.0 - last.at.0 <= REPEAT_WINDOW)
            .or(self.doubted.take());
        self.doubted = repeated.filter(|it| it.request.is_similar_to(&request));
        match run {
            Some(run) => self.add_to_run(run, request),
            None => self.requests.add(request),
        }
    }

    fn add_to_run(&mut self, run: &Arc<str>, request: ClientRequest) {
        let known = self.runs.iter_mut().find(|(id, _)| id == run);
        if let Some((_, requests)) = known {
            return requests.add(request);
        }
        if self.runs.len() == MAX_RUNS {
            self.runs.pop_front();
        }
        let mut requests = RecentRequests::default();
        requests.add(request);
        self.runs.push_back((run.clone(), requests));
    }

    pub(super) fn link_call(
        &mut self,
        run: Option<&Arc<str>>,
        credential_requests: &[ClientRequest],
        call: FinishedCall<'_>,
    ) -> Vec<LessonDraft> {
        let link = match run {
            None => Some(&self.requests),
            Some(run) => self.runs.iter().find(|(id, _)| id == run).map(|it| &it.1),
        }
        .and_then(|own| {
            own.find_for_call(
                credential_requests,
                call.tool,
                &call.arguments.values,
                call.at,
            )
        });
        let mut drafts = match &link {
            Some((request, evidence)) => self.lessons_from(request, *evidence, &call),
            None => Vec::new(),
        };
        if call.succeeded {
            let request = link.map(|(request, _)| request);
            drafts.extend(self.abandonment_lesson(&call, request.as_ref()));
            let is_new = self.used.insert(call.tool.to_owned());
            self.last_use = request.map(|request| LinkedUse {
                tool: call.tool.to_owned(),
                request,
                at: call.at,
            });
            let text = call.arguments.text;
            if text.is_some() || (drafts.is_empty() && is_new) {
                drafts.push(LessonDraft {
                    tool: call.tool.to_owned(),
                    signal: Signal::UsedWithoutWords,
                    context: DraftContext::Arguments(text),
                    session: self.session,
                    at: call.at,
                });
            }
        }
        drafts
    }

    /// The lessons of a call that followed from a request.
    fn lessons_from(
        &mut self,
        request: &ClientRequest,
        evidence: LinkEvidence,
        call: &FinishedCall<'_>,
    ) -> Vec<LessonDraft> {
        let signal = match (call.succeeded, evidence) {
            (false, _) => Signal::Failed,
            (true, LinkEvidence::Found(_)) => Signal::FoundThenUsed,
            (true, LinkEvidence::Said) => Signal::SaidThenUsed,
        };
        let mut signals = vec![(call.tool.to_owned(), signal)];
        if let (true, LinkEvidence::Found(rank)) = (call.succeeded, evidence) {
            let passed = self.bypassed_tools(&request.found[..rank], call.tool);
            signals.extend(passed.map(|other| (other.clone(), Signal::Bypassed)));
        }
        if self.taught.len() > MAX_TAUGHT {
            self.taught.clear();
        }
        signals
            .retain(|(tool, signal)| self.taught.insert((request.number, tool.clone(), *signal)));
        let drafts = signals.into_iter();
        drafts
            .map(|(tool, signal)| self.draft_lesson(request, &tool, signal, call.at))
            .collect()
    }

    /// The lesson that the doubted tool did not help, if the same request now led to another one.
    fn abandonment_lesson(
        &mut self,
        call: &FinishedCall<'_>,
        request: Option<&ClientRequest>,
    ) -> Option<LessonDraft> {
        let doubted = self.doubted.take()?;
        let follows_same_words = request?.is_similar_to(&doubted.request);
        (follows_same_words && doubted.tool != call.tool)
            .then(|| self.draft_lesson(&doubted.request, &doubted.tool, Signal::Abandoned, call.at))
    }

    /// The tools that the client could have called instead: better search results, and the tools it
    /// was shown before it had to search.
    fn bypassed_tools<'a>(
        &'a self,
        better: &'a [String],
        tool: &'a str,
    ) -> impl Iterator<Item = &'a String> {
        let had_to_search = !self.surfaced.iter().any(|it| it == tool);
        let shown = self.surfaced.iter().filter(move |_| had_to_search);
        let all = better.iter().chain(shown);
        all.filter(move |it| *it != tool && !self.used.contains(*it))
    }

    fn draft_lesson(
        &self,
        request: &ClientRequest,
        tool: &str,
        signal: Signal,
        at: Timestamp,
    ) -> LessonDraft {
        LessonDraft {
            tool: tool.to_owned(),
            signal,
            context: DraftContext::Words {
                words: request.words.clone(),
                vector: request.vector.clone(),
            },
            session: self.session,
            at,
        }
    }
}
