//! Masks a server's typed secrets, but only unmistakable ones: an unknown author may call a piece
//! of a program a token to hide it.

use kitbag_clients::{HiddenText, holds_secret, secrets_in_address, secrets_in_argument};
use kitbag_config::edit::Reach;

const MASK: &str = "…";

pub(super) fn mask_reach(reach: &Reach) -> Reach {
    match reach {
        Reach::Launch {
            command,
            args,
            env,
            cwd,
        } => Reach::Launch {
            command: command.clone(),
            args: mask_words(args),
            env: mask_pairs(env),
            cwd: cwd.clone(),
        },
        Reach::Remote {
            url,
            transport,
            headers,
        } => Reach::Remote {
            url: secrets_in_address(url).template(mask_key),
            transport: transport.clone(),
            headers: mask_pairs(headers),
        },
    }
}

fn mask_words(words: &[String]) -> Vec<String> {
    let mut before = None;
    let mut masked = Vec::with_capacity(words.len());
    for word in words {
        masked.push(secrets_in_argument(before, word).template(mask_key));
        before = Some(word.as_str());
    }
    masked
}

fn mask_pairs(pairs: &[(String, String)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, text)| (name.clone(), mask_value(name, text)))
        .collect()
}

fn mask_value(name: &str, text: &str) -> String {
    if holds_secret(name, text) {
        mask_if_key(text)
    } else {
        text.to_owned()
    }
}

fn mask_key(hidden: HiddenText<'_>) -> String {
    let (HiddenText::Typed(text) | HiddenText::Wanted(text)) = hidden;
    mask_if_key(text)
}

fn mask_if_key(text: &str) -> String {
    if is_like_a_key(text) { MASK } else { text }.to_owned()
}

/// True if the text has only the characters of a key and does not begin like a path.
fn is_like_a_key(text: &str) -> bool {
    let key = match text.split_once(' ') {
        Some((scheme, key)) if kitbag_clients::is_scheme(scheme) => key,
        _ => text,
    };
    key.chars().all(is_of_a_key) && !key.starts_with(['/', '.', '~'])
}

fn is_of_a_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | '+' | '/' | '~')
}
