//! Turns one `[providers.NAME]` table into an API that can be called.

use std::collections::BTreeMap;

use http::Method;
use kitbag_apis::ProviderSpec;
use kitbag_domain::{ServerName, Template, TomlProblem};
use kitbag_policy::{AddressRules, Network};
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::raw::{ByName, RawDuration, Texts};
use crate::rows::{KeyRow, KeyTable, Secrecy, SectionRow, TableLayout};
use crate::values::{Section, parse_templates};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "providers",
    layout: TableLayout::Each(&TABLE),
    fingerprint: Some(|config| format!("{:?}", config.providers)),
};

const TABLE: KeyTable = KeyTable {
    path: "providers.NAME",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "url",
            secrecy: Secrecy::Address,
            meaning: "The base URL, such as `\"https://api.example/v1\"`. Every call stays below it. Clients may see \
                      it, so it must not contain a secret.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "description",
            meaning: "The purpose of the API. Models read it.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "headers",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            meaning: "HTTP headers for every call.",
            ..KeyRow::PAIRS
        },
        KeyRow {
            name: "bearer",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            meaning: "A token, sent as `Authorization: Bearer`.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "methods",
            meaning: "The allowed HTTP methods.",
            ..KeyRow::texts(|| {
                ProviderSpec::DEFAULT_METHODS
                    .map(|it| it.to_string())
                    .into()
            })
        },
        KeyRow {
            name: "allow_private",
            meaning: "`true` allows loopback and private addresses.",
            ..KeyRow::flag(|| false)
        },
        KeyRow {
            name: "allow_addresses",
            meaning: "Addresses and ranges that are always allowed, such as `\"10.1.0.0/16\"`.",
            ..KeyRow::texts(Vec::new)
        },
        KeyRow {
            name: "timeout",
            meaning: "The timeout of a whole call.",
            ..KeyRow::duration(|| ProviderSpec::DEFAULT_TIMEOUT)
        },
        KeyRow {
            name: "max_response_bytes",
            meaning: "The largest answer.",
            ..KeyRow::number(|| ProviderSpec::DEFAULT_MAX_RESPONSE_BYTES)
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawProvider {
    url: Option<Spanned<String>>,
    description: Option<String>,
    headers: Option<Spanned<ByName<String>>>,
    bearer: Option<Spanned<String>>,
    methods: Option<Spanned<Texts>>,
    allow_private: bool,
    allow_addresses: Texts,
    timeout: Option<Spanned<RawDuration>>,
    max_response_bytes: Option<Spanned<i64>>,
}

/// An API, and the addresses that its calls may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    pub spec: ProviderSpec,
    pub addresses: AddressRules,
}

pub(crate) fn build(
    name: ServerName,
    raw: RawProvider,
    section: &Section,
) -> Result<ProviderConfig, Fault> {
    let Some(url) = &raw.url else {
        return Err(section.fault(Problem::NoUrl));
    };
    let url = parse_base_url(url.get_ref())
        .map_err(|reason| section.fault_at("url", url, Problem::ProviderUrl { reason }))?;
    let mut headers = parse_templates(raw.headers, |name| section.check_header_name(name))?;
    if let Some(bearer) = raw.bearer {
        add_bearer(&mut headers, &bearer, section)?;
    }
    let spec = ProviderSpec {
        name,
        description: raw.description,
        url,
        headers,
        methods: parse_methods(raw.methods, section)?,
        timeout: section.parse_duration("timeout", raw.timeout, ProviderSpec::DEFAULT_TIMEOUT)?,
        max_response_bytes: section.parse_number(
            "max_response_bytes",
            raw.max_response_bytes,
            1024,
            ProviderSpec::DEFAULT_MAX_RESPONSE_BYTES,
        )?,
    };
    let addresses = AddressRules {
        private: raw.allow_private,
        networks: parse_networks(&raw.allow_addresses, section)?,
    };
    Ok(ProviderConfig { spec, addresses })
}

pub(super) fn parse_networks(texts: &Texts, section: &Section) -> Result<Vec<Network>, Fault> {
    let networks = texts.iter().map(|text| {
        text.get_ref()
            .parse()
            .map_err(|error| section.fault_at("allow_addresses", text, Problem::Network(error)))
    });
    networks.collect()
}

/// The URL ends with a path, because the paths of calls are appended to it. It must not contain a
/// secret, because a secret in it could not be kept out of messages.
pub(super) fn parse_base_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("unsupported scheme `{}:`", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it contains a user name; send credentials with `headers` or `bearer`".to_owned(),
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it must not have a query or fragment; add the query to each call".to_owned());
    }
    Ok(url)
}

fn add_bearer(
    headers: &mut BTreeMap<String, Template>,
    bearer: &Spanned<String>,
    section: &Section,
) -> Result<(), Fault> {
    const AUTHORIZATION: &str = "Authorization";
    if headers
        .keys()
        .any(|name| name.eq_ignore_ascii_case(AUTHORIZATION))
    {
        return Err(section.fault_at("bearer", bearer, Problem::BearerTwice));
    }
    headers.insert(
        AUTHORIZATION.to_owned(),
        Template::new(format!("Bearer {}", bearer.get_ref())),
    );
    Ok(())
}

fn parse_methods(raw: Option<Spanned<Texts>>, section: &Section) -> Result<Vec<Method>, Fault> {
    let Some(raw) = raw else {
        return Ok(ProviderSpec::DEFAULT_METHODS.to_vec());
    };
    if raw.get_ref().is_empty() {
        return Err(section.fault_at("methods", &raw, Problem::NoMethods));
    }
    raw.get_ref()
        .iter()
        .map(|text| parse_method(text, section))
        .collect()
}

