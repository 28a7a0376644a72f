//! Recognises secrets that somebody typed into a file.
//!
//! A wrong guess costs little: what is taken for a secret ends up encrypted instead of in a file.

use crate::value::{Part, Value};

/// An argument of ours, which is a template, with what looks like a secret kept apart; `before` is
/// the word in front of it.
pub fn secrets_in_argument(before: Option<&str>, word: &str) -> Value {
    Value::of(
        split_argument(before, word)
            .into_iter()
            .map(in_our_spelling),
    )
}

/// An address of ours, which is a template, with what looks like a secret kept apart.
pub fn secrets_in_address(text: &str) -> Value {
    Value::of(address(text).into_iter().map(in_our_spelling))
}

fn in_our_spelling(part: Part) -> Part {
    match part {
        Part::Literal(text) => Part::Template(text),
        other => other,
    }
}

/// Whether a text that stands under this name holds a secret as it is, and not a variable for it.
pub fn holds_secret(name: &str, text: &str) -> bool {
    !text.contains("${")
        && split(name, text)
            .iter()
            .any(|part| matches!(part, Part::Secret(_)))
}

/// The parts of a literal text that stands under a name, such as a variable or a header.
pub(crate) fn split(name: &str, text: &str) -> Vec<Part> {
    if let Some((scheme, rest)) = text.split_once(' ')
        && is_scheme(scheme)
        && !is_placeholder(rest)
    {
        return vec![
            Part::Literal(format!("{scheme} ")),
            Part::Secret(rest.to_owned()),
        ];
    }
    if text.contains("://") {
        return address(text);
    }
    if is_key(text) || (speaks_of_a_secret(name) && !is_placeholder(text) && !is_setting(text)) {
        return vec![Part::Secret(text.to_owned())];
    }
    keys_in(text)
}

/// The parts of an argument; `before` is the word in front of it.
pub(crate) fn split_argument(before: Option<&str>, word: &str) -> Vec<Part> {
    // `--api-key=…`, `-e TOKEN=…` and `--header "Authorization: …"` carry their name along.
    let separator = word
        .find(['=', ':'])
        .filter(|at| !word[*at..].starts_with("://"));
    if let Some(at) = separator
        && word[..at]
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    {
        let after = &word[at + 1..];
        let value = after.trim_start();
        let begin = &word[..word.len() - value.len()];
        let name = word[..at].to_owned();
        return [vec![Part::Literal(begin.to_owned())], split(&name, value)].concat();
    }
    let name = before
        .filter(|before| before.starts_with('-'))
        .unwrap_or_default();
    split(if word.starts_with('-') { "" } else { name }, word)
}

/// Passwords before the host, keys in the query, and keys that are a step of the path.
pub(crate) fn address(text: &str) -> Vec<Part> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return vec![Part::Literal(text.to_owned())];
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let mut parts = vec![Part::Literal(format!("{scheme}://"))];
    match authority
        .rsplit_once('@')
        .and_then(|(user, host)| Some((user.split_once(':')?, host)))
    {
        Some(((user, password), host)) if !password.is_empty() => {
            parts.push(Part::Literal(format!("{user}:")));
            parts.push(Part::Secret(password.to_owned()));
            parts.push(Part::Literal(format!("@{host}")));
        }
        _ => parts.push(Part::Literal(authority.to_owned())),
    }
    let (path, query) = tail.split_at(tail.find('?').unwrap_or(tail.len()));
    for (index, step) in path.split('/').enumerate() {
        parts.push(Part::Literal(if index == 0 {
            String::new()
        } else {
            "/".to_owned()
        }));
        parts.push(if is_key(step) {
            Part::Secret(step.to_owned())
        } else {
            Part::Literal(step.to_owned())
        });
    }
    for (index, pair) in query
        .split('&')
        .enumerate()
        .filter(|(_, pair)| !pair.is_empty())
    {
        let between = if index == 0 { "" } else { "&" };
        match pair.split_once('=') {
            Some((name, value)) => {
                parts.push(Part::Literal(format!("{between}{name}=")));
                parts.extend(split(name, value));
            }
            None => parts.push(Part::Literal(format!("{between}{pair}"))),
        }
    }
    parts
}

/// The parts of a text of which only what looks like a key is a secret.
pub(crate) fn keys_in(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for word in text.split_inclusive(|c: char| !allowed_in_a_key(c)) {
        let end = word.len()
            - word
                .chars()
                .last()
                .filter(|c| !allowed_in_a_key(*c))
                .map_or(0, char::len_utf8);
        let (key, after) = word.split_at(end);
        let part = if is_key(key) {
            Part::Secret
        } else {
            Part::Literal
        };
        parts.extend([part(key.to_owned()), Part::Literal(after.to_owned())]);
    }
    parts
}

/// Whether a word says how a secret is sent that comes behind it, as in `Bearer …`.
pub fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "apikey"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether a name says that its value is nobody's business.
fn speaks_of_a_secret(name: &str) -> bool {
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
    /// Those that also end a word of several, as in `PGPASSWORD`.
    const RUN_TOGETHER: [&str; 6] = [
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
    ];
    const ABOUT_ONE: [&str; 17] = [
        "path", "file", "dir", "url", "uri", "host", "port", "id", "name", "limit", "type", "ttl",
        "max", "timeout", "enabled", "mode", "method",
    ];
    let words = words(name);
    let ends_about = words
        .last()
        .is_some_and(|last| ABOUT_ONE.contains(&last.as_str()));
    !ends_about
        && words.iter().any(|word| {
            SECRETS.contains(&word.as_str()) || RUN_TOGETHER.iter().any(|end| word.ends_with(end))
        })
}

/// `X-Api-Key`, `GITHUB_TOKEN` and `tavilyApiKey`, each as its words.
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

/// Whether a text looks like a key whatever it is called.
fn is_key(text: &str) -> bool {
    const BEGINNINGS: [&str; 26] = [
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
    if !text.chars().all(allowed_in_a_key) {
        return false;
    }
    let begins = text.len() >= 16 && BEGINNINGS.iter().any(|begin| text.starts_with(begin));
    begins
        || text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(is_random)
}

fn allowed_in_a_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | '+' | '~')
}

/// Long, and letters mixed with digits as nobody would choose them.
fn is_random(run: &str) -> bool {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    run.len() >= 24 && digits >= 3 && run.len() - digits >= 3
}

/// `<your key>`, `YOUR_TOKEN`, `xxx`: written by whoever wrote the manual.
fn is_placeholder(text: &str) -> bool {
    let small = text.to_lowercase();
    let begins = [
        "<", "your", "my_", "insert", "replace", "changeme", "...", "…",
    ];
    small.trim().is_empty()
        || begins.iter().any(|begin| small.starts_with(begin))
        || small.chars().all(|c| matches!(c, 'x' | '*' | '.' | '-'))
}

/// `true`, `none`, `300`: a switch or a size, not a secret.
fn is_setting(text: &str) -> bool {
    matches!(
        text.to_lowercase().as_str(),
        "true" | "false" | "none" | "null" | "yes" | "no" | "auto" | "oauth"
    ) || (text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(parts: Vec<Part>) -> String {
        Value::of(parts).masked()
    }

    #[test]
    fn a_typed_secret_is_recognised_by_its_name_or_its_looks() {
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
            assert_eq!(masked(split(name, text)), expected, "{name}");
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
            assert_eq!(masked(split_argument(before, word)), expected);
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
            assert_eq!(masked(address(text)), expected);
            assert_eq!(Value::of(address(text)).revealed(), text);
        }
    }
}
