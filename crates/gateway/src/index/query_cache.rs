//! The vectors of the latest intents, for clients that ask the same again.

use std::collections::HashMap;

/// Longer texts are rarely said twice.
const LONGEST: usize = 1_024;
/// The number of intents that a generation holds.
const GENERATION: usize = 512;

/// Keeps two generations: an intent that no client asked for while a whole generation came in is
/// forgotten.
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
    fn what_is_asked_again_stays_and_the_rest_goes() {
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
    fn long_texts_are_not_remembered() {
        let mut intents = QueryCache::default();
        let long = "x".repeat(LONGEST + 1);
        intents.put(&long, 1);
        assert_eq!(intents.get(&long), None);
    }
}
