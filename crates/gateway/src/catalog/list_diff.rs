//! Finds the things of a list in the list before it. Two lists of a server differ in few places as a rule.

use std::collections::HashMap;

/// Returns for each of these keys the place of the same key in the list before. The beginning and the end
/// that both have in common cost one comparison for each key.
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
    fn what_was_there_is_found_wherever_things_came_went_and_moved() {
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
