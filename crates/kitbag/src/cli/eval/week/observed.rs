//! The use events that the gateway observes, and the lessons that it learns from them.

use std::collections::HashMap;
use std::sync::Arc;

use kitbag_domain::{Caller, Outcome, Timestamp};
use kitbag_relevance::learning::call_linker::{CallLinker, DraftContext, LessonDraft};
use kitbag_relevance::learning::event::{CallArguments, ClientKey, UseEvent, UseKind};
use kitbag_relevance::{Experience, Lesson, Signal};

use super::work::{TaskCall, Work};

/// All lessons have the same age, so that time does not affect the figures.
pub(super) const NOW: Timestamp = Timestamp(0);

/// The learning part of a gateway, and the truth about its links.
pub(super) struct ObservedWeek<'a> {
    work: &'a Work,
    linker: CallLinker,
    pub(super) learned: Experience,
    lessons: i64,
    task_of_words: HashMap<&'a str, usize>,
    pub(super) links: LinkFigures,
}

/// Lessons that link a query to the tool of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkFigures {
    pub(super) calls: usize,
    pub(super) links: usize,
    /// Links between unrelated queries and calls.
    pub(super) wrong: usize,
}

/// The source of an event.
#[derive(Debug, Clone)]
pub(super) struct EventSource {
    /// `None` for text from outside the protocol.
    pub(super) client: Option<&'static str>,
    /// The run of a program.
    pub(super) run: Option<u64>,
    pub(super) at: i64,
}

impl<'a> ObservedWeek<'a> {
    pub(super) fn new(work: &'a Work) -> Self {
        let tasks = work.tasks.iter().enumerate();
        let words = tasks.flat_map(|(number, task)| {
            let words = task.words.iter();
            words.map(move |it| (it.as_str(), number))
        });
        Self {
            work,
            linker: CallLinker::default(),
            learned: Experience::default(),
            lessons: 0,
            task_of_words: words.collect(),
            links: LinkFigures::default(),
        }
    }

    /// Records a search that found these tools.
    pub(super) fn record_search(&mut self, source: &EventSource, words: &str, found: &[String]) {
        let what = UseKind::Searched {
            words: words.into(),
            found: found.into(),
        };
        let vector = self.work.vector(words);
        let drafts =
            self.linker
                .record_event(&source.event(what), vector, CallArguments::default());
        self.learn_lessons(drafts);
    }

    /// Records a call for a task, or a call without a search.
    pub(super) fn record_call(
        &mut self,
        source: &EventSource,
        call: &TaskCall,
        cause: Option<usize>,
        outcome: Outcome,
    ) {
        let what = UseKind::Called {
            tool: call.tool.clone(),
            arguments: None,
            outcome,
        };
        let drafts = self
            .linker
            .record_event(&source.event(what), None, call.read());
        self.links.calls += 1;
        for draft in drafts.iter().filter(|it| is_link(it, call)) {
            self.links.links += 1;
            let DraftContext::Words { words, .. } = &draft.context else {
                continue;
            };
            let task = self.task_of_words.get(&**words).copied();
            self.links.wrong += usize::from(task != cause);
        }
        self.learn_lessons(drafts);
    }

    fn learn_lessons(&mut self, drafts: Vec<LessonDraft>) {
        let mut lessons = Vec::new();
        for draft in drafts {
            let context = match draft.context {
                DraftContext::Words { vector, .. } => Some(vector),
                DraftContext::Arguments(text) => text.and_then(|it| self.work.vector(&it)),
            };
            let Some(context) = context else {
                continue;
            };
            self.lessons += 1;
            lessons.push(Lesson {
                tool: draft.tool,
                context,
                signal: draft.signal,
                at: NOW,
                session: draft.session.cast_unsigned(),
                id: self.lessons,
            });
        }
        if !lessons.is_empty() {
            self.learned = self.learned.with_lessons(lessons, NOW);
        }
    }
}

impl EventSource {
    fn event(&self, what: UseKind) -> UseEvent {
        let client = ClientKey {
            caller: Caller::local(),
            id: self.client.map(Arc::from),
        };
        UseEvent {
            client,
            run: self.run.map(|run| run.to_string().into()),
            at: Timestamp(self.at),
            what,
        }
    }
}

/// True if the lesson says that this call's tool suits, or does not suit, a query.
fn is_link(draft: &LessonDraft, call: &TaskCall) -> bool {
    let is_about_call = !matches!(draft.signal, Signal::Bypassed | Signal::Abandoned);
    let has_words = matches!(draft.context, DraftContext::Words { .. });
    is_about_call && has_words && draft.tool == call.tool
}
