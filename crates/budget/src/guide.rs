//! Describes the servers behind a search in a few tokens, for a model.
//!
//! The same rows give the same bytes, in whatever order they come, so that a prompt cache stays
//! valid.

use crate::estimate::estimate_tokens;

/// A server or an API in the guide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuideRow {
    pub name: String,
    /// The purpose, on one line; empty if unknown.
    pub about: String,
    /// The number of its tools.
    pub tools: usize,
}

/// Returns the rows within a token budget, as counted by
/// [`estimate_tokens`](crate::estimate_tokens()). The purposes get shorter until every server fits.
/// If even that is too long, the servers with the most tools come first, and the others are
/// counted.
pub fn write_guide(mut rows: Vec<GuideRow>, tokens: usize) -> String {
    rows.sort();
    WORDS
        .into_iter()
        .map(|words| join_rows(&rows, words))
        .find(|text| estimate_tokens(text) <= tokens)
        .unwrap_or_else(|| list_largest(rows, tokens))
}

/// The maximum words of a purpose, from generous to scarce.
const WORDS: [usize; 7] = [12, 9, 7, 5, 4, 3, 2];
/// The words of a purpose if not every server fits: fewer would not distinguish servers.
const WORDS_OF_MANY: usize = 3;

fn join_rows(rows: &[GuideRow], words: usize) -> String {
    let lines: Vec<String> = rows.iter().map(|row| row.to_text(words)).collect();
    lines.join("; ")
}

fn list_largest(mut rows: Vec<GuideRow>, tokens: usize) -> String {
    rows.sort_by_key(|row| std::cmp::Reverse(row.size_class()));
    (0..rows.len())
        .map(|shown| join_first_rows(&rows, shown))
        .take_while(|text| estimate_tokens(text) <= tokens)
        .last()
        .unwrap_or_else(|| join_first_rows(&rows, 0))
}

fn join_first_rows(rows: &[GuideRow], shown: usize) -> String {
    let more = rows.len() - shown;
    match shown {
        0 => format!("{more} servers"),
        _ => format!(
            "{}; and {more} more",
            join_rows(&rows[..shown], WORDS_OF_MANY)
        ),
    }
}

impl GuideRow {
    fn to_text(&self, words: usize) -> String {
        let about = first_words(&self.about, words);
        match about.as_str() {
            "" => self.name.clone(),
            about => format!("{}: {about}", self.name),
        }
    }

    /// Doubles from one size to the next, so that small changes in the number of tools keep the
    /// order.
    fn size_class(&self) -> u32 {
        self.tools.checked_ilog2().map_or(0, |size| size + 1)
    }
}

/// Returns the first words of a purpose. A truncated one ends with a whole item of an enumeration,
/// or else without a connective at its end.
fn first_words(about: &str, most: usize) -> String {
    let mut words: Vec<&str> = about.split(' ').take(most).collect();
    if words.len() < about.split(' ').count() {
        match words.iter().rposition(|word| word.ends_with(',')) {
            Some(last) => words.truncate(last + 1),
            None => drop_connectives(&mut words),
        }
    }
    words.join(" ").trim_end_matches(MARKS).to_owned()
}

fn drop_connectives(words: &mut Vec<&str>) {
    while words.last().is_some_and(|word| CONNECTIVES.contains(word)) {
        words.pop();
    }
}

const MARKS: [char; 6] = [',', ';', ':', '.', '-', '–'];

/// Words that require a continuation.
const CONNECTIVES: [&str; 16] = [
    "a", "an", "and", "as", "by", "for", "from", "in", "of", "on", "or", "the", "to", "via",
    "with", "your",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count;

    fn row(name: &str, about: &str, tools: usize) -> GuideRow {
        let (name, about) = (name.to_owned(), about.to_owned());
        GuideRow { name, about, tools }
    }

    fn many(count: usize) -> Vec<GuideRow> {
        let about = "places orders, looks them up and sends parcels to the customers of a shop";
        let numbers = 0..count;
        numbers
            .map(|number| row(&format!("shop-{number:03}"), about, number))
            .collect()
    }

    #[test]
    fn few_servers_are_described_in_full_and_in_one_order() {
        let rows = vec![
            row("time", "", 2),
            row("git", "log, diff, commit, and branches of a repository", 12),
        ];
        let guide = write_guide(rows.iter().rev().cloned().collect(), 100);
        assert_eq!(
            guide,
            "git: log, diff, commit, and branches of a repository; time"
        );
        assert_eq!(write_guide(rows, 100), guide);
    }

    #[test]
    fn more_servers_have_shorter_purposes_and_too_many_are_counted() {
        let guide = write_guide(many(10), 100);
        assert!(guide.ends_with("; shop-009: places orders"), "{guide}");
        let guide = write_guide(many(200), 100);
        assert!(
            guide.starts_with("shop-128: places orders; shop-129"),
            "{guide}"
        );
        assert!(guide.ends_with(" more"), "{guide}");
        assert_eq!(write_guide(many(200), 3), "200 servers");
    }

    #[test]
    fn the_exact_count_is_near_the_requested_number_of_tokens() {
        for servers in [1, 5, 12, 25, 60, 200] {
            let guide = write_guide(many(servers), 100);
            assert!(count(&guide) <= 110, "{} for {guide}", count(&guide));
        }
    }
}
