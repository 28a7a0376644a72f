//! The texts that searches request while vectors are missing: they are embedded before all others.
//!
//! A search waits for them briefly, and they stay requested after it gives up. Concurrent searches
//! share the embedder's batches, each with its nearest tools first.

use std::collections::HashSet;
use std::sync::Mutex;

use kitbag_domain::sync::lock;
use kitbag_store::TextHash;
use tokio::sync::oneshot;

/// The number of searches to track. Within a search's wait, two cores embed a quarter of the texts
/// that so many searches request, which is enough for the nearest tools of each. Further searches
/// do not wait.
const MOST_SEARCHES: usize = 8;

#[derive(Default)]
pub(super) struct RequestedTexts(Mutex<RequestState>);

#[derive(Default)]
struct RequestState {
    /// The number of runs that compute the vectors of served tools.
    runs: usize,
    searches: Vec<WaitingSearch>,
}

struct WaitingSearch {
    /// The texts whose vectors are not published yet, nearest tools first.
    texts: Vec<TextHash>,
    /// Dropped when all of them are published, or when the run ends without them.
    waits: oneshot::Sender<()>,
}

/// A run that computes vectors. Without one, no search waits.
pub(super) struct EmbeddingRun<'a>(&'a RequestedTexts);

impl RequestedTexts {
    pub(super) fn begin_run(&self) -> EmbeddingRun<'_> {
        lock(&self.0).runs += 1;
        EmbeddingRun(self)
    }

    pub(super) fn has_run(&self) -> bool {
        lock(&self.0).runs > 0
    }

    /// Returns a receiver that ends when there is nothing more to wait for; `None` if no run
    /// computes vectors, or if too many searches wait already.
    pub(super) fn request(&self, texts: Vec<TextHash>) -> Option<oneshot::Receiver<()>> {
        let mut state = lock(&self.0);
        if state.runs == 0 || !state.make_room() {
            return None;
        }
        let (waits, end) = oneshot::channel();
        state.searches.push(WaitingSearch { texts, waits });
        Some(end)
    }

    /// Returns up to `count` texts to embed next, out of those for which `is_left` is true.
    /// Searches that have given up come after waiting ones.
    pub(super) fn next_batch(
        &self,
        count: usize,
        is_left: impl Fn(&TextHash) -> bool,
    ) -> Vec<TextHash> {
        let state = lock(&self.0);
        let (given_up, waiting): (Vec<_>, Vec<_>) = state
            .searches
            .iter()
            .partition(|search| search.has_given_up());
        let mut texts = round_robin(&waiting, count, &is_left);
        if texts.is_empty() {
            texts = round_robin(&given_up, count, &is_left);
        }
        texts
    }

    /// True if a search requested one of these texts.
    pub(super) fn contains_any<'a>(&self, texts: impl IntoIterator<Item = &'a TextHash>) -> bool {
        let state = lock(&self.0);
        let requested: HashSet<&TextHash> =
            state.searches.iter().flat_map(|it| &it.texts).collect();
        texts.into_iter().any(|text| requested.contains(text))
    }

    /// Removes published texts; searches without remaining texts continue.
    pub(super) fn remove_published(&self, texts: &HashSet<TextHash>) {
        let mut state = lock(&self.0);
        for search in &mut state.searches {
            search.texts.retain(|text| !texts.contains(text));
        }
        state.searches.retain(|search| !search.texts.is_empty());
    }
}

impl RequestState {
    /// Makes room for one more search, by dropping the oldest that has given up, but never a
    /// waiting one.
    fn make_room(&mut self) -> bool {
        if self.searches.len() < MOST_SEARCHES {
            return true;
        }
        let given_up = self.searches.iter().position(WaitingSearch::has_given_up);
        given_up.map(|at| self.searches.remove(at)).is_some()
    }
}

impl WaitingSearch {
    fn has_given_up(&self) -> bool {
        self.waits.is_closed()
    }
}

impl Drop for EmbeddingRun<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.runs -= 1;
        if state.runs == 0 {
            state.searches.clear();
        }
    }
}

/// Returns the texts of the nearest tool of each search, then of the next nearest, and so on,
/// without duplicates.
fn round_robin(
    searches: &[&WaitingSearch],
    count: usize,
    is_left: &impl Fn(&TextHash) -> bool,
) -> Vec<TextHash> {
    let most = searches.iter().map(|search| search.texts.len()).max();
    let ranks = 0..most.unwrap_or_default();
    let texts = ranks.flat_map(|rank| searches.iter().filter_map(move |it| it.texts.get(rank)));
    let mut seen = HashSet::new();
    let texts = texts.filter(|text| is_left(text) && seen.insert(**text));
    texts.take(count).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &str) -> Vec<TextHash> {
        names.split(' ').map(TextHash::for_text).collect()
    }

    fn all(_: &TextHash) -> bool {
        true
    }

    #[test]
    fn concurrent_searches_get_their_nearest_first_and_each_text_is_embedded_once() {
        let requested = RequestedTexts::default();
        let _run = requested.begin_run();
        let _one = requested.request(texts("a b c d")).unwrap();
        let _other = requested.request(texts("b e")).unwrap();
        assert_eq!(requested.next_batch(9, all), texts("a b e c d"));
        assert_eq!(requested.next_batch(3, all), texts("a b e"));
        let is_left = |text: &TextHash| *text != TextHash::for_text("a");
        assert_eq!(requested.next_batch(2, is_left), texts("b e"));
    }

    #[test]
    fn a_search_continues_when_all_its_texts_are_published() {
        let requested = RequestedTexts::default();
        let _run = requested.begin_run();
        let mut end = requested.request(texts("a b")).unwrap();
        assert!(requested.contains_any(&texts("b x")) && !requested.contains_any(&texts("x")));
        requested.remove_published(&texts("a x").into_iter().collect());
        assert_eq!(end.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        requested.remove_published(&texts("b").into_iter().collect());
        assert_eq!(end.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(requested.next_batch(9, all), []);
    }

    #[test]
    fn the_texts_of_a_search_that_gave_up_come_after_those_that_another_waits_for() {
        let requested = RequestedTexts::default();
        let _run = requested.begin_run();
        drop(requested.request(texts("a b")));
        assert_eq!(requested.next_batch(9, all), texts("a b"));
        let _waiting = requested.request(texts("c"));
        assert_eq!(requested.next_batch(9, all), texts("c"));
    }

    #[test]
    fn few_searches_wait_and_those_that_gave_up_are_dropped() {
        let requested = RequestedTexts::default();
        let _run = requested.begin_run();
        let mut waiting: Vec<_> = (0..MOST_SEARCHES)
            .map(|_| requested.request(texts("a")).unwrap())
            .collect();
        assert!(requested.request(texts("b")).is_none());
        waiting.pop();
        assert!(requested.request(texts("b")).is_some());
    }

    #[test]
    fn no_search_waits_where_nothing_is_computed() {
        let requested = RequestedTexts::default();
        assert!(!requested.has_run() && requested.request(texts("a")).is_none());
        let run = requested.begin_run();
        let mut end = requested.request(texts("a")).unwrap();
        drop(run);
        assert_eq!(end.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert!(!requested.has_run());
    }
}
