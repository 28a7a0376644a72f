//! The forms in which a secret may come back, and a search for all of them at once.
//!
//! Who was given a secret may show it: as it is, or encoded as programs encode what they write.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::mask::MASK;

/// Shorter values are words like `true`; masking those would garble the text.
pub(crate) const MIN_SECRET: usize = 8;
/// Nobody types a longer one, and each form of it costs memory.
const MAX_SECRET: usize = 64 * 1024;

/// Values that must not be shown, in every form they are looked for.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// None if there are no secrets, which then costs nothing.
    forms: Option<AhoCorasick>,
}

impl Secrets {
    pub fn of<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> Self {
        let forms: Vec<String> = values
            .into_iter()
            .flat_map(|value| all_in(value.as_ref()))
            .filter(|secret| secret.len() <= MAX_SECRET)
            .flat_map(|secret| forms(&secret))
            .collect();
        if forms.is_empty() {
            return Self::default();
        }
        // The longest first: of a secret that contains another, nothing must be left over.
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        Self { forms: built.ok() }
    }

    pub fn is_empty(&self) -> bool {
        self.forms.is_none()
    }

    pub fn are_in(&self, text: &str) -> bool {
        self.forms
            .as_ref()
            .is_some_and(|forms| forms.is_match(text))
    }

    /// The text as it may be shown.
    pub fn hidden_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(forms) = self.forms.as_ref().filter(|forms| forms.is_match(text)) else {
            return Cow::Borrowed(text);
        };
        let mut clean = String::with_capacity(text.len());
        forms.replace_all_with(text, &mut clean, |_, _, clean| {
            clean.push_str(MASK);
            true
        });
        Cow::Owned(clean)
    }
}

/// The secrets in a value, and the user and password that `Basic` hides.
fn all_in(value: &str) -> Vec<String> {
    let mut secrets: Vec<String> = secrets_in(value).map(str::to_owned).collect();
    let encoded = value
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let decoded = encoded.and_then(|(_, text)| {
        STANDARD_NO_PAD
            .decode(text.trim().trim_end_matches('='))
            .ok()
    });
    if let Some(pair) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
        let password = pair
            .split_once(':')
            .map(|(_, password)| password.to_owned());
        secrets.extend(
            password
                .into_iter()
                .chain([pair])
                .filter(|it| it.len() >= MIN_SECRET),
        );
    }
    secrets
}

/// Whether a name says that its value is nobody's business.
pub(crate) fn speaks_of_a_secret(name: &str) -> bool {
    const WORDS: [&str; 9] = [
        "auth",
        "key",
        "token",
        "secret",
        "pass",
        "cookie",
        "credential",
        "signature",
        "session",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Each line of a value, because logs are written by the line; and what follows `Bearer`, because a
/// server may show that alone.
pub(crate) fn secrets_in(value: &str) -> impl Iterator<Item = &str> {
    let bare = value
        .split_once(' ')
        .filter(|(scheme, _)| is_scheme(scheme))
        .map(|(_, rest)| rest);
    [Some(value), bare]
        .into_iter()
        .flatten()
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|it| it.len() >= MIN_SECRET)
}

pub(crate) fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn forms(secret: &str) -> Vec<String> {
    let quoted = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
    let sparing: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let json = serde_json::to_string(secret).unwrap_or_default();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        secret.to_owned(),
        secret.chars().rev().collect(),
        json.trim_matches('"').replace('/', "\\/"),
        json.trim_matches('"').to_owned(),
        lower_escapes(&quoted),
        quoted,
        lower_escapes(&sparing),
        sparing,
        hex.to_uppercase(),
        hex,
    ];
    for shift in 0..3 {
        let shifted = [&[0; 2][..shift.min(2)], secret.as_bytes()].concat();
        for encoded in [
            STANDARD_NO_PAD.encode(&shifted),
            URL_SAFE_NO_PAD.encode(&shifted),
        ] {
            forms.extend(steady(&encoded, shift, shifted.len()).map(str::to_owned));
        }
    }
    forms.sort();
    forms.dedup();
    forms.retain(|form| form.len() >= MIN_SECRET);
    forms
}

/// The part of an encoding that depends on nothing but the secret: three bytes make four letters, so
/// letters at the edges also depend on what stands before and behind.
fn steady(encoded: &str, shift: usize, length: usize) -> Option<&str> {
    let start = [0, 2, 3][shift.min(2)];
    let end = encoded.len() - usize::from(!length.is_multiple_of(3));
    encoded.get(start..end)
}

/// `%2F` as `%2f`.
fn lower_escapes(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut lower = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (escape, rest) = piece.split_at(piece.len().min(2));
        lower.extend(["%", &escape.to_lowercase(), rest]);
    }
    lower
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const SECRET: &str = "s3cr/t?of \"the\" shop~";

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Secrets::of([SECRET]).hidden_in(text), expected, "{text}");
    }

    #[test]
    fn a_secret_is_found_in_every_form_programs_write_it_in() {
        check(&format!("a {SECRET} b {SECRET}"), "a ••• b •••");
        check(&serde_json::to_string(SECRET).unwrap(), "\"•••\"");
        check(
            &format!("<{}>", utf8_percent_encode(SECRET, NON_ALPHANUMERIC)),
            "<•••>",
        );
        check("x=s3cr%2Ft%3Fof+%22the%22+shop%7E&y", "x=•••&y");
        check("x=s3cr%2ft%3fof+%22the%22+shop%7e&y", "x=•••&y");
        check(
            &SECRET
                .bytes()
                .map(|byte| format!("{byte:02X}"))
                .collect::<String>(),
            "•••",
        );
        check(&SECRET.chars().rev().collect::<String>(), "•••");
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands_in_something_encoded() {
        for before in ["", "a", "ann:", "x-y"] {
            for after in ["", "!", "!!", "\n"] {
                let whole = format!("{before}{SECRET}{after}");
                for encoded in [
                    STANDARD.encode(&whole),
                    URL_SAFE.encode(&whole),
                    STANDARD_NO_PAD.encode(&whole),
                ] {
                    let found = Secrets::of([SECRET]).hidden_in(&encoded).into_owned();
                    assert!(
                        found.contains(MASK) && found.len() < encoded.len() - 10,
                        "{whole}: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_password_is_found_that_was_sent_under_basic() {
        let secrets = Secrets::of([format!("Basic {}", STANDARD.encode("ann:pass-word-1"))]);
        assert_eq!(
            secrets.hidden_in("user ann:pass-word-1, pass-word-1"),
            "user •••, •••"
        );
    }

    #[test]
    fn of_a_value_its_lines_and_its_token_are_secrets_but_not_its_short_words() {
        let found = |value| secrets_in(value).collect::<Vec<_>>();
        assert_eq!(found("true"), [""; 0]);
        assert_eq!(
            found("Bearer s3cret-token"),
            ["Bearer s3cret-token", "s3cret-token"]
        );
        assert_eq!(
            found("-----BEGIN KEY-----\nabcdefgh\nxyz\n"),
            ["-----BEGIN KEY-----", "abcdefgh"]
        );
    }

    #[test]
    fn without_secrets_a_text_is_not_even_looked_at() {
        assert!(Secrets::of(["short", ""]).is_empty());
        assert!(matches!(
            Secrets::default().hidden_in("text"),
            Cow::Borrowed("text")
        ));
    }
}
