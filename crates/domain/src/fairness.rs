//! Chooses the caller that gives way when something that all callers share is full: the caller that
//! has most of it.

use std::collections::HashMap;
use std::hash::Hash;

/// The holder of most, by the weight of everything that is held.
pub fn largest_holder<H: Hash + Eq>(held: impl Iterator<Item = (H, usize)>) -> Option<H> {
    let mut sums: HashMap<H, usize> = HashMap::new();
    for (holder, weight) in held {
        *sums.entry(holder).or_default() += weight;
    }
    sums.into_iter()
        .max_by_key(|(_, sum)| *sum)
        .map(|(holder, _)| holder)
}

/// The entry that gives way: of the holder of most, the one that was seen least recently.
pub fn entry_to_evict<K, H: Hash + Eq, T: Ord>(
    entries: impl Iterator<Item = (K, H, T)> + Clone,
) -> Option<K> {
    let payer = largest_holder(entries.clone().map(|(_, holder, _)| (holder, 1)))?;
    let theirs = entries.filter(|(_, holder, _)| *holder == payer);
    theirs
        .min_by(|one, other| one.2.cmp(&other.2))
        .map(|(entry, _, _)| entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_with_most_in_all_gives_way() {
        assert_eq!(
            largest_holder([("a", 2), ("b", 3), ("a", 2)].into_iter()),
            Some("a")
        );
        assert_eq!(largest_holder(std::iter::empty::<(&str, usize)>()), None);
    }
}
