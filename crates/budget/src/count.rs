//! Counts the tokens of a text exactly, in the o200k vocabulary.
//!
//! The vocabulary is in the binary and becomes a table at the first count, which takes a tenth of a
//! second and some 130 MB. So requests use [`estimate_tokens`](crate::estimate_tokens()) instead;
//! this is for reports and benchmarks. For models with another vocabulary it is an estimate, too.

use std::collections::HashSet;
use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

static O200K: LazyLock<CoreBPE> = LazyLock::new(|| {
    tiktoken_rs::o200k_base().expect("the vocabulary in the binary is well-formed")
});

/// Returns the number of tokens of a text. Special tokens such as `<|endoftext|>` are plain text
/// here.
pub fn count(text: &str) -> usize {
    match O200K.encode(text, &HashSet::new()) {
        Ok((tokens, _)) => tokens.len(),
        // The library fails only on about a million spaces in a row. Halving such a run may change
        // the count by a token, which does not matter.
        Err(_) => {
            let (begin, end) = text.split_at(text.ceil_char_boundary(text.len() / 2));
            count(begin) + count(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_match_the_o200k_vocabulary() {
        for (text, tokens) in [
            ("", 0),
            ("hello world", 2),
            ("createIssue", 2),
            (r#"{"type":"object","properties":{}}"#, 9),
            ("1234567890", 4),
            ("将一个高德经纬度坐标转换为行政区划地址信息", 16),
            ("<|endoftext|>", 7),
        ] {
            assert_eq!(count(text), tokens, "{text}");
        }
    }

    #[test]
    fn a_million_blanks_are_counted_too() {
        let blanks = count(&" ".repeat(1_100_000));
        assert!((8_000..10_000).contains(&blanks), "{blanks}");
    }
}
