//! Names like one that does not exist, for a caller who may have mistyped it.

use kitbag_domain::ShortText;

/// The names most like one that does not exist, best first.
pub fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // To compare texts takes time that grows with the square of their length, and a client chooses
    // how long they are. A mistyped name is shorter than this.
    let short = |name: &str| name.len() <= ShortText::MAX;
    if !short(name) {
        return Vec::new();
    }
    let split = name.split_once("__");
    let mut scored: Vec<_> = names
        .filter(|candidate| short(candidate))
        .map(|candidate| {
            let (owner, tail) = candidate.split_once("__").unwrap_or(("", candidate));
            let score = match split {
                // The right server with a slip in the tool's name is likelier than the reverse.
                Some((server, wanted)) => {
                    strsim::jaro_winkler(wanted, tail) + if server == owner { 0.05 } else { 0.0 }
                }
                None => strsim::jaro_winkler(name, candidate).max(strsim::jaro_winkler(name, tail)),
            };
            (score, candidate)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
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
