//! Splits the tools of an index into blocks.
//!
//! Where a block ends depends only on the names near its end. When a tool is added, removed or
//! changed, all other blocks keep their tools, and the next index shares them.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The limits on the length of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockSizes {
    /// Hard bounds, because servers choose the names and could choose them so that every block is
    /// tiny or huge.
    pub(crate) least: usize,
    pub(crate) most: usize,
    /// On average, one name in this many ends a block.
    pub(crate) one_in: u64,
}

impl BlockSizes {
    /// A change rebuilds one block, and a search looks up each of its words in every block.
    pub(crate) const DEFAULT: Self = Self {
        least: 128,
        most: 2_048,
        one_in: 512,
    };

    /// Returns the lengths of the blocks for tools with these names.
    pub(crate) fn split_lengths<'a>(self, names: impl Iterator<Item = &'a str>) -> Vec<usize> {
        let mut lengths = Vec::new();
        let mut length = 0;
        for name in names {
            length += 1;
            if length >= self.least && (length == self.most || self.ends_block(name)) {
                lengths.push(std::mem::take(&mut length));
            }
        }
        lengths.extend((length > 0).then_some(length));
        lengths
    }

    fn ends_block(self, name: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        hasher.finish().is_multiple_of(self.one_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(names: &[String]) -> Vec<usize> {
        BlockSizes::DEFAULT.split_lengths(names.iter().map(String::as_str))
    }

    #[test]
    fn an_added_tool_changes_only_its_own_block() {
        let mut names: Vec<String> = (0..20_000).map(|n| format!("server__tool_{n}")).collect();
        let before = cut(&names);
        names.insert(10_000, "server__new".to_owned());
        let after = cut(&names);
        assert_eq!(after.iter().sum::<usize>(), 20_001);
        let same_ends = before.iter().rev().zip(after.iter().rev());
        let same = before
            .iter()
            .zip(&after)
            .take_while(|(a, b)| a == b)
            .count()
            + same_ends.take_while(|(a, b)| a == b).count();
        assert_eq!(same, before.len() - 1, "{before:?} {after:?}");
    }

    #[test]
    fn no_names_make_small_blocks() {
        let ending = (0..).map(|n| n.to_string());
        let ending = ending.filter(|name| BlockSizes::DEFAULT.ends_block(name));
        let names: Vec<String> = ending.take(300).collect();
        assert_eq!(cut(&names), [128, 128, 44]);
        assert_eq!(cut(&vec!["a".to_owned(); 5_000]), [2_048, 2_048, 904]);
    }
}
