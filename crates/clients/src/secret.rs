//! Recognizes secrets that a user typed into a file.
//!
//! A wrong guess costs little: a text mistaken for a secret is encrypted instead of written into a
//! file.

use crate::sensitive_text::{SensitiveText, TextPart};

/// Separates likely secrets in an argument of Kitbag's configuration, which is a template. `before`
/// is the preceding word.
pub fn secrets_in_argument(before: Option<&str>, word: &str) -> SensitiveText {
    let parts = split_argument(before, word).into_iter();
    SensitiveText::from_parts(parts.map(to_template_part))
}

/// Separates likely secrets in an address of Kitbag's configuration, which is a template.
pub fn secrets_in_address(text: &str) -> SensitiveText {
    SensitiveText::from_parts(address(text).into_iter().map(to_template_part))
}

fn to_template_part(part: TextPart) -> TextPart {
    match part {
        TextPart::Literal(text) => TextPart::Template(text),
        other => other,
    }
}

/// True if the text under this name is itself a secret, and not a variable for one.
pub fn holds_secret(name: &str, text: &str) -> bool {
    !text.contains("${")
        && split(name, text)
            .iter()
            .any(|part| matches!(part, TextPart::Secret(_)))
}

/// Splits a text under a name, such as the name of a variable or a header.
pub(crate) fn split(name: &str, text: &str) -> Vec<TextPart> {
    if let Some((scheme, rest)) = text.split_once(' ')
        && is_scheme(scheme)
        && !is_placeholder(rest)
    {
        return vec![literal(format!("{scheme} ")), secret(rest)];
    }
    if text.contains("://") {
        return address(text);
    }
    if is_key(text) || (names_a_secret(name) && !is_placeholder(text) && !is_setting(text)) {
        return vec![secret(text)];
    }
    keys_in(text)
}

/// Splits an argument; `before` is the preceding word.
pub(crate) fn split_argument(before: Option<&str>, word: &str) -> Vec<TextPart> {
    // `--api-key=…`, `-e TOKEN=…` and `--header "Authorization: …"` include their name.
    if let Some((name, before_value, value)) = named_value(word) {
        return [vec![literal(before_value)], split(name, value)].concat();
    }
    match before {
        Some(flag) if flag.starts_with('-') && !word.starts_with('-') => split(flag, word),
        _ => split("", word),
    }
}

/// Splits `NAME=value` or `NAME: value` into the name, everything before the value, and the value.
fn named_value(word: &str) -> Option<(&str, &str, &str)> {
    let at = word.find(['=', ':'])?;
    let name = &word[..at];
    if word[at..].starts_with("://") || !name.chars().all(may_be_in_flag) {
        return None;
    }
    let value = word[at + 1..].trim_start();
    Some((name, &word[..word.len() - value.len()], value))
}

fn may_be_in_flag(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Splits an address. Secrets are a password before the host, keys in the query, and keys that are
/// a path segment.
pub(crate) fn address(text: &str) -> Vec<TextPart> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return vec![literal(text)];
    };
    let (authority, tail) = split_before(rest, &['/', '?', '#']);
    let (path, query) = split_before(tail, &['?']);
    let mut parts = vec![literal(format!("{scheme}://"))];
    parts.extend(split_authority(authority));
    parts.extend(split_path(path));
    parts.extend(split_query(query));
    parts
}

fn split_before<'t>(text: &'t str, letters: &[char]) -> (&'t str, &'t str) {
    text.split_at(text.find(letters).unwrap_or(text.len()))
}

fn split_authority(authority: &str) -> Vec<TextPart> {
    if let Some((credentials, host)) = authority.rsplit_once('@')
        && let Some((user, password)) = credentials.split_once(':')
        && !password.is_empty()
    {
        return vec![
            literal(format!("{user}:")),
            secret(password),
            literal(format!("@{host}")),
        ];
    }
    vec![literal(authority)]
}

fn split_path(path: &str) -> Vec<TextPart> {
    let mut parts = Vec::new();
    for (index, step) in path.split('/').enumerate() {
        parts.push(literal(if index == 0 { "" } else { "/" }));
        parts.push(key_or_literal(step));
    }
    parts
}

