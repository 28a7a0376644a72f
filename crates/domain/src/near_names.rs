//! Suggests existing names for one that does not exist.

use crate::{ExposedName, ShortText};

/// Returns the most similar word, if one is similar enough. Case is ignored.
pub fn nearest_name<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const MIN_SIMILARITY: f64 = 0.75;
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&word.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Returns up to three existing names most similar to a capability name, best first.
pub fn near_names<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    const MIN_SIMILARITY: f64 = 0.8;
    if !is_comparable(name) {
        return Vec::new();
    }
    let comparable = names.filter(|candidate| is_comparable(candidate));
    let scored = comparable.map(|candidate| (similarity(name, candidate), candidate));
    let mut scored: Vec<_> = scored
        .filter(|(score, _)| *score > MIN_SIMILARITY)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let best = scored.into_iter().take(MOST);
    best.map(|(_, candidate)| candidate).collect()
}

/// Comparison takes time quadratic in the length, and clients choose the length. A mistyped name is
/// shorter than this.
fn is_comparable(name: &str) -> bool {
    name.len() <= ShortText::MAX
}

fn similarity(name: &str, candidate: &str) -> f64 {
    /// The right server with a typo in the tool's name is likelier than the reverse.
    const SAME_SERVER: f64 = 0.05;
    let (owner, tail) = ExposedName::split(candidate).unwrap_or(("", candidate));
    match ExposedName::split(name) {
        Some((server, wanted)) => {
            let bonus = if server == owner { SAME_SERVER } else { 0.0 };
            strsim::jaro_winkler(wanted, tail) + bonus
        }
        None => strsim::jaro_winkler(name, candidate).max(strsim::jaro_winkler(name, tail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbours() {
        let names = ["a__search", "a__get", "b__search"];
        assert_eq!(
            near_names("serch", names.into_iter()),
            ["a__search", "b__search"]
        );
        let long = "serch".repeat(1_000_000);
        assert_eq!(near_names(&long, names.into_iter()), [""; 0], "at once");
    }

    #[test]
    fn a_misspelt_key_finds_the_intended_one() {
        assert_eq!(nearest_name("COMAND", ["command", "url"]), Some("command"));
        assert_eq!(nearest_name("x", ["command", "url"]), None);
    }
}
