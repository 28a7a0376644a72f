//! Keeps secrets out of whatever is written down: values that are known to be secret, and what
//! announces itself as one.

use std::sync::{PoisonError, RwLock};

/// What stands in the place of a secret.
pub const MASK: &str = "•••";

/// Shorter values are words like `true`; masking those would garble the log.
const MIN_SECRET: usize = 8;

/// For the whole process: what one server was given may turn up in the log of another, or in ours.
static KNOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// From now on the value is written down nowhere.
pub fn hide(value: &str) {
    for secret in secrets_in(value) {
        if !KNOWN.read().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == secret) {
            let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
            // The longest first: of a secret that contains another, nothing must be left over.
            let place = known.partition_point(|it| it.len() > secret.len());
            known.insert(place, secret.to_owned());
        }
    }
}

/// The text as it may be written down.
pub fn masked(text: &str) -> String {
    without(text, &KNOWN.read().unwrap_or_else(PoisonError::into_inner))
}

/// Each line of it, because logs are written by the line; and what follows `Bearer`, because a
/// server may show that alone.
fn secrets_in(value: &str) -> impl Iterator<Item = &str> {
    let bare = value.split_once(' ').filter(|(scheme, _)| is_scheme(scheme)).map(|(_, rest)| rest);
    [Some(value), bare]
        .into_iter()
        .flatten()
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|it| it.len() >= MIN_SECRET)
}

fn without(text: &str, known: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in known.iter().filter(|secret| secret.len() <= MAX_SEARCHED) {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), MASK);
        }
    }
    without_announced(&text)
}

/// No line of a log is longer.
const MAX_SEARCHED: usize = 64 * 1024;

/// Tokens after `Bearer` or `Basic`, and the keys that open our own door.
fn without_announced(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut after_scheme = false;
    for piece in text.split_inclusive(|c: char| !is_token_char(c)) {
        let end = piece.trim_end_matches(|c: char| !is_token_char(c)).len();
        let (word, after) = piece.split_at(end);
        let own_key = word.find("kb_").filter(|at| word.len() - at >= OWN_KEY);
        match own_key {
            _ if after_scheme && is_token(word) => clean.push_str(MASK),
            Some(at) => clean.extend([&word[..at], MASK]),
            None => clean.push_str(word),
        }
        clean.push_str(after);
        after_scheme = is_scheme(word) || (after_scheme && word.is_empty());
    }
    clean
}

/// An id and something of the secret behind it.
const OWN_KEY: usize = 20;

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// `Bearer authentication` is a phrase; a token has a digit, or is longer than any word.
fn is_token(word: &str) -> bool {
    word.len() >= MIN_SECRET && (word.len() >= 24 || word.contains(|c: char| c.is_ascii_digit()))
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+' | '/' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(known: &[&str], text: &str, expected: &str) {
        let known: Vec<_> = known.iter().map(ToString::to_string).collect();
        assert_eq!(without(text, &known), expected);
    }

    #[test]
    fn a_known_value_is_masked_wherever_it_stands() {
        check(&["sk-123456789"], "key=sk-123456789, debug=true", "key=•••, debug=true");
        check(&["abcdefghij", "abcdefgh"], "abcdefghij abcdefgh", "••• •••");
    }

    #[test]
    fn what_announces_itself_is_masked_without_being_known() {
        check(&[], "Authorization: Bearer eyJh.bGci0.iJ9", "Authorization: Bearer •••");
        check(&[], r#"{"authorization":"bearer  abc-12345"}"#, r#"{"authorization":"bearer  •••"}"#);
        check(&[], "sent Basic YW5uOnMzY3JldA==.", "sent Basic •••");
        check(&[], "key=kb_3f9c1a20_abcdefghijklmnop!", "key=•••!");
        check(&[], "Bearer authentication failed, kb_3f9c1a20", "Bearer authentication failed, kb_3f9c1a20");
    }

    #[test]
    fn of_a_value_its_lines_and_its_token_are_secrets_but_not_its_short_words() {
        let found = |value| secrets_in(value).collect::<Vec<_>>();
        assert_eq!(found("true"), [""; 0]);
        assert_eq!(found("Bearer s3cret-token"), ["Bearer s3cret-token", "s3cret-token"]);
        assert_eq!(found("-----BEGIN KEY-----\nabcdefgh\nxyz\n"), ["-----BEGIN KEY-----", "abcdefgh"]);
    }
}
