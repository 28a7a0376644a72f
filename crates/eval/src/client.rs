//! Queries one model over HTTP, with a rate limit and retries, and never shows the key.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use jiff::Timestamp;
use kitbag_fetch::{BodyError, client_without_redirects, describe_error};
use reqwest::Response;
use serde_json::Value;
use tokio::time::Instant;

use crate::access::Access;
use crate::dialect::{Conversation, ModelAnswer};
use crate::endpoint::ModelEndpoint;
use crate::endpoint_error::ModelEndpointError;
use crate::rate_limit::{RateLimiter, parse_retry_after};
use crate::suite::CallArguments;

/// Rate limits are counted per minute, so a longer pause gains nothing.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Far more than the text and calls of one answer.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// How many characters of the endpoint's message an error repeats, a few terminal lines.
const MAX_MESSAGE: usize = 300;
/// Anthropic's status for overload.
const OVERLOADED: u16 = 529;

pub struct ModelClient {
    http: reqwest::Client,
    endpoint: ModelEndpoint,
    access: Access,
    headers: HeaderMap,
    limits: RequestLimits,
    rate_limiter: RateLimiter,
}

/// The timeout, the retries and the rate of requests to an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub timeout: Duration,
    /// The number of retries after a transient error.
    pub retries: u32,
    /// The delay before the first retry, unless the endpoint sets one. It doubles each time.
    pub first_pause: Duration,
    pub per_minute: Option<u32>,
}

impl ModelClient {
    pub fn new(
        endpoint: ModelEndpoint,
        access: Access,
        limits: RequestLimits,
    ) -> Result<Self, ModelEndpointError> {
        let headers = access.request_headers(endpoint.dialect);
        let headers = headers.map_err(|_| ModelEndpointError::InvalidKey {
            endpoint: endpoint.address(),
        })?;
        let http = client_without_redirects()
            .build()
            .expect("the client is built from constants");
        Ok(Self {
            http,
            endpoint,
            access,
            headers,
            rate_limiter: RateLimiter::new(limits.per_minute),
            limits,
        })
    }

    pub fn endpoint(&self) -> &ModelEndpoint {
        &self.endpoint
    }

    /// Returns the text of the answer to a prompt without tools.
    pub async fn ask_for_text(
        &self,
        prompt: &str,
        parameters: &CallArguments,
    ) -> Result<String, ModelEndpointError> {
        let conversation = Conversation {
            tools: &[],
            parameters,
            prompt,
            exchanges: Vec::new(),
        };
        let (answer, _) = self.ask_model(&conversation).await?;
        Ok(answer.text)
    }

    /// Returns the answer, and the model's latency without earlier waits.
    pub(crate) async fn ask_model(
        &self,
        conversation: &Conversation<'_>,
    ) -> Result<(ModelAnswer, Duration), ModelEndpointError> {
        let ModelEndpoint { dialect, model, .. } = &self.endpoint;
        let body = dialect.request_body(model, conversation).to_string();
        let mut pause = self.limits.first_pause;
        let mut retries = self.limits.retries;
        loop {
            self.rate_limiter.wait_for_turn().await;
            let started = Instant::now();
            match self.ask_once(&body, conversation.call_count()).await {
                Err(error) if error.is_transient() && retries > 0 => {
                    // All requests to a failing endpoint wait, not only the one that failed.
                    let rest = error.retry_after().unwrap_or(pause).min(MAX_PAUSE);
                    self.rate_limiter.pause_until(Instant::now() + rest);
                    pause *= 2;
                    retries -= 1;
                }
                result => return result.map(|answer| (answer, started.elapsed())),
            }
        }
    }

    async fn ask_once(
        &self,
        body: &str,
        earlier: usize,
    ) -> Result<ModelAnswer, ModelEndpointError> {
        let after = self.limits.timeout;
        let body = match tokio::time::timeout(after, self.send_request(body.to_owned())).await {
            Ok(exchanged) => exchanged?,
            Err(_) => return Err(self.timeout_error(after)),
        };
        let body = serde_json::from_slice(&body);
        let body = body.map_err(|error| self.unreadable_error(error.to_string()))?;
        if let Some(error) = find_error(&body) {
            return Err(self.status_error(error.status, None, &error.body));
        }
        let answer = self.endpoint.dialect.parse_answer(&body, earlier);
        answer.map_err(|reason| self.unreadable_error(reason))
    }

    async fn send_request(&self, body: String) -> Result<Vec<u8>, ModelEndpointError> {
        let request = self.http.post(self.endpoint.url());
        let request = request.headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await;
        let response = response.map_err(|error| self.unreachable_error(error))?;
        let status = response.status();
        let retry_after = parse_retry_after(response.headers(), Timestamp::now());
        let body = self.read_body(response).await?;
        if status.is_success() {
            return Ok(body);
        }
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Err(self.status_error(status, retry_after, &body))
    }

    async fn read_body(&self, response: Response) -> Result<Vec<u8>, ModelEndpointError> {
        match kitbag_fetch::read_body(response, MAX_ANSWER).await {
            Ok(body) => Ok(body),
            Err(BodyError::Lost(error)) => Err(self.unreachable_error(error)),
            Err(too_large) => Err(self.unreadable_error(too_large.to_string())),
        }
    }

    fn status_error(
        &self,
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &Value,
    ) -> ModelEndpointError {
        let endpoint = self.endpoint_address();
        match status.as_u16() {
            401 | 403 => ModelEndpointError::Unauthorized { endpoint, status },
            429 | 503 | OVERLOADED => ModelEndpointError::Busy {
                endpoint,
                status,
                retry_after,
            },
            _ => ModelEndpointError::Refused {
                endpoint,
                status,
                message: self.error_message(body),
            },
        }
    }

    /// Returns the endpoint's error message, shortened, and with the key masked.
    fn error_message(&self, body: &Value) -> String {
        let message = body
            .pointer("/error/message")
            .or_else(|| body.get("message"))
            .or_else(|| body.get("error"))
            .or_else(|| body.get("detail"));
        let message = message.and_then(Value::as_str).unwrap_or("no reason given");
        let message = self.access.mask_secrets(message);
        message.chars().take(MAX_MESSAGE).collect()
    }

    fn timeout_error(&self, after: Duration) -> ModelEndpointError {
        ModelEndpointError::TimedOut {
            endpoint: self.endpoint_address(),
            after,
        }
    }

    fn unreachable_error(&self, error: reqwest::Error) -> ModelEndpointError {
        ModelEndpointError::Unreachable {
            endpoint: self.endpoint_address(),
            reason: describe_error(error),
        }
    }

    fn unreadable_error(&self, reason: String) -> ModelEndpointError {
        ModelEndpointError::Unreadable {
            endpoint: self.endpoint_address(),
            reason,
        }
    }

    fn endpoint_address(&self) -> String {
        self.endpoint.address()
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
/// detect the error.
struct ErrorInBody {
    status: StatusCode,
    body: Value,
}

fn find_error(body: &Value) -> Option<ErrorInBody> {
    let holders = [Some(body), body.pointer("/choices/0")];
    let mut holders = holders.into_iter().flatten();
    let holder = holders.find(|it| it.get("error").is_some_and(|error| !error.is_null()))?;
    Some(ErrorInBody {
        status: status_in(holder).unwrap_or(StatusCode::BAD_GATEWAY),
        body: holder.clone(),
    })
}

fn status_in(body: &Value) -> Option<StatusCode> {
    let code = body.pointer("/error/code")?.as_u64()?;
    let status = StatusCode::from_u16(u16::try_from(code).ok()?).ok()?;
    (!status.is_success()).then_some(status)
}
