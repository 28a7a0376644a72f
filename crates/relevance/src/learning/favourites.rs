//! The tools that each credential uses most, regardless of the request. A use counts half after a
//! month.

use std::collections::HashMap;
use std::sync::Arc;

use kitbag_domain::{KeyId, Timestamp};

const HALF_LIFE: f64 = 30.0 * 86_400_000.0;
/// Below this many uses, it is unknown how few tools a credential needs.
const MIN_USES: f64 = 20.0;
/// The share of uses that the shown tools have to cover.
const COVERED: f64 = 0.95;

/// An immutable snapshot.
#[derive(Debug, Clone, Default)]
pub struct Favourites {
    by_credential: HashMap<Option<KeyId>, Arc<HashMap<String, f64>>>,
}

impl Favourites {
    /// Returns a snapshot with more uses.
    pub fn with_uses(
        &self,
        uses: impl Iterator<Item = (Option<KeyId>, String, Timestamp)>,
    ) -> Self {
        let mut favourites = self.clone();
        for (credential, tool, at) in uses {
            let tools = favourites.by_credential.entry(credential).or_default();
            let weight = Arc::make_mut(tools).entry(tool).or_default();
            *weight += use_weight(at);
        }
        favourites
    }

    /// Returns the tools of a credential, most used first, then the tools of the tenant's other
    /// credentials. Empty for a credential without uses, because the others' use says little about
    /// it.
    pub fn tools_for(&self, credential: Option<&KeyId>) -> Vec<&str> {
        let credential = credential.cloned();
        let Some(own) = self.by_credential.get(&credential) else {
            return Vec::new();
        };
        let own = rank_by_weight(own.iter());
        let others = self
            .by_credential
            .iter()
            .filter(|(it, _)| **it != credential);
        let others = rank_by_weight(others.flat_map(|(_, tools)| tools.iter()));
        let mut names: Vec<&str> = own.iter().map(|(tool, _)| *tool).collect();
        let more = others.iter().map(|(tool, _)| *tool);
        let more: Vec<&str> = more.filter(|tool| !names.contains(tool)).collect();
        names.extend(more);
        names
    }

    /// Returns how many of its most used tools are enough for a credential, once that is known.
    pub fn sufficient_count(&self, credential: Option<&KeyId>, now: Timestamp) -> Option<usize> {
        let tools = rank_by_weight(self.by_credential.get(&credential.cloned())?.iter());
        let all: f64 = tools.iter().map(|(_, weight)| weight).sum();
        if all < MIN_USES * use_weight(now) {
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

/// The weight of a use relative to a fixed day, so that weights can be added across times.
fn use_weight(at: Timestamp) -> f64 {
    /// 2026-01-01. The weights fit their type for a century.
    const COUNTED_FROM: f64 = 1_767_225_600_000.0;
    ((at.0 as f64 - COUNTED_FROM) / HALF_LIFE).exp2()
}

/// Returns the tools by descending weight.
fn rank_by_weight<'a>(tools: impl Iterator<Item = (&'a String, &'a f64)>) -> Vec<(&'a str, f64)> {
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
        Favourites::default().with_uses(uses)
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
            let found = favourites.tools_for(key(credential).as_ref()).join(" ");
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
            assert_eq!(
                favourites(uses).sufficient_count(None, NOW),
                expected,
                "{uses:?}"
            );
        }
    }
}
