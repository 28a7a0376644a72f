//! The best match first. The registry only looks for letters in names, so what it finds is
//! weighed here by all that an entry says of itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::entry::{Entry, Status};
use crate::name::EntryName;

/// Each server once, in the order of how well it fits; what was given up comes last, and what was
/// taken back not at all.
pub(crate) fn rank(entries: Vec<Entry>, text: &str) -> Vec<Entry> {
    let wanted = words(text);
    let mut entries = latest(entries);
    entries.retain(|entry| entry.status != Status::Deleted);
    entries.sort_by_cached_key(|entry| {
        (
            entry.status == Status::Deprecated,
            Reverse(score(entry, &wanted)),
            entry.server.name.clone(),
        )
    });
    entries
}

/// Registries that do not know the question for the latest answer with every version.
fn latest(entries: Vec<Entry>) -> Vec<Entry> {
    let mut known: BTreeMap<EntryName, Entry> = BTreeMap::new();
    for entry in entries {
        match known.get(&entry.server.name) {
            Some(other) if other.is_latest || !entry.is_latest => {}
            _ => drop(known.insert(entry.server.name.clone(), entry)),
        }
    }
    known.into_values().collect()
}

/// How many of the words it has counts most, then where they are.
fn score(entry: &Entry, wanted: &[String]) -> usize {
    let server = &entry.server;
    let short = words(server.name.short());
    let fields = [
        (if short == wanted { 16 } else { 8 }, short),
        (6, words(server.title.as_deref().unwrap_or_default())),
        (3, words(server.name.owner())),
        (4, words(&server.description)),
    ];
    let one = |word: &String| {
        let inside = fields.iter().map(|(weight, field)| {
            let whole = field.iter().filter(|it| *it == word).count().min(1) * weight * 2;
            let part = field
                .iter()
                .filter(|it| it.contains(word.as_str()))
                .count()
                .min(1)
                * weight;
            whole.max(part)
        });
        match inside.sum::<usize>() {
            0 => 0,
            found => found + HAS_IT,
        }
    };
    wanted.iter().map(one).sum()
}

/// More than all places together can give.
const HAS_IT: usize = 100;

pub(crate) fn words(text: &str) -> Vec<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries as `name: description`, with `!` before one that was given up and `x` before one
    /// that was taken back.
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
            Entry::read(entry.to_string().as_bytes()).unwrap()
        });
        let ranked = rank(entries.collect(), text);
        let names: Vec<_> = ranked
            .iter()
            .map(|entry| entry.server.name.as_str())
            .collect();
        assert_eq!(names.join(" > "), expected);
    }

    #[test]
    fn the_server_called_so_beats_those_that_mention_it() {
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
    fn what_was_given_up_comes_last_and_what_was_taken_back_not_at_all() {
        check(
            "! a/git: Git\nx b/git: Git\nc/gitter: Chat\nc/gitter: Chat",
            "git",
            "c/gitter > a/git",
        );
    }
}
