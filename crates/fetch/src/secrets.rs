//! Masks secrets in text, in every form in which a service may return them.
//!
//! A service may echo a secret it was given: plain, or in one of the usual encodings.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Replaces a secret.
pub const MASK: &str = "•••";

/// Shorter values are words like `true`; masking those would garble the text.
pub const MIN_SECRET: usize = 8;
/// No credential is longer, and each form of a secret costs memory.
const MAX_SECRET: usize = 64 * 1024;

/// Secret values, compiled into one search for all their forms.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// `None` without secrets, so that masking costs nothing.
    forms: Option<AhoCorasick>,
}

impl Secrets {
    pub fn from_values<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> Self {
        let forms: Vec<String> = values
            .into_iter()
            .flat_map(|value| collect_secrets(value.as_ref()))
            .filter(|secret| secret.len() <= MAX_SECRET)
            .flat_map(|secret| all_forms(&secret))
            .collect();
        if forms.is_empty() {
            return Self::default();
        }
        // Prefer the longest match, so that a secret that contains another is masked completely.
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

    /// Replaces every secret in the text with [`MASK`].
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
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

/// Returns the secrets in a value, and the user and password of a `Basic` login.
fn collect_secrets(value: &str) -> Vec<String> {
    let mut secrets: Vec<String> = secrets_in(value).map(str::to_owned).collect();
    if let Some(pair) = basic_login(value) {
        let password = pair
            .split_once(':')
            .map(|(_, password)| password.to_owned());
        let found = password.into_iter().chain([pair]);
        secrets.extend(found.filter(|secret| secret.len() >= MIN_SECRET));
    }
    secrets
}

/// Returns the `user:password` of a `Basic` login.
fn basic_login(value: &str) -> Option<String> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let unpadded = encoded.trim().trim_end_matches('=');
    let bytes = STANDARD_NO_PAD.decode(unpadded).ok()?;
    String::from_utf8(bytes).ok()
}

/// True if the name of a header or variable suggests that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
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

/// Returns each line of a value, because logs are written line by line, and the part after `Bearer`, because
/// a server may print only that.
pub fn secrets_in(value: &str) -> impl Iterator<Item = &str> {
    [Some(value), without_scheme(value)]
        .into_iter()
        .flatten()
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|line| line.len() >= MIN_SECRET)
}

fn without_scheme(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once(' ')?;
    is_scheme(scheme).then_some(rest)
}

/// True for `Authorization` schemes that are followed by a secret.
pub fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

fn all_forms(secret: &str) -> Vec<String> {
    let mut forms = text_encodings(secret);
    forms.extend(base64_forms(secret));
    forms.sort();
    forms.dedup();
    forms.retain(|form| form.len() >= MIN_SECRET);
    forms
}

/// Returns the secret plain, reversed, and encoded as JSON, URL, form field and hex.
fn text_encodings(secret: &str) -> Vec<String> {
    let quoted = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
    let form_field: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let json = serde_json::to_string(secret).unwrap_or_default();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    vec![
        secret.to_owned(),
        secret.chars().rev().collect(),
        json.trim_matches('"').replace('/', "\\/"),
        json.trim_matches('"').to_owned(),
        lower_escapes(&quoted),
        quoted,
        lower_escapes(&form_field),
        form_field,
        hex.to_uppercase(),
        hex,
    ]
}

/// Returns the base64 of a secret inside a longer text. Three bytes become four characters, so it depends on
/// the number of bytes before the secret, modulo three.
fn base64_forms(secret: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for shift in 0..3 {
        let shifted = [&[0; 2][..shift], secret.as_bytes()].concat();
        for encoded in [
            STANDARD_NO_PAD.encode(&shifted),
            URL_SAFE_NO_PAD.encode(&shifted),
        ] {
            forms.extend(stable_part(&encoded, shift, shifted.len()).map(str::to_owned));
        }
    }
    forms
}

/// Returns the part of an encoding that depends only on the secret: the characters at the edges also depend
/// on the bytes around it.
fn stable_part(encoded: &str, shift: usize, length: usize) -> Option<&str> {
    // One byte before the secret affects two characters, two bytes affect three.
    let start = [0, 2, 3][shift];
    let end = encoded.len() - usize::from(!length.is_multiple_of(3));
    encoded.get(start..end)
}

/// Lowercases percent escapes, such as `%2F` to `%2f`.
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
        assert_eq!(
            Secrets::from_values([SECRET]).mask_text(text),
            expected,
            "{text}"
        );
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
    fn a_secret_is_found_at_any_position_in_encoded_text() {
        for before in ["", "a", "ann:", "x-y"] {
            for after in ["", "!", "!!", "\n"] {
                let whole = format!("{before}{SECRET}{after}");
                for encoded in [
                    STANDARD.encode(&whole),
                    URL_SAFE.encode(&whole),
                    STANDARD_NO_PAD.encode(&whole),
                ] {
                    let found = Secrets::from_values([SECRET])
                        .mask_text(&encoded)
                        .into_owned();
                    assert!(
                        found.contains(MASK) && found.len() < encoded.len() - 10,
                        "{whole}: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_password_that_was_sent_with_the_basic_scheme_is_found() {
        let secrets =
            Secrets::from_values([format!("Basic {}", STANDARD.encode("ann:pass-word-1"))]);
        assert_eq!(
            secrets.mask_text("user ann:pass-word-1, pass-word-1"),
            "user •••, •••"
        );
    }

    #[test]
    fn the_lines_and_the_token_of_a_value_are_secrets_but_not_its_short_words() {
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
    fn without_secrets_a_text_is_returned_as_it_is() {
        assert!(Secrets::from_values(["short", ""]).is_empty());
        assert!(matches!(
            Secrets::default().mask_text("text"),
            Cow::Borrowed("text")
        ));
    }
}
