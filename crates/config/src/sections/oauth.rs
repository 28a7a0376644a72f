//! One `[servers.NAME.oauth]` table: changes to the usual login.

use kitbag_domain::Template;
use kitbag_upstream::oauth::{AuthMethod, Flow, Settings};
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::rows::{KeyRow, KeyTable, Secrecy, ValueType};
use crate::values::Section;

pub(crate) const TABLE: KeyTable = KeyTable {
    path: "servers.NAME.oauth",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "client_id",
            meaning: "A client registered at the authorization server. It takes precedence over everything else.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "client_secret",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            meaning: "Its secret. It may contain `${VARIABLE}` and `${secret:NAME}`.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "auth_method",
            meaning: "How to send the secret: `\"client_secret_basic\"`, `\"client_secret_post\"`, or `\"none\"`.",
            ..KeyRow::unset("as the authorization server offers")
        },
        KeyRow {
            name: "client_metadata_url",
            secrecy: Secrecy::Address,
            meaning: "The `https` URL of a client metadata document for your Kitbag, used as the client ID where the \
                      authorization server supports such documents. Otherwise Kitbag registers itself.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "scopes",
            value: ValueType::Texts,
            meaning: "The scopes to request instead. Scopes that the server asks for later are added.",
            ..KeyRow::unset("the server's request")
        },
        KeyRow {
            name: "issuer",
            secrecy: Secrecy::Address,
            meaning: "The only authorization server to use.",
            ..KeyRow::unset("the first that the server lists")
        },
        KeyRow {
            name: "redirect_port",
            value: ValueType::WholeNumber,
            meaning: "The port of `http://127.0.0.1:PORT/callback`, for a client registered with that URL.",
            ..KeyRow::unset("a free one")
        },
        KeyRow {
            name: "flow",
            meaning: "`\"browser\"` asks the user; `\"client_credentials\"` logs in by itself with `client_id` and \
                      `client_secret`.",
            ..KeyRow::text(|| FLOWS[0].0.to_owned())
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawOauth {
    client_id: Option<String>,
    client_secret: Option<Spanned<String>>,
    auth_method: Option<Spanned<String>>,
    client_metadata_url: Option<Spanned<String>>,
    scopes: Vec<String>,
    issuer: Option<String>,
    redirect_port: Option<Spanned<i64>>,
    flow: Option<Spanned<String>>,
}

pub(crate) fn build(raw: Spanned<RawOauth>, server: &Section) -> Result<Settings, Fault> {
    let section = Section {
        key: format!("{}.oauth", server.key),
        span: raw.span(),
    };
    let raw = raw.into_inner();
    if let (Some(secret), None) = (&raw.client_secret, &raw.client_id) {
        return Err(section.fault_at("client_secret", secret, Problem::SecretWithoutClient));
    }
    let flow = section
        .parse_choice("flow", raw.flow.clone(), FLOWS)?
        .unwrap_or_default();
    if let (Flow::ClientCredentials, Some(text), None) = (flow, &raw.flow, &raw.client_secret) {
        return Err(section.fault_at("flow", text, Problem::FlowWithoutSecret));
    }
    Ok(Settings {
        flow,
        client_id: raw.client_id,
        client_secret: raw.client_secret.map(|it| Template::new(it.into_inner())),
        auth_method: section.parse_choice("auth_method", raw.auth_method, AUTH_METHODS)?,
        client_metadata_url: raw
            .client_metadata_url
            .map(|text| parse_document_url(&section, &text))
            .transpose()?,
        scopes: raw.scopes.iter().collect(),
        issuer: raw.issuer,
        redirect_port: raw
            .redirect_port
            .map(|number| parse_port(&section, &number))
            .transpose()?,
    })
}

/// The protocol requires a path, so that one host can describe several clients.
fn parse_document_url(section: &Section, text: &Spanned<String>) -> Result<Url, Fault> {
    let url = Url::parse(text.get_ref()).ok();
    let url =
        url.filter(|url| url.scheme() == "https" && url.path() != "/" && url.fragment().is_none());
    url.ok_or_else(|| section.fault_at("client_metadata_url", text, Problem::ClientDocument))
}

fn parse_port(section: &Section, number: &Spanned<i64>) -> Result<u16, Fault> {
    let found = *number.get_ref();
    let port = u16::try_from(found).ok().filter(|port| *port > 0);
    port.ok_or_else(|| section.fault_at("redirect_port", number, Problem::Port { found }))
}

/// The default is first.
const FLOWS: &[(&str, Flow)] = &[
    ("browser", Flow::Browser),
    ("client_credentials", Flow::ClientCredentials),
];
const AUTH_METHODS: &[(&str, AuthMethod)] = &[
    ("none", AuthMethod::None),
    ("client_secret_basic", AuthMethod::ClientSecretBasic),
    ("client_secret_post", AuthMethod::ClientSecretPost),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Environment, Overrides, parse};

    fn config(text: &str) -> Result<Config, ConfigError> {
        let environment = Environment {
            home: Some("/home/ann".into()),
            ..Environment::default()
        };
        parse(text, None, &Overrides::default(), &environment)
    }

    fn settings(keys: &str) -> Settings {
        let text = format!("[servers.a]\nurl = 'https://a.example'\n{keys}");
        config(&text).unwrap().servers[&"a".parse().unwrap()]
            .oauth
            .clone()
    }

    #[track_caller]
    fn check(keys: &str, error: &str) {
        let text = format!("[servers.a]\nurl = 'https://a.example'\n[servers.a.oauth]\n{keys}");
        let found = config(&text).expect_err("the configuration should be refused");
        assert_eq!(
            format!("{found} => {}", found.remedy().unwrap_or_default()),
            format!("line 4, in {error}")
        );
    }

    #[test]
    fn every_key_is_optional_and_is_applied() {
        assert_eq!(settings(""), Settings::default());
        let expected = Settings {
            flow: Flow::ClientCredentials,
            client_id: Some("kitbag".to_owned()),
            client_secret: Some(Template::from("${SECRET}")),
            auth_method: Some(AuthMethod::ClientSecretPost),
            client_metadata_url: Some("https://kitbag.example/client.json".parse().unwrap()),
            scopes: "read write".parse().unwrap(),
            issuer: Some("https://auth.example".to_owned()),
            redirect_port: Some(7421),
        };
        let found = settings(
            r#"
            [servers.a.oauth]
            flow = "client_credentials"
            client_id = "kitbag"
            client_secret = "${SECRET}"
            auth_method = "client_secret_post"
            client_metadata_url = "https://kitbag.example/client.json"
            scopes = ["read", "write"]
            issuer = "https://auth.example"
            redirect_port = 7421
            "#,
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn contradictions_are_rejected() {
        check(
            "client_secret = 's3cret'",
            "`servers.a.oauth.client_secret`: `client_secret` is set but `client_id` is not => set `client_id` as well",
        );
        check(
            "flow = 'client_credentials'",
            "`servers.a.oauth.flow`: `client_credentials` needs a client ID and a client secret => set `client_id` and \
             `client_secret`, like \"${secret:NAME}\"",
        );
        check(
            "client_metadata_url = 'http://a.example/x'",
            "`servers.a.oauth.client_metadata_url`: not a valid client metadata URL => write it like \
             \"https://host/client.json\"",
        );
        check(
            "redirect_port = 0",
            "`servers.a.oauth.redirect_port`: 0 is not a valid port => ",
        );
        check(
            "cient_id = 'x'",
            "`servers.a.oauth`: unknown key `cient_id` => did you mean `client_id`?",
        );
        check(
            "flow = 'browsr'",
            "`servers.a.oauth.flow`: `browsr` is not one of `browser`, `client_credentials` => did you mean `browser`?",
        );
    }

    #[test]
    fn a_server_gets_a_header_or_a_login_but_not_both() {
        let text =
            "[servers.a]\nurl = 'https://a.example'\nheaders = { authorization = 'x' }\noauth = {}";
        let found = config(text).unwrap_err();
        let expected = "line 4, in `servers.a.oauth`: the header `Authorization` is already set";
        assert_eq!(found.to_string(), expected);
        let text = "[servers.a]\ncommand = 'a'\noauth = {}";
        let expected =
            "line 3, in `servers.a`: `oauth` does not apply to a server with a `command`";
        assert_eq!(config(text).unwrap_err().to_string(), expected);
    }
}