fn split_query(query: &str) -> Vec<TextPart> {
    let mut parts = Vec::new();
    let pairs = query.split('&').enumerate();
    for (index, pair) in pairs.filter(|(_, pair)| !pair.is_empty()) {
        let between = if index == 0 { "" } else { "&" };
        let Some((name, value)) = pair.split_once('=') else {
            parts.push(literal(format!("{between}{pair}")));
            continue;
        };
        parts.push(literal(format!("{between}{name}=")));
        parts.extend(split(name, value));
    }
    parts
}

/// Splits a text in which only likely keys are secrets.
pub(crate) fn keys_in(text: &str) -> Vec<TextPart> {
    let mut parts = Vec::new();
    for word in text.split_inclusive(|c| !may_be_in_key(c)) {
        let key = word.trim_end_matches(|c| !may_be_in_key(c));
        parts.push(key_or_literal(key));
        parts.push(literal(&word[key.len()..]));
    }
    parts
}

fn key_or_literal(text: &str) -> TextPart {
    if is_key(text) {
        secret(text)
    } else {
        literal(text)
    }
}

fn secret(text: &str) -> TextPart {
    TextPart::Secret(text.to_owned())
}

fn literal(text: impl Into<String>) -> TextPart {
    TextPart::Literal(text.into())
}

/// True for a word that is followed by a secret, as in `Bearer …`.
pub fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "apikey"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Words that name a secret.
const SECRETS: [&str; 16] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pass",
    "pwd",
    "passphrase",
    "pat",
    "credential",
    "credentials",
    "bearer",
    "cookie",
    "authorization",
    "auth",
];
/// The listed words that may also end a longer word, as in `PGPASSWORD`.
const SUFFIXES: [&str; 6] = [
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
];
/// A name with one of these suffixes is about a secret and does not hold it.
const ABOUT_ONE: [&str; 17] = [
    "path", "file", "dir", "url", "uri", "host", "port", "id", "name", "limit", "type", "ttl",
    "max", "timeout", "enabled", "mode", "method",
];

/// True if a name says that its value is a secret.
pub fn names_a_secret(name: &str) -> bool {
    let words = words(name);
    let last = words.last().map(String::as_str).unwrap_or_default();
    !ABOUT_ONE.contains(&last) && words.iter().any(|word| is_secret_word(word))
}

fn is_secret_word(word: &str) -> bool {
    SECRETS.contains(&word) || SUFFIXES.iter().any(|end| word.ends_with(end))
}

/// Splits `X-Api-Key`, `GITHUB_TOKEN` and `tavilyApiKey` into their words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && before_small) {
            words.push(String::new());
        }
        before_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Prefixes of the keys of well-known services.
const KEY_PREFIXES: [&str; 26] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "tvly-",
    "ntn_",
    "secret_",
    "npm_",
    "pypi-",
    "hf_",
    "lin_api_",
    "fc-",
    "figd_",
];

/// True if a text looks like a key, under any name.
fn is_key(text: &str) -> bool {
    if !text.chars().all(may_be_in_key) {
        return false;
    }
    // Shorter texts with such a prefix are words, such as `sk-learn`.
    let begins = text.len() >= 16 && KEY_PREFIXES.iter().any(|begin| text.starts_with(begin));
    let mut runs = text.split(|c: char| !c.is_ascii_alphanumeric());
    begins || runs.any(is_random)
}

fn may_be_in_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | '+' | '~')
}

/// True for long runs of letters mixed with digits that no person would choose. The lengths are
/// below the lengths of keys in use, and above the lengths of words and versions.
fn is_random(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= 24 && digits >= 3 && run.len() - digits >= 3
}

/// True for `<your key>`, `YOUR_TOKEN` or `xxx`, copied from a manual.
fn is_placeholder(text: &str) -> bool {
    let small = text.to_lowercase();
    let begins = [
        "<", "your", "my_", "insert", "replace", "changeme", "...", "…",
    ];
    small.trim().is_empty()
        || begins.iter().any(|begin| small.starts_with(begin))
        || small.chars().all(|c| matches!(c, 'x' | '*' | '.' | '-'))
}

