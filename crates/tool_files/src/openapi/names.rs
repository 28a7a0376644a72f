//! Names for tools, actions and arguments, derived from the document's names.

use std::collections::BTreeSet;

/// In characters. Clients add a prefix to the name of a tool, such as `mcp__kitbag__`, and models
/// accept 64.
const LONGEST: usize = 50;
/// In hexadecimal digits. They distinguish truncated names.
const HASH_LENGTH: usize = 6;

/// Gives each tool a unique name.
#[derive(Debug, Default)]
pub(super) struct NameGiver {
    taken: BTreeSet<String>,
}

impl NameGiver {
    /// Returns the name of a tool, prefixed with the provider.
    pub(super) fn tool(&mut self, provider: &str, name: &str) -> String {
        let name = snake(name);
        let whole = match name.strip_prefix(provider) {
            Some(rest) if rest.is_empty() || rest.starts_with('_') => name,
            _ => format!("{provider}_{name}"),
        };
        unique(&shorten_name(&whole), &mut self.taken)
    }
}

/// Words in titles that do not identify the provider.
const NOISE: [&str; 9] = [
    "api",
    "apis",
    "rest",
    "http",
    "openapi",
    "open",
    "spec",
    "specification",
    "the",
];
/// A longer title is a sentence.
const MOST_WORDS: usize = 2;

/// Returns the name of a provider: the document's title if it is short, or else the name of the
/// host.
pub(super) fn provider(title: &str, host: Option<&str>) -> String {
    let whole = snake(title);
    let words: Vec<&str> = whole
        .split('_')
        .filter(|word| !NOISE.contains(word) && !is_version(word))
        .collect();
    match host.and_then(own_label) {
        Some(label) if words.is_empty() || words.len() > MOST_WORDS => snake(label),
        _ if words.is_empty() => whole,
        _ => shorten_name(
            &words
                .into_iter()
                .take(MOST_WORDS)
                .collect::<Vec<_>>()
                .join("_"),
        ),
    }
}

fn is_version(word: &str) -> bool {
    let number = word.strip_prefix('v').unwrap_or(word);
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// Returns the label that the owner of a domain chose: `github` of `api.github.com`, `shop` of
/// `www.shop.co.uk`.
fn own_label(host: &str) -> Option<&str> {
    let labels: Vec<&str> = host.split('.').collect();
    let mut ending = 1;
    if let [.., second, last] = labels.as_slice()
        && last.len() == 2
        && matches!(*second, "co" | "com" | "org" | "net" | "gov" | "ac")
    {
        ending = 2;
    }
    labels
        .len()
        .checked_sub(ending + 1)
        .and_then(|at| labels.get(at).copied())
}

/// Returns lower-case words joined with `_`: `listPets`, `repos/get-content` and `HTTPServer`
/// become `list_pets`, `repos_get_content` and `http_server`. The name begins with a letter.
pub(super) fn snake(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut name = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            push_bar(&mut name);
            continue;
        }
        if letter.is_ascii_uppercase() && begins_word(&letters, at) {
            push_bar(&mut name);
        }
        name.push(letter.to_ascii_lowercase());
    }
    let name = name.trim_end_matches('_');
    match name.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => name.to_owned(),
        false => format!("x_{name}").trim_end_matches('_').to_owned(),
    }
}

fn begins_word(letters: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| letters.get(at));
    let after = letters.get(at + 1);
    let follows_small = before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let leads_small =
        before.is_some_and(char::is_ascii_uppercase) && after.is_some_and(char::is_ascii_lowercase);
    follows_small || leads_small
}

fn push_bar(name: &mut String) {
    if !name.is_empty() && !name.ends_with('_') {
        name.push('_');
    }
}

/// Truncates a name that is too long, and appends a hash of the whole.
pub(super) fn shorten_name(name: &str) -> String {
    let name = snake(name);
    if name.len() <= LONGEST {
        return name;
    }
    let hash = &blake3::hash(name.as_bytes()).to_hex()[..HASH_LENGTH];
    let kept = name[..LONGEST - HASH_LENGTH - 1].trim_end_matches('_');
    format!("{kept}_{hash}")
}

/// Returns the name, with a number appended if it is taken.
pub(super) fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}_{number}");
        number += 1;
    }
    candidate
}

/// Returns the name of a property that patterns can refer to.
pub(super) fn argument(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let plain = plain.trim_matches('_');
    let plain = if plain.is_empty() { "value" } else { plain };
    unique(plain, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_style_become_words_with_underscores() {
        for (text, expected) in [
            ("listPets", "list_pets"),
            ("repos/get-content", "repos_get_content"),
            ("HTTPServer v2", "http_server_v2"),
            ("GET /pets/{id}", "get_pets_id"),
            ("4chan", "x_4chan"),
            ("Übung", "bung"),
            ("日本", "x"),
        ] {
            assert_eq!(snake(text), expected);
        }
    }

    #[test]
    fn a_provider_is_called_by_its_title_or_by_its_host() {
        for (title, host, expected) in [
            ("Pet Shop", Some("eu.shop.example"), "pet_shop"),
            ("Stripe API", Some("api.stripe.com"), "stripe"),
            ("GitHub v3 REST API", Some("api.github.com"), "git_hub"),
            (
                "GitHub's official OpenAPI spec",
                Some("api.github.com"),
                "github",
            ),
            (
                "Everything about all of the tickets",
                Some("www.desk.co.uk"),
                "desk",
            ),
            (
                "Everything about all of the tickets",
                None,
                "everything_about",
            ),
            ("API", Some("x.desk.example"), "desk"),
            ("API", None, "api"),
        ] {
            assert_eq!(provider(title, host), expected, "{title}");
        }
    }

    #[test]
    fn long_names_are_truncated_and_stay_distinct() {
        let mut names = NameGiver::default();
        let long = "repos/create-or-update-environment-protection-rule-for-branch";
        let first = names.tool("github", long);
        assert_eq!(first.len(), 50);
        assert_ne!(first, names.tool("github", &format!("{long}es")));
        assert_eq!(names.tool("github", "github_get"), "github_get");
        assert_eq!(names.tool("github", "get"), "github_get_2");
    }
}
