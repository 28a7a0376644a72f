//! Sorts entries by how well they match. The registry only searches for letters in names, so its
//! results are ranked here by all fields of an entry.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::entry::{EntryStatus, RegistryEntry};
use crate::name::EntryName;

/// Returns each server once, best match first. Deprecated servers come last, and deleted ones are
/// omitted.
pub(crate) fn rank_entries(entries: Vec<RegistryEntry>, text: &str) -> Vec<RegistryEntry> {
    let wanted = split_words(text);
    let mut entries = latest_versions(entries);
    entries.retain(|entry| entry.status != EntryStatus::Deleted);
    entries.sort_by_cached_key(|entry| {
        (
            entry.status == EntryStatus::Deprecated,
            Reverse(entry_score(entry, &wanted)),
            entry.server.name.clone(),
        )
    });
    entries
}

/// Keeps one version of each server. Registries without the parameter for the latest version return
/// every version.
fn latest_versions(entries: Vec<RegistryEntry>) -> Vec<RegistryEntry> {
    let mut known: BTreeMap<EntryName, RegistryEntry> = BTreeMap::new();
    for entry in entries {
        match known.get(&entry.server.name) {
            Some(other) if other.is_latest || !entry.is_latest => {}
            _ => drop(known.insert(entry.server.name.clone(), entry)),
        }
    }
    known.into_values().collect()
}

/// The number of matched words counts most, then the fields in which they are.
fn entry_score(entry: &RegistryEntry, wanted: &[String]) -> usize {
    let server = &entry.server;
    let short = split_words(server.name.short());
    // The weights reflect how much a word in that field says about the server: its own name most,
    // the name of its owner least.
    let fields = [
        (if short == wanted { 16 } else { 8 }, short),
        (6, split_words(server.title.as_deref().unwrap_or_default())),
        (3, split_words(server.name.owner())),
        (4, split_words(&server.description)),
    ];
    wanted.iter().map(|word| word_score(word, &fields)).sum()
}

fn word_score(word: &str, fields: &[(usize, Vec<String>)]) -> usize {
    let scores = fields
        .iter()
        .map(|(weight, field)| field_score(word, *weight, field));
    match scores.sum::<usize>() {
        0 => 0,
        found => found + WORD_BONUS,
    }
}

/// A whole word counts twice as much as a part of one.
fn field_score(word: &str, weight: usize, field: &[String]) -> usize {
    if field.iter().any(|other| other == word) {
        2 * weight
    } else if field.iter().any(|other| other.contains(word)) {
        weight
    } else {
        0
    }
}

/// More than the scores of all fields together.
const WORD_BONUS: usize = 100;

pub(crate) fn split_words(text: &str) -> Vec<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries are written as `name: description`, with `!` before a deprecated one and `x` before
    /// a deleted one.
    #[track_caller]
    fn check(entries: &str, text: &str, expected: &str) {
        let entries = entries.lines().map(|line| {
            let (status, line) = match line.trim().split_once(' ') {
                Some(("!", rest)) => ("deprecated", rest),
                Some(("x", rest)) => ("deleted", rest),
                _ => ("active", line.trim()),
            };
            let (name, description) = line.split_once(": ").unwrap();
            let entry = serde_json::json!({
                "server": { "name": name, "description": description },
                "_meta": { "io.modelcontextprotocol.registry/official": { "status": status } },
            });
            RegistryEntry::from_json(entry.to_string().as_bytes()).unwrap()
        });
        let ranked = rank_entries(entries.collect(), text);
        let names: Vec<_> = ranked
            .iter()
            .map(|entry| entry.server.name.as_str())
            .collect();
        assert_eq!(names.join(" > "), expected);
    }

    #[test]
    fn a_server_with_the_name_beats_those_that_mention_it() {
        check(
            "a/weatherly: Horoscopes\nb/clock: Time, and the weather\nc/weather: Forecasts\nweather.com/x: Other",
            "weather",
            "c/weather > a/weatherly > b/clock > weather.com/x",
        );
    }

    #[test]
    fn all_words_beat_one_of_them() {
        check(
            "a/search: Finds things\nb/brave: Search the web with Brave\nc/brave-search: Official",
            "brave search",
            "c/brave-search > b/brave > a/search",
        );
    }

    #[test]
    fn deprecated_servers_come_last_and_deleted_ones_are_omitted() {
        check(
            "! a/git: Git\nx b/git: Git\nc/gitter: Chat\nc/gitter: Chat",
            "git",
            "c/gitter > a/git",
        );
    }
}
