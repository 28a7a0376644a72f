//! One request for an access token, according to OAuth 2.0.

use std::fmt;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};
use kitbag_fetch::Secrets;
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::credential::CredentialOwner;
use super::proof::{Proof, basic_login};
use crate::client::GuardedClient;
use crate::fault::RequestFault;
use crate::received_response::ReceivedResponse;
use crate::request::{ACCEPT_JSON, PendingBody, PendingRequest};

/// A token and its companions are a few kilobytes.
const MAX_BYTES: usize = 256 * 1024;

/// Everything that a token depends on.
#[derive(Clone)]
pub(crate) struct TokenRequest {
    pub(crate) owner: CredentialOwner,
    pub(crate) url: Url,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) grant: TokenGrant,
}

#[derive(Clone)]
pub(crate) enum TokenGrant {
    ClientCredentials { scopes: Vec<String> },
    RefreshToken { refresh_token: String },
}

/// The reason why there is no token. The message continues after the name of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    #[error("was not called: {origin} issued no token: {words}")]
    Refused { origin: String, words: String },
    #[error("was not called: {origin} answered the token request with HTTP {status}")]
    Unavailable { origin: String, status: u16 },
    #[error("was not called: the answer of {origin} contains no token")]
    Unreadable { origin: String },
    #[error("was not called: its token endpoint {fault}")]
    Request { fault: RequestFault },
}

/// The answer of a token endpoint.
pub(super) struct FetchedToken {
    pub(super) access: String,
    pub(super) lasts: Option<Duration>,
    pub(super) refresh: Option<String>,
}

impl TokenRequest {
    /// Servers expect the client's secret in the form or in a header, and reject the other way
    /// before they check anything else.
    pub(super) async fn fetch(&self, client: &GuardedClient) -> Result<FetchedToken, TokenFault> {
        let answer = self.send_request(client, ClientProof::InForm).await?;
        if answer.status.is_client_error() && error_code(&answer).as_deref() == Some(WRONG_CLIENT) {
            let second = self.send_request(client, ClientProof::InHeader).await?;
            return self.parse_answer(&second);
        }
        self.parse_answer(&answer)
    }

    async fn send_request(
        &self,
        client: &GuardedClient,
        how: ClientProof,
    ) -> Result<ReceivedResponse, TokenFault> {
        let answer = self.send_and_read(client, how).await;
        let answer = answer.map_err(|fault| TokenFault::Request { fault })?;
        Ok(answer.mask_if_failed(&self.secrets()))
    }

    async fn send_and_read(
        &self,
        client: &GuardedClient,
        how: ClientProof,
    ) -> Result<ReceivedResponse, RequestFault> {
        let response = client.send(self.build_request(how)?.build()?).await?;
        ReceivedResponse::read_within(response, MAX_BYTES).await
    }

    fn build_request(&self, how: ClientProof) -> Result<PendingRequest, RequestFault> {
        let login = basic_login(
            &form_encode(&self.client_id),
            &form_encode(&self.client_secret),
        );
        let proof = match how {
            ClientProof::InForm => Proof::Nothing,
            ClientProof::InHeader => Proof::header(AUTHORIZATION, &login)?,
        };
        Ok(PendingRequest {
            method: Method::POST,
            url: self.url.clone(),
            accept: ACCEPT_JSON,
            body: Some(PendingBody::form(self.build_form(how))),
            own_headers: HeaderMap::new(),
            proof,
            stayed_at_origin: true,
        })
    }

    fn build_form(&self, how: ClientProof) -> String {
        let mut form = Serializer::new(String::new());
        match &self.grant {
            TokenGrant::ClientCredentials { scopes } => {
                form.append_pair("grant_type", "client_credentials");
                if !scopes.is_empty() {
                    form.append_pair("scope", &scopes.join(" "));
                }
            }
            TokenGrant::RefreshToken { refresh_token } => {
                form.append_pair("grant_type", "refresh_token");
                form.append_pair("refresh_token", refresh_token);
            }
        }
        if how == ClientProof::InForm {
            form.append_pair("client_id", &self.client_id);
            form.append_pair("client_secret", &self.client_secret);
        }
        form.finish()
    }

    fn parse_answer(&self, answer: &ReceivedResponse) -> Result<FetchedToken, TokenFault> {
        let origin = crate::fault::origin_of(&self.url);
        if !answer.status.is_success() {
            return Err(token_fault(origin, answer));
        }
        parse_token(&answer.body).ok_or(TokenFault::Unreadable { origin })
    }

    fn secrets(&self) -> Secrets {
        let refresh = match &self.grant {
            TokenGrant::RefreshToken { refresh_token } => Some(refresh_token),
            TokenGrant::ClientCredentials { .. } => None,
        };
        Secrets::from_values(refresh.into_iter().chain([&self.client_secret]))
    }
}

const WRONG_CLIENT: &str = "invalid_client";

/// Where the request carries the client's secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientProof {
    InForm,
    InHeader,
}

impl ReceivedResponse {
    /// A failure's message is shown; an issued token must stay whole.
    fn mask_if_failed(self, secrets: &Secrets) -> Self {
        match self.status.is_success() {
            true => self,
            false => self.mask_secrets(secrets),
        }
    }
}

/// The standard requires form encoding of both before they are joined.
fn form_encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn parse_token(body: &[u8]) -> Option<FetchedToken> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let lasts = parse_seconds(&answer["expires_in"]).map(Duration::from_secs);
    Some(FetchedToken {
        access: find_text(&answer, "access_token")?,
        lasts,
        refresh: find_text(&answer, "refresh_token"),
    })
}

/// Some servers write the number as text.
fn parse_seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn find_text(answer: &Value, name: &str) -> Option<String> {
    let text = answer.get(name)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn token_fault(origin: String, answer: &ReceivedResponse) -> TokenFault {
    let passing = answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS;
    match error_code(answer) {
        Some(word) if !passing => TokenFault::Refused {
            origin,
            words: describe_error_code(word, answer),
        },
        _ => TokenFault::Unavailable {
            origin,
            status: answer.status.as_u16(),
        },
    }
}

fn error_code(answer: &ReceivedResponse) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    find_text(&body, "error")
}

fn describe_error_code(word: String, answer: &ReceivedResponse) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match find_text(&body, "error_description") {
        Some(description) => format!("{description} ({word})"),
        None => word,
    }
}

impl fmt::Debug for TokenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenRequest")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
