//! Registers the secrets that logs must mask: those typed into the configuration, and every
//! looked-up value of a variable. Also knows the secrets given to each server, to mask them in the
//! server's answers before a model reads them.

use std::sync::Arc;

use kitbag_clients::{HiddenText, SensitiveText, secrets_in_address, secrets_in_argument};
use kitbag_config::{Config, Embedder};
use kitbag_domain::{Lookup, Reach, Template};
use kitbag_upstream::mask::add_secret;
use kitbag_upstream::{INHERITED, ServerKind, ServerSpec};

/// Wraps a lookup so that its values are masked in logs.
pub(crate) fn mask_lookups(
    lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> Lookup {
    Arc::new(move |variable| {
        let value = lookup(variable)?;
        // Masking the home directory would garble every path.
        if !INHERITED.contains(&variable) {
            add_secret(&value);
        }
        Some(value)
    })
}

/// Returns the secrets among the values given to a server: in its environment, its headers, its
/// arguments, its address and its login. Unresolvable ones are skipped.
pub(crate) fn find_secrets(spec: &ServerSpec, lookup: &Lookup) -> Vec<String> {
    let fill = |template: &Template| template.resolve(|name| lookup(name)).ok();
    let mut found = Vec::new();
    for (name, template) in spec.named_values() {
        let is_stored = template.source().contains("${secret:");
        found.extend(
            fill(template)
                .into_iter()
                .flat_map(|value| match is_stored {
                    true => vec![value],
                    // Most values are settings that a server may well mention.
                    false => typed_secrets(&secrets_in_argument(None, &format!("{name}={value}"))),
                }),
        );
    }
    match &spec.kind {
        ServerKind::External(Reach::Command(launch)) => {
            let words: Vec<_> = launch.args.iter().filter_map(fill).collect();
            for (index, word) in words.iter().enumerate() {
                let before = index.checked_sub(1).map(|before| words[before].as_str());
                found.extend(typed_secrets(&secrets_in_argument(before, word)));
            }
        }
        ServerKind::External(Reach::Remote(endpoint)) => {
            let address = fill(&endpoint.url);
            found.extend(
                address
                    .iter()
                    .flat_map(|it| typed_secrets(&secrets_in_address(it))),
            );
        }
        ServerKind::BuiltIn { .. } => {}
    }
    found.extend(spec.oauth.client_secret.as_ref().and_then(fill));
    // A stored value is a secret wherever it is used.
    let variables = spec.variables();
    let stored = variables
        .iter()
        .filter(|it| it.starts_with(Template::SECRET));
    found.extend(stored.filter_map(|variable| lookup(variable)));
    found
}

fn typed_secrets(text: &SensitiveText) -> Vec<String> {
    let mut found = Vec::new();
    text.template(|hidden| {
        if let HiddenText::Typed(secret) = hidden {
            found.push(secret.to_owned());
        }
        String::new()
    });
    found
}

/// Masks secrets typed into the configuration in the logs.
pub(crate) fn mask_typed_secrets(config: &Config) {
    for server in config.servers.values() {
        let named = server.named_values().iter().map(|(_, value)| value);
        named
            .chain(&server.oauth.client_secret)
            .for_each(mask_template);
        match &server.kind {
            ServerKind::External(Reach::Command(launch)) => {
                let words: Vec<_> = launch.args.iter().map(Template::source).collect();
                for (index, word) in words.iter().enumerate() {
                    let before = index.checked_sub(1).map(|before| words[before]);
                    mask_typed_parts(&secrets_in_argument(before, word));
                }
            }
            ServerKind::External(Reach::Remote(endpoint)) => {
                mask_typed_parts(&secrets_in_address(endpoint.url.source()));
            }
            ServerKind::BuiltIn { .. } => {}
        }
    }
    config
        .providers
        .values()
        .flat_map(|provider| provider.spec.headers.values())
        .for_each(mask_template);
    [&config.models.anthropic, &config.models.openai]
        .into_iter()
        .filter_map(|vendor| vendor.key.as_ref())
        .for_each(mask_template);
    let reader = config.web.reader.iter();
    reader.flat_map(|it| &it.token).for_each(mask_template);
    if let Embedder::Endpoint(endpoint) = &config.embedder {
        endpoint.api_key.iter().for_each(mask_template);
    }
}

fn mask_template(template: &Template) {
    mask_text(template.source());
}

fn mask_typed_parts(value: &SensitiveText) {
    typed_secrets(value)
        .iter()
        .for_each(|secret| mask_text(secret));
}

/// A text with variables is masked once they have values.
fn mask_text(text: &str) {
    if !text.contains("${") {
        add_secret(text);
    }
}

#[cfg(test)]
mod tests {
    use kitbag_upstream::mask::mask_secrets;

    use kitbag_config::{Environment, Overrides, parse};

    use super::*;

    fn parse_config(text: &str) -> Config {
        let around = Environment {
            home: Some("/home/ann".into()),
            ..Environment::default()
        };
        parse(text, None, &Overrides::default(), &around).unwrap()
    }

    #[test]
    fn only_secrets_given_to_a_server_are_masked() {
        let check = |table: &str, expected: &[&str]| {
            let config = parse_config(&format!("[servers.a]\n{table}"));
            let lookup: Lookup =
                Arc::new(|name| Some(format!("value-of-{}", name.replace("secret:", "stored-"))));
            let mut found = find_secrets(&config.servers[&"a".parse().unwrap()], &lookup);
            found.sort();
            found.dedup();
            assert_eq!(found, expected, "{table}");
        };
        let command = |rest: &str| format!("command = 'a'\n{rest}");
        check(
            &command(
                "env = { GITHUB_TOKEN = '${GH}', NODE_ENV = 'production', DIR = '${HOME}/x' }",
            ),
            &["value-of-GH"],
        );
        check(
            &command("env = { PLAIN = 'a ${secret:x}' }"),
            &["a value-of-stored-x", "value-of-stored-x"],
        );
        check(
            &command("args = ['--api-key', 'typed-key-1', '--dir=/srv', '--flag', 'x${secret:y}']"),
            &["typed-key-1", "value-of-stored-y"],
        );
        check(
            "url = 'https://b.example/mcp?token=typed-token-1&page=1'\nheaders = { Authorization = 'Bearer ${X}' }",
            &["typed-token-1", "value-of-X"],
        );
    }

    #[test]
    fn typed_and_looked_up_values_appear_in_no_log() {
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
        mask_typed_secrets(&parse_config(text));
        let lookup = mask_lookups(|name| Some(format!("looked-up-{name}")));
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
            assert_eq!(mask_secrets(&format!("<{secret}>")), "<•••>");
        }
        for harmless in ["/srv/notes", "b.example", "looked-up-HOME"] {
            assert_eq!(mask_secrets(harmless), harmless);
        }
    }
}
