//! The texts without a vector, in embedding order: first the texts that searches request, then the
//! others in catalog order.

use std::collections::{HashMap, VecDeque};

use kitbag_embedding::texts_at_once;
use kitbag_store::TextHash;

use super::requested_texts::RequestedTexts;

/// Texts that are embedded before new requests are considered: a sixth of a second on two cores,
/// and one request to a service.
const BATCH: usize = 64;

pub(super) struct MissingTexts {
    in_catalog_order: VecDeque<TextHash>,
    /// Texts that were in no batch yet.
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

    /// Takes the texts of the next batch; empty if nothing is missing.
    pub(super) fn next_batch(&mut self, requested: &RequestedTexts) -> Vec<(TextHash, String)> {
        let mut next =
            requested.next_batch(requested_batch_size(), |text| self.left.contains_key(text));
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

/// Batches of requested texts are as small as the cores allow, because the nearest tools matter
/// most: for three quarters of the queries whose right tool is among the first sixty-four by
/// keywords, it is among the first ten.
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
    fn requested_texts_come_first_and_the_others_in_catalog_order() {
        let (mut missing, requested) = (missing(2 * BATCH + 3), RequestedTexts::default());
        let _run = requested.begin_run();
        let first: Vec<usize> = (0..BATCH).collect();
        assert_eq!(numbers(missing.next_batch(&requested)), first);

        let late = [2 * BATCH + 1, 5, BATCH];
        let _search = requested.request(late.map(hash).to_vec());
        let of_search = [2 * BATCH + 1, BATCH];
        assert_eq!(
            numbers(missing.next_batch(&requested)),
            of_search,
            "5 was embedded"
        );

        let others: Vec<usize> = (BATCH + 1..2 * BATCH + 1).collect();
        assert_eq!(numbers(missing.next_batch(&requested)), others);
        assert_eq!(numbers(missing.next_batch(&requested)), [2 * BATCH + 2]);
        assert!(missing.next_batch(&requested).is_empty() && missing.is_empty());
    }

    #[test]
    fn every_text_is_taken_exactly_once() {
        let (mut missing, requested) = (missing(5 * BATCH), RequestedTexts::default());
        let _run = requested.begin_run();
        let mut taken = Vec::new();
        while !missing.is_empty() {
            drop(requested.request((0..5 * BATCH).rev().step_by(7).map(hash).collect()));
            taken.extend(numbers(missing.next_batch(&requested)));
        }
        taken.sort_unstable();
        assert_eq!(taken, (0..5 * BATCH).collect::<Vec<_>>());
    }
}
