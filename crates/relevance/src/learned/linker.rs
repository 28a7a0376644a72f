//! Links what a client did to the words that led to it: a search to the call that follows, and a
//! call to the tools that were passed over.
//!
//! Pure: the time comes with the events, and the same events give the same drafts.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kitbag_domain::fairness::entry_to_drop;
use kitbag_domain::{Outcome, Timestamp};

use super::Signal;
use super::event::{ClientKey, UseEvent, UseKind};
use crate::dense::similarity;

/// A call that comes later has nothing to do with the words.
const WORDS_HOLD: i64 = 10 * 60_000;
/// After this silence, a client that comes back is taken to have begun something else.
const SILENCE: i64 = 30 * 60_000;
/// A search in the same words within this time after a call puts the call in doubt. A call of
/// another tool then says that the first one did not help.
const AT_ONCE: i64 = 60_000;
/// Words of this similarity ask for the same again. Two requests for one tool are mostly below it.
const SAME_AGAIN: f32 = 0.8;
/// Beyond this many clients, the longest silent one of the caller who has most is forgotten.
const MOST_CLIENTS: usize = 10_000;

/// A lesson whose context may have no vector yet.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonDraft {
    pub tool: String,
    pub signal: Signal,
    pub context: DraftContext,
    pub session: i64,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DraftContext {
    Words {
        words: Arc<str>,
        vector: Arc<[f32]>,
    },
    /// The arguments of the call, as text; nothing if they say nothing.
    Arguments(Option<String>),
}

/// The clients that are at work.
#[derive(Debug, Default)]
pub struct UseLinker {
    by_client: HashMap<ClientKey, ClientThread>,
}

#[derive(Debug)]
struct ClientThread {
    session: i64,
    seen: Timestamp,
    request: Option<RequestInWords>,
    surfaced: Arc<[String]>,
    /// Tools that were used since the session began.
    used: HashSet<String>,
    /// The tool of the last call, if nothing has happened since.
    last_call: Option<(String, Timestamp)>,
    /// The tool that was called for words which the client then said again.
    doubted: Option<(String, RequestInWords)>,
}

/// The words that a client follows.
#[derive(Debug, Clone)]
struct RequestInWords {
    words: Arc<str>,
    vector: Arc<[f32]>,
    found: Arc<[String]>,
    /// Each tool teaches once for the same words, however often it is called.
    taught: HashSet<(String, Signal)>,
    at: Timestamp,
}

impl UseLinker {
    /// Takes in an event. `vector` is that of its words, and `arguments` the text of those of a
    /// call.
    pub fn take(
        &mut self,
        event: &UseEvent,
        vector: Option<Arc<[f32]>>,
        arguments: Option<String>,
    ) -> Vec<LessonDraft> {
        self.make_room(&event.client);
        let credential = self.request_of_credential(&event.client, event.at);
        let thread = self
            .by_client
            .entry(event.client.clone())
            .or_insert_with(|| ClientThread::begin(&event.client, event.at));
        thread.go_on(&event.client, event.at);
        match &event.what {
            UseKind::Said { words } => thread.said(words, vector, &[], event.at),
            UseKind::Searched { words, found } => thread.said(words, vector, found, event.at),
            UseKind::Surfaced { tools } => thread.surfaced = tools.clone(),
            UseKind::Called { tool, outcome, .. } => {
                thread.adopt(credential, event.at);
                return thread.called(tool, *outcome, arguments, event.at);
            }
        }
        Vec::new()
    }

    /// The latest words that any client of the same credential, or its person, said.
    fn request_of_credential(&self, client: &ClientKey, at: Timestamp) -> Option<RequestInWords> {
        client.id.as_ref()?;
        let credential = ClientKey::of_credential(&client.caller);
        let said = self.by_client.get(&credential)?.request.as_ref()?;
        said.holds(at).then(|| said.clone())
    }

    fn make_room(&mut self, client: &ClientKey) {
        if self.by_client.len() < MOST_CLIENTS || self.by_client.contains_key(client) {
            return;
        }
        let clients = self.by_client.iter();
        let clients = clients.map(|(client, it)| (client, &client.caller, it.seen));
        if let Some(dropped) = entry_to_drop(clients).cloned() {
            self.by_client.remove(&dropped);
        }
    }
}

impl ClientThread {
    fn begin(client: &ClientKey, at: Timestamp) -> Self {
        let mut hasher = DefaultHasher::new();
        (client, at.0).hash(&mut hasher);
        Self {
            session: hasher.finish().cast_signed(),
            seen: at,
            request: None,
            surfaced: Arc::default(),
            used: HashSet::new(),
            last_call: None,
            doubted: None,
        }
    }

