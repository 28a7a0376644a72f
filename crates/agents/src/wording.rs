//! The wordings for a thing: its name and its aliases.

use std::collections::{BTreeMap, BTreeSet};

use crate::words::{significant_words, stem};

/// A name or an alias.
#[derive(Debug)]
pub(crate) struct Wording {
    pub(crate) key: String,
    pub(crate) words: Vec<String>,
    /// The things that it may mean, likeliest first. Empty for the name of something else that must
    /// not be confused with one of these.
    pub(crate) meant: Vec<usize>,
}

/// Joins the aliases with the same key.
pub(crate) fn wordings(names: Vec<(String, Vec<usize>)>, ignored_words: &[&str]) -> Vec<Wording> {
    let single: BTreeSet<String> = names
        .iter()
        .flat_map(|(key, _)| key.split(' ').map(stem))
        .collect();
    let mut wordings: Vec<Wording> = Vec::new();
    for (key, meant) in names {
        match wordings.iter_mut().find(|wording| wording.key == key) {
            Some(wording) => wording.add(meant),
            None => {
                let words = significant_words(&key, ignored_words, |word| single.contains(word));
                wordings.push(Wording { words, key, meant });
            }
        }
    }
    wordings
}

impl Wording {
    fn add(&mut self, meant: Vec<usize>) {
        for at in meant {
            if !self.meant.contains(&at) {
                self.meant.push(at);
            }
        }
    }
}

/// Counts the things that use each word.
pub(crate) fn count_uses(wordings: &[Wording]) -> BTreeMap<String, usize> {
    let mut users: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for wording in wordings {
        for word in &wording.words {
            users.entry(word).or_default().extend(&wording.meant);
        }
    }
    let users = users.into_iter();
    users
        .map(|(word, users)| (word.to_owned(), users.len()))
        .collect()
}
