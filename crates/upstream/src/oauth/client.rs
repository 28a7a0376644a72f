//! Kitbag's client at an authorization server: pre-registered, described by a metadata document, or
//! dynamically registered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap};
use serde::{Deserialize, Serialize};
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::authority::Authority;
use super::error::LoginError;
use super::grant::unix_now;
use super::registration::register_client;
use super::secret_text::SecretText;
use super::web::OauthWeb;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OauthClient {
    pub id: String,
    /// Stored only for a dynamically registered client; any other secret is in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<SecretText>,
    pub(crate) auth: AuthMethod,
    pub(crate) known_by: ClientSource,
    /// The redirect URI; an authorization server accepts no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) redirect: Option<Url>,
    /// In seconds since 1970, if the secret expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_until: Option<i64>,
}

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientSource {
    Configuration,
    Document,
    Registration,
}

/// The client settings of the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredClient {
    pub(crate) id: Option<String>,
    pub(crate) secret: Option<SecretText>,
    pub(crate) auth: Option<AuthMethod>,
    pub(crate) document: Option<Url>,
}

/// The inputs for choosing the client of a login.
#[derive(Clone, Copy)]
pub(crate) struct ClientOptions<'a> {
    pub(crate) web: &'a OauthWeb,
    pub(crate) authority: &'a Authority,
    pub(crate) configured: &'a ConfiguredClient,
    /// The client of the last login at the same authorization server.
    pub(crate) earlier: Option<&'a OauthClient>,
    pub(crate) redirect: &'a Url,
}

impl OauthClient {
    /// Chooses the client in the order that the protocol prescribes.
    pub(crate) async fn choose(options: ClientOptions<'_>) -> Result<Self, LoginError> {
        let ClientOptions {
            web,
            authority,
            configured,
            redirect,
            ..
        } = options;
        if let Some(client) = Self::from_config(authority, configured, Some(redirect)) {
            return Ok(client);
        }
        if let Some(client) = Self::from_document(authority, configured, redirect) {
            return Ok(client);
        }
        match options.earlier {
            Some(earlier) if earlier.is_valid_for(redirect, unix_now()) => Ok(earlier.clone()),
            _ => register_client(web, authority, redirect).await,
        }
    }

    /// Returns a client described by a metadata document.
    fn from_document(
        authority: &Authority,
        configured: &ConfiguredClient,
        redirect: &Url,
    ) -> Option<Self> {
        let document = configured.document.as_ref()?;
        let is_supported = authority.metadata.client_id_metadata_document_supported;
        is_supported.then(|| Self {
            id: document.to_string(),
            secret: None,
            auth: AuthMethod::None,
            known_by: ClientSource::Document,
            redirect: Some(redirect.clone()),
            secret_until: None,
        })
    }

    /// Returns the client that the operator registered.
    pub(crate) fn from_config(
        authority: &Authority,
        configured: &ConfiguredClient,
        redirect: Option<&Url>,
    ) -> Option<Self> {
        let id = configured.id.clone()?;
        let offered = authority
            .metadata
            .token_endpoint_auth_methods_supported
            .as_deref();
        let auth = configured
            .auth
            .unwrap_or_else(|| AuthMethod::choose(offered, configured.secret.is_some()));
        let secret = configured.secret.clone();
        let redirect = redirect.cloned();
        Some(Self {
            id,
            secret,
            auth,
            known_by: ClientSource::Configuration,
            redirect,
            secret_until: None,
        })
    }

    /// Returns the client as stored, without a secret from the configuration.
    pub(crate) fn for_storage(&self) -> Self {
        let mut kept = self.clone();
        if kept.known_by == ClientSource::Configuration {
            kept.secret = None;
        }
        kept
    }

    /// Adds the client's authentication to a token request.
    pub(crate) fn add_client_auth<'a>(
        &'a self,
        fields: &mut Vec<(&'a str, &'a str)>,
        headers: &mut HeaderMap,
    ) {
        match (self.auth, &self.secret) {
            (AuthMethod::ClientSecretBasic, Some(secret)) => {
                headers.insert(AUTHORIZATION, basic_header(&self.id, secret));
            }
            (AuthMethod::ClientSecretPost, Some(secret)) => {
                fields.push(("client_id", &self.id));
                fields.push(("client_secret", secret.reveal()));
            }
            _ => fields.push(("client_id", &self.id)),
        }
    }

    fn is_valid_for(&self, redirect: &Url, now: i64) -> bool {
        self.known_by == ClientSource::Registration
            && self.redirect.as_ref() == Some(redirect)
            && self.secret_until.is_none_or(|until| now < until)
    }
}

