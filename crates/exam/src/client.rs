//! One model over HTTP: at a pace, with patience, and without ever showing the key.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde_json::Value;
use tokio::time::Instant;

use crate::dialect::{Answer, Conversation};
use crate::endpoint::Endpoint;

const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const MAX_ANSWER: usize = 16 * 1024 * 1024;
const MAX_MESSAGE: usize = 300;

pub struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    key: Option<String>,
    headers: HeaderMap,
    patience: Patience,
    pace: Pace,
}

/// How long and how often an endpoint is asked, and how fast.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub timeout: Duration,
    /// Further requests after one that may succeed the next time.
    pub retries: u32,
    /// Before the first of them, unless the endpoint names a time; it doubles.
    pub first_pause: Duration,
    pub per_minute: Option<u32>,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum EndpointError {
    #[error("the key for {place} cannot be sent in a header")]
    OddKey { place: String },
    #[error("{place} cannot be reached: {reason}")]
    Unreachable { place: String, reason: String },
    #[error("{place} did not answer within {after:?}")]
    TimedOut { place: String, after: Duration },
    #[error("{place} does not accept the key ({status})")]
    Unauthorized { place: String, status: StatusCode },
    #[error("{place} takes no more requests for now ({status})")]
    Busy { place: String, status: StatusCode, again_after: Option<Duration> },
    #[error("{place} answered {status}: {message}")]
    Refused { place: String, status: StatusCode, message: String },
    #[error("{place} sent something that is no answer: {reason}")]
    Unreadable { place: String, reason: String },
}

impl Client {
    pub fn new(endpoint: Endpoint, key: Option<String>, patience: Patience) -> Result<Self, EndpointError> {
        let headers = endpoint
            .dialect
            .headers(key.as_deref())
            .map_err(|_| EndpointError::OddKey { place: endpoint.place() })?;
        let http = reqwest::Client::builder()
            // A redirected request would hand the key to an address nobody named.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("kitbag/", env!("CARGO_PKG_VERSION")))
            .build()
            .expect("the client is built from constants");
        Ok(Self { http, endpoint, key, headers, pace: Pace::new(patience.per_minute), patience })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The answer, and how long the model took for it, whatever had to be waited for before.
    pub(crate) async fn ask(
        &self,
        tools: &[Value],
        conversation: &Conversation,
    ) -> Result<(Answer, Duration), EndpointError> {
        let Endpoint { dialect, model, .. } = &self.endpoint;
        let body = dialect.body(model, tools, conversation).to_string();
        let mut pause = self.patience.first_pause;
        let mut retries = self.patience.retries;
        loop {
            self.pace.turn().await;
            let started = Instant::now();
            match self.ask_once(&body).await {
                Err(error) if error.is_passing() && retries > 0 => {
                    // All requests to an endpoint in trouble wait, not only the one that found out.
                    let rest = error.again_after().unwrap_or(pause).min(LONGEST_PAUSE);
                    self.pace.rest(Instant::now() + rest);
                    pause *= 2;
                    retries -= 1;
                }
                answered => return answered.map(|answer| (answer, started.elapsed())),
            }
        }
    }

    async fn ask_once(&self, body: &str) -> Result<Answer, EndpointError> {
        let after = self.patience.timeout;
        let exchanged = tokio::time::timeout(after, self.exchange(body.to_owned())).await;
        let body =
            exchanged.unwrap_or_else(|_| Err(EndpointError::TimedOut { place: self.place(), after }))?;
        self.endpoint.dialect.read(&body).map_err(|reason| self.unreadable(reason))
    }

    async fn exchange(&self, body: String) -> Result<Vec<u8>, EndpointError> {
        let request = self.http.post(self.endpoint.url()).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let unreachable = |error| EndpointError::Unreachable { place: self.place(), reason: cause(error) };
        let mut response = request.send().await.map_err(unreachable)?;
        let (status, again_after) = (response.status(), again_after(response.headers()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(self.unreadable(format!("more than {MAX_ANSWER} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() { Ok(body) } else { Err(self.refusal(status, again_after, &body)) }
    }

    fn refusal(&self, status: StatusCode, again_after: Option<Duration>, body: &[u8]) -> EndpointError {
        let place = self.place();
        match status.as_u16() {
            401 | 403 => EndpointError::Unauthorized { place, status },
            // 529 is what Anthropic says when it has too much to do.
            429 | 503 | 529 => EndpointError::Busy { place, status, again_after },
            _ => EndpointError::Refused { place, status, message: self.message(body) },
        }
    }

    /// What the endpoint says is wrong, short and without our key, should it repeat that.
    fn message(&self, body: &[u8]) -> String {
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let said = parsed.pointer("/error/message").or_else(|| parsed.get("message"));
        let said = said.or_else(|| parsed.get("error")).and_then(Value::as_str);
        let said = said.unwrap_or("no reason given");
        let said = match &self.key {
            Some(key) if !key.is_empty() => said.replace(key.as_str(), "***"),
            _ => said.to_owned(),
        };
        said.chars().take(MAX_MESSAGE).collect()
    }

    fn unreadable(&self, reason: String) -> EndpointError {
        EndpointError::Unreadable { place: self.place(), reason }
    }

    fn place(&self) -> String {
        self.endpoint.place()
    }
}

impl EndpointError {
    /// Whether the same request may succeed in a moment. One that took too long is not repeated:
    /// it may have been answered, and paid for.
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            _ => false,
        }
    }

    /// Whether another prompt would fare no better.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::OddKey { .. } | Self::Unauthorized { .. } => true,
            Self::Refused { status, .. } => status.is_client_error(),
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
            Self::TimedOut { .. } => "give it longer with --timeout, or ask less at once with --concurrency",
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

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// Hands out moments at which a request may go out.
struct Pace {
    interval: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    fn new(per_minute: Option<u32>) -> Self {
        let interval = per_minute.map_or(Duration::ZERO, |it| Duration::from_secs(60) / it.max(1));
        Self { interval, next: Mutex::new(Instant::now()) }
    }

    async fn turn(&self) {
        let at = self.place(Instant::now());
        tokio::time::sleep_until(at).await;
    }

    /// The next moment that is free, which from now on it is not.
    fn place(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (*next).max(now);
        *next = at + self.interval;
        at
    }

    fn rest(&self, until: Instant) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = (*next).max(until);
    }
}

fn again_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The innermost cause: `reqwest` wraps "connection refused" in three layers of its own.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_the_pace_and_wait_out_a_rest() {
        let now = Instant::now();
        let pace = Pace { interval: Duration::from_secs(1), next: Mutex::new(now) };
        let after = |at: Instant| at.duration_since(now).as_secs();
        assert_eq!([(); 3].map(|()| after(pace.place(now))), [0, 1, 2]);
        pace.rest(now + Duration::from_secs(10));
        assert_eq!([(); 2].map(|()| after(pace.place(now))), [10, 11]);
        let late = now + Duration::from_secs(60);
        assert_eq!(after(pace.place(late)), 60);
    }
}
