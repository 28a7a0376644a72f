//! The work of one client: its own words, those of its runs, and the tools that it was shown and used.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::request::{LatestRequests, LinkEvidence, RequestInWords};
use super::{DraftContext, LessonDraft};
use crate::learned::Signal;
use crate::learned::event::{CallArguments, ClientKey};

/// After this silence, a client that comes back is taken to have begun something else.
const SILENCE: i64 = 30 * 60_000;
/// Words that come again within this time after a call put the call in doubt. A call of another tool then
/// says that the first one did not help.
const AT_ONCE: i64 = 60_000;
/// Runs of programs whose words are remembered: more than a client has at once.
const MOST_RUNS: usize = 16;
/// Lessons that are remembered, so that the same call for the same words teaches once.
const MOST_TAUGHT: usize = 1_000;

#[derive(Debug)]
pub(super) struct ClientWork {
    session: i64,
    seen: Timestamp,
    requests: LatestRequests,
    /// The words of each run of a program. Its calls belong to no others, and no other calls to them.
    runs: VecDeque<(Arc<str>, LatestRequests)>,
    surfaced: Arc<[String]>,
    /// Tools that were used since the session began.
    used: HashSet<String>,
    /// Each tool teaches once for the same words, however often it is called.
    taught: HashSet<(u64, String, Signal)>,
    last_use: Option<LinkedUse>,
    /// The last use, if its words came again at once.
    doubted: Option<LinkedUse>,
}

/// A call that worked, and the words that it followed from.
#[derive(Debug, Clone)]
struct LinkedUse {
    tool: String,
    request: RequestInWords,
    at: Timestamp,
}

/// A call that ended, with or without success.
#[derive(Debug)]
pub(super) struct WorkedCall<'a> {
    pub(super) tool: &'a str,
    pub(super) worked: bool,
    pub(super) arguments: CallArguments,
    pub(super) at: Timestamp,
}

impl ClientWork {
    pub(super) fn begin(client: &ClientKey, at: Timestamp) -> Self {
        let mut hasher = DefaultHasher::new();
        (client, at.0).hash(&mut hasher);
        Self {
            session: hasher.finish().cast_signed(),
            seen: at,
            requests: LatestRequests::default(),
            runs: VecDeque::new(),
            surfaced: Arc::default(),
            used: HashSet::new(),
            taught: HashSet::new(),
            last_use: None,
            doubted: None,
        }
    }

    /// Goes on with the session, or begins another one after a long silence.
    pub(super) fn resume(&mut self, client: &ClientKey, at: Timestamp) {
        if at.0 - self.seen.0 > SILENCE {
            let surfaced = std::mem::take(&mut self.surfaced);
            *self = Self {
                surfaced,
                ..Self::begin(client, at)
            };
        }
        self.seen = at;
    }

    pub(super) fn last_seen(&self) -> Timestamp {
        self.seen
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = &RequestInWords> {
        self.requests.iter()
    }

    pub(super) fn show(&mut self, tools: &Arc<[String]>) {
        self.surfaced = tools.clone();
    }

    /// The client has new words. If the last use followed from the same words, it is in doubt.
    pub(super) fn ask(&mut self, run: Option<&Arc<str>>, request: Option<RequestInWords>) {
        let last_use = self.last_use.take();
        let Some(request) = request else {
            return;
        };
        let at = request.at;
        let repeated = last_use
            .filter(|last| at.0 - last.at.0 <= AT_ONCE)
            .or(self.doubted.take());
        self.doubted = repeated.filter(|it| it.request.asks_the_same_as(&request));
        match run {
            Some(run) => self.add_to_run(run, request),
            None => self.requests.add(request),
        }
    }

    fn add_to_run(&mut self, run: &Arc<str>, request: RequestInWords) {
        let known = self.runs.iter_mut().find(|(id, _)| id == run);
        if let Some((_, requests)) = known {
            return requests.add(request);
        }
        if self.runs.len() == MOST_RUNS {
            self.runs.pop_front();
        }
        let mut requests = LatestRequests::default();
        requests.add(request);
        self.runs.push_back((run.clone(), requests));
    }

    pub(super) fn call(
        &mut self,
        run: Option<&Arc<str>>,
        heard: &[RequestInWords],
        call: WorkedCall<'_>,
    ) -> Vec<LessonDraft> {
        let link = match run {
            None => Some(&self.requests),
            Some(run) => self.runs.iter().find(|(id, _)| id == run).map(|it| &it.1),
        }
        .and_then(|own| own.behind_call(heard, call.tool, &call.arguments.values, call.at));
        let mut drafts = match &link {
            Some((request, evidence)) => self.taught_by(request, *evidence, &call),
            None => Vec::new(),
        };
        if call.worked {
            let request = link.map(|(request, _)| request);
            drafts.extend(self.abandoned_for(&call, request.as_ref()));
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

    /// The lessons of a call that followed from words.
    fn taught_by(
        &mut self,
        request: &RequestInWords,
        evidence: LinkEvidence,
        call: &WorkedCall<'_>,
    ) -> Vec<LessonDraft> {
        let signal = match (call.worked, evidence) {
            (false, _) => Signal::Failed,
            (true, LinkEvidence::Found(_)) => Signal::FoundThenUsed,
            (true, LinkEvidence::Said) => Signal::SaidThenUsed,
        };
        let mut signals = vec![(call.tool.to_owned(), signal)];
        if let (true, LinkEvidence::Found(place)) = (call.worked, evidence) {
            let passed = self.passed_over(&request.found[..place], call.tool);
            signals.extend(passed.map(|other| (other.clone(), Signal::Bypassed)));
        }
        if self.taught.len() > MOST_TAUGHT {
            self.taught.clear();
        }
        signals
            .retain(|(tool, signal)| self.taught.insert((request.number, tool.clone(), *signal)));
        let drafts = signals.into_iter();
        drafts
            .map(|(tool, signal)| self.lesson(request, &tool, signal, call.at))
            .collect()
    }

    /// The lesson that the tool in doubt did not help, if the same words now led to another one.
    fn abandoned_for(
        &mut self,
        call: &WorkedCall<'_>,
        request: Option<&RequestInWords>,
    ) -> Option<LessonDraft> {
        let doubted = self.doubted.take()?;
        let follows_same_words = request?.asks_the_same_as(&doubted.request);
        (follows_same_words && doubted.tool != call.tool)
            .then(|| self.lesson(&doubted.request, &doubted.tool, Signal::Abandoned, call.at))
    }

    /// The tools that the client could have taken instead: the better places of the search, and
    /// those that it was shown before it had to search.
    fn passed_over<'a>(
        &'a self,
        better: &'a [String],
        tool: &'a str,
    ) -> impl Iterator<Item = &'a String> {
        let had_to_search = !self.surfaced.iter().any(|it| it == tool);
        let shown = self.surfaced.iter().filter(move |_| had_to_search);
        let all = better.iter().chain(shown);
        all.filter(move |it| *it != tool && !self.used.contains(*it))
    }

    fn lesson(
        &self,
        request: &RequestInWords,
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
