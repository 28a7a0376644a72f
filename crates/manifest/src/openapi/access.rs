//! The address of an API, and the login that it wants.

use serde_json::{Map, Value};
use url::Url;

use super::ImportOptions;
use super::document::{FoundOperation, OpenApiDocument};

/// A login for documents that do not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportAuth {
    Bearer,
    Basic,
    ApiKeyHeader(String),
    ApiKeyQuery(String),
}

/// The address and login of an operation, as a tool file has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccessParts {
    pub(super) url: String,
    /// Absent if no login is needed.
    pub(super) auth: Option<String>,
}

pub(super) const NO_SERVER: &str = "the document says no address by https";

pub(super) fn read(
    document: &OpenApiDocument,
    found: &FoundOperation<'_>,
    options: &ImportOptions,
) -> Result<AccessParts, String> {
    let url = match &options.server {
        Some(server) => Some(server.trim_end_matches('/').to_owned()),
        None => server(document, found),
    };
    Ok(AccessParts {
        url: url.ok_or(NO_SERVER)?,
        auth: auth(document, found).or_else(|| options.auth.as_ref().map(ImportAuth::written)),
    })
}

/// Returns the first address that is reached by https; those of the operation come before those of its path and of the
/// document.
fn server(document: &OpenApiDocument, found: &FoundOperation<'_>) -> Option<String> {
    let places = [
        found.operation.get("servers"),
        found.item.get("servers"),
        document.root().get("servers"),
    ];
    let servers = places.into_iter().flatten().find_map(Value::as_array)?;
    servers.iter().find_map(address)
}

/// Returns the host of the document's first address.
pub(super) fn host(document: &OpenApiDocument, options: &ImportOptions) -> Option<String> {
    let servers = document.root().get("servers").and_then(Value::as_array);
    let written = servers.and_then(|servers| servers.iter().find_map(address));
    let url = Url::parse(options.server.as_ref().or(written.as_ref())?).ok()?;
    url.domain().map(str::to_owned)
}

fn address(server: &Value) -> Option<String> {
    let mut url = server["url"].as_str()?.to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let value = variable["default"].as_str()?;
        url = url.replace(&format!("{{{name}}}"), value);
    }
    let parsed = Url::parse(&url).ok()?;
    let is_plain =
        parsed.query().is_none() && parsed.fragment().is_none() && !url.contains(['{', '}']);
    let has_domain = parsed.domain().is_some();
    (parsed.scheme() == "https" && is_plain && has_domain)
        .then(|| url.trim_end_matches('/').to_owned())
}

/// Returns the first login of the operation that can be made. An empty list means that none is needed.
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
        ("http", "basic") => Some(ImportAuth::Basic.written()),
        ("http", "bearer") | ("openIdConnect", _) => Some(ImportAuth::Bearer.written()),
        ("apiKey", _) => match text_of(scheme, "in") {
            "header" if text_of(scheme, "name").eq_ignore_ascii_case("authorization") => None,
            "header" => {
                Some(ImportAuth::ApiKeyHeader(text_of(scheme, "name").to_owned()).written())
            }
            "query" => Some(ImportAuth::ApiKeyQuery(text_of(scheme, "name").to_owned()).written()),
            _ => None,
        },
        ("oauth2", _) => Some(oauth2(&scheme["flows"], scopes)),
        _ => None,
    }
}

/// A token that a person fetched elsewhere always works; two of the flows can be followed.
fn oauth2(flows: &Value, scopes: &Value) -> String {
    let scopes: Vec<&str> = scopes
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let scopes = scopes
        .iter()
        .map(|scope| quoted(scope))
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
        _ => ImportAuth::Bearer.written(),
    }
}

/// Returns an address of a flow as TOML writes it, if a login may be sent there.
fn secure(flows: &Value, flow: &str, key: &str) -> Option<String> {
    let url = flows[flow][key].as_str()?;
    url.starts_with("https://").then(|| quoted(url))
}

fn text_of<'v>(scheme: &'v Value, key: &str) -> &'v str {
    scheme[key].as_str().unwrap_or_default()
}

impl ImportAuth {
    fn written(&self) -> String {
        match self {
            Self::Bearer => "{ scheme = \"bearer\" }".to_owned(),
            Self::Basic => "{ scheme = \"basic\" }".to_owned(),
            Self::ApiKeyHeader(name) => {
                format!("{{ scheme = \"api-key\", header = {} }}", quoted(name))
            }
            Self::ApiKeyQuery(name) => {
                format!("{{ scheme = \"api-key\", query = {} }}", quoted(name))
            }
        }
    }
}

/// Returns a text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
