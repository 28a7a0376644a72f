//! The vectors of the latest queries, for clients that repeat a query.

use std::collections::HashMap;

/// Longer texts are rarely repeated.
const LONGEST: usize = 1_024;
/// The number of queries per generation.
const GENERATION: usize = 512;

/// Keeps two generations: a query that is not repeated during a whole generation is dropped.
pub(super) struct QueryCache<T> {
    young: HashMap<String, T>,
    old: HashMap<String, T>,
}

impl<T: Clone> QueryCache<T> {
    pub(super) fn get(&mut self, text: &str) -> Option<T> {
        if let Some(known) = self.young.get(text) {
            return Some(known.clone());
        }
        let (text, known) = self.old.remove_entry(text)?;
        self.put(&text, known.clone());
        Some(known)
    }

    pub(super) fn put(&mut self, text: &str, vectors: T) {
        if text.len() > LONGEST {
            return;
        }
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(text.to_owned(), vectors);
    }
}

impl<T> Default for QueryCache<T> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_queries_stay_and_others_are_dropped() {
        let mut intents = QueryCache::default();
        intents.put("often", 0);
        intents.put("once", 0);
        for number in 0..10 * GENERATION {
            intents.put(&number.to_string(), number);
            assert_eq!(intents.get("often"), Some(0));
        }
        assert_eq!(intents.get("once"), None);
        assert!(intents.young.len() + intents.old.len() <= 2 * GENERATION);
    }

    #[test]
    fn long_texts_are_not_cached() {
        let mut intents = QueryCache::default();
        let long = "x".repeat(LONGEST + 1);
        intents.put(&long, 1);
        assert_eq!(intents.get(&long), None);
    }
}
