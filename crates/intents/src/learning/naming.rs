//! Intents and names for learned templates.

use serde_json::Value;

use super::LearnedUse;
use crate::pattern::IntentPattern;
use crate::template::TemplateName;

/// Returns a request in words with placeholders for its literals; `None` if it names something that
/// is not a literal, because it would then only match that one thing.
pub(super) fn intent(words: &str, literals: &[(String, Value)]) -> Option<String> {
    let mut sorted: Vec<_> = literals.iter().collect();
    // A long value may contain a short one.
    sorted.sort_by_key(|(_, value)| std::cmp::Reverse(spelling(value).len()));
    let mut words = words.trim().to_owned();
    for (name, value) in sorted {
        words = with_placeholder(&words, name, &spelling(value));
    }
    let pattern = IntentPattern::parse(&words).ok()?;
    pattern.is_plain().then(|| pattern.to_string())
}

/// Returns the name of a template: the tools that it uses, and enough of its id to be unique.
pub(super) fn template_name(uses: &[LearnedUse], id: &str) -> String {
    /// In hexadecimal digits.
    const DIGITS: usize = 6;
    let tools: Vec<String> = uses.iter().map(|used| plain_name(&used.tool)).collect();
    let ending = format!("_{}", &id[..DIGITS.min(id.len())]);
    let mut name = format!("learned_{}", tools.join("_"));
    name.truncate(TemplateName::MAX - ending.len());
    name + &ending
}

fn plain_name(tool: &str) -> String {
    tool.to_ascii_lowercase()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn spelling(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        // `true` and `null` in a request are words.
        _ => String::new(),
    }
}

/// Replaces a value by its parameter's placeholder where the value is whole words, with or without
/// quotes.
fn with_placeholder(words: &str, name: &str, value: &str) -> String {
    let placeholder = match value.contains(char::is_whitespace) {
        true => format!("{{{name}...}}"),
        false => format!("{{{name}}}"),
    };
    if value.is_empty() || words.contains(&placeholder) {
        return words.to_owned();
    }
    for quote in ["\"", "'", "`", ""] {
        let quoted = format!("{quote}{value}{quote}");
        if let Some(at) = find_whole_words(words, &quoted) {
            return format!(
                "{}{placeholder}{}",
                &words[..at],
                &words[at + quoted.len()..]
            );
        }
    }
    words.to_owned()
}

/// Finds a text that does not begin or end in the middle of a word.
fn find_whole_words(words: &str, text: &str) -> Option<usize> {
    let lower = words.to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    let mut found = lower.match_indices(&text);
    found
        .find(|(at, _)| {
            let (before, after) = (&lower[..*at], &lower[at + text.len()..]);
            is_edge(before.chars().next_back()) && is_edge(after.chars().next())
        })
        .map(|(at, _)| at)
}

fn is_edge(c: Option<char>) -> bool {
    c.is_none_or(|c| c.is_whitespace() || ".,;:?!".contains(c))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_in_a_request_become_placeholders_and_other_particulars_spoil_it() {
        for (words, literals, expected) in [
            ("list issues", json!({}), Some("list issues")),
            (
                "List issues of acme/web.",
                json!({ "repo": "acme/web" }),
                Some("List issues of {repo}."),
            ),
            (
                "top 5 issues",
                json!({ "limit": 5 }),
                Some("top {limit} issues"),
            ),
            (
                "find \"null pointer\" in Web",
                json!({ "q": "null pointer", "p": "web" }),
                Some("find {q...} in {p}"),
            ),
            (
                "issues of web",
                json!({ "state": "open" }),
                Some("issues of web"),
            ),
            ("issues of acme/web", json!({ "state": "open" }), None),
            ("issue 17", json!({}), None),
            ("webs of web", json!({ "p": "web" }), Some("webs of {p}")),
            ("web", json!({ "p": "web" }), None),
        ] {
            let literals: Vec<_> = literals.as_object().unwrap().clone().into_iter().collect();
            assert_eq!(intent(words, &literals).as_deref(), expected, "{words}");
        }
    }
}