    fn go_on(&mut self, client: &ClientKey, at: Timestamp) {
        if at.0 - self.seen.0 > SILENCE {
            let surfaced = std::mem::take(&mut self.surfaced);
            *self = Self {
                surfaced,
                ..Self::begin(client, at)
            };
        }
        self.seen = at;
    }

    /// Takes over words that were said elsewhere, where they are later than the client's own.
    fn adopt(&mut self, said: Option<RequestInWords>, at: Timestamp) {
        let own = self.request.as_ref().filter(|it| it.holds(at));
        let own = own.map_or(i64::MIN, |it| it.at.0);
        if let Some(said) = said.filter(|said| said.at.0 > own) {
            self.request = Some(said);
        }
    }

    /// The client has new words. If they are the old ones, the call before is in doubt.
    fn said(
        &mut self,
        words: &Arc<str>,
        vector: Option<Arc<[f32]>>,
        found: &[String],
        at: Timestamp,
    ) {
        let before = self.request.take();
        let last_call = self.last_call.take();
        let Some(vector) = vector else {
            return;
        };
        let again = before.filter(|it| similarity(&it.vector, &vector) >= SAME_AGAIN);
        let at_once = last_call.filter(|(_, called)| at.0 - called.0 <= AT_ONCE);
        match (again, at_once) {
            (Some(before), Some((tool, _))) => self.doubted = Some((tool, before)),
            (Some(_), None) => {}
            (None, _) => self.doubted = None,
        }
        self.request = Some(RequestInWords {
            words: words.clone(),
            vector,
            found: found.into(),
            taught: HashSet::new(),
            at,
        });
    }

    fn called(
        &mut self,
        tool: &str,
        outcome: Outcome,
        arguments: Option<String>,
        at: Timestamp,
    ) -> Vec<LessonDraft> {
        let Some(worked) = verdict(outcome) else {
            return Vec::new();
        };
        let mut drafts = match self.request.take().filter(|it| it.holds(at)) {
            Some(mut request) => {
                let drafts = self.taught_by(&mut request, tool, worked, at);
                self.request = Some(request);
                drafts
            }
            None => Vec::new(),
        };
        if worked {
            drafts.extend(self.abandoned_for(tool, at));
            let is_new = self.used.insert(tool.to_owned());
            self.last_call = Some((tool.to_owned(), at));
            if arguments.is_some() || (drafts.is_empty() && is_new) {
                drafts.push(LessonDraft {
                    tool: tool.to_owned(),
                    signal: Signal::UsedWithoutWords,
                    context: DraftContext::Arguments(arguments),
                    session: self.session,
                    at,
                });
            }
        }
        drafts
    }

    /// The lesson that the tool in doubt did not help, if another one was called instead.
    fn abandoned_for(&mut self, tool: &str, at: Timestamp) -> Option<LessonDraft> {
        let (doubted, request) = self.doubted.take()?;
        (doubted != tool).then(|| self.lesson(&request, &doubted, Signal::Abandoned, at))
    }

    /// The lessons of a call that followed words.
    fn taught_by(
        &self,
        request: &mut RequestInWords,
        tool: &str,
        worked: bool,
        at: Timestamp,
    ) -> Vec<LessonDraft> {
        let place = request.found.iter().position(|found| found == tool);
        let signal = match (worked, place) {
            (false, _) => Signal::Failed,
            (true, Some(_)) => Signal::FoundThenUsed,
            (true, None) => Signal::Used,
        };
        let mut signals = vec![(tool.to_owned(), signal)];
        if worked && let Some(place) = place {
            let passed = self.passed_over(&request.found[..place], tool);
            signals.extend(passed.map(|other| (other.clone(), Signal::Bypassed)));
        }
        signals.retain(|it| request.taught.insert(it.clone()));
        signals
            .iter()
            .map(|(tool, signal)| self.lesson(request, tool, *signal, at))
            .collect()
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

impl RequestInWords {
    fn holds(&self, at: Timestamp) -> bool {
        at.0 - self.at.0 <= WORDS_HOLD
    }
}

/// True if the tool did its work, false if it did not; nothing where the tool is not at fault.
fn verdict(outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Ok => Some(true),
        Outcome::ToolError | Outcome::Refused | Outcome::Unavailable | Outcome::TimedOut => {
            Some(false)
        }
        Outcome::Denied
        | Outcome::Invalid
        | Outcome::Cancelled
        | Outcome::InputRequired
        | Outcome::Unfinished => None,
    }
}

#[cfg(test)]
mod tests;
