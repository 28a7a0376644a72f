//! Who we are to an authorization server: a client it knows, one it can read about, or one that
//! registers on the spot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderMap};
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::{Url, form_urlencoded};

use super::authority::Authority;
use super::error::{LoginError, WebError};
use super::hidden::Hidden;
use super::token::Refusal;
use super::web::{Web, shown};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    pub id: String,
    /// Kept only for a client that registered itself; any other is in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Hidden>,
    pub(crate) auth: AuthMethod,
    pub(crate) known_by: KnownBy,
    /// Where the browser comes back to; an authorization server holds us to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) redirect: Option<Url>,
    /// In seconds since 1970, if the secret does not last for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_until: Option<i64>,
}

/// How a client proves at the token endpoint that it is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KnownBy {
    Configuration,
    Document,
    Registration,
}

/// What a person configured about the client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configured {
    pub(crate) id: Option<String>,
    pub(crate) secret: Option<Hidden>,
    pub(crate) auth: Option<AuthMethod>,
    pub(crate) document: Option<Url>,
}

impl Client {
    /// In the order the protocol prescribes. `earlier` is the client of the last login at the
    /// same authorization server.
    pub(crate) async fn choose(
        web: &Web,
        authority: &Authority,
        configured: &Configured,
        earlier: Option<&Self>,
        redirect: &Url,
        now: i64,
    ) -> Result<Self, LoginError> {
        if let Some(client) = Self::configured(authority, configured, Some(redirect)) {
            return Ok(client);
        }
        let metadata = &authority.metadata;
        if let Some(document) = configured.document.as_ref()
            && metadata.client_id_metadata_document_supported
        {
            return Ok(Self {
                id: document.to_string(),
                secret: None,
                auth: AuthMethod::None,
                known_by: KnownBy::Document,
                redirect: Some(redirect.clone()),
                secret_until: None,
            });
        }
        if let Some(earlier) = earlier.filter(|it| it.serves(redirect, now)) {
            return Ok(earlier.clone());
        }
        register(web, authority, redirect).await
    }

    /// The client a person registered.
    pub(crate) fn configured(
        authority: &Authority,
        configured: &Configured,
        redirect: Option<&Url>,
    ) -> Option<Self> {
        let id = configured.id.clone()?;
        let offered = authority
            .metadata
            .token_endpoint_auth_methods_supported
            .as_deref();
        let auth = configured
            .auth
            .unwrap_or_else(|| AuthMethod::fitting(offered, configured.secret.is_some()));
        let secret = configured.secret.clone();
        let redirect = redirect.cloned();
        Some(Self {
            id,
            secret,
            auth,
            known_by: KnownBy::Configuration,
            redirect,
            secret_until: None,
        })
    }

    /// What goes to disk: the configured secret has its place already.
    pub(crate) fn for_keeping(&self) -> Self {
        let mut kept = self.clone();
        if kept.known_by == KnownBy::Configuration {
            kept.secret = None;
        }
        kept
    }

    /// Adds who we are to a request of the token endpoint.
    pub(crate) fn sign<'a>(
        &'a self,
        fields: &mut Vec<(&'a str, &'a str)>,
        headers: &mut HeaderMap,
    ) {
        match (self.auth, &self.secret) {
            (AuthMethod::ClientSecretBasic, Some(secret)) => {
                headers.insert(AUTHORIZATION, basic(&self.id, secret));
            }
            (AuthMethod::ClientSecretPost, Some(secret)) => {
                fields.push(("client_id", &self.id));
                fields.push(("client_secret", secret.reveal()));
            }
            _ => fields.push(("client_id", &self.id)),
        }
    }

    fn serves(&self, redirect: &Url, now: i64) -> bool {
        self.known_by == KnownBy::Registration
            && self.redirect.as_ref() == Some(redirect)
            && self.secret_until.is_none_or(|until| now < until)
    }
}

