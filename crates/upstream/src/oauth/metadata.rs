//! The metadata documents of servers and authorization servers, and their URLs.

use serde::Deserialize;
use url::Url;

use super::scopes::Scopes;

/// RFC 9728: the authorization servers of a server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// RFC 8414 and OpenID discovery: the endpoints and features of an authorization server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AuthorityMetadata {
    /// Empty if no metadata describes the authorization server.
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) registration_endpoint: Option<Url>,
    pub(crate) device_authorization_endpoint: Option<Url>,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

impl ResourceMetadata {
    pub(crate) fn scopes(&self) -> Scopes {
        self.scopes_supported.iter().flatten().collect()
    }

    /// True if it describes the server at this URL: the same origin, and the same path or a parent.
    pub(crate) fn describes(&self, server: &Url) -> bool {
        Url::parse(&self.resource).is_ok_and(|resource| covers_url(&resource, server))
    }
}

impl AuthorityMetadata {
    /// Returns the endpoints of servers from before there was metadata: fixed paths at their own
    /// origin. All of them had to support PKCE.
    pub(crate) fn from_origin(origin: &Url) -> Option<Self> {
        let (authorization, token) = (origin.join("/authorize").ok()?, origin.join("/token").ok()?);
        Some(Self {
            issuer: issuer_of(origin),
            registration_endpoint: Some(origin.join("/register").ok()?),
            ..Self::from_endpoints(authorization, token)
        })
    }

    /// Returns an authorization server with PKCE and these endpoints only.
    pub(crate) fn from_endpoints(authorization: Url, token: Url) -> Self {
        Self {
            issuer: String::new(),
            authorization_endpoint: Some(authorization),
            token_endpoint: token,
            registration_endpoint: None,
            device_authorization_endpoint: None,
            revocation_endpoint: None,
            scopes_supported: None,
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: None,
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
        }
    }

    pub(crate) fn supports_s256(&self) -> bool {
        self.code_challenge_methods_supported
            .iter()
            .flatten()
            .any(|method| method == "S256")
    }

    pub(crate) fn offers_scope(&self, scope: &str) -> bool {
        self.scopes_supported.iter().flatten().any(|it| it == scope)
    }
}

/// True if a token for `resource` may be sent to `server`.
pub(crate) fn covers_url(resource: &Url, server: &Url) -> bool {
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the default URLs of a server's metadata: at its path, then at the root.
pub(crate) fn resource_metadata_urls(server: &Url) -> Vec<Url> {
    let mut places = vec![well_known_url(server, "oauth-protected-resource")];
    let root = well_known_url(&root_of(server), "oauth-protected-resource");
    if !places.contains(&root) {
        places.push(root);
    }
    places
}

/// Returns the URLs of an authorization server's metadata, in the order that the protocol
/// prescribes.
pub(crate) fn authority_metadata_urls(issuer: &Url) -> Vec<Url> {
    let mut places = vec![
        well_known_url(issuer, "oauth-authorization-server"),
        well_known_url(issuer, "openid-configuration"),
    ];
    if has_path(issuer) {
        let mut appended = issuer.clone();
        let path = issuer.path().trim_end_matches('/');
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(appended);
    }
    places
}

pub(crate) fn root_of(url: &Url) -> Url {
    let mut root = url.clone();
    root.set_path("/");
    root.set_query(None);
    root.set_fragment(None);
    root
}

/// Returns an issuer without a path in its usual form: without a trailing slash.
pub(crate) fn issuer_of(origin: &Url) -> String {
    origin.origin().ascii_serialization()
}

fn well_known_url(url: &Url, suffix: &str) -> Url {
    let mut place = url.clone();
    let path = if has_path(url) {
        url.path().trim_end_matches('/')
    } else {
        ""
    };
    place.set_path(&format!("/.well-known/{suffix}{path}"));
    place.set_fragment(None);
    place
}

fn has_path(url: &Url) -> bool {
    !matches!(url.path(), "" | "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(places: &[Url], expected: &[&str]) {
        assert_eq!(places.iter().map(Url::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_server_is_asked_at_its_path_before_the_root() {
        check(
            &resource_metadata_urls(&url("https://a.example/public/mcp")),
            &[
                "https://a.example/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ],
        );
        check(
            &resource_metadata_urls(&url("https://a.example/")),
            &["https://a.example/.well-known/oauth-protected-resource"],
        );
    }

    #[test]
    fn an_authorization_server_has_three_metadata_urls_with_a_path_and_two_without() {
        check(
            &authority_metadata_urls(&url("https://a.example/tenant1")),
            &[
                "https://a.example/.well-known/oauth-authorization-server/tenant1",
                "https://a.example/.well-known/openid-configuration/tenant1",
                "https://a.example/tenant1/.well-known/openid-configuration",
            ],
        );
        check(
            &authority_metadata_urls(&url("https://a.example")),
            &[
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ],
        );
    }

    #[test]
    fn a_token_is_for_servers_at_or_below_its_resource() {
        for (resource, server, expected) in [
            ("https://a.example/mcp", "https://a.example/mcp", true),
            ("https://a.example", "https://a.example/mcp", true),
            ("https://A.example:443/", "https://a.example/mcp", true),
            ("https://a.example/mc", "https://a.example/mcp", false),
            ("https://a.example/mcp/b", "https://a.example/mcp", false),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://b.example/mcp", "https://a.example/mcp", false),
        ] {
            assert_eq!(
                covers_url(&url(resource), &url(server)),
                expected,
                "{resource} {server}"
            );
        }
    }
}
