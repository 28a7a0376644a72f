//! `[api]`: the API behind a tool, and the authentication of its requests.

use std::num::NonZeroU32;

use http::HeaderName;
use kitbag_domain::TomlProblem;
use kitbag_tool_spec::{
    ApiSpec, AuthScheme, CredentialName, HostPattern, OAuthGrant, StorageSpec, TextPattern,
};
use url::Url;

use super::mistake::ToolFileMistake;
use super::view::{Located, TableView};

const KEYS: &[&str] = &[
    "url",
    "hosts",
    "credential",
    "optional_fields",
    "test",
    "auth",
    "headers",
    "timeout",
    "max_response_bytes",
    "requests_per_minute",
    "storage",
];

pub(super) fn read(view: &TableView<'_>) -> Option<ApiSpec> {
    view.expect_keys(KEYS);
    let url = view.needed_text("url");
    let credential: Option<CredentialName> = view.parse_text(view.text("credential"));
    let auth = view.table("auth").map(|it| read_auth(&it));
    let headers = headers(view, common_pattern);
    let hosts = hosts(view, url.as_ref());
    let timeout = view.duration("timeout");
    let max_response_bytes = view.number("max_response_bytes", 1024);
    let requests_per_minute = view.number("requests_per_minute", 1);
    let storage = view.table("storage").map(|it| read_storage(&it));
    let url = url.and_then(|url| base(view, &url));
    let api = ApiSpec {
        url: url?,
        hosts,
        credential,
        optional_fields: view.plain_texts("optional_fields"),
        auth: auth.unwrap_or(Some(AuthScheme::Nothing))?,
        headers,
        timeout: timeout.unwrap_or(ApiSpec::DEFAULT_TIMEOUT),
        max_response_bytes: max_response_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(ApiSpec::DEFAULT_MAX_RESPONSE_BYTES),
        requests_per_minute: requests_per_minute
            .and_then(|number| u32::try_from(number).ok())
            .and_then(NonZeroU32::new),
        storage: storage.unwrap_or(Some(None))?,
    };
    if api.credential.is_none() && !api.credential_fields().is_empty() && !view.has("credential") {
        view.note(ToolFileMistake::NoCredential);
    }
    Some(api)
}

/// Returns the headers of a table, each parsed by the function for its context.
pub(super) fn headers(
    view: &TableView<'_>,
    pattern: impl Fn(&TableView<'_>, &Located<String>) -> Option<TextPattern>,
) -> Vec<(HeaderName, TextPattern)> {
    let pairs = view.pairs("headers").into_iter();
    pairs
        .filter_map(|(name, value)| Some((header_name(view, &name)?, pattern(view, &value)?)))
        .collect()
}

fn header_name(view: &TableView<'_>, name: &Located<String>) -> Option<HeaderName> {
    let parsed = HeaderName::try_from(name.value.as_str()).ok();
    if parsed.is_none() {
        let name_of_header = name.value.clone();
        view.source.note_at(
            name,
            TomlProblem::HeaderName {
                name: name_of_header,
            },
        );
    }
    parsed
}

/// Parses a pattern that belongs to all actions, so it can only name fields of the credential.
fn common_pattern(view: &TableView<'_>, text: &Located<String>) -> Option<TextPattern> {
    let pattern: TextPattern = match text.value.parse() {
        Ok(pattern) => pattern,
        Err(error) => {
            view.source
                .note_at(text, ToolFileMistake::Placeholder(error));
            return None;
        }
    };
    let argument = pattern.placeholders().find_map(|word| word.argument_name());
    if let Some(word) = argument {
        let word = word.to_owned();
        view.source
            .note_at(text, ToolFileMistake::ArgumentOfAllActions { word });
        return None;
    }
    Some(pattern)
}

fn base(view: &TableView<'_>, text: &Located<String>) -> Option<TextPattern> {
    let plain = text.with(text.value.trim_end_matches('/').to_owned());
    let pattern = common_pattern(view, &plain)?;
    match find_url_problem(&pattern) {
        None => Some(pattern),
        Some(reason) => {
            let reason = reason.to_owned();
            view.source
                .note_at(text, ToolFileMistake::ApiUrl { reason });
            None
        }
    }
}

fn find_url_problem(pattern: &TextPattern) -> Option<&'static str> {
    let Some(url) = address(pattern) else {
        return Some("it cannot be read");
    };
    if url.scheme() != "https" {
        return Some("an API must use `https:`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it has a user in it; use `auth`");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Some("it must end with the path; a query belongs to an action");
    }
    None
}

/// Returns an example of the address, with a letter for each placeholder.
fn address(pattern: &TextPattern) -> Option<Url> {
    Url::parse(&pattern.with_stars().replace('*', "x")).ok()
}

/// Returns the hosts in the file, or the host of `url`, with stars for placeholders.
fn hosts(view: &TableView<'_>, url: Option<&Located<String>>) -> Vec<HostPattern> {
    let written = view.texts("hosts");
    if view.has("hosts") && written.is_empty() {
        view.note_key("hosts", ToolFileMistake::EmptyValue);
    }
    if !written.is_empty() {
        let read = written.into_iter();
        return read.filter_map(|it| view.parse_text(Some(it))).collect();
    }
    let of_url = url.and_then(|text| Some(text.with(host_of(&text.value)?)));
    of_url
        .and_then(|host| view.parse_text(Some(host)))
        .into_iter()
        .collect()
}

