//! Finds names like one that does not exist, for a caller who may have mistyped it.

use kitbag_domain::{ExposedName, ShortText};

/// A reader looks at no more names before giving up.
const MOST: usize = 3;
/// Names that share less than this look unrelated to a reader.
const ALIKE: f64 = 0.8;
/// The right server with a slip in the tool's name is likelier than the reverse.
const SAME_SERVER: f64 = 0.05;

/// Returns the names most like one that does not exist, best first.
pub fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if !is_comparable(name) {
        return Vec::new();
    }
    let comparable = names.filter(|candidate| is_comparable(candidate));
    let scored = comparable.map(|candidate| (likeness(name, candidate), candidate));
    let mut scored: Vec<_> = scored.filter(|(score, _)| *score > ALIKE).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let best = scored.into_iter().take(MOST);
    best.map(|(_, candidate)| candidate).collect()
}

/// To compare texts takes time that grows with the square of their length, and a client chooses how
/// long they are. A mistyped name is shorter than this.
fn is_comparable(name: &str) -> bool {
    name.len() <= ShortText::MAX
}

fn likeness(name: &str, candidate: &str) -> f64 {
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
        assert_eq!(near("serch", names.into_iter()), ["a__search", "b__search"]);
        let long = "serch".repeat(1_000_000);
        assert_eq!(near(&long, names.into_iter()), [""; 0], "at once");
    }
}
