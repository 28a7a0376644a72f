//! Finds the entries of a list in the previous list. Two lists of a server usually differ little.

use std::collections::HashMap;

/// Returns for each key its position in the previous list. The common prefix and suffix cost one
/// comparison per key.
pub(crate) fn previous_positions(before: &[&str], keys: &[&str]) -> Vec<Option<usize>> {
    let first = common_prefix_len(before.iter(), keys.iter());
    let last = common_prefix_len(before[first..].iter().rev(), keys[first..].iter().rev());
    let (last_before, last_now) = (before.len() - last, keys.len() - last);
    let middle = before[first..last_before].iter().zip(first..);
    let middle: HashMap<&str, usize> = middle.map(|(key, at)| (*key, at)).collect();
    let middle = keys[first..last_now]
        .iter()
        .map(|key| middle.get(key).copied());
    let (begin, end) = ((0..first).map(Some), (last_before..before.len()).map(Some));
    begin.chain(middle).chain(end).collect()
}

fn common_prefix_len<'a>(
    one: impl Iterator<Item = &'a &'a str>,
    other: impl Iterator<Item = &'a &'a str>,
) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, now: &str, expected: &[Option<usize>]) {
        let [before, now] = [before, now].map(|it| it.split_whitespace().collect::<Vec<_>>());
        assert_eq!(previous_positions(&before, &now), expected);
    }

    #[test]
    fn previous_entries_are_found_after_insertions_removals_and_moves() {
        check("", "", &[]);
        check("a b", "", &[]);
        check("", "a", &[None]);
        check("a b c", "a b c", &[Some(0), Some(1), Some(2)]);
        check("a b c", "a x b c", &[Some(0), None, Some(1), Some(2)]);
        check("a b c", "a c", &[Some(0), Some(2)]);
        check("a b c d", "d b x a", &[Some(3), Some(1), None, Some(0)]);
        check("a a", "a a a", &[Some(0), Some(1), None]);
    }
}
