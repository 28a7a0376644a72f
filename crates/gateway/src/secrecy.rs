//! Tells the mask over all logs what must not appear in them: what somebody typed into the
//! configuration, and every value that a variable turns out to have.

use std::sync::Arc;

use kitbag_desk::{Value, secrets_in_address, secrets_in_argument};
use kitbag_upstream::mask::hide;
use kitbag_upstream::{INHERITED, Lookup, Template, Transport};

use crate::config::{Config, Embedder};

/// The lookup, with every answer of it kept out of the logs.
pub(crate) fn hiding(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Lookup {
    Arc::new(move |variable| {
        let value = lookup(variable)?;
        // Masking the home directory would garble every path.
        if !INHERITED.contains(&variable) {
            hide(&value);
        }
        Some(value)
    })
}

/// Keeps what was typed into the configuration out of the logs.
pub(crate) fn hide_typed(config: &Config) {
    for server in config.servers.values() {
        match &server.transport {
            Transport::Stdio(launch) => {
                launch.env.values().for_each(hide_whole);
                let words: Vec<_> = launch.args.iter().map(Template::source).collect();
                for (index, word) in words.iter().enumerate() {
                    let before = index.checked_sub(1).map(|before| words[before]);
                    hide_parts(&secrets_in_argument(before, word));
                }
            }
            Transport::Http(endpoint) | Transport::Sse(endpoint) => {
                endpoint.headers.values().chain(&endpoint.oauth.client_secret).for_each(hide_whole);
                hide_parts(&secrets_in_address(endpoint.address().source()));
            }
            Transport::Inside(_) => {}
        }
    }
    config.providers.values().flat_map(|provider| provider.spec.headers.values()).for_each(hide_whole);
    if let Embedder::Endpoint(endpoint) = &config.embedder {
        endpoint.api_key.iter().for_each(hide_whole);
    }
}

fn hide_whole(template: &Template) {
    hide_text(template.source());
}

fn hide_parts(value: &Value) {
    value.template(|secret| {
        hide_text(secret);
        String::new()
    });
}

/// A text with variables is hidden when they have their values.
fn hide_text(text: &str) {
    if !text.contains("${") {
        hide(text);
    }
}

#[cfg(test)]
mod tests {
    use kitbag_upstream::mask::masked;

    use super::*;
    use crate::config::{Overrides, Surroundings, parse};

    #[test]
    fn whatever_was_typed_or_looked_up_appears_in_no_log() {
        let text = r#"
            [servers.a]
            command = "a"
            args = ["--api-key", "typed-argument", "--dir=/srv/notes"]
            env = { TOKEN = "typed-variable", PLAIN = "${X}" }

            [servers.b]
            url = "https://ann:typed-password@b.example/mcp?token=typed-query&page=1"
            headers = { X-Key = "typed-header" }

            [providers.c]
            url = "https://c.example"
            bearer = "typed-bearer"
        "#;
        let around = Surroundings { home: Some("/home/ann".into()), ..Surroundings::default() };
        hide_typed(&parse(text, None, &Overrides::default(), &around).unwrap());
        let lookup = hiding(|name| Some(format!("looked-up-{name}")));
        assert_eq!(lookup("TOKEN").as_deref(), Some("looked-up-TOKEN"));
        lookup("HOME");
        for secret in [
            "typed-argument",
            "typed-variable",
            "typed-password",
            "typed-query",
            "typed-header",
            "typed-bearer",
            "looked-up-TOKEN",
        ] {
            assert_eq!(masked(&format!("<{secret}>")), "<•••>");
        }
        for harmless in ["/srv/notes", "b.example", "looked-up-HOME"] {
            assert_eq!(masked(harmless), harmless);
        }
    }
}
