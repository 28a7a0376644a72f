//! Ranks facts for a question by meaning and by words. Of two about equally relevant facts, the
//! more trusted one is first.

use std::cmp::Reverse;
use std::collections::HashMap;

use kitbag_store::{ContextVector, NewFact};

use super::fact::text_to_embed;

/// The rest goes to words: embeddings represent names and numbers poorly.
const MEANING_WEIGHT: f32 = 0.6;

/// Facts below this share neither a rare word nor the meaning of the question.
const MIN_RELEVANCE: f32 = 0.2;

/// Lower, because most questions have a few words that no fact has.
const MIN_RELEVANCE_BY_WORDS: f32 = 0.1;

/// Subtracted for each tier below the first; smaller than the gap between good and poor answers.
const TIER_PENALTY: f32 = 0.04;

/// A question in plain words.
#[derive(Debug, Clone)]
pub(super) struct AskedQuestion<'a> {
    pub(super) words: &'a str,
    /// Absent if the question could not be embedded.
    pub(super) meaning: Option<ContextVector>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RankedFact<'a> {
    pub(super) fact: &'a NewFact,
    /// From 0 to 1; absent if no question was asked.
    pub(super) relevance: Option<f32>,
}

/// Returns all facts: the most trusted first, of equals the newest.
pub(super) fn rank_by_authority(facts: &[NewFact]) -> Vec<RankedFact<'_>> {
    let unranked = facts.iter().map(|fact| RankedFact {
        fact,
        relevance: None,
    });
    let mut ranked: Vec<_> = unranked.collect();
    ranked.sort_by_key(|it| trust_order(it.fact));
    ranked
}

/// Sorts the most trusted, newest fact first.
pub(super) fn trust_order(fact: &NewFact) -> (i64, Reverse<i64>) {
    (fact.authority, Reverse(fact.observed_at.0))
}

/// Returns the relevant facts, best first.
pub(super) fn rank_by_relevance<'a>(
    asked: &AskedQuestion<'_>,
    facts: &'a [NewFact],
) -> Vec<RankedFact<'a>> {
    let question = QuestionWords::from_question(asked.words);
    let shared: Vec<u64> = facts
        .iter()
        .map(|it| question.shared_words(&text_to_embed(it)))
        .collect();
    let weights = question.word_weights(&shared);
    let mut ranked: Vec<RankedFact<'a>> = facts
        .iter()
        .zip(shared)
        .filter_map(|(fact, shared)| {
            let relevance = Some(relevance(asked, fact, weights.share_of_question(shared))?);
            Some(RankedFact { fact, relevance })
        })
        .collect();
    ranked.sort_by(|one, other| {
        let order = rank_score(other).total_cmp(&rank_score(one));
        order.then_with(|| trust_order(one.fact).cmp(&trust_order(other.fact)))
    });
    ranked
}

fn rank_score(ranked: &RankedFact<'_>) -> f32 {
    let below = (ranked.fact.authority - 1).clamp(0, 3) as f32;
    ranked.relevance.unwrap_or_default() - TIER_PENALTY * below
}

/// Returns `None` for irrelevant facts.
fn relevance(asked: &AskedQuestion<'_>, fact: &NewFact, shared_words: f32) -> Option<f32> {
    let pair = asked.meaning.as_ref().zip(fact.meaning.as_ref());
    let (relevance, least) = match pair.filter(|(asked, fact)| asked.model == fact.model) {
        Some((asked, fact)) => {
            let alike = cosine(&asked.vector, &fact.vector).max(0.0);
            let both = MEANING_WEIGHT * alike + (1.0 - MEANING_WEIGHT) * shared_words;
            (both, MIN_RELEVANCE)
        }
        None => (shared_words, MIN_RELEVANCE_BY_WORDS),
    };
    (relevance >= least).then_some(relevance)
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product: f32 = one.iter().zip(other).map(|(a, b)| a * b).sum();
    let lengths = (sum_of_squares(one) * sum_of_squares(other)).sqrt();
    if lengths > 0.0 {
        product / lengths
    } else {
        0.0
    }
}

fn sum_of_squares(vector: &[f32]) -> f32 {
    vector.iter().map(|number| number * number).sum()
}

/// The numbered words of a question, so that a set of them fits the bits of one integer.
struct QuestionWords(HashMap<String, usize>);

impl QuestionWords {
    /// Only the first 64 distinct words count.
    fn from_question(question: &str) -> Self {
        let mut numbers = HashMap::new();
        for word in split_words(&question.to_lowercase()).take(u64::BITS as usize) {
            let next = numbers.len();
            numbers.entry(word.to_owned()).or_insert(next);
        }
        Self(numbers)
    }

    /// Returns the set of words that also occur in the text.
    fn shared_words(&self, text: &str) -> u64 {
        let text = text.to_lowercase();
        let numbers = split_words(&text).filter_map(|word| self.0.get(word));
        numbers.fold(0, |shared, number| shared | 1 << number)
    }

    fn word_weights(&self, shared: &[u64]) -> WordWeights {
        let numbers = 0..self.0.len();
        WordWeights(numbers.map(|number| word_weight(number, shared)).collect())
    }
}

/// Splits a text into words, without single letters.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(1).is_some())
}

/// The weight of each word of a question: the fewer facts have it, the more it counts. Words that
/// no fact has count too; otherwise a single common word could answer a question about something
/// else.
struct WordWeights(Vec<f32>);

impl WordWeights {
    /// Returns the weighted share of the question that these words make up, from 0 to 1.
    fn share_of_question(&self, words: u64) -> f32 {
        let sum: f32 = self.0.iter().sum();
        let numbered = self.0.iter().enumerate();
        let shared = numbered.filter(|(number, _)| words >> number & 1 == 1);
        let shared: f32 = shared.map(|(_, weight)| weight).sum();
        if sum > 0.0 { shared / sum } else { 0.0 }
    }
}

fn word_weight(number: usize, shared: &[u64]) -> f32 {
    let having = shared
        .iter()
        .filter(|words| *words >> number & 1 == 1)
        .count();
    (1.0 + shared.len() as f32 / having.max(1) as f32).ln()
}
