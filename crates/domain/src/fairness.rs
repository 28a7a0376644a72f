//! Chooses which caller loses something when a shared resource is full: the caller that holds most
//! of it.

use std::collections::HashMap;
use std::hash::Hash;

/// Returns the holder with the largest total weight.
pub fn largest_holder<H: Hash + Eq>(held: impl Iterator<Item = (H, usize)>) -> Option<H> {
    let mut sums: HashMap<H, usize> = HashMap::new();
    for (holder, weight) in held {
        *sums.entry(holder).or_default() += weight;
    }
    sums.into_iter()
        .max_by_key(|(_, sum)| *sum)
        .map(|(holder, _)| holder)
}

/// Returns the entry to evict: of the largest holder, the least recently used.
pub fn entry_to_evict<K, H: Hash + Eq, T: Ord>(
    entries: impl Iterator<Item = (K, H, T)> + Clone,
) -> Option<K> {
    let payer = largest_holder(entries.clone().map(|(_, holder, _)| (holder, 1)))?;
    let entries_of_payer = entries.filter(|(_, holder, _)| *holder == payer);
    entries_of_payer
        .min_by(|one, other| one.2.cmp(&other.2))
        .map(|(entry, _, _)| entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_holder_in_total_is_evicted() {
        assert_eq!(
            largest_holder([("a", 2), ("b", 3), ("a", 2)].into_iter()),
            Some("a")
        );
        assert_eq!(largest_holder(std::iter::empty::<(&str, usize)>()), None);
    }
}
