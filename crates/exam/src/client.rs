//! Asks one model over HTTP, at a limited rate and with retries, and never shows the key.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use jiff::Timestamp;
use kitbag_fetch::{BodyError, cause, client};
use serde_json::Value;
use tokio::time::Instant;

use crate::access::Access;
use crate::dialect::{Conversation, ModelAnswer};
use crate::endpoint::ModelEndpoint;
use crate::pace::{Pace, again_after};

const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const MAX_ANSWER: usize = 16 * 1024 * 1024;
const MAX_MESSAGE: usize = 300;

pub struct ModelClient {
    http: reqwest::Client,
    endpoint: ModelEndpoint,
    access: Access,
    headers: HeaderMap,
    patience: RequestLimits,
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

#[derive(Debug, Clone, thiserror::Error)]
pub enum ModelEndpointError {
    #[error("the key for {place} cannot be sent in a header")]
    OddKey { place: String },
    #[error("{place} cannot be reached: {reason}")]
    Unreachable { place: String, reason: String },
    #[error("{place} did not answer within {after:?}")]
    TimedOut { place: String, after: Duration },
    #[error("{place} does not accept the key ({status})")]
    Unauthorized { place: String, status: StatusCode },
    #[error("{place} takes no more requests for now ({status})")]
    Busy {
        place: String,
        status: StatusCode,
        again_after: Option<Duration>,
    },
    #[error("{place} answered {status}: {message}")]
    Refused {
        place: String,
        status: StatusCode,
        message: String,
    },
    #[error("{place} sent something that is no answer: {reason}")]
    Unreadable { place: String, reason: String },
}

impl ModelClient {
    pub fn new(
        endpoint: ModelEndpoint,
        access: Access,
        patience: RequestLimits,
    ) -> Result<Self, ModelEndpointError> {
        let odd_key = |_| ModelEndpointError::OddKey {
            place: endpoint.place(),
        };
        let headers = access.headers(endpoint.dialect).map_err(odd_key)?;
        let http = client()
            // A redirected request would send the key to an address that the operator did not name.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("the client is built from constants");
        Ok(Self {
            http,
            endpoint,
            access,
            headers,
            pace: Pace::new(patience.per_minute),
            patience,
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
        let mut pause = self.patience.first_pause;
        let mut retries = self.patience.retries;
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
        let after = self.patience.timeout;
        let exchanged = tokio::time::timeout(after, self.exchange(body.to_owned())).await;
        let body = exchanged.unwrap_or_else(|_| {
            Err(ModelEndpointError::TimedOut {
                place: self.place(),
                after,
            })
        })?;
        let body =
            serde_json::from_slice(&body).map_err(|error| self.unreadable(error.to_string()))?;
        if let Some(error) = failure(&body) {
            return Err(self.refusal(error.status, None, &error.told));
        }
        self.endpoint
            .dialect
            .read(&body, earlier)
            .map_err(|reason| self.unreadable(reason))
    }

    async fn exchange(&self, body: String) -> Result<Vec<u8>, ModelEndpointError> {
        let request = self
            .http
            .post(self.endpoint.url())
            .headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let unreachable = |error| ModelEndpointError::Unreachable {
            place: self.place(),
            reason: cause(error),
        };
        let response = request.send().await.map_err(unreachable)?;
        let (status, again_after) = (
            response.status(),
            again_after(response.headers(), Timestamp::now()),
        );
        let body = kitbag_fetch::body(response, MAX_ANSWER)
            .await
            .map_err(|error| match error {
                BodyError::Lost(error) => unreachable(error),
                too_large => self.unreadable(too_large.to_string()),
            })?;
        if status.is_success() {
            return Ok(body);
        }
        Err(self.refusal(
            status,
            again_after,
            &serde_json::from_slice(&body).unwrap_or_default(),
        ))
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
            // Anthropic answers 529 when it is overloaded.
            429 | 503 | 529 => ModelEndpointError::Busy {
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
            .or_else(|| told.get("message"));
        let said = said
            .or_else(|| told.get("error"))
            .or_else(|| told.get("detail"));
        let said = said.and_then(Value::as_str).unwrap_or("no reason given");
        self.access
            .hidden_in(said)
            .chars()
            .take(MAX_MESSAGE)
            .collect()
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

impl ModelEndpointError {
    /// True if the same request may succeed in a moment. A request that took too long is not
    /// repeated, because it may have been answered and paid for.
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            _ => false,
        }
    }

    /// True if the error is about the content of the request and not about the key or the address.
    /// Then another prompt may succeed.
    pub(crate) fn is_about_the_request(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if [400, 413, 422].contains(&status.as_u16()))
    }

    /// True if another prompt would fail as well.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::OddKey { .. } | Self::Unauthorized { .. } => true,
            Self::Refused { status, .. } => {
                status.is_client_error() && !self.is_about_the_request()
            }
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Unreadable { .. } => false,
        }
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            Self::OddKey { .. } => "check the key for stray characters",
            Self::Unreachable { .. } => "check the address in --model, and that the service runs",
            Self::TimedOut { .. } => {
                "give it longer with --timeout, or ask less at once with --concurrency"
            }
            Self::Unauthorized { .. } => "check the variable that holds the key",
            Self::Busy { .. } => "ask more slowly with --rpm, or wait and run it again",
            Self::Refused { .. } => "check the name of the model and the address in --model",
            Self::Unreadable { .. } => {
                "check that the address speaks Chat Completions, or with `anthropic:` in front of it, Messages"
            }
        }
    }

    fn again_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { again_after, .. } => *again_after,
            _ => None,
        }
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

fn failure(body: &Value) -> Option<ErrorInBody> {
    let holder = [Some(body), body.pointer("/choices/0")]
        .into_iter()
        .flatten();
    let told = holder
        .into_iter()
        .find(|it| it.get("error").is_some_and(|error| !error.is_null()))?;
    let code = told
        .pointer("/error/code")
        .and_then(Value::as_u64)
        .and_then(|it| u16::try_from(it).ok());
    let status = code
        .and_then(|code| StatusCode::from_u16(code).ok())
        .filter(|it| !it.is_success());
    Some(ErrorInBody {
        status: status.unwrap_or(StatusCode::BAD_GATEWAY),
        told: told.clone(),
    })
}