impl AuthMethod {
    /// What an authorization server that says nothing takes is the basic scheme.
    fn fitting(offered: Option<&[String]>, has_secret: bool) -> Self {
        let offers = |name: &str| offered.is_none_or(|offered| offered.iter().any(|it| it == name));
        if !has_secret {
            Self::None
        } else if offers("client_secret_basic") {
            Self::ClientSecretBasic
        } else if offers("client_secret_post") {
            Self::ClientSecretPost
        } else {
            Self::None
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost]
            .into_iter()
            .find(|it| it.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<Hidden>,
    client_secret_expires_at: Option<i64>,
    token_endpoint_auth_method: Option<String>,
}

async fn register(web: &Web, authority: &Authority, redirect: &Url) -> Result<Client, LoginError> {
    let metadata = &authority.metadata;
    let issuer = metadata.issuer.clone();
    let Some(url) = &metadata.registration_endpoint else {
        return Err(LoginError::NoRegistration { issuer });
    };
    let offered = metadata.token_endpoint_auth_methods_supported.as_deref();
    // A program on a person's machine keeps no secret well, so it asks for none if it may.
    let public =
        offered.is_none_or(|offered| offered.iter().any(|it| it == AuthMethod::None.as_str()));
    let auth = AuthMethod::fitting(offered, !public);
    let mut grants = vec!["authorization_code", "refresh_token"];
    grants.extend(
        metadata
            .device_authorization_endpoint
            .is_some()
            .then_some(super::device::GRANT_TYPE),
    );
    let body = json!({
        "client_name": "Kitbag",
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": auth.as_str(),
        "application_type": "native",
    });
    let answer = web.post_json(url, body.to_string().into_bytes()).await?;
    if !answer.status.is_success() {
        let missing = matches!(
            answer.status,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        if missing && authority.guessed {
            return Err(LoginError::NoAuthority);
        }
        let status = WebError::Status {
            url: shown(url),
            status: answer.status.as_u16(),
        };
        let reason = Refusal::read(&answer).map_or_else(|| status.to_string(), |it| it.to_string());
        return Err(LoginError::NotRegistered { issuer, reason });
    }
    let registered: Registered = answer.json(url)?;
    let has_secret = registered.client_secret.is_some();
    let agreed = registered
        .token_endpoint_auth_method
        .as_deref()
        .and_then(AuthMethod::named);
    Ok(Client {
        id: registered.client_id,
        secret: registered.client_secret,
        auth: agreed.unwrap_or_else(|| AuthMethod::fitting(offered, has_secret)),
        known_by: KnownBy::Registration,
        redirect: Some(redirect.clone()),
        secret_until: registered
            .client_secret_expires_at
            .filter(|until| *until > 0),
    })
}

/// Both halves are encoded like a form first, so that a colon in them stays what it is.
fn basic(id: &str, secret: &Hidden) -> HeaderValue {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret.reveal())));
    let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is ASCII");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(auth: AuthMethod, secret: Option<&str>) -> Client {
        Client {
            id: "kit:bag".to_owned(),
            secret: secret.map(Hidden::new),
            auth,
            known_by: KnownBy::Registration,
            redirect: None,
            secret_until: None,
        }
    }

    #[test]
    fn a_client_proves_itself_in_the_way_that_was_agreed() {
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
            client.sign(&mut found, &mut headers);
            assert_eq!(found, fields, "{auth:?}");
            let sent = headers
                .get(AUTHORIZATION)
                .map(|it| it.to_str().unwrap().to_owned());
            assert_eq!(sent.as_deref(), header, "{auth:?}");
        }
    }

    #[test]
    fn the_method_is_the_first_of_ours_that_is_offered() {
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
                AuthMethod::fitting(words.as_deref(), has_secret),
                expected,
                "{words:?}"
            );
        }
    }

    #[test]
    fn a_configured_secret_is_not_kept_and_no_secret_is_shown() {
        let registered = client(AuthMethod::ClientSecretPost, Some("s3cret"));
        assert_eq!(registered.for_keeping(), registered);
        let configured = Client {
            known_by: KnownBy::Configuration,
            ..registered.clone()
        };
        assert_eq!(configured.for_keeping().secret, None);
        assert!(!format!("{registered:?}").contains("s3cret"));
    }
}
