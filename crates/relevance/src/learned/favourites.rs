//! The tools that each credential of a tenant uses, whatever for. A use counts half after a month.

use std::collections::HashMap;
use std::sync::Arc;

use kitbag_domain::{KeyId, Timestamp};

/// The weight of a use halves in this time.
const HALF_LIFE: f64 = 30.0 * 86_400_000.0;
/// Uses before anything is said of how few tools a credential needs.
const LEAST_USES: f64 = 20.0;
/// The share of its uses that the shown tools have to cover.
const COVERED: f64 = 0.95;

/// A snapshot; further uses make another one.
#[derive(Debug, Clone, Default)]
pub struct Favourites {
    by_credential: HashMap<Option<KeyId>, Arc<HashMap<String, f64>>>,
}

impl Favourites {
    /// The tools with the uses that came in since.
    pub fn with(&self, uses: impl Iterator<Item = (Option<KeyId>, String, Timestamp)>) -> Self {
        let mut favourites = self.clone();
        for (credential, tool, at) in uses {
            let tools = favourites.by_credential.entry(credential).or_default();
            let weight = Arc::make_mut(tools).entry(tool).or_default();
            *weight += weight_of(at);
        }
        favourites
    }

    /// The tools of a credential, the most used first, and then those of the others of its tenant. A
    /// credential that has used nothing has none: what others use says little about its work.
    pub fn of(&self, credential: Option<&KeyId>) -> Vec<&str> {
        let credential = credential.cloned();
        let Some(own) = self.by_credential.get(&credential) else {
            return Vec::new();
        };
        let own = ranked(own.iter());
        let others = self
            .by_credential
            .iter()
            .filter(|(it, _)| **it != credential);
        let others = ranked(others.flat_map(|(_, tools)| tools.iter()));
        let mut names: Vec<&str> = own.iter().map(|(tool, _)| *tool).collect();
        let more = others.iter().map(|(tool, _)| *tool);
        let more: Vec<&str> = more.filter(|tool| !names.contains(tool)).collect();
        names.extend(more);
        names
    }

    /// The number of its most used tools that a credential gets along with, once that is known.
    pub fn enough(&self, credential: Option<&KeyId>, now: Timestamp) -> Option<usize> {
        let tools = ranked(self.by_credential.get(&credential.cloned())?.iter());
        let all: f64 = tools.iter().map(|(_, weight)| weight).sum();
        if all < LEAST_USES * weight_of(now) {
            return None;
        }
        let mut covered = 0.0;
        let enough = tools.iter().position(|(_, weight)| {
            covered += weight;
            covered >= COVERED * all
        });
        enough.map(|last| last + 1)
    }
}

/// The weight of a use, counted from a fixed day, so that weights of all times can be added up.
fn weight_of(at: Timestamp) -> f64 {
    /// 2026-01-01. A century later the weights still fit their type.
    const COUNTED_FROM: f64 = 1_767_225_600_000.0;
    ((at.0 as f64 - COUNTED_FROM) / HALF_LIFE).exp2()
}

/// The tools, the most used first.
fn ranked<'a>(tools: impl Iterator<Item = (&'a String, &'a f64)>) -> Vec<(&'a str, f64)> {
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for (tool, weight) in tools {
        *sums.entry(tool).or_default() += weight;
    }
    let mut ranked: Vec<(&str, f64)> = sums.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;
    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// Uses as `key:tool×count@days ago`.
    fn favourites(uses: &[&str]) -> Favourites {
        let uses = uses.iter().flat_map(|text| {
            let (credential, rest) = text.split_once(':').unwrap();
            let (tool, rest) = rest.split_once('×').unwrap();
            let (count, days) = rest.split_once('@').unwrap();
            let at = Timestamp(NOW.0 - days.parse::<i64>().unwrap() * DAY);
            let one = (key(credential), tool.to_owned(), at);
            std::iter::repeat_n(one, count.parse().unwrap())
        });
        Favourites::default().with(uses)
    }

    fn key(name: &str) -> Option<KeyId> {
        (!name.is_empty()).then(|| KeyId(name.to_owned()))
    }

    #[test]
    fn own_tools_come_first_and_old_uses_count_less() {
        for (uses, credential, expected) in [
            (&[][..], "", ""),
            (&[":a×1@0", ":b×2@0"], "", "b a"),
            (&[":a×3@90", ":b×1@0"], "", "b a"),
            (&["k:a×1@0", "l:b×9@0", "l:c×1@0"], "k", "a b c"),
            (&["k:a×1@0", "l:b×9@0"], "", ""),
        ] {
            let favourites = favourites(uses);
            let found = favourites.of(key(credential).as_ref()).join(" ");
            assert_eq!(found, expected, "{uses:?}");
        }
    }

    #[test]
    fn few_tools_are_enough_once_the_uses_show_it() {
        for (uses, expected) in [
            (&[":a×19@0"][..], None),
            (&[":a×30@0"], Some(1)),
            (&[":a×18@0", ":b×18@0", ":c×1@0"], Some(2)),
            (&[":a×25@60"], None),
        ] {
            assert_eq!(favourites(uses).enough(None, NOW), expected, "{uses:?}");
        }
    }
}
