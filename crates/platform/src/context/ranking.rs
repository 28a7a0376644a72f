//! Finds the facts that answer a question best: by meaning and by words, and of two that do so about equally
//! the more trusted one comes first.

use std::cmp::Reverse;
use std::collections::HashMap;

use kitbag_store::{ContextVector, NewFact};

use super::fact::text;

/// The part of the meaning; the rest is that of the words. Names and numbers are words that a model
/// hardly knows.
const PART_OF_MEANING: f32 = 0.6;

/// Facts below this have nothing to do with the question: neither a rare word nor the meaning is
/// shared.
const LEAST: f32 = 0.2;

/// The same where words alone are compared: most questions have a few words that no fact has.
const LEAST_BY_WORDS: f32 = 0.1;

/// Taken away for each tier below the first: less than what tells a good answer from a poor one.
const FOR_EACH_TIER: f32 = 0.04;

/// A question in plain words.
#[derive(Debug, Clone)]
pub(super) struct AskedQuestion<'a> {
    pub(super) words: &'a str,
    /// Absent if no vector could be made of it.
    pub(super) meaning: Option<ContextVector>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RankedFact<'a> {
    pub(super) fact: &'a NewFact,
    /// From 0 to 1; absent if no question was asked.
    pub(super) relevance: Option<f32>,
}

/// Returns all facts: the most trusted first, of equals the newest.
pub(super) fn by_authority(facts: &[NewFact]) -> Vec<RankedFact<'_>> {
    let unranked = facts.iter().map(|fact| RankedFact {
        fact,
        relevance: None,
    });
    let mut ranked: Vec<_> = unranked.collect();
    ranked.sort_by_key(|it| trust(it.fact));
    ranked
}

/// The smaller it is, the more the fact is to be trusted.
pub(super) fn trust(fact: &NewFact) -> (i64, Reverse<i64>) {
    (fact.authority, Reverse(fact.observed_at.0))
}

/// Returns the facts that have to do with the question, the best first.
pub(super) fn by_relevance<'a>(
    asked: &AskedQuestion<'_>,
    facts: &'a [NewFact],
) -> Vec<RankedFact<'a>> {
    let question = QuestionWords::of(asked.words);
    let shared: Vec<u64> = facts.iter().map(|it| question.shared(&text(it))).collect();
    let weights = question.weights(&shared);
    let mut ranked: Vec<RankedFact<'a>> = facts
        .iter()
        .zip(shared)
        .filter_map(|(fact, shared)| {
            let relevance = Some(relevance(asked, fact, weights.share(shared))?);
            Some(RankedFact { fact, relevance })
        })
        .collect();
    ranked.sort_by(|one, other| {
        let order = score(other).total_cmp(&score(one));
        order.then_with(|| trust(one.fact).cmp(&trust(other.fact)))
    });
    ranked
}

fn score(ranked: &RankedFact<'_>) -> f32 {
    let below = (ranked.fact.authority - 1).clamp(0, 3) as f32;
    ranked.relevance.unwrap_or_default() - FOR_EACH_TIER * below
}

/// Returns nothing for a fact that has nothing to do with the question.
fn relevance(asked: &AskedQuestion<'_>, fact: &NewFact, shared_words: f32) -> Option<f32> {
    let pair = asked.meaning.as_ref().zip(fact.meaning.as_ref());
    let (relevance, least) = match pair.filter(|(asked, fact)| asked.model == fact.model) {
        Some((asked, fact)) => {
            let alike = cosine(&asked.vector, &fact.vector).max(0.0);
            let both = PART_OF_MEANING * alike + (1.0 - PART_OF_MEANING) * shared_words;
            (both, LEAST)
        }
        None => (shared_words, LEAST_BY_WORDS),
    };
    (relevance >= least).then_some(relevance)
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product: f32 = one.iter().zip(other).map(|(a, b)| a * b).sum();
    let lengths = (square(one) * square(other)).sqrt();
    if lengths > 0.0 {
        product / lengths
    } else {
        0.0
    }
}

fn square(vector: &[f32]) -> f32 {
    vector.iter().map(|number| number * number).sum()
}

/// The words of a question, each with its number. A set of them is the bits of one integer.
struct QuestionWords(HashMap<String, usize>);

impl QuestionWords {
    /// Takes the first words; a question that has more is told apart by these.
    fn of(question: &str) -> Self {
        let mut numbers = HashMap::new();
        for word in words(&question.to_lowercase()).take(u64::BITS as usize) {
            let next = numbers.len();
            numbers.entry(word.to_owned()).or_insert(next);
        }
        Self(numbers)
    }

    /// Returns the words that the text has.
    fn shared(&self, text: &str) -> u64 {
        let text = text.to_lowercase();
        let numbers = words(&text).filter_map(|word| self.0.get(word));
        numbers.fold(0, |shared, number| shared | 1 << number)
    }

    fn weights(&self, shared: &[u64]) -> WordWeights {
        let numbers = 0..self.0.len();
        WordWeights(numbers.map(|number| weight(number, shared)).collect())
    }
}

/// Returns the words of a text. A single letter says nothing.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(1).is_some())
}

/// The weight of each word of a question: the fewer facts have it, the more it counts. A word that no fact has counts
/// as well, or a question about something else would seem to be answered by its last common word.
struct WordWeights(Vec<f32>);

impl WordWeights {
    /// Returns the share of the question that these words are, from 0 to 1.
    fn share(&self, words: u64) -> f32 {
        let sum: f32 = self.0.iter().sum();
        let numbered = self.0.iter().enumerate();
        let shared = numbered.filter(|(number, _)| words >> number & 1 == 1);
        let shared: f32 = shared.map(|(_, weight)| weight).sum();
        if sum > 0.0 { shared / sum } else { 0.0 }
    }
}

fn weight(number: usize, shared: &[u64]) -> f32 {
    let having = shared
        .iter()
        .filter(|words| *words >> number & 1 == 1)
        .count();
    (1.0 + shared.len() as f32 / having.max(1) as f32).ln()
}
