//! The token endpoint, which issues a token for a code, a refresh token or the client's secret.

use std::fmt;

use http::header::HeaderMap;
use serde::{Deserialize, Deserializer};
use url::Url;

use super::authority::Authority;
use super::client::OauthClient;
use super::error::TokenError;
use super::scopes::Scopes;
use super::secret_text::SecretText;
use super::web::{OauthWeb, WebAnswer};

/// The endpoint, the client there, and the server that the tokens are for.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) web: &'a OauthWeb,
    pub(crate) url: &'a Url,
    pub(crate) client: &'a OauthClient,
    pub(crate) resource: &'a str,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TokenSet {
    #[serde(rename = "access_token")]
    pub(crate) access: SecretText,
    #[serde(rename = "refresh_token")]
    pub(crate) refresh: Option<SecretText>,
    #[serde(default, deserialize_with = "seconds")]
    pub(crate) expires_in: Option<i64>,
    pub(crate) scope: Option<Scopes>,
    token_type: String,
}

impl TokenSet {
    fn check_bearer(self) -> Result<Self, TokenError> {
        match self.token_type.eq_ignore_ascii_case("bearer") {
            true => Ok(self),
            false => Err(TokenError::NotBearer {
                found: self.token_type,
            }),
        }
    }
}

/// An error answer of an authorization server.
#[derive(Debug, Deserialize)]
pub(crate) struct TokenRefusal {
    pub(crate) error: String,
    pub(crate) error_description: Option<String>,
}

impl<'a> TokenEndpoint<'a> {
    pub(crate) fn for_authority(
        web: &'a OauthWeb,
        authority: &'a Authority,
        client: &'a OauthClient,
    ) -> Self {
        Self {
            web,
            url: &authority.metadata.token_endpoint,
            client,
            resource: &authority.resource,
        }
    }
}

impl TokenEndpoint<'_> {
    pub(crate) async fn exchange_code(
        &self,
        code: &SecretText,
        verifier: &SecretText,
        redirect: &Url,
    ) -> Result<TokenSet, TokenError> {
        self.request_tokens(&[
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("code_verifier", verifier.reveal()),
            ("redirect_uri", redirect.as_str()),
        ])
        .await
    }

    pub(crate) async fn refresh_tokens(&self, token: &SecretText) -> Result<TokenSet, TokenError> {
        self.request_tokens(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", token.reveal()),
        ])
        .await
    }

    pub(crate) async fn request_own_tokens(&self, scopes: &Scopes) -> Result<TokenSet, TokenError> {
        let scopes = scopes.to_string();
        let mut fields = vec![("grant_type", "client_credentials")];
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        self.request_tokens(&fields).await
    }

    pub(crate) async fn request_tokens(
        &self,
        fields: &[(&str, &str)],
    ) -> Result<TokenSet, TokenError> {
        let mut fields = fields.to_vec();
        if !self.resource.is_empty() {
            fields.push(("resource", self.resource));
        }
        let mut headers = HeaderMap::new();
        self.client.add_client_auth(&mut fields, &mut headers);
        let answer = self.web.post_form(self.url, headers, &fields).await?;
        if let Some(refusal) = TokenRefusal::from_answer(&answer) {
            let TokenRefusal {
                error,
                error_description: description,
            } = refusal;
            return Err(TokenError::Refused { error, description });
        }
        answer.parse_json::<TokenSet>(self.url)?.check_bearer()
    }
}

/// Parses a number that some servers send as text, or with a fraction.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let written = serde_json::Value::deserialize(deserializer)?;
    let text = written
        .as_str()
        .map_or_else(|| written.to_string(), str::to_owned);
    Ok(text.split('.').next().and_then(|whole| whole.parse().ok()))
}

impl TokenRefusal {
    /// Parses an error answer, which some servers send with status 200.
    pub(crate) fn from_answer(answer: &WebAnswer) -> Option<Self> {
        serde_json::from_slice(&answer.body).ok()
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error_description {
            Some(description) => write!(f, "{} ({description})", self.error),
            None => f.write_str(&self.error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_parsed_in_every_form() {
        for (written, expected) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("3599.5", Some(3599)),
            ("null", None),
            ("\"soon\"", None),
        ] {
            let text =
                format!(r#"{{"access_token":"a","token_type":"Bearer","expires_in":{written}}}"#);
            let tokens: TokenSet = serde_json::from_str(&text).unwrap();
            assert_eq!(tokens.expires_in, expected, "{written}");
        }
    }
}
