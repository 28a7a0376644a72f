//! Asks one model over HTTP, at a limited rate and with retries, and never shows the key.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use jiff::Timestamp;
use kitbag_fetch::{BodyError, cause, client_without_redirects};
use reqwest::Response;
use serde_json::Value;
use tokio::time::Instant;

use crate::access::Access;
use crate::dialect::{Conversation, ModelAnswer};
use crate::endpoint::ModelEndpoint;
use crate::endpoint_error::ModelEndpointError;
use crate::pace::{Pace, again_after};

/// Limits of requests are counted by the minute, so a longer pause gains nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Far more than the words and calls of one answer.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// The characters of the endpoint's message that an error repeats, a few lines of a terminal.
const MAX_MESSAGE: usize = 300;
/// Anthropic answers with this status when it is overloaded.
const OVERLOADED: u16 = 529;

pub struct ModelClient {
    http: reqwest::Client,
    endpoint: ModelEndpoint,
    access: Access,
    headers: HeaderMap,
    limits: RequestLimits,
    pace: Pace,
}

/// The timeout, the retries and the rate of requests to an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub timeout: Duration,
    /// The number of further requests after one that may succeed the next time.
    pub retries: u32,
    /// The pause before the first retry, unless the endpoint names a time. It doubles each time.
    pub first_pause: Duration,
    pub per_minute: Option<u32>,
}

impl ModelClient {
    pub fn new(
        endpoint: ModelEndpoint,
        access: Access,
        limits: RequestLimits,
    ) -> Result<Self, ModelEndpointError> {
        let headers = access.headers(endpoint.dialect);
        let headers = headers.map_err(|_| ModelEndpointError::OddKey {
            place: endpoint.place(),
        })?;
        let http = client_without_redirects()
            .build()
            .expect("the client is built from constants");
        Ok(Self {
            http,
            endpoint,
            access,
            headers,
            pace: Pace::new(limits.per_minute),
            limits,
        })
    }

    pub fn endpoint(&self) -> &ModelEndpoint {
        &self.endpoint
    }

    /// Returns the answer, and the time that the model took for it without earlier waits.
    pub(crate) async fn ask(
        &self,
        conversation: &Conversation<'_>,
    ) -> Result<(ModelAnswer, Duration), ModelEndpointError> {
        let ModelEndpoint { dialect, model, .. } = &self.endpoint;
        let body = dialect.body(model, conversation).to_string();
        let mut pause = self.limits.first_pause;
        let mut retries = self.limits.retries;
        loop {
            self.pace.turn().await;
            let started = Instant::now();
            match self.ask_once(&body, conversation.calls()).await {
                Err(error) if error.is_passing() && retries > 0 => {
                    // All requests to a failing endpoint wait, not only the one that failed.
                    let rest = error.again_after().unwrap_or(pause).min(LONGEST_PAUSE);
                    self.pace.rest(Instant::now() + rest);
                    pause *= 2;
                    retries -= 1;
                }
                answered => return answered.map(|answer| (answer, started.elapsed())),
            }
        }
    }

    async fn ask_once(
        &self,
        body: &str,
        earlier: usize,
    ) -> Result<ModelAnswer, ModelEndpointError> {
        let after = self.limits.timeout;
        let body = match tokio::time::timeout(after, self.exchange(body.to_owned())).await {
            Ok(exchanged) => exchanged?,
            Err(_) => return Err(self.timed_out(after)),
        };
        let body = serde_json::from_slice(&body);
        let body = body.map_err(|error| self.unreadable(error.to_string()))?;
        if let Some(error) = error_in(&body) {
            return Err(self.refusal(error.status, None, &error.told));
        }
        let answer = self.endpoint.dialect.read(&body, earlier);
        answer.map_err(|reason| self.unreadable(reason))
    }

    async fn exchange(&self, body: String) -> Result<Vec<u8>, ModelEndpointError> {
        let request = self.http.post(self.endpoint.url());
        let request = request.headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await;
        let response = response.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let again_after = again_after(response.headers(), Timestamp::now());
        let body = self.body(response).await?;
        if status.is_success() {
            return Ok(body);
        }
        let told = serde_json::from_slice(&body).unwrap_or_default();
        Err(self.refusal(status, again_after, &told))
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, ModelEndpointError> {
        match kitbag_fetch::body(response, MAX_ANSWER).await {
            Ok(body) => Ok(body),
            Err(BodyError::Lost(error)) => Err(self.unreachable(error)),
            Err(too_large) => Err(self.unreadable(too_large.to_string())),
        }
    }

    fn refusal(
        &self,
        status: StatusCode,
        again_after: Option<Duration>,
        told: &Value,
    ) -> ModelEndpointError {
        let place = self.place();
        match status.as_u16() {
            401 | 403 => ModelEndpointError::Unauthorized { place, status },
            429 | 503 | OVERLOADED => ModelEndpointError::Busy {
                place,
                status,
                again_after,
            },
            _ => ModelEndpointError::Refused {
                place,
                status,
                message: self.message(told),
            },
        }
    }

    /// Returns the endpoint's error message, shortened, and without our key if the message repeats
    /// it.
    fn message(&self, told: &Value) -> String {
        let said = told
            .pointer("/error/message")
            .or_else(|| told.get("message"))
            .or_else(|| told.get("error"))
            .or_else(|| told.get("detail"));
        let said = said.and_then(Value::as_str).unwrap_or("no reason given");
        let said = self.access.hidden_in(said);
        said.chars().take(MAX_MESSAGE).collect()
    }

    fn timed_out(&self, after: Duration) -> ModelEndpointError {
        ModelEndpointError::TimedOut {
            place: self.place(),
            after,
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> ModelEndpointError {
        ModelEndpointError::Unreachable {
            place: self.place(),
            reason: cause(error),
        }
    }

    fn unreadable(&self, reason: String) -> ModelEndpointError {
        ModelEndpointError::Unreadable {
            place: self.place(),
            reason,
        }
    }

    fn place(&self) -> String {
        self.endpoint.place()
    }
}

impl fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelClient")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// An error inside a response with a success status. Some services start the response before they
/// know of the error.
struct ErrorInBody {
    status: StatusCode,
    told: Value,
}

fn error_in(body: &Value) -> Option<ErrorInBody> {
    let holders = [Some(body), body.pointer("/choices/0")];
    let mut holders = holders.into_iter().flatten();
    let told = holders.find(|it| it.get("error").is_some_and(|error| !error.is_null()))?;
    Some(ErrorInBody {
        status: status_in(told).unwrap_or(StatusCode::BAD_GATEWAY),
        told: told.clone(),
    })
}

fn status_in(told: &Value) -> Option<StatusCode> {
    let code = told.pointer("/error/code")?.as_u64()?;
    let status = StatusCode::from_u16(u16::try_from(code).ok()?).ok()?;
    (!status.is_success()).then_some(status)
}
