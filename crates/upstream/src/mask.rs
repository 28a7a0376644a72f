//! Keeps secrets out of every log: known values, and text that looks like a secret.

use std::sync::{Arc, PoisonError, RwLock};

use kitbag_fetch::secrets::{MASK, MIN_SECRET, Secrets, is_scheme, secrets_in};

/// For the whole process: a server's secret may turn up in another server's log, or in the
/// gateway's.
static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets {
    values: Vec::new(),
    search: None,
});

struct KnownSecrets {
    values: Vec<String>,
    /// Built on first use after a value was added.
    search: Option<Arc<Secrets>>,
}

/// Masks the value in every log from now on.
pub fn add_secret(value: &str) {
    for secret in secrets_in(value) {
        if !is_known(secret) {
            let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
            known.values.push(secret.to_owned());
            known.search = None;
        }
    }
}

fn is_known(secret: &str) -> bool {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.values.iter().any(|value| value == secret)
}

/// Returns the text as it may be logged.
pub fn mask_secrets(text: &str) -> String {
    mask_announced(&known_search().mask_text(text))
}

fn known_search() -> Arc<Secrets> {
    if let Some(search) = &KNOWN.read().unwrap_or_else(PoisonError::into_inner).search {
        return search.clone();
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let search = Arc::new(Secrets::from_values(&known.values));
    known.search = Some(search.clone());
    search
}

/// Masks tokens after `Bearer` or `Basic`, and the keys of this gateway.
fn mask_announced(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut after_scheme = false;
    for piece in text.split_inclusive(|c: char| !is_token_char(c)) {
        let end = piece.trim_end_matches(|c: char| !is_token_char(c)).len();
        let (word, after) = piece.split_at(end);
        match find_own_key(word) {
            _ if after_scheme && is_token(word) => clean.push_str(MASK),
            Some(at) => clean.extend([&word[..at], MASK]),
            None => clean.push_str(word),
        }
        clean.push_str(after);
        after_scheme = is_scheme(word) || (after_scheme && word.is_empty());
    }
    clean
}

/// Returns the position of a gateway key in a word.
fn find_own_key(word: &str) -> Option<usize> {
    let at = word.find("kb_")?;
    (word.len() - at >= OWN_KEY).then_some(at)
}

/// The length of a key's id and a part of its secret.
const OWN_KEY: usize = 20;

/// True for a token, which has a digit or is longer than any word; `Bearer authentication` is a
/// phrase.
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
        assert_eq!(
            mask_announced(&Secrets::from_values(known).mask_text(text)),
            expected
        );
    }

    #[test]
    fn a_known_value_is_masked_everywhere() {
        check(
            &["sk-123456789"],
            "key=sk-123456789, debug=true",
            "key=•••, debug=true",
        );
        check(
            &["abcdefghij", "abcdefgh"],
            "abcdefghij abcdefgh",
            "••• •••",
        );
        check(
            &["sk-123456789"],
            "key=c2stMTIzNDU2Nzg5, hex=736b2d313233343536373839",
            "key=•••, hex=•••",
        );
    }

    #[test]
    fn a_token_after_its_scheme_is_masked_without_being_known() {
        check(
            &[],
            "Authorization: Bearer eyJh.bGci0.iJ9",
            "Authorization: Bearer •••",
        );
        check(
            &[],
            r#"{"authorization":"bearer  abc-12345"}"#,
            r#"{"authorization":"bearer  •••"}"#,
        );
        check(&[], "sent Basic YW5uOnMzY3JldA==.", "sent Basic •••");
        check(&[], "key=kb_3f9c1a20_abcdefghijklmnop!", "key=•••!");
        check(
            &[],
            "Bearer authentication failed, kb_3f9c1a20",
            "Bearer authentication failed, kb_3f9c1a20",
        );
    }
}
