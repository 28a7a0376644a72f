//! The queue of queries. One worker per core embeds the waiting queries in one batch, because a
//! pass over the weights serves them all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;
use tokio::sync::oneshot;

use crate::TextRole;
use crate::local::{LocalError, MIN_SHARE, Model, cores};

#[derive(Default)]
pub(crate) struct QueryQueue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<WaitingQuery>,
    /// At most one per core; more would only make each other wait.
    workers: usize,
}

struct WaitingQuery {
    texts: Vec<String>,
    answer: oneshot::Sender<Vec<Vec<f32>>>,
}

impl QueryQueue {
    pub(crate) async fn embed(
        self: &Arc<Self>,
        model: &Arc<Model>,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, LocalError> {
        let (answer, answered) = oneshot::channel();
        if self.put(WaitingQuery { texts, answer }) {
            tokio::spawn(self.clone().work(model.clone()));
        }
        answered.await.map_err(|_| LocalError::Interrupted)
    }

    /// Returns true if the caller has to start another worker.
    fn put(&self, query: WaitingQuery) -> bool {
        let mut state = lock(&self.0);
        state.waiting.push_back(query);
        let needed = state.workers < cores();
        state.workers += usize::from(needed);
        needed
    }

    async fn work(self: Arc<Self>, model: Arc<Model>) {
        while let Some(batch) = self.take_batch() {
            let model = model.clone();
            // A batch that fails drops its answer channels, which notifies the queries.
            let _ = tokio::task::spawn_blocking(move || answer(batch, &model)).await;
        }
    }

    /// Takes the oldest queries, as many as fit one pass. Returns `None` if there are none.
    fn take_batch(&self) -> Option<Vec<WaitingQuery>> {
        let mut state = lock(&self.0);
        state.waiting.retain(|query| !query.answer.is_closed());
        let mut texts = 0;
        let fitting = state.waiting.iter().take_while(|query| {
            texts += query.texts.len();
            texts <= MIN_SHARE
        });
        let count = fitting.count().max(1).min(state.waiting.len());
        if count == 0 {
            state.workers -= 1;
            return None;
        }
        Some(state.waiting.drain(..count).collect())
    }
}

/// Embeds each text once, however many queries contain it.
fn answer(batch: Vec<WaitingQuery>, model: &Model) {
    let mut texts: Vec<String> = batch.iter().flat_map(|it| it.texts.clone()).collect();
    texts.sort_unstable();
    texts.dedup();
    let vectors = model.embed(&texts, TextRole::Query);
    for WaitingQuery { texts: own, answer } in batch {
        let places = own.iter().filter_map(|text| texts.binary_search(text).ok());
        // A query that was given up in the meantime needs no answer.
        let _ = answer.send(places.map(|at| vectors[at].clone()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Local;

    #[tokio::test]
    async fn concurrent_queries_get_the_same_vectors_as_single_ones() {
        let local = Arc::new(Local::built_in());
        let texts = |number: usize| {
            let kind = number % 5;
            vec![format!("request {kind}"), format!("its step {kind}")]
        };
        let alone = local.model().await.unwrap().clone();
        let mut requests = tokio::task::JoinSet::new();
        for number in 0..40 {
            let (local, texts) = (local.clone(), texts(number));
            requests.spawn(async move { (number, local.embed(texts, TextRole::Query).await) });
        }
        while let Some(request) = requests.join_next().await {
            let (number, vectors) = request.unwrap();
            assert_eq!(
                vectors.unwrap(),
                alone.embed(&texts(number), TextRole::Query)
            );
        }
    }
}