fn host_of(url: &str) -> Option<String> {
    let pattern: TextPattern = url.parse().ok()?;
    let stars = pattern.with_stars();
    let (_, rest) = stars.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit('@').next()?;
    Some(host.split(':').next().unwrap_or(host).to_owned())
}

fn read_storage(view: &TableView<'_>) -> Option<Option<StorageSpec>> {
    view.expect_keys(&["url", "auth", "unless"]);
    let url = view.needed_text("url");
    let auth = view.table("auth").map(|it| read_auth(&it));
    let unless = view.needed_text("unless");
    Some(Some(StorageSpec {
        url: base(view, &url?)?,
        auth: auth.unwrap_or(Some(AuthScheme::Nothing))?,
        unless: unless?.value,
    }))
}

#[derive(Debug, Clone, Copy)]
enum SchemeWord {
    Bearer,
    ApiKey,
    Basic,
    OAuth2,
    AwsSigV4,
}

fn read_auth(view: &TableView<'_>) -> Option<AuthScheme> {
    const SCHEMES: [SchemeWord; 5] = [
        SchemeWord::Bearer,
        SchemeWord::ApiKey,
        SchemeWord::Basic,
        SchemeWord::OAuth2,
        SchemeWord::AwsSigV4,
    ];
    let scheme = view.choice(view.needed_text("scheme"), &SCHEMES, scheme_name)?;
    view.expect_keys(match scheme {
        SchemeWord::Bearer | SchemeWord::Basic => &["scheme"],
        SchemeWord::ApiKey => &["scheme", "header", "query"],
        SchemeWord::OAuth2 => &["scheme", "grant", "token_url", "authorize_url", "scopes"],
        SchemeWord::AwsSigV4 => &["scheme", "service", "region"],
    });
    match scheme {
        SchemeWord::Bearer => Some(AuthScheme::Bearer),
        SchemeWord::Basic => Some(AuthScheme::Basic),
        SchemeWord::ApiKey => api_key(view),
        SchemeWord::OAuth2 => oauth2(view),
        SchemeWord::AwsSigV4 => {
            let service = view.needed_text("service");
            let region = common(view, "region");
            Some(AuthScheme::AwsSigV4 {
                service: service?.value,
                region: region?,
            })
        }
    }
}

fn scheme_name(scheme: SchemeWord) -> &'static str {
    match scheme {
        SchemeWord::Bearer => "bearer",
        SchemeWord::ApiKey => "api-key",
        SchemeWord::Basic => "basic",
        SchemeWord::OAuth2 => "oauth2",
        SchemeWord::AwsSigV4 => "aws-sigv4",
    }
}

fn api_key(view: &TableView<'_>) -> Option<AuthScheme> {
    match (view.text("header"), view.text("query")) {
        (Some(header), None) => {
            let header = header_name(view, &header)?;
            Some(AuthScheme::ApiKeyHeader { header })
        }
        (None, Some(query)) => Some(AuthScheme::ApiKeyQuery {
            parameter: query.value,
        }),
        _ => {
            view.note(ToolFileMistake::KeyPlace);
            None
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum GrantWord {
    ClientCredentials,
    RefreshToken,
    AuthorizationCode,
}

fn oauth2(view: &TableView<'_>) -> Option<AuthScheme> {
    const GRANTS: [GrantWord; 3] = [
        GrantWord::ClientCredentials,
        GrantWord::RefreshToken,
        GrantWord::AuthorizationCode,
    ];
    let grant = view.choice(view.needed_text("grant"), &GRANTS, grant_name)?;
    let token_url = web_pattern(view, "token_url");
    let grant = match grant {
        GrantWord::ClientCredentials => OAuthGrant::ClientCredentials,
        GrantWord::RefreshToken => OAuthGrant::RefreshToken,
        GrantWord::AuthorizationCode => OAuthGrant::AuthorizationCode {
            authorize_url: web_pattern(view, "authorize_url")?,
        },
    };
    if view.has("authorize_url") && !matches!(grant, OAuthGrant::AuthorizationCode { .. }) {
        let mistake = ToolFileMistake::Meaningless {
            key: "authorize_url",
            reason: "for this grant",
        };
        view.note_key("authorize_url", mistake);
    }
    Some(AuthScheme::OAuth2 {
        grant,
        token_url: token_url?,
        scopes: view.plain_texts("scopes"),
    })
}

fn grant_name(grant: GrantWord) -> &'static str {
    match grant {
        GrantWord::ClientCredentials => "client_credentials",
        GrantWord::RefreshToken => "refresh_token",
        GrantWord::AuthorizationCode => "authorization_code",
    }
}

fn common(view: &TableView<'_>, key: &'static str) -> Option<TextPattern> {
    common_pattern(view, &view.needed_text(key)?)
}

/// Parses an address to which a login is sent.
fn web_pattern(view: &TableView<'_>, key: &'static str) -> Option<TextPattern> {
    let pattern = common(view, key)?;
    let reason = match address(&pattern) {
        None => "it cannot be read",
        Some(url) if url.scheme() != "https" => "a login is only sent over `https:`",
        Some(_) => return Some(pattern),
    };
    let reason = reason.to_owned();
    view.note_key(key, ToolFileMistake::ApiUrl { reason });
    None
}