/// True for `true`, `none` or `300`: a boolean or a size, not a secret.
fn is_setting(text: &str) -> bool {
    matches!(
        text.to_lowercase().as_str(),
        "true" | "false" | "none" | "null" | "yes" | "no" | "auto" | "oauth"
    ) || (text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask_secrets(parts: Vec<TextPart>) -> String {
        SensitiveText::from_parts(parts).mask_secrets()
    }

    #[test]
    fn a_typed_secret_is_recognized_by_its_name_or_its_form() {
        for (name, text, expected) in [
            ("GITHUB_TOKEN", "ghp_abcdefghijklmnopqrstuv", "…"),
            ("DB_PASSWORD", "pw", "…"),
            ("PGPASSWORD", "pw", "…"),
            ("Authorization", "Bearer abc", "Bearer …"),
            ("X-Api-Key", "abc", "…"),
            ("tavilyApiKey", "abc", "…"),
            ("MODEL", "sk-proj-0123456789abcdef", "…"),
            ("WORKSPACE", "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "…"),
            (
                "DATABASE_URL",
                "postgres://ann:pw@db.example/shop",
                "postgres://ann:…@db.example/shop",
            ),
            ("API_KEY", "YOUR_API_KEY", "YOUR_API_KEY"),
            ("API_KEY", "<paste it here>", "<paste it here>"),
            ("TOKEN_LIMIT", "4000", "4000"),
            ("USE_TOKEN", "true", "true"),
            ("SSH_KEY_PATH", "/home/ann/.ssh/id", "/home/ann/.ssh/id"),
            ("KEYBOARD", "qwerty", "qwerty"),
            (
                "PROJECT",
                "5f0c3c1e-8a4f-4a39-9d3b-2f6a1c7f9d10",
                "5f0c3c1e-8a4f-4a39-9d3b-2f6a1c7f9d10",
            ),
        ] {
            assert_eq!(mask_secrets(split(name, text)), expected, "{name}");
        }
    }

    #[test]
    fn arguments_are_judged_by_the_flag_before_them_or_inside_them() {
        for (before, word, expected) in [
            (Some("--api-key"), "abc", "…"),
            (None, "--api-key=abc", "--api-key=…"),
            (Some("-e"), "TOKEN=abc", "TOKEN=…"),
            (Some("-e"), "TOKEN", "TOKEN"),
            (
                Some("--header"),
                "Authorization: Bearer abc",
                "Authorization: Bearer …",
            ),
            (Some("--header"), "X-Key:abc", "X-Key:…"),
            (Some("--token"), "--verbose", "--verbose"),
            (
                Some("-y"),
                "@modelcontextprotocol/server-github@2025.4.8",
                "@modelcontextprotocol/server-github@2025.4.8",
            ),
            (
                None,
                "https://h.example/mcp?apiKey=abc&x=1",
                "https://h.example/mcp?apiKey=…&x=1",
            ),
            (None, "postgresql://ann:pw@h/db", "postgresql://ann:…@h/db"),
            (None, "C:\\tools\\server.exe", "C:\\tools\\server.exe"),
        ] {
            assert_eq!(mask_secrets(split_argument(before, word)), expected);
        }
    }

    #[test]
    fn an_address_keeps_everything_but_its_secrets() {
        for (text, expected) in [
            ("https://h.example/mcp", "https://h.example/mcp"),
            (
                "https://h.example/s/abcdefghijk0123456789lmnopqrst/mcp",
                "https://h.example/s/…/mcp",
            ),
            (
                "https://h.example?tavilyApiKey=tvly-1&b&c=",
                "https://h.example?tavilyApiKey=…&b&c=",
            ),
        ] {
            assert_eq!(mask_secrets(address(text)), expected);
            assert_eq!(
                SensitiveText::from_parts(address(text)).reveal_secrets(),
                text
            );
        }
    }
}
