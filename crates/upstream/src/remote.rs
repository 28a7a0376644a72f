//! A remote server: its URL, the headers of every request, and a retry with another token when it
//! rejects the first.

use std::sync::Arc;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use kitbag_domain::ServerName;
use kitbag_wire::Message;
use reqwest::{Client, Request, Response};
use tokio::time::Instant;
use url::Url;

use crate::body::read_body_within;
use crate::error::CallError;
use crate::oauth::{Challenge, Credentials, Grant, NoToken, RefusedRequest};
use crate::pause::{Pause, RequestedWait};

pub(crate) struct RemoteServer {
    pub(crate) server: ServerName,
    pub(crate) client: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// Absent if the configuration has a header for the login.
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) pause: Arc<Pause>,
    pub(crate) max_bytes: usize,
}

/// An error page is shown to the user, who reads no more of it.
pub(crate) const MAX_ERROR_BODY: usize = 64 * 1024;

impl RemoteServer {
    /// Sends a request, unless the server has asked to wait.
    pub(crate) async fn send_with_login(&self, request: Request) -> Result<Response, CallError> {
        if let Some(asked) = self.pause.remaining_wait(Instant::now()) {
            return Err(self.retry_later_error(asked, String::new()));
        }
        let response = self.send_authorized(request).await?;
        let (status, headers) = (response.status(), response.headers());
        let Some(asked) = self
            .pause
            .record_retry_after(Instant::now(), status, headers)
        else {
            return Ok(response);
        };
        let body = read_body_within(response, self.max_bytes.min(MAX_ERROR_BODY)).await;
        Err(self.retry_later_error(asked, error_message(&body.unwrap_or_default())))
    }

    fn retry_later_error(
        &self,
        RequestedWait { status, wait }: RequestedWait,
        said: String,
    ) -> CallError {
        CallError::RetryLater {
            server: self.server.clone(),
            status: status.as_u16(),
            wait,
            said,
        }
    }

    /// Sends a request with the token, if there is one, and again while another token may help.
    async fn send_authorized(&self, request: Request) -> Result<Response, CallError> {
        let Some(credentials) = &self.credentials else {
            return self.send(request, None).await;
        };
        let mut token = credentials
            .valid_token()
            .await
            .map_err(|none| self.no_token_error(none))?;
        let mut is_last = false;
        loop {
            let again = request.try_clone().expect("its body is in memory");
            let response = self.send(again, token.as_deref()).await?;
            let Some(away) = to_refused_request(&response) else {
                return Ok(response);
            };
            if let Some(token) = token.as_ref().filter(|_| is_last) {
                return Err(self.no_token_error(credentials.final_refusal_error(token, away).await));
            }
            let replacement = credentials.replacement_for(token, away).await;
            let replacement = replacement.map_err(|none| self.no_token_error(none))?;
            (token, is_last) = (Some(replacement.grant), replacement.is_last);
        }
    }

    /// Sends a request whose answer does not matter, such as the end of a session, with the current
    /// token.
    pub(crate) async fn send_and_ignore(&self, request: Request) {
        let token = self
            .credentials
            .as_ref()
            .and_then(|credentials| credentials.current_token());
        let _unheard = self.send(request, token.as_deref()).await;
    }

    pub(crate) fn lost_error(&self, reason: impl Into<String>) -> CallError {
        CallError::for_lost_connection(&self.server, reason)
    }

    async fn send(
        &self,
        mut request: Request,
        token: Option<&Grant>,
    ) -> Result<Response, CallError> {
        if let Some(header) = token.and_then(Grant::authorization_header) {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        self.client
            .execute(request)
            .await
            .map_err(|error| self.lost_error(kitbag_fetch::describe_error(error)))
    }

    fn no_token_error(&self, none: NoToken) -> CallError {
        match none {
            NoToken::Person(needed) => CallError::Login(needed),
            NoToken::Transient { reason } => {
                self.lost_error(format!("the login could not be refreshed: {reason}"))
            }
        }
    }
}

/// Returns the message of an error, or the whole text of another body.
fn error_message(body: &[u8]) -> String {
    match Message::parse(body) {
        Ok(Message::Response(response)) => {
            let error = response.outcome.err();
            error.map(|error| error.message).unwrap_or_default()
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    }
}

/// Returns the rejection if a token could change the answer. A server that asks for a password, or
/// forbids something to every caller, is not asked again.
fn to_refused_request(response: &Response) -> Option<RefusedRequest> {
    let (status, headers) = (response.status(), response.headers());
    let challenge = match status {
        StatusCode::UNAUTHORIZED => challenge_or_none(headers)?,
        StatusCode::FORBIDDEN => {
            Challenge::from_headers(headers).filter(Challenge::wants_more_scopes)?
        }
        _ => return None,
    };
    Some(RefusedRequest { status, challenge })
}

/// Returns the challenge, or an empty one for a server that sends none.
fn challenge_or_none(headers: &HeaderMap) -> Option<Challenge> {
    match headers.contains_key(WWW_AUTHENTICATE) {
        true => Challenge::from_headers(headers),
        false => Some(Challenge::default()),
    }
}
