//! The device flow of RFC 8628: the user types a short code into a browser on any device.

use std::time::Duration;

use http::header::HeaderMap;
use serde::Deserialize;
use url::Url;

use super::error::{LoginError, TokenError};
use super::scopes::Scopes;
use super::secret_text::SecretText;
use super::token::{TokenEndpoint, TokenRefusal, TokenSet};

pub(crate) const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The code that the user is shown.
#[derive(Debug, Deserialize)]
pub struct DeviceCode {
    pub user_code: String,
    pub verification_uri: Url,
    pub verification_uri_complete: Option<Url>,
    device_code: SecretText,
    expires_in: u64,
    interval: Option<u64>,
}

/// Requests a code to show.
pub(crate) async fn request_code(
    endpoint: &TokenEndpoint<'_>,
    url: &Url,
    scopes: &Scopes,
) -> Result<DeviceCode, LoginError> {
    let scopes = scopes.to_string();
    let mut fields = vec![("resource", endpoint.resource)];
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    let mut headers = HeaderMap::new();
    endpoint.client.add_client_auth(&mut fields, &mut headers);
    let answer = endpoint.web.post_form(url, headers, &fields).await?;
    if let Some(refusal) = TokenRefusal::from_answer(&answer) {
        return Err(LoginError::Denied {
            reason: refusal.to_string(),
        });
    }
    let code: DeviceCode = answer.parse_json(url)?;
    endpoint.web.check_url(&code.verification_uri)?;
    Ok(code)
}

/// Polls until the user has confirmed the code, or it has expired.
pub(crate) async fn wait_for_tokens(
    endpoint: &TokenEndpoint<'_>,
    code: &DeviceCode,
) -> Result<TokenSet, LoginError> {
    let lifetime = Duration::from_secs(code.expires_in);
    let polled = tokio::time::timeout(lifetime, poll_tokens(endpoint, code)).await;
    polled.unwrap_or(Err(LoginError::TooLate))
}

async fn poll_tokens(
    endpoint: &TokenEndpoint<'_>,
    code: &DeviceCode,
) -> Result<TokenSet, LoginError> {
    let fields = [
        ("grant_type", GRANT_TYPE),
        ("device_code", code.device_code.reveal()),
    ];
    let mut pause = Duration::from_secs(code.interval.unwrap_or(DEFAULT_PAUSE));
    loop {
        tokio::time::sleep(pause).await;
        let refused = match endpoint.request_tokens(&fields).await {
            Ok(tokens) => return Ok(tokens),
            Err(error) if error.is_transient() => continue,
            Err(error) => error,
        };
        match &refused {
            TokenError::Refused { error, .. } if error == "authorization_pending" => {}
            TokenError::Refused { error, .. } if error == "slow_down" => pause += SLOWER,
            TokenError::Refused { error, .. } if error == "expired_token" => {
                return Err(LoginError::TooLate);
            }
            _ => return Err(refused.into()),
        }
    }
}

/// The polling interval of RFC 8628 for a server that sets none.
const DEFAULT_PAUSE: u64 = 5;
/// RFC 8628 says to add this much when the server asks to slow down.
const SLOWER: Duration = Duration::from_secs(5);
