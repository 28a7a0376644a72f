//! Learns from use which tools are worth showing.
//!
//! A request only reports events. A background task links the events, writes lessons to the store,
//! and swaps in the new snapshot; searches and lists read it.
//!
//! Reads the audit and writes the store; never calls a server.
//!
//! # Layout
//! - [`priors`], [`priors_schedule`]: success, latency and cost of each tool, computed from the
//!   audit
//! - `intents`, [`learned_templates`], [`template_folder`], [`template_check`]: templates for
//!   `run_intent`
//! - `arguments`: the text of a call's arguments
//! - `writer`: the task that writes; `lesson_memory`: the lessons of all tenants; `lessons`: the
//!   effective lessons of one
//! - [`marks`]: what people say about results of searches
//! - `client_lists`: the tools that each client found and used last, for its list

pub mod arguments;
pub(crate) mod client_lists;
pub(crate) mod intents;
pub mod learned_templates;
mod lesson_memory;
mod lessons;
pub mod marks;
pub mod priors;
pub mod priors_schedule;
pub mod template_check;
pub mod template_folder;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kitbag_config::LearningSettings;
use kitbag_domain::{Caller, Timestamp};
use kitbag_relevance::Query;
use kitbag_relevance::learning::Votes;
use kitbag_relevance::learning::event::UseEvent;
use kitbag_store::Store;
use tokio::sync::{mpsc, oneshot};

use crate::index::CapabilityIndex;
use crate::state::clock::now;
use lesson_memory::{LearnedMemory, LessonScope};
pub(crate) use lessons::LearnedLessons;
use marks::{MarkError, ToolMark};
use writer::{FlushRequest, LessonWriter};

/// Events that may wait to be written. Further ones are lost and counted: requests never wait.
const MOST_WAITING: usize = 4_096;
/// A stopping gateway waits no longer than this for a store that hangs.
const LONGEST_FLUSH: Duration = Duration::from_secs(5);

/// The part of the gateway that learns. It outlives every configuration.
pub(crate) struct Learner {
    uses: mpsc::Sender<ObservedUse>,
    flushes: mpsc::Sender<FlushRequest>,
    memory: Arc<LearnedMemory>,
    lost: AtomicU64,
}

/// An event, and the learning settings at its time.
pub(crate) struct ObservedUse {
    pub(crate) event: UseEvent,
    pub(crate) settings: LearningSettings,
}

impl Learner {
    /// Starts the background task, which runs until the learner is dropped. Must be called within a
    /// Tokio runtime.
    pub(crate) fn start(index: Arc<CapabilityIndex>, store: Store) -> Self {
        let (uses, waiting) = mpsc::channel(MOST_WAITING);
        let (flushes, flushing) = mpsc::channel(1);
        let memory = Arc::new(LearnedMemory::new(index, store));
        tokio::spawn(LessonWriter::new(memory.clone()).run(waiting, flushing));
        Self {
            uses,
            flushes,
            memory,
            lost: AtomicU64::new(0),
        }
    }

    /// Returns the lessons of a caller's tenant.
    pub(crate) async fn lessons_for(&self, caller: &Caller) -> Option<Arc<LearnedLessons>> {
        let scope = LessonScope::Tenant(caller.tenant.clone());
        self.memory.lessons_for(&scope).await
    }

    /// Returns the votes of past uses on a query; `None` without lessons.
    pub(crate) async fn votes_on_query(
        &self,
        settings: &LearningSettings,
        caller: &Caller,
        request: &Query<'_>,
    ) -> Option<Votes> {
        if !settings.enabled {
            return None;
        }
        let own = self.lessons_for(caller).await?;
        let own = own.experience.votes_for_query(request, now());
        if !settings.shared {
            return Some(own);
        }
        let everyone = self.memory.lessons_for(&LessonScope::Everyone).await?;
        let shared = everyone.experience.votes_for_query(request, now());
        Some(Votes::combine(own, shared))
    }

    /// Loads lessons that another gateway has learned, and drops lessons that a command has
    /// deleted.
    pub(crate) async fn load_new_lessons(&self) {
        self.memory.load_new().await;
    }

    /// Recomputes the vectors of lessons that another model computed.
    pub(crate) async fn recompute_stale_lessons(&self) {
        match self.memory.recompute_stale().await {
            Ok(0) => {}
            Ok(lessons) => {
                tracing::info!(
                    lessons,
                    "recomputed the vectors of lessons with the current model"
                );
            }
            Err(error) => {
                tracing::warn!(%error, "failed to recompute the vectors of lessons");
            }
        }
    }

    /// Deletes lessons that are older than `keep`.
    pub(crate) async fn forget_older_than(&self, keep: Duration) {
        let age = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp(now().0.saturating_sub(age));
        match self.memory.forget_before(before).await {
            Ok(0) => {}
            Ok(removed) => tracing::debug!(removed, "deleted old lessons"),
            Err(error) => tracing::warn!(%error, "failed to delete old lessons"),
        }
    }

    /// Stores what a person said about a tool as a lesson, which counts from now on.
    pub(crate) async fn learn_mark(
        &self,
        settings: &LearningSettings,
        mark: &ToolMark,
    ) -> Result<(), MarkError> {
        if !settings.enabled {
            return Err(MarkError::Disabled);
        }
        let model = self.memory.model().await.ok_or(MarkError::NoVector)?;
        let vector = self.memory.embed_text(&mark.query).await;
        let vector = vector.ok_or(MarkError::NoVector)?;
        let lesson = mark.to_lesson(model, &vector, settings.keep_words, now());
        self.memory.add_lesson(lesson).await?;
        Ok(())
    }

    /// Returns the number of events that were lost because the queue was full.
    pub(crate) fn lost_events(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes pending events.
    pub(crate) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        let ordered = async {
            self.flushes.send(done).await.ok()?;
            flushed.await.ok()
        };
        if tokio::time::timeout(LONGEST_FLUSH, ordered).await.is_err() {
            tracing::warn!("failed to write the last lessons");
        }
    }

    pub(crate) fn observe(&self, use_of_tools: ObservedUse) {
        if self.uses.try_send(use_of_tools).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
