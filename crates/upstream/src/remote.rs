//! A server on the network: its address, what goes along with every request to it, and coming
//! back with another token when it does not like the one it was shown.

use std::sync::Arc;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use kitbag_domain::ServerName;
use reqwest::{Client, Request, Response};
use url::Url;

use crate::error::CallError;
use crate::oauth::{Challenge, Credentials, Grant, Trouble, TurnedAway};

pub(crate) struct Remote {
    pub(crate) server: ServerName,
    pub(crate) client: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// Absent where the configuration says what to send.
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) max_bytes: usize,
}

impl Remote {
    /// Sends a request with our token, if we have one, and again while another token may help.
    pub(crate) async fn execute(&self, request: Request) -> Result<Response, CallError> {
        let Some(credentials) = &self.credentials else {
            return self.send(request, None).await;
        };
        let mut token = credentials
            .token()
            .await
            .map_err(|trouble| self.trouble(trouble))?;
        let mut is_last = false;
        loop {
            let again = request.try_clone().expect("its body is held in memory");
            let response = self.send(again, token.as_deref()).await?;
            let Some(away) = turned_away(&response) else {
                return Ok(response);
            };
            if let Some(token) = token.as_ref().filter(|_| is_last) {
                return Err(self.trouble(credentials.give_up(token, away).await));
            }
            let replacement = credentials.instead_of(token, away).await;
            let replacement = replacement.map_err(|trouble| self.trouble(trouble))?;
            (token, is_last) = (Some(replacement.grant), replacement.is_last);
        }
    }

    /// Sends what nobody waits for, such as a goodbye, with the token as it is.
    pub(crate) async fn mention(&self, request: Request) {
        let token = self.credentials.as_ref().and_then(|it| it.at_hand());
        let _unheard = self.send(request, token.as_deref()).await;
    }

    pub(crate) fn lost(&self, reason: String) -> CallError {
        CallError::lost(&self.server, reason)
    }

    async fn send(
        &self,
        mut request: Request,
        token: Option<&Grant>,
    ) -> Result<Response, CallError> {
        if let Some(header) = token.and_then(Grant::header) {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        self.client
            .execute(request)
            .await
            .map_err(|error| self.lost(kitbag_fetch::cause(error)))
    }

    fn trouble(&self, trouble: Trouble) -> CallError {
        match trouble {
            Trouble::Person(needed) => CallError::Login(needed),
            Trouble::Passing { reason } => {
                self.lost(format!("our login could not be renewed: {reason}"))
            }
        }
    }
}

/// Whether a token could change the answer. A server that asks for a password, or forbids
/// something to everybody, is left to others.
fn turned_away(response: &Response) -> Option<TurnedAway> {
    let status = response.status();
    let challenge = Challenge::read(response.headers());
    let challenge = match status {
        StatusCode::UNAUTHORIZED if !response.headers().contains_key(WWW_AUTHENTICATE) => {
            Some(Challenge::default())
        }
        StatusCode::UNAUTHORIZED => challenge,
        StatusCode::FORBIDDEN => challenge.filter(Challenge::wants_more_scopes),
        _ => None,
    };
    challenge.map(|challenge| TurnedAway { status, challenge })
}
