//! Vectors from a service with an OpenAI-compatible embeddings API.
//!
//! A search waits a few seconds at most, and not at all while the service is failing. Tools are
//! embedded in batches, and a busy service is retried.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use kitbag_config::EmbeddingsEndpoint;
use kitbag_domain::sync::lock;
use kitbag_domain::{Lookup, MissingVariable};
use kitbag_fetch::{BodyError, client_without_redirects, describe_error, retry_after};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::time::Instant;

use crate::TextRole;
use crate::service_error::EmbeddingServiceError;
use crate::service_format::{EmbeddingsRequest, read};

/// Texts in one request. Services accept many more; small requests lose less when one fails.
const BATCH: usize = 64;
/// How long a search waits for its vector before it continues without one.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long searches do not use a service that failed.
const COOLDOWN: Duration = Duration::from_secs(15);
/// The number of attempts for a batch. The first delay is `FIRST_DELAY`, and each later one is
/// twice as long.
const ATTEMPTS: u32 = 4;
const FIRST_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(30);
/// A batch of the longest vectors in use has a few megabytes as text.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// How many characters of the service's message an error repeats, about two terminal lines.
const MAX_MESSAGE: usize = 200;

pub(crate) struct EmbeddingService {
    http: reqwest::Client,
    config: EmbeddingsEndpoint,
    lookup: Lookup,
    /// The URL of the service, without anything that could be a secret.
    endpoint: String,
    /// The length of the service's vectors, once that is known.
    dimension: OnceLock<usize>,
    recent_error: Mutex<Option<(Instant, EmbeddingServiceError)>>,
}

type EmbeddingResult = Result<Vec<Vec<f32>>, EmbeddingServiceError>;

impl EmbeddingService {
    pub(crate) fn new(config: EmbeddingsEndpoint, lookup: Lookup) -> Self {
        let http = client_without_redirects()
            .build()
            .expect("the client is built from constants");
        let dimension = config.dimensions.map_or_else(OnceLock::new, OnceLock::from);
        let origin = config.url.origin().ascii_serialization();
        Self {
            http,
            endpoint: format!("{origin}{}", config.url.path()),
            config,
            lookup,
            dimension,
            recent_error: Mutex::default(),
        }
    }

    pub(crate) fn id(&self) -> Result<String, EmbeddingServiceError> {
        self.authorization()?;
        let EmbeddingsEndpoint {
            url,
            model,
            dimensions,
            prefixes,
            ..
        } = &self.config;
        let text = format!("{url} {model:?} {dimensions:?} {:?}", prefixes.document);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        // Half of the hash is enough to distinguish all configurations.
        Ok(format!("endpoint {}", &hash[..32]))
    }

    /// Records the length of vectors, unless it is already known.
    pub(crate) fn set_dimension(&self, dimension: usize) {
        let _known = self.dimension.set(dimension);
    }

    pub(crate) async fn embed_queries(&self, texts: Vec<String>) -> EmbeddingResult {
        if let Some(error) = self.recent_error() {
            return Err(error);
        }
        let timeout = self.config.timeout.min(QUERY_TIMEOUT);
        let texts = self.add_prefixes(&texts, TextRole::Query);
        self.record_outcome(self.fetch_vectors_within(&texts, timeout).await)
    }