fn parse_method(text: &Spanned<String>, section: &Section) -> Result<Method, Fault> {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let upper = text.get_ref().to_uppercase();
    let known = METHODS
        .contains(&upper.as_str())
        .then(|| upper.parse().ok())
        .flatten();
    known.ok_or_else(|| {
        let problem = TomlProblem::not_one_of(text.get_ref(), METHODS.to_vec());
        section.fault_at("methods", text, problem)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Config, ConfigError, Environment, Overrides, parse};

    fn config(text: &str) -> Result<Config, ConfigError> {
        let environment = Environment {
            home: Some("/home/ann".into()),
            ..Environment::default()
        };
        parse(text, None, &Overrides::default(), &environment)
    }

    fn provider(keys: &str) -> ProviderConfig {
        let config = config(&format!(
            "[providers.weather]\nurl = 'https://api.example/v1'\n{keys}"
        ))
        .unwrap();
        config.providers[&"weather".parse().unwrap()].clone()
    }

    #[track_caller]
    fn check(text: &str, error: &str) {
        let found = config(text).expect_err("the configuration should be refused");
        assert_eq!(
            format!("{found} => {}", found.remedy().unwrap_or_default()),
            error
        );
    }

    #[test]
    fn an_api_needs_only_a_url() {
        let ProviderConfig { spec, addresses } = provider("");
        let expected = ProviderSpec {
            name: "weather".parse().unwrap(),
            description: None,
            url: "https://api.example/v1".parse().unwrap(),
            headers: BTreeMap::new(),
            methods: vec![Method::GET, Method::HEAD],
            timeout: Duration::from_secs(60),
            max_response_bytes: 16 * 1024 * 1024,
        };
        assert_eq!((spec, addresses), (expected, AddressRules::default()));
    }

    #[test]
    fn every_key_reaches_the_api() {
        let ProviderConfig { spec, addresses } = provider(
            r#"
            description = "Forecasts"
            headers = { X-Api-Key = "${KEY}" }
            bearer = "${TOKEN}"
            methods = ["GET", "post"]
            allow_private = true
            allow_addresses = ["169.254.1.1", "fe80::/10"]
            timeout = "5s"
            max_response_bytes = 4096
            "#,
        );
        assert_eq!(spec.description.as_deref(), Some("Forecasts"));
        let headers = [
            ("Authorization", "Bearer ${TOKEN}"),
            ("X-Api-Key", "${KEY}"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), Template::from(value)));
        assert_eq!(spec.headers, BTreeMap::from(headers));
        assert_eq!(spec.methods, [Method::GET, Method::POST]);
        assert_eq!(
            (spec.timeout, spec.max_response_bytes),
            (Duration::from_secs(5), 4096)
        );
        let networks = ["169.254.1.1", "fe80::/10"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        assert_eq!(
            addresses,
            AddressRules {
                private: true,
                networks
            }
        );
    }

    #[test]
    fn servers_and_providers_share_no_name() {
        let remedy = "give one of the two another name";
        let expected =
            format!("line 3, in `providers.a`: a server named `a` already exists => {remedy}");
        check(
            "[servers.a]\ncommand = 'x'\n[providers.a]\nurl = 'https://a.example'",
            &expected,
        );
        let disabled = "servers.a = { command = 'x', enabled = false }\n\n[providers.a]\nurl = 'https://a.example'";
        check(disabled, &expected);
    }

    #[test]
    fn an_invalid_base_url_is_rejected_and_not_quoted() {
        let refused = |url: &str, reason: &str| {
            check(
                &format!("[providers.a]\nurl = '{url}'"),
                &format!(
                    "line 2, in `providers.a.url`: invalid API URL: {reason} => write it like \
                     \"https://api.example/v1\""
                ),
            );
        };
        refused("api.example", "relative URL without a base");
        refused("ftp://api.example", "unsupported scheme `ftp:`");
        refused(
            "https://ann:s3cret@api.example",
            "it contains a user name; send credentials with `headers` or `bearer`",
        );
        refused(
            "https://api.example/?key=s3cret",
            "it must not have a query or fragment; add the query to each call",
        );
        check(
            "[providers.a]",
            "line 1, in `providers.a`: `url` is not set => write it like \"https://api.example/v1\"",
        );
    }

    #[test]
    fn contradictions_are_rejected() {
        let refused = |keys: &str, error: &str| {
            check(
                &format!("[providers.a]\nurl = 'https://a.example'\n{keys}"),
                &format!("line 3, in {error}"),
            );
        };
        refused(
            "methods = ['DELET']",
            "`providers.a.methods`: `DELET` is not one of `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS` => did \
             you mean `DELETE`?",
        );
        refused(
            "methods = []",
            "`providers.a.methods`: `methods` is empty, so the API could never be called => remove `methods` to allow GET and \
             HEAD, or name some",
        );
        refused(
            "allow_addresses = ['10.0.0.0/99']",
            "`providers.a.allow_addresses`: `10.0.0.0/99` is neither an address nor a range of addresses => write it \
             like \"10.0.0.0/8\" or \"10.1.2.3\"",
        );
        refused(
            "bearer = 'y'\nheaders = { authorization = 'x' }",
            "`providers.a.bearer`: the header `Authorization` is already set => keep one of the two",
        );
        refused(
            "metods = []",
            "`providers.a`: unknown key `metods` => did you mean `methods`?",
        );
    }
}
