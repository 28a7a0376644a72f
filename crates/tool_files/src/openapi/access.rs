//! The address of an API, and the login that it requires.

use serde_json::{Map, Value};
use url::Url;

use super::document::{FoundOperation, OpenApiDocument};
use super::{ImportError, ImportOptions};

/// A login for documents that declare none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportAuth {
    Bearer,
    Basic,
    ApiKeyHeader(String),
    ApiKeyQuery(String),
}

/// The address and login of an operation, in the format of a tool file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccessParts {
    /// The https address, which a tool file requires.
    pub(super) url: String,
    /// The same address as plain http, if that is how the API is reached.
    pub(super) plain: Option<String>,
    /// Absent if no login is needed.
    pub(super) auth: Option<String>,
}

pub(super) const NO_SERVER: &str = "the document has no https address";

/// Rejects an address that is invalid in every file.
pub(super) fn check_server(options: &ImportOptions) -> Result<(), ImportError> {
    let Some(server) = options.server.clone() else {
        return Ok(());
    };
    match Url::parse(&server).map(|url| url.scheme().to_owned()) {
        Ok(scheme) if scheme == "https" || (scheme == "http" && options.private) => Ok(()),
        Ok(scheme) if scheme == "http" => Err(ImportError::InsecureServer { server }),
        _ => Err(ImportError::BadServer { server }),
    }
}

pub(super) fn read(
    document: &OpenApiDocument,
    found: &FoundOperation<'_>,
    options: &ImportOptions,
) -> Result<AccessParts, String> {
    let url = match &options.server {
        Some(server) => Some(server.trim_end_matches('/').to_owned()),
        None => server(document, found, options),
    };
    let url = url.ok_or(NO_SERVER)?;
    let secure = url
        .strip_prefix("http://")
        .map(|rest| format!("https://{rest}"));
    let (url, plain) = match secure {
        Some(secure) => (secure, Some(url)),
        None => (url, None),
    };
    Ok(AccessParts {
        url,
        plain,
        auth: auth(document, found).or_else(|| options.auth.as_ref().map(ImportAuth::to_toml)),
    })
}

/// Returns the first https address, or http if permitted; the operation's addresses come before
/// those of its path and of the document.
fn server(
    document: &OpenApiDocument,
    found: &FoundOperation<'_>,
    options: &ImportOptions,
) -> Option<String> {
    let levels = [
        found.operation.get("servers"),
        found.item.get("servers"),
        document.root().get("servers"),
    ];
    let servers = levels.into_iter().flatten().find_map(Value::as_array)?;
    servers
        .iter()
        .find_map(|server| address(server, options.private))
}

/// Returns the host of the document's first address.
pub(super) fn host(document: &OpenApiDocument, options: &ImportOptions) -> Option<String> {
    let servers = document.root().get("servers").and_then(Value::as_array);
    let written = servers.and_then(|servers| {
        servers
            .iter()
            .find_map(|server| address(server, options.private))
    });
    let url = Url::parse(options.server.as_ref().or(written.as_ref())?).ok()?;
    url.domain().map(str::to_owned)
}

fn address(server: &Value, private: bool) -> Option<String> {
    let mut url = server["url"].as_str()?.to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let value = variable["default"].as_str()?;
        url = url.replace(&format!("{{{name}}}"), value);
    }
    let parsed = Url::parse(&url).ok()?;
    let is_plain =
        parsed.query().is_none() && parsed.fragment().is_none() && !url.contains(['{', '}']);
    let is_reached = match parsed.scheme() {
        "https" => parsed.domain().is_some() || private,
        "http" => private,
        _ => false,
    };
    (is_reached && is_plain).then(|| url.trim_end_matches('/').to_owned())
}

/// Returns the operation's first supported login. An empty list means that none is needed.
fn auth(document: &OpenApiDocument, found: &FoundOperation<'_>) -> Option<String> {
    let demanded = found
        .operation
        .get("security")
        .or_else(|| document.root().get("security"))?;
    let schemes = document.root()["components"]["securitySchemes"].as_object()?;
    let names = demanded.as_array()?.iter().filter_map(Value::as_object);
    let mut names = names.flat_map(Map::iter);
    names.find_map(|(name, scopes)| {
        let scheme = document.resolve(schemes.get(name)?)?;
        scheme_of(scheme, scopes)
    })
}

fn scheme_of(scheme: &Value, scopes: &Value) -> Option<String> {
    match (
        text_of(scheme, "type"),
        text_of(scheme, "scheme").to_lowercase().as_str(),
    ) {
        ("http", "basic") => Some(ImportAuth::Basic.to_toml()),
        ("http", "bearer") | ("openIdConnect", _) => Some(ImportAuth::Bearer.to_toml()),
        ("apiKey", _) => match text_of(scheme, "in") {
            "header" if text_of(scheme, "name").eq_ignore_ascii_case("authorization") => None,
            "header" => {
                Some(ImportAuth::ApiKeyHeader(text_of(scheme, "name").to_owned()).to_toml())
            }
            "query" => Some(ImportAuth::ApiKeyQuery(text_of(scheme, "name").to_owned()).to_toml()),
            _ => None,
        },
        ("oauth2", _) => Some(oauth2(&scheme["flows"], scopes)),
        _ => None,
    }
}

/// A token that a user fetched elsewhere always works; two of the flows are supported.
fn oauth2(flows: &Value, scopes: &Value) -> String {
    let scopes: Vec<&str> = scopes
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let scopes = scopes
        .iter()
        .map(|scope| toml_string(scope))
        .collect::<Vec<_>>()
        .join(", ");
    if let Some(token_url) = secure(flows, "clientCredentials", "tokenUrl") {
        return format!(
            "{{ scheme = \"oauth2\", grant = \"client_credentials\", token_url = {token_url}, scopes = [{scopes}] }}"
        );
    }
    let code = "authorizationCode";
    match (
        secure(flows, code, "tokenUrl"),
        secure(flows, code, "authorizationUrl"),
    ) {
        (Some(token_url), Some(authorize_url)) => format!(
            "{{ scheme = \"oauth2\", grant = \"authorization_code\", token_url = {token_url}, authorize_url = {authorize_url}, \
             scopes = [{scopes}] }}"
        ),
        _ => ImportAuth::Bearer.to_toml(),
    }
}

/// Returns an address of a flow as TOML, if a login may be sent there.
fn secure(flows: &Value, flow: &str, key: &str) -> Option<String> {
    let url = flows[flow][key].as_str()?;
    url.starts_with("https://").then(|| toml_string(url))
}

fn text_of<'v>(scheme: &'v Value, key: &str) -> &'v str {
    scheme[key].as_str().unwrap_or_default()
}

impl ImportAuth {
    fn to_toml(&self) -> String {
        match self {
            Self::Bearer => "{ scheme = \"bearer\" }".to_owned(),
            Self::Basic => "{ scheme = \"basic\" }".to_owned(),
            Self::ApiKeyHeader(name) => {
                format!("{{ scheme = \"api-key\", header = {} }}", toml_string(name))
            }
            Self::ApiKeyQuery(name) => {
                format!("{{ scheme = \"api-key\", query = {} }}", toml_string(name))
            }
        }
    }
}

/// Returns a text as a TOML string.
pub(super) fn toml_string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
