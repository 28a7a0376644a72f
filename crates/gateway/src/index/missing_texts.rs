//! The texts that have no vector yet, in the order in which they are embedded: those that searches ask
//! for, then the others as the catalog has them.

use std::collections::{HashMap, VecDeque};

use kitbag_embedding::texts_at_once;
use kitbag_store::TextHash;

use super::requested_texts::RequestedTexts;

/// Texts that are embedded before searches are heard again: a sixth of a second on two cores, and one
/// request to a service.
const BATCH: usize = 64;

pub(super) struct MissingTexts {
    in_catalog_order: VecDeque<TextHash>,
    /// Those that no turn has had yet.
    left: HashMap<TextHash, String>,
}

impl MissingTexts {
    pub(super) fn new(texts: Vec<(TextHash, String)>) -> Self {
        Self {
            in_catalog_order: texts.iter().map(|(hash, _)| *hash).collect(),
            left: texts.into_iter().collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Takes out the texts of the next turn; none if nothing is missing any more.
    pub(super) fn next_batch(&mut self, asked: &RequestedTexts) -> Vec<(TextHash, String)> {
        let mut next =
            asked.next_batch(requested_batch_size(), |text| self.left.contains_key(text));
        if next.is_empty() {
            next = self.next_in_catalog();
        }
        let taken = next.iter().filter_map(|hash| self.left.remove_entry(hash));
        taken.collect()
    }

    fn next_in_catalog(&mut self) -> Vec<TextHash> {
        let Self {
            in_catalog_order,
            left,
        } = self;
        let next = std::iter::from_fn(|| in_catalog_order.pop_front());
        let next = next.filter(|text| left.contains_key(text));
        next.take(BATCH).collect()
    }
}

/// Texts that searches ask for are embedded in turns that are as short as the cores allow, because the nearest tools
/// matter most: the first ten by words have the right one for three quarters of the requests for which
/// the first sixty-four have it.
fn requested_batch_size() -> usize {
    BATCH.min(texts_at_once())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: usize) -> TextHash {
        TextHash::for_text(&number.to_string())
    }

    fn missing(count: usize) -> MissingTexts {
        let texts = (0..count).map(|number| (hash(number), number.to_string()));
        MissingTexts::new(texts.collect())
    }

    fn numbers(taken: Vec<(TextHash, String)>) -> Vec<usize> {
        let texts = taken.into_iter().map(|(_, text)| text.parse());
        texts.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn texts_that_a_search_asks_for_are_taken_next_and_the_others_as_the_catalog_has_them() {
        let (mut missing, asked) = (missing(2 * BATCH + 3), RequestedTexts::default());
        let _run = asked.begin_run();
        let first: Vec<usize> = (0..BATCH).collect();
        assert_eq!(numbers(missing.next_batch(&asked)), first);

        let late = [2 * BATCH + 1, 5, BATCH];
        let _search = asked.request(late.map(hash).to_vec());
        let of_search = [2 * BATCH + 1, BATCH];
        assert_eq!(
            numbers(missing.next_batch(&asked)),
            of_search,
            "5 was embedded"
        );

        let others: Vec<usize> = (BATCH + 1..2 * BATCH + 1).collect();
        assert_eq!(numbers(missing.next_batch(&asked)), others);
        assert_eq!(numbers(missing.next_batch(&asked)), [2 * BATCH + 2]);
        assert!(missing.next_batch(&asked).is_empty() && missing.is_empty());
    }

    #[test]
    fn searches_that_ask_for_ever_more_take_no_text_twice_and_leave_none_out() {
        let (mut missing, asked) = (missing(5 * BATCH), RequestedTexts::default());
        let _run = asked.begin_run();
        let mut taken = Vec::new();
        while !missing.is_empty() {
            drop(asked.request((0..5 * BATCH).rev().step_by(7).map(hash).collect()));
            taken.extend(numbers(missing.next_batch(&asked)));
        }
        taken.sort_unstable();
        assert_eq!(taken, (0..5 * BATCH).collect::<Vec<_>>());
    }
}