    pub(crate) async fn embed_documents(&self, texts: Vec<String>) -> EmbeddingResult {
        let texts = self.add_prefixes(&texts, TextRole::Document);
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.record_outcome(self.fetch_with_retries(batch).await)?);
        }
        Ok(vectors)
    }

    /// Returns a recent error, if there was one.
    fn recent_error(&self) -> Option<EmbeddingServiceError> {
        let recent_error = lock(&self.recent_error);
        let (since, error) = recent_error.as_ref()?;
        (since.elapsed() < COOLDOWN).then(|| error.clone())
    }

    /// Returns the result, and records an error for the next searches.
    fn record_outcome(&self, result: EmbeddingResult) -> EmbeddingResult {
        let error = result.as_ref().err().cloned();
        *lock(&self.recent_error) = error.map(|error| (Instant::now(), error));
        result
    }

    fn add_prefixes(&self, texts: &[String], role: TextRole) -> Vec<String> {
        let prefix = role.prefix(&self.config.prefixes);
        let texts = texts.iter().map(|text| or_dash(text));
        texts.map(|text| format!("{prefix}{text}")).collect()
    }

    async fn fetch_with_retries(&self, texts: &[String]) -> EmbeddingResult {
        let mut delay = FIRST_DELAY;
        for _ in 1..ATTEMPTS {
            match self.fetch_vectors_within(texts, self.config.timeout).await {
                Err(error) if error.is_transient() => {
                    tracing::info!(%error, "retrying the embeddings request");
                    let wait = error.retry_after().unwrap_or(delay).min(MAX_DELAY);
                    tokio::time::sleep(wait).await;
                    delay *= 2;
                }
                other => return other,
            }
        }
        self.fetch_vectors_within(texts, self.config.timeout).await
    }

    async fn fetch_vectors_within(&self, texts: &[String], timeout: Duration) -> EmbeddingResult {
        match tokio::time::timeout(timeout, self.fetch_vectors(texts)).await {
            Ok(result) => result,
            Err(_) => Err(EmbeddingServiceError::TimedOut {
                endpoint: self.endpoint.clone(),
                after: timeout,
            }),
        }
    }

    async fn fetch_vectors(&self, texts: &[String]) -> EmbeddingResult {
        let sent = self.request(texts)?.send().await;
        let response = sent.map_err(|error| self.unreachable(error))?;
        let body = self.body(response).await?;
        let vectors = read(&body, texts.len()).map_err(|reason| self.unreadable_error(reason))?;
        self.check(&vectors)?;
        Ok(vectors)
    }

    fn request(&self, texts: &[String]) -> Result<RequestBuilder, EmbeddingServiceError> {
        let mut url = self.config.url.clone();
        url.set_path(&format!("{}/embeddings", url.path().trim_end_matches('/')));
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json");
        let request = request.body(self.request_body(texts));
        Ok(match self.authorization()? {
            Some(key) => request.header(AUTHORIZATION, key),
            None => request,
        })
    }

    fn request_body(&self, texts: &[String]) -> Vec<u8> {
        let body = EmbeddingsRequest {
            model: &self.config.model,
            input: texts,
            encoding_format: "float",
            dimensions: self.config.dimensions,
        };
        serde_json::to_vec(&body).expect("texts are plain JSON")
    }

    /// Reads the body of a reply, or the error in it.
    async fn body(&self, response: Response) -> Result<Vec<u8>, EmbeddingServiceError> {
        let (status, retry_after) = (
            response.status(),
            retry_after(response.headers(), SystemTime::now()),
        );
        let body = match kitbag_fetch::read_body(response, MAX_ANSWER).await {
            Ok(body) => body,
            Err(BodyError::Lost(error)) => return Err(self.unreachable(error)),
            Err(too_large) => return Err(self.unreadable_error(too_large.to_string())),
        };
        if status.is_success() {
            Ok(body)
        } else {
            Err(self.refusal(status, retry_after, &body))
        }
    }

    fn authorization(&self) -> Result<Option<HeaderValue>, EmbeddingServiceError> {
        let Some(key) = self.key()? else {
            return Ok(None);
        };
        let value = HeaderValue::try_from(format!("Bearer {key}"));
        let mut value = value.map_err(|_| EmbeddingServiceError::InvalidKey)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    fn key(&self) -> Result<Option<String>, MissingVariable> {
        let template = self.config.api_key.as_ref();
        template
            .map(|key| key.resolve(|name| (self.lookup)(name)))
            .transpose()
    }

    fn check(&self, vectors: &[Vec<f32>]) -> Result<(), EmbeddingServiceError> {
        let mut lengths = vectors.iter().map(Vec::len);
        let Some(first) = lengths.clone().next() else {
            return Ok(());
        };
        let expected = *self.dimension.get_or_init(|| first);
        match lengths.find(|found| *found != expected) {
            Some(found) => Err(EmbeddingServiceError::Dimension {
                endpoint: self.endpoint.clone(),
                expected,
                found,
            }),
            None => Ok(()),
        }
    }

    fn refusal(
        &self,
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> EmbeddingServiceError {
        let endpoint = self.endpoint.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                EmbeddingServiceError::Unauthorized { endpoint, status }
            }
            StatusCode::TOO_MANY_REQUESTS => EmbeddingServiceError::Busy {
                endpoint,
                retry_after,
            },
            _ => EmbeddingServiceError::Refused {
                endpoint,
                status,
                message: self.message(body),
            },
        }
    }

    /// Returns the service's error message, shortened and without the gateway's key.
    fn message(&self, body: &[u8]) -> String {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = body
            .pointer("/error/message")
            .or_else(|| body.get("message"));
        let message = message.and_then(Value::as_str).unwrap_or("no reason given");
        let message = match self.key() {
            Ok(Some(key)) if !key.is_empty() => message.replace(&key, "***"),
            _ => message.to_owned(),
        };
        message.chars().take(MAX_MESSAGE).collect()
    }

    fn unreachable(&self, error: reqwest::Error) -> EmbeddingServiceError {
        EmbeddingServiceError::Unreachable {
            endpoint: self.endpoint.clone(),
            reason: describe_error(error),
        }
    }

    fn unreadable_error(&self, reason: String) -> EmbeddingServiceError {
        EmbeddingServiceError::Unreadable {
            endpoint: self.endpoint.clone(),
            reason,
        }
    }
}

/// The format has no empty text, so a dash replaces it.
fn or_dash(text: &str) -> &str {
    if text.trim().is_empty() { "-" } else { text }
}
