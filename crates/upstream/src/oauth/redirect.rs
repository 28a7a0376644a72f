//! The redirect URI of a login, which distinguishes authorization servers.
//!
//! A hostile authorization server can pass the browser on to an honest one, with the state of this
//! login, and would then receive the honest one's code. An authorization server that names itself in
//! its answer (RFC 9207) is recognised by its name. Each of the others gets a redirect URI of its
//! own: the honest one sends codes only to the URI that is registered there, and an answer at that
//! URI is not used in a login at another.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use super::client::ConfiguredClient;
use super::metadata::AuthorityMetadata;

/// The path for clients that the operator registered, or described in a document, with this path.
const SHARED_PATH: &str = "/callback";

/// 96 bits of the hash of an issuer, so that nobody finds another issuer with the same path.
const HASH_BYTES: usize = 12;

/// The address on this machine that a browser should come back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectTarget {
    pub port: RedirectPort,
    path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectPort {
    Any,
    /// The registered port; another one requires a new registration.
    Preferred(u16),
    /// Only this port works.
    Only(u16),
}

impl RedirectTarget {
    /// The address that all authorization servers share.
    pub(crate) fn shared(port: RedirectPort) -> Self {
        let path = SHARED_PATH.to_owned();
        Self { port, path }
    }

    /// Chooses the address for a login at this authorization server.
    pub(crate) fn for_authority(
        port: RedirectPort,
        metadata: &AuthorityMetadata,
        configured: &ConfiguredClient,
    ) -> Self {
        let names_itself = metadata.authorization_response_iss_parameter_supported;
        let has_document =
            configured.document.is_some() && metadata.client_id_metadata_document_supported;
        if names_itself || configured.id.is_some() || has_document {
            return Self::shared(port);
        }
        let hash = digest(&SHA256, metadata.issuer.as_bytes());
        let name = URL_SAFE_NO_PAD.encode(&hash.as_ref()[..HASH_BYTES]);
        let path = format!("{SHARED_PATH}/{name}");
        Self { port, path }
    }

    /// Returns the redirect URI on this port.
    pub fn url(&self, port: u16) -> Url {
        let url = format!("http://127.0.0.1:{port}{}", self.path);
        Url::parse(&url).expect("a valid URL")
    }
}

/// Returns the path of a redirect URI that only one authorization server has.
pub(crate) fn own_path(redirect: &Url) -> Option<&str> {
    let path = redirect.path();
    (path != SHARED_PATH).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(issuer: &str, names_itself: bool, configured: &ConfiguredClient) -> String {
        let url = |path: &str| format!("https://a.example/{path}").parse().unwrap();
        let metadata = AuthorityMetadata {
            issuer: issuer.to_owned(),
            authorization_response_iss_parameter_supported: names_itself,
            client_id_metadata_document_supported: true,
            ..AuthorityMetadata::from_endpoints(url("authorize"), url("token"))
        };
        RedirectTarget::for_authority(RedirectPort::Any, &metadata, configured).path
    }

    #[test]
    fn an_authorization_server_that_does_not_name_itself_has_a_path_of_its_own() {
        let registered = ConfiguredClient::default();
        let (one, other) = ("https://a.example", "https://b.example");
        let own = path(one, false, &registered);
        assert_eq!(own, path(one, false, &registered));
        assert_ne!(own, path(other, false, &registered));
        assert!(own.starts_with("/callback/"), "{own}");
        assert_eq!(path(one, true, &registered), SHARED_PATH);
    }

    #[test]
    fn a_client_that_the_operator_registered_keeps_its_redirect_uri() {
        let by_id = ConfiguredClient {
            id: Some("kitbag".to_owned()),
            ..ConfiguredClient::default()
        };
        let by_document = ConfiguredClient {
            document: "https://me.example/client.json".parse().ok(),
            ..ConfiguredClient::default()
        };
        for configured in [by_id, by_document] {
            assert_eq!(path("https://a.example", false, &configured), SHARED_PATH);
        }
    }
}
