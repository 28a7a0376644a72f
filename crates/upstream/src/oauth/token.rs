//! The token endpoint: a code, a refresh token or our own name, for a token.

use std::fmt;

use http::header::HeaderMap;
use serde::{Deserialize, Deserializer};
use url::Url;

use super::client::Client;
use super::error::TokenError;
use super::hidden::Hidden;
use super::scopes::Scopes;
use super::web::{Answer, Web};

/// Where tokens are asked for, by whom, and for which server.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) web: &'a Web,
    pub(crate) url: &'a Url,
    pub(crate) client: &'a Client,
    pub(crate) resource: &'a str,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Tokens {
    #[serde(rename = "access_token")]
    pub(crate) access: Hidden,
    #[serde(rename = "refresh_token")]
    pub(crate) refresh: Option<Hidden>,
    #[serde(default, deserialize_with = "seconds")]
    pub(crate) expires_in: Option<i64>,
    pub(crate) scope: Option<Scopes>,
    token_type: String,
}

/// How an authorization server says no.
#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) error: String,
    pub(crate) error_description: Option<String>,
}

impl TokenEndpoint<'_> {
    pub(crate) async fn exchange(
        &self,
        code: &Hidden,
        verifier: &Hidden,
        redirect: &Url,
    ) -> Result<Tokens, TokenError> {
        self.ask(&[
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("code_verifier", verifier.reveal()),
            ("redirect_uri", redirect.as_str()),
        ])
        .await
    }

    pub(crate) async fn refresh(&self, token: &Hidden) -> Result<Tokens, TokenError> {
        self.ask(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", token.reveal()),
        ])
        .await
    }

    pub(crate) async fn own(&self, scopes: &Scopes) -> Result<Tokens, TokenError> {
        let scopes = scopes.to_string();
        let mut fields = vec![("grant_type", "client_credentials")];
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        self.ask(&fields).await
    }

    pub(crate) async fn ask(&self, fields: &[(&str, &str)]) -> Result<Tokens, TokenError> {
        let mut fields = fields.to_vec();
        fields.push(("resource", self.resource));
        let mut headers = HeaderMap::new();
        self.client.sign(&mut fields, &mut headers);
        let answer = self.web.post_form(self.url, headers, &fields).await?;
        if let Some(refusal) = Refusal::read(&answer) {
            let Refusal {
                error,
                error_description: description,
            } = refusal;
            return Err(TokenError::Refused { error, description });
        }
        let tokens: Tokens = answer.json(self.url)?;
        if !tokens.token_type.eq_ignore_ascii_case("bearer") {
            return Err(TokenError::NotBearer {
                found: tokens.token_type,
            });
        }
        Ok(tokens)
    }
}

/// Some write the number as text, or with a fraction.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let written = serde_json::Value::deserialize(deserializer)?;
    let text = written
        .as_str()
        .map_or_else(|| written.to_string(), str::to_owned);
    Ok(text.split('.').next().and_then(|whole| whole.parse().ok()))
}

impl Refusal {
    /// Some say no under status 200.
    pub(crate) fn read(answer: &Answer) -> Option<Self> {
        serde_json::from_slice(&answer.body).ok()
    }
}

impl fmt::Display for Refusal {
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
    fn a_lifetime_is_read_however_it_is_written() {
        for (written, expected) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("3599.5", Some(3599)),
            ("null", None),
            ("\"soon\"", None),
        ] {
            let text =
                format!(r#"{{"access_token":"a","token_type":"Bearer","expires_in":{written}}}"#);
            let tokens: Tokens = serde_json::from_str(&text).unwrap();
            assert_eq!(tokens.expires_in, expected, "{written}");
        }
    }
}