impl AuthMethod {
    /// Chooses the method. A server that lists no methods uses the basic scheme.
    pub(super) fn choose(offered: Option<&[String]>, has_secret: bool) -> Self {
        if !has_secret {
            return Self::None;
        }
        [Self::ClientSecretBasic, Self::ClientSecretPost]
            .into_iter()
            .find(|method| method.is_offered(offered))
            .unwrap_or(Self::None)
    }

    pub(super) fn is_offered(self, offered: Option<&[String]>) -> bool {
        let name = self.as_str();
        offered.is_none_or(|offered| offered.iter().any(|method| method == name))
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost]
            .into_iter()
            .find(|method| method.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }
}

/// Returns the header of the basic scheme. Both halves are form-encoded first, so that a colon in
/// them is no separator.
fn basic_header(id: &str, secret: &SecretText) -> HeaderValue {
    let id: String = byte_serialize(id.as_bytes()).collect();
    let secret: String = byte_serialize(secret.reveal().as_bytes()).collect();
    let pair = STANDARD.encode(format!("{id}:{secret}"));
    let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is ASCII");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(auth: AuthMethod, secret: Option<&str>) -> OauthClient {
        OauthClient {
            id: "kit:bag".to_owned(),
            secret: secret.map(SecretText::new),
            auth,
            known_by: ClientSource::Registration,
            redirect: None,
            secret_until: None,
        }
    }

    #[test]
    fn a_client_authenticates_with_the_agreed_method() {
        use AuthMethod::{ClientSecretBasic, ClientSecretPost, None as Public};
        for (auth, secret, fields, header) in [
            (Public, Some("s"), vec![("client_id", "kit:bag")], None),
            (
                ClientSecretPost,
                Some("s"),
                vec![("client_id", "kit:bag"), ("client_secret", "s")],
                None,
            ),
            (
                ClientSecretBasic,
                Some("a b"),
                vec![],
                Some("Basic a2l0JTNBYmFnOmErYg=="),
            ),
            (
                ClientSecretBasic,
                None,
                vec![("client_id", "kit:bag")],
                None,
            ),
        ] {
            let client = client(auth, secret);
            let (mut found, mut headers) = (Vec::new(), HeaderMap::new());
            client.add_client_auth(&mut found, &mut headers);
            assert_eq!(found, fields, "{auth:?}");
            let sent = headers
                .get(AUTHORIZATION)
                .map(|it| it.to_str().unwrap().to_owned());
            assert_eq!(sent.as_deref(), header, "{auth:?}");
        }
    }

    #[test]
    fn the_method_is_the_first_supported_one_that_is_offered() {
        use AuthMethod::{ClientSecretBasic, ClientSecretPost, None as Public};
        for (offered, has_secret, expected) in [
            (None, true, ClientSecretBasic),
            (None, false, Public),
            (
                Some(vec!["client_secret_post", "client_secret_basic"]),
                true,
                ClientSecretBasic,
            ),
            (Some(vec!["client_secret_post"]), true, ClientSecretPost),
            (Some(vec!["none"]), true, Public),
        ] {
            let words: Option<Vec<String>> =
                offered.map(|it| it.into_iter().map(str::to_owned).collect());
            assert_eq!(
                AuthMethod::choose(words.as_deref(), has_secret),
                expected,
                "{words:?}"
            );
        }
    }

    #[test]
    fn a_configured_secret_is_not_stored_and_no_secret_is_shown() {
        let registered = client(AuthMethod::ClientSecretPost, Some("s3cret"));
        assert_eq!(registered.for_storage(), registered);
        let configured = OauthClient {
            known_by: ClientSource::Configuration,
            ..registered.clone()
        };
        assert_eq!(configured.for_storage().secret, None);
        assert!(!format!("{registered:?}").contains("s3cret"));
    }
}
