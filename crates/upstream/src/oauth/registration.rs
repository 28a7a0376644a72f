//! Dynamic registration of the client at an authorization server.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::authority::Authority;
use super::client::{AuthMethod, ClientSource, OauthClient};
use super::device;
use super::error::{LoginError, WebError};
use super::metadata::AuthorityMetadata;
use super::secret_text::SecretText;
use super::token::TokenRefusal;
use super::web::{OauthWeb, WebAnswer, redacted_url};

#[derive(Deserialize)]
struct RegisteredClient {
    client_id: String,
    client_secret: Option<SecretText>,
    client_secret_expires_at: Option<i64>,
    token_endpoint_auth_method: Option<String>,
}

pub(super) async fn register_client(
    web: &OauthWeb,
    authority: &Authority,
    redirect: &Url,
) -> Result<OauthClient, LoginError> {
    let metadata = &authority.metadata;
    let Some(url) = &metadata.registration_endpoint else {
        return Err(LoginError::NoRegistration {
            issuer: metadata.issuer.clone(),
        });
    };
    let body = client_metadata(metadata, redirect).to_string();
    let answer = web.post_json(url, body.into_bytes()).await?;
    if !answer.status.is_success() {
        return Err(registration_error(authority, url, &answer));
    }
    let registered: RegisteredClient = answer.parse_json(url)?;
    let offered = metadata.token_endpoint_auth_methods_supported.as_deref();
    let has_secret = registered.client_secret.is_some();
    let agreed = registered.token_endpoint_auth_method.as_deref();
    let until = registered.client_secret_expires_at;
    Ok(OauthClient {
        id: registered.client_id,
        secret: registered.client_secret,
        auth: agreed
            .and_then(AuthMethod::from_name)
            .unwrap_or_else(|| AuthMethod::choose(offered, has_secret)),
        known_by: ClientSource::Registration,
        redirect: Some(redirect.clone()),
        secret_until: until.filter(|until| *until > 0),
    })
}

/// Returns the client's metadata. A program on a user's machine cannot keep a secret, so it asks
/// for none if the server allows that.
fn client_metadata(metadata: &AuthorityMetadata, redirect: &Url) -> Value {
    let offered = metadata.token_endpoint_auth_methods_supported.as_deref();
    let needs_secret = !AuthMethod::None.is_offered(offered);
    let mut grants = vec!["authorization_code", "refresh_token"];
    if metadata.device_authorization_endpoint.is_some() {
        grants.push(device::GRANT_TYPE);
    }
    json!({
        "client_name": "Kitbag",
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": AuthMethod::choose(offered, needs_secret).as_str(),
        "application_type": "native",
    })
}

fn registration_error(authority: &Authority, url: &Url, answer: &WebAnswer) -> LoginError {
    let missing = matches!(
        answer.status,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    );
    if missing && authority.guessed {
        return LoginError::NoAuthority;
    }
    let reason = match TokenRefusal::from_answer(answer) {
        Some(refusal) => refusal.to_string(),
        None => WebError::Status {
            url: redacted_url(url),
            status: answer.status.as_u16(),
        }
        .to_string(),
    };
    LoginError::NotRegistered {
        issuer: authority.metadata.issuer.clone(),
        reason,
    }
}
