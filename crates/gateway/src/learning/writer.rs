//! Writes observed uses in the background: in batches, at most a second after the events.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use kitbag_clients::text_without_secrets;
use kitbag_domain::Tenant;
use kitbag_store::{ContextVector, NewLesson};
use tokio::sync::{mpsc, oneshot};

use super::ObservedUse;
use super::arguments;
use super::lesson_memory::LearnedMemory;
use kitbag_relevance::learning::call_linker::{CallLinker, DraftContext, LessonDraft};
use kitbag_relevance::learning::event::{CallArguments, UseEvent, UseKind};

/// Events that arrive within this time are written together.
const BATCH_INTERVAL: Duration = Duration::from_millis(250);
const MAX_BATCH: usize = 1_000;
/// Texts of arguments that are embedded per batch during a flood. Each takes some milliseconds of a
/// core, so a flood of calls costs at most one per cent of it.
const EMBEDDINGS_IN_FLOOD: usize = 1;
const EMBEDDINGS_PER_BATCH: usize = 8;
/// More events than agents produce during one batch.
const FLOOD: usize = 40;
/// Lessons of one tenant per batch: far more than its agents cause, and few enough that a tenant
/// that floods the gateway does not fill the store.
const MAX_LESSONS_PER_BATCH: usize = 64;
/// Calls whose arguments are stored, so that repeated calls are learned once.
const MOST_KNOWN_CALLS: usize = 10_000;

/// A request to write all earlier events. The sender reports when they are written.
pub(super) type FlushRequest = oneshot::Sender<()>;

pub(super) struct LessonWriter {
    memory: Arc<LearnedMemory>,
    linker: CallLinker,
    /// Hashes of calls whose arguments were learned.
    known_calls: HashSet<u64>,
}

impl LessonWriter {
    pub(super) fn new(memory: Arc<LearnedMemory>) -> Self {
        Self {
            memory,
            linker: CallLinker::default(),
            known_calls: HashSet::new(),
        }
    }

    /// Runs until the learner is dropped.
    pub(super) async fn run(
        mut self,
        mut uses: mpsc::Receiver<ObservedUse>,
        mut flushes: mpsc::Receiver<FlushRequest>,
    ) {
        loop {
            let (first, flush) = tokio::select! {
                first = uses.recv() => match first {
                    Some(first) => (Some(first), wait_for_batch(&mut flushes).await),
                    None => return,
                },
                Some(flush) = flushes.recv() => (None, Some(flush)),
            };
            self.write_waiting(first, &mut uses).await;
            if let Some(flush) = flush {
                // The requester may be gone.
                let _ = flush.send(());
            }
        }
    }

    /// Writes all waiting events.
    async fn write_waiting(
        &mut self,
        first: Option<ObservedUse>,
        uses: &mut mpsc::Receiver<ObservedUse>,
    ) {
        let mut batch = Vec::from_iter(first);
        loop {
            batch.extend(std::iter::from_fn(|| uses.try_recv().ok()).take(MAX_BATCH));
            if batch.is_empty() {
                return;
            }
            self.write_lessons(std::mem::take(&mut batch)).await;
        }
    }

    async fn write_lessons(&mut self, uses: Vec<ObservedUse>) {
        let Some(model) = self.memory.model().await else {
            return;
        };
        let mut lessons = Vec::new();
        let mut counts: HashMap<Tenant, usize> = HashMap::new();
        let mut left = match uses.len() < FLOOD {
            true => EMBEDDINGS_PER_BATCH,
            false => EMBEDDINGS_IN_FLOOD,
        };
        for ObservedUse { event, settings } in &uses {
            let vector = match event.what.words() {
                Some(text) => self.memory.embed_text(text).await,
                None => None,
            };
            let mut arguments = match settings.arguments {
                true => self.new_arguments(event),
                false => CallArguments::default(),
            };
            arguments.text = arguments.text.filter(|_| left > 0);
            left -= usize::from(arguments.text.is_some());
            let tenant = &event.client.caller.tenant;
            let of_tenant = counts.entry(tenant.clone()).or_insert(0);
            for draft in self.linker.record_event(event, vector, arguments) {
                *of_tenant += 1;
                if *of_tenant <= MAX_LESSONS_PER_BATCH {
                    lessons.push(
                        self.to_lesson(event, draft, &model, settings.keep_words)
                            .await,
                    );
                }
            }
        }
        self.memory.store_lessons(&lessons).await;
    }

    /// Returns the arguments of a call. A repeated call has no text to learn from.
    fn new_arguments(&mut self, event: &UseEvent) -> CallArguments {
        let UseKind::Called {
            tool,
            arguments: Some(given),
            ..
        } = &event.what
        else {
            return CallArguments::default();
        };
        let mut hasher = DefaultHasher::new();
        (&event.client.caller, tool, given).hash(&mut hasher);
        if self.known_calls.len() >= MOST_KNOWN_CALLS {
            self.known_calls.clear();
        }
        let is_new = self.known_calls.insert(hasher.finish());
        let mut read = arguments::to_call_arguments(given);
        read.text = read.text.filter(|_| is_new);
        read
    }

    async fn to_lesson(
        &self,
        event: &UseEvent,
        draft: LessonDraft,
        model: &str,
        keep_words: bool,
    ) -> NewLesson {
        let (words, vector) = match draft.context {
            DraftContext::Words { words, vector } => (Some(words.to_string()), Some(vector)),
            DraftContext::Arguments(None) => (None, None),
            DraftContext::Arguments(Some(text)) => {
                let vector = self.memory.embed_text(&text).await;
                (Some(text), vector)
            }
        };
        NewLesson {
            tenant: event.client.caller.tenant.clone(),
            credential: event.client.caller.key.clone(),
            session: draft.session,
            at: draft.at,
            tool: draft.tool,
            signal: draft.signal.as_str().to_owned(),
            context: vector.map(|vector| ContextVector {
                model: model.to_owned(),
                vector: vector.to_vec(),
            }),
            words: words
                .filter(|_| keep_words)
                .map(|words| text_without_secrets(&words)),
        }
    }
}

/// Lets events accumulate, unless a flush is requested. Waking the task for each event would cost
/// more than the events themselves.
async fn wait_for_batch(flushes: &mut mpsc::Receiver<FlushRequest>) -> Option<FlushRequest> {
    let waited = tokio::time::timeout(BATCH_INTERVAL, flushes.recv()).await;
    waited.ok().flatten()
}
