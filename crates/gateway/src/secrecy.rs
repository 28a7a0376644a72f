//! Tells the mask over all logs what must not appear in them: the secrets that the operator typed
//! into the configuration, and every value that a variable turns out to have. This module also
//! knows which secrets a server was given, so that a model does not read them in the server's
//! answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kitbag_clients::{HiddenText, SensitiveText, secrets_in_address, secrets_in_argument};
use kitbag_config::{Config, Embedder};
use kitbag_domain::{Lookup, Reach, ServerName, Template};
use kitbag_fetch::Secrets;
use kitbag_upstream::mask::hide;
use kitbag_upstream::{GivenValue, INHERITED, Server, ServerKind};

use kitbag_domain::sync::lock;

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

/// The secrets each server was given, ready to be looked for.
#[derive(Default)]
pub(crate) struct GivenSecrets {
    by_server: Mutex<HashMap<ServerName, Prepared>>,
}

/// Secrets, and the values they were made from.
struct Prepared {
    values: Vec<String>,
    secrets: Arc<Secrets>,
}

impl GivenSecrets {
    /// As they are now: a secret may have been set since the last call.
    pub(crate) fn of(&self, server: &Server) -> Arc<Secrets> {
        let values: Vec<String> = server.given().iter().flat_map(secrets_given).collect();
        let mut known = lock(&self.by_server);
        match known.get(server.name()) {
            Some(prepared) if prepared.values == values => prepared.secrets.clone(),
            _ => {
                let secrets = Arc::new(Secrets::of(&values));
                known.insert(
                    server.name().clone(),
                    Prepared {
                        values,
                        secrets: secrets.clone(),
                    },
                );
                secrets
            }
        }
    }
}

/// A value from the store is a secret. Of other values only the parts that look like a secret
/// count, since most values are settings that answers may well mention.
fn secrets_given(given: &GivenValue<'_>) -> Vec<String> {
    if given.source.contains("${secret:") {
        return vec![given.value.clone()];
    }
    let mut found = Vec::new();
    secrets_in_argument(None, &format!("{}={}", given.name, given.value)).template(|hidden| {
        if let HiddenText::Typed(secret) = hidden {
            found.push(secret.to_owned());
        }
        String::new()
    });
    found
}

/// Keeps what was typed into the configuration out of the logs.
pub(crate) fn hide_typed(config: &Config) {
    for server in config.servers.values() {
        let named = server.named_values().iter().map(|(_, value)| value);
        named
            .chain(&server.oauth.client_secret)
            .for_each(hide_whole);
        match &server.kind {
            ServerKind::External(Reach::Command(launch)) => {
                let words: Vec<_> = launch.args.iter().map(Template::source).collect();
                for (index, word) in words.iter().enumerate() {
                    let before = index.checked_sub(1).map(|before| words[before]);
                    hide_parts(&secrets_in_argument(before, word));
                }
            }
            ServerKind::External(Reach::Remote(endpoint)) => {
                hide_parts(&secrets_in_address(endpoint.url.source()));
            }
            ServerKind::BuiltIn { .. } => {}
        }
    }
    config
        .providers
        .values()
        .flat_map(|provider| provider.spec.headers.values())
        .for_each(hide_whole);
    [&config.models.anthropic, &config.models.openai]
        .into_iter()
        .filter_map(|vendor| vendor.key.as_ref())
        .for_each(hide_whole);
    let reader = config.web.reader.iter();
    reader.flat_map(|it| &it.token).for_each(hide_whole);
    if let Embedder::Endpoint(endpoint) = &config.embedder {
        endpoint.api_key.iter().for_each(hide_whole);
    }
}

fn hide_whole(template: &Template) {
    hide_text(template.source());
}

fn hide_parts(value: &SensitiveText) {
    value.template(|hidden| {
        if let HiddenText::Typed(secret) = hidden {
            hide_text(secret);
        }
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

    use kitbag_config::{Overrides, Surroundings, parse};

    use super::*;

    #[test]
    fn of_what_a_server_is_given_only_secrets_are_kept_from_models() {
        let check = |name: &str, source: &str, value: &str, expected: &[&str]| {
            assert_eq!(
                secrets_given(&GivenValue {
                    name,
                    source,
                    value: value.to_owned()
                }),
                expected,
                "{name}"
            );
        };
        check(
            "GITHUB_TOKEN",
            "${GITHUB_TOKEN}",
            "some-token-1",
            &["some-token-1"],
        );
        check(
            "PLAIN",
            "${secret:x}",
            "anything at all",
            &["anything at all"],
        );
        check(
            "Authorization",
            "Bearer ${X}",
            "Bearer some-token-1",
            &["some-token-1"],
        );
        check("PROJECT_DIR", "${HOME}/project", "/home/ann/project", &[]);
        check("NODE_ENV", "production", "production", &[]);
    }

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
        let around = Surroundings {
            home: Some("/home/ann".into()),
            ..Surroundings::default()
        };
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
