//! The lessons of each tenant in memory, for searches and lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;
use kitbag_domain::{Tenant, Timestamp};
use kitbag_store::{ContextVector, Error, LessonFilter, NewLesson, Store, StoredLesson};

use super::lessons::LearnedLessons;
use crate::index::CapabilityIndex;
use crate::state::clock::now;

/// Tenants whose lessons are in memory: some hundred megabytes at most. The least recently used is
/// dropped, and loaded again on its next use.
const MOST_SCOPES: usize = 32;

/// Lessons whose vectors are recomputed before they are written: a second of work.
const RECOMPUTE_BATCH: usize = 64;

/// The tenants whose lessons count together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum LessonScope {
    Tenant(Tenant),
    /// All tenants, if the operator lets them share.
    Everyone,
}

pub(super) struct LearnedMemory {
    index: Arc<CapabilityIndex>,
    store: Store,
    scopes: Mutex<HashMap<LessonScope, Arc<LearnedLessons>>>,
    /// Serializes loads, so that an older result does not replace a newer one.
    reading: tokio::sync::Mutex<()>,
}

impl LearnedMemory {
    pub(super) fn new(index: Arc<CapabilityIndex>, store: Store) -> Self {
        Self {
            index,
            store,
            scopes: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the model that computes the vectors; `None` if it is not available yet.
    pub(super) async fn model(&self) -> Option<String> {
        self.index.embedder().id().await.ok()
    }

    pub(super) async fn embed_text(&self, text: &str) -> Option<Arc<[f32]>> {
        self.index.embed_query(text).await.vector()
    }

    /// Returns the lessons of a scope, and loads them if necessary; `None` if that fails.
    pub(super) async fn lessons_for(&self, scope: &LessonScope) -> Option<Arc<LearnedLessons>> {
        let known = lock(&self.scopes).get(scope).cloned();
        let learned = match known {
            Some(known) => known,
            None => self.load_first(scope).await?,
        };
        learned.mark_used(now());
        Some(learned)
    }

    /// Stores lessons, which count from now on.
    pub(super) async fn store_lessons(&self, lessons: &[NewLesson]) {
        if lessons.is_empty() {
            return;
        }
        if let Err(error) = self.store.add_lessons(lessons).await {
            tracing::warn!(%error, lessons = lessons.len(), "failed to store lessons");
            return;
        }
        self.load_new().await;
        let surplus = self.surplus_ids();
        if surplus.is_empty() {
            return;
        }
        match self.store.delete_lessons_by_id(&surplus).await {
            Ok(_) => self.load_new().await,
            Err(error) => tracing::warn!(%error, "failed to delete surplus lessons"),
        }
    }

    /// Stores a lesson, which counts from now on.
    pub(super) async fn add_lesson(&self, lesson: NewLesson) -> Result<(), Error> {
        self.store.add_lessons(&[lesson]).await?;
        self.load_new().await;
        Ok(())
    }

    /// Loads new lessons in every scope that is in memory.
    pub(super) async fn load_new(&self) {
        let Some(model) = self.model().await else {
            return;
        };
        if let Err(error) = self.load_new_in_all_scopes(&model, now()).await {
            tracing::warn!(%error, "failed to read lessons");
        }
    }

    /// Deletes the lessons from before that time, and returns their number.
    pub(super) async fn forget_before(&self, before: Timestamp) -> Result<u64, Error> {
        let old = LessonFilter {
            before: Some(before),
            ..LessonFilter::default()
        };
        let forgotten = self.store.delete_lessons(&old).await?;
        if forgotten > 0 {
            self.load_new().await;
        }
        Ok(forgotten)
    }

    /// Recomputes the vectors of lessons that another model computed. Lessons without text are
    /// unused until their model is configured again, or they expire.
    pub(super) async fn recompute_stale(&self) -> Result<usize, Error> {
        let Some(model) = self.model().await else {
            return Ok(0);
        };
        let mut stale = self.store.lessons(&LessonFilter::default()).await?;
        stale.retain(|it| is_stale(&it.lesson, &model));
        let mut renewed = 0;
        for some in stale.chunks(RECOMPUTE_BATCH) {
            renewed += self.recompute_batch(some, &model).await?;
        }
        Ok(renewed)
    }

    async fn recompute_batch(&self, stale: &[StoredLesson], model: &str) -> Result<usize, Error> {
        let (mut fresh, mut replaced) = (Vec::new(), Vec::new());
        for StoredLesson { id, lesson } in stale {
            let text = lesson.words.as_deref().unwrap_or_default();
            let Some(vector) = self.embed_text(text).await else {
                continue;
            };
            let (model, vector) = (model.to_owned(), vector.to_vec());
            let context = Some(ContextVector { model, vector });
            fresh.push(NewLesson {
                context,
                ..lesson.clone()
            });
            replaced.push(*id);
        }
        self.store.add_lessons(&fresh).await?;
        self.store.delete_lessons_by_id(&replaced).await?;
        Ok(fresh.len())
    }

    async fn load_first(&self, scope: &LessonScope) -> Option<Arc<LearnedLessons>> {
        let model = self.model().await?;
        let learned = self.load_scope(scope, &model, now()).await;
        let read = learned.inspect_err(|error| {
            tracing::debug!(%error, "failed to read lessons");
        });
        read.ok()
    }

    async fn load_new_in_all_scopes(&self, model: &str, now: Timestamp) -> Result<(), Error> {
        let known: Vec<LessonScope> = lock(&self.scopes).keys().cloned().collect();
        for scope in known {
            self.load_scope(&scope, model, now).await?;
        }
        Ok(())
    }

    /// Returns the ids of lessons above the number that each tenant may have.
    fn surplus_ids(&self) -> Vec<i64> {
        let scopes = lock(&self.scopes);
        let own = scopes
            .iter()
            .filter(|(scope, _)| **scope != LessonScope::Everyone);
        own.flat_map(|(_, learned)| learned.surplus_ids()).collect()
    }

    async fn load_scope(
        &self,
        scope: &LessonScope,
        model: &str,
        now: Timestamp,
    ) -> Result<Arc<LearnedLessons>, Error> {
        let _alone = self.reading.lock().await;
        let known = lock(&self.scopes).get(scope).cloned().unwrap_or_default();
        let more = self.store.lessons(&scope.filter(known.last_id())).await?;
        let rows = self.store.count_lessons(&scope.filter(0)).await?;
        let learned = match (known.len() + more.len()) as u64 == rows {
            true if more.is_empty() && known.len() > 0 => return Ok(known),
            true => known.with_lessons(more, model, now),
            // Lessons were deleted, or arrived late.
            false => {
                let all = self.store.lessons(&scope.filter(0)).await?;
                LearnedLessons::default().with_lessons(all, model, now)
            }
        };
        let learned = Arc::new(learned);
        learned.mark_used(now);
        self.insert_scope(scope, &learned);
        Ok(learned)
    }

    fn insert_scope(&self, scope: &LessonScope, learned: &Arc<LearnedLessons>) {
        let mut scopes = lock(&self.scopes);
        scopes.insert(scope.clone(), learned.clone());
        if scopes.len() > MOST_SCOPES {
            let unused = scopes
                .iter()
                .min_by_key(|(_, it)| it.last_used())
                .map(|(scope, _)| scope.clone());
            unused.map(|scope| scopes.remove(&scope));
        }
    }
}

impl LessonScope {
    fn filter(&self, after_id: i64) -> LessonFilter {
        let tenant = match self {
            Self::Tenant(tenant) => Some(tenant.clone()),
            Self::Everyone => None,
        };
        LessonFilter {
            tenant,
            after_id,
            ..LessonFilter::default()
        }
    }
}

/// True if another model computed the lesson's vector and its text is stored.
fn is_stale(lesson: &NewLesson, model: &str) -> bool {
    let context = lesson.context.as_ref();
    lesson.words.is_some() && context.is_some_and(|it| it.model != model)
}
