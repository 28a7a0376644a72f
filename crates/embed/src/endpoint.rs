//! Vectors from a service that speaks OpenAI's embeddings format.
//!
//! A search waits a few seconds at most, and not at all while the service is known to be in
//! trouble. Tools are embedded in batches, and a service that is busy is asked again.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use kitbag_config::EmbeddingsEndpoint;
use kitbag_domain::{Lookup, MissingVariable};
use kitbag_fetch::{BodyError, cause, client, retry_after};
use kitbag_relevance::dense::is_sound;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::TextRole;
use kitbag_domain::sync::lock;

/// Texts in one request. Services take many more; small ones lose less when one fails.
const BATCH: usize = 64;
/// The time that a search waits for its vector before it does without.
const QUERY_PATIENCE: Duration = Duration::from_secs(5);
/// The time for which searches do without a service that failed.
const REST: Duration = Duration::from_secs(15);
/// The number of times that a batch is tried. The first pause is `FIRST_PAUSE`, and each later one
/// is twice as long.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const MAX_ANSWER: usize = 64 * 1024 * 1024;
const MAX_MESSAGE: usize = 200;

pub(crate) struct EmbeddingService {
    http: reqwest::Client,
    config: EmbeddingsEndpoint,
    lookup: Lookup,
    /// The address of the service, without anything that could be a secret.
    place: String,
    /// The length of the service's vectors, once that is known.
    dimension: OnceLock<usize>,
    trouble: Mutex<Option<(Instant, EmbeddingServiceError)>>,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbeddingServiceError {
    #[error("the key for the embeddings endpoint is not there")]
    NoKey(#[from] MissingVariable),
    #[error("the key for the embeddings endpoint cannot be sent in a header")]
    OddKey,
    #[error("the embeddings endpoint {place} cannot be reached: {reason}")]
    Unreachable { place: String, reason: String },
    #[error("the embeddings endpoint {place} did not answer within {after:?}")]
    TimedOut { place: String, after: Duration },
    #[error("the embeddings endpoint {place} does not accept the key ({status})")]
    Unauthorized { place: String, status: StatusCode },
    #[error("the embeddings endpoint {place} takes no more requests for now (429)")]
    Busy {
        place: String,
        again_after: Option<Duration>,
    },
    #[error("the embeddings endpoint {place} answered {status}: {message}")]
    Refused {
        place: String,
        status: StatusCode,
        message: String,
    },
    #[error("the embeddings endpoint {place} sent something else than vectors: {reason}")]
    Unreadable { place: String, reason: String },
    #[error(
        "the embeddings endpoint {place} gives vectors of {found} numbers where {expected} are expected"
    )]
    Dimension {
        place: String,
        expected: usize,
        found: usize,
    },
}

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingsReply {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: usize,
    embedding: Vec<f32>,
}

impl EmbeddingService {
    pub(crate) fn new(config: EmbeddingsEndpoint, lookup: Lookup) -> Self {
        let http = client()
            // A redirected request would hand the key to an address that the operator did not
            // configure.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("the client is built from constants");
        let dimension = config.dimensions.map_or_else(OnceLock::new, OnceLock::from);
        let place = format!(
            "{}{}",
            config.url.origin().ascii_serialization(),
            config.url.path()
        );
        Self {
            http,
            config,
            lookup,
            place,
            dimension,
            trouble: Mutex::default(),
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
        Ok(format!(
            "endpoint {}",
            &blake3::hash(text.as_bytes()).to_hex()[..32]
        ))
    }

    pub(crate) fn remembers(&self, dimension: usize) {
        // The first to know has said it.
        let _known = self.dimension.set(dimension);
    }

    pub(crate) async fn queries(
        &self,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbeddingServiceError> {
        if let Some(error) = self.trouble() {
            return Err(error);
        }
        let patience = self.config.timeout.min(QUERY_PATIENCE);
        let asked = self
            .ask(&self.prefixed(texts, TextRole::Query), patience)
            .await;
        *lock(&self.trouble) = asked
            .as_ref()
            .err()
            .map(|error| (Instant::now(), error.clone()));
        asked
    }

    pub(crate) async fn documents(
        &self,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbeddingServiceError> {
        let texts = self.prefixed(texts, TextRole::Document);
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let embedded = self.ask_again(batch).await;
            *lock(&self.trouble) = embedded
                .as_ref()
                .err()
                .map(|error| (Instant::now(), error.clone()));
            vectors.extend(embedded?);
        }
        Ok(vectors)
    }

    /// Returns the error of a moment ago, if there was one.
    fn trouble(&self) -> Option<EmbeddingServiceError> {
        let trouble = lock(&self.trouble);
        trouble
            .as_ref()
            .filter(|(since, _)| since.elapsed() < REST)
            .map(|(_, error)| error.clone())
    }

    fn prefixed(&self, texts: Vec<String>, role: TextRole) -> Vec<String> {
        let prefix = role.prefix(&self.config.prefixes);
        // The format knows no empty text.
        let said = |text: String| {
            if text.trim().is_empty() {
                "-".to_owned()
            } else {
                text
            }
        };
        texts
            .into_iter()
            .map(|text| format!("{prefix}{}", said(text)))
            .collect()
    }

    async fn ask_again(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingServiceError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match self.ask(texts, self.config.timeout).await {
                Err(error) if error.is_passing() => {
                    tracing::info!(%error, "asking the embeddings endpoint again");
                    tokio::time::sleep(error.again_after().unwrap_or(pause).min(LONGEST_PAUSE))
                        .await;
                    pause *= 2;
                }
                other => return other,
            }
        }
        self.ask(texts, self.config.timeout).await
    }

    async fn ask(
        &self,
        texts: &[String],
        patience: Duration,
    ) -> Result<Vec<Vec<f32>>, EmbeddingServiceError> {
        let asking = async {
            let body = self.exchange(texts).await?;
            let vectors = read(&body, texts.len()).map_err(|reason| self.unreadable(reason))?;
            self.check(&vectors)?;
            Ok(vectors)
        };
        let place = || self.place.clone();
        tokio::time::timeout(patience, asking)
            .await
            .unwrap_or_else(|_| {
                Err(EmbeddingServiceError::TimedOut {
                    place: place(),
                    after: patience,
                })
            })
    }

    async fn exchange(&self, texts: &[String]) -> Result<Vec<u8>, EmbeddingServiceError> {
        let asked = EmbeddingsRequest {
            model: &self.config.model,
            input: texts,
            encoding_format: "float",
            dimensions: self.config.dimensions,
        };
        let body = serde_json::to_vec(&asked).expect("texts are plain JSON");
        let mut url = self.config.url.clone();
        url.set_path(&format!("{}/embeddings", url.path().trim_end_matches('/')));
        let mut request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(key) = self.authorization()? {
            request = request.header(AUTHORIZATION, key);
        }
        let unreachable = |error| EmbeddingServiceError::Unreachable {
            place: self.place.clone(),
            reason: cause(error),
        };
        let response = request.send().await.map_err(unreachable)?;
        let (status, again_after) = (response.status(), retry_after(response.headers()));
        let body = kitbag_fetch::body(response, MAX_ANSWER)
            .await
            .map_err(|error| match error {
                BodyError::Lost(error) => unreachable(error),
                too_large => self.unreadable(too_large.to_string()),
            })?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(self.refusal(status, again_after, &body))
        }
    }

    fn authorization(&self) -> Result<Option<HeaderValue>, EmbeddingServiceError> {
        let Some(key) = self.key()? else {
            return Ok(None);
        };
        let mut value = HeaderValue::try_from(format!("Bearer {key}"))
            .map_err(|_| EmbeddingServiceError::OddKey)?;
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
        let Some(first) = vectors.first().map(Vec::len) else {
            return Ok(());
        };
        let expected = *self.dimension.get_or_init(|| first);
        match vectors
            .iter()
            .map(Vec::len)
            .find(|found| *found != expected)
        {
            Some(found) => Err(EmbeddingServiceError::Dimension {
                place: self.place.clone(),
                expected,
                found,
            }),
            None => Ok(()),
        }
    }

    fn refusal(
        &self,
        status: StatusCode,
        again_after: Option<Duration>,
        body: &[u8],
    ) -> EmbeddingServiceError {
        let place = self.place.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                EmbeddingServiceError::Unauthorized { place, status }
            }
            StatusCode::TOO_MANY_REQUESTS => EmbeddingServiceError::Busy { place, again_after },
            _ => EmbeddingServiceError::Refused {
                place,
                status,
                message: self.message(body),
            },
        }
    }

    /// Returns what the service says is wrong, short and without the gateway's key, should the
    /// service repeat the key.
    fn message(&self, body: &[u8]) -> String {
        let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let said = parsed
            .pointer("/error/message")
            .or_else(|| parsed.get("message"));
        let said = said
            .and_then(serde_json::Value::as_str)
            .unwrap_or("no reason given");
        let said = match self.key() {
            Ok(Some(key)) if !key.is_empty() => said.replace(&key, "***"),
            _ => said.to_owned(),
        };
        said.chars().take(MAX_MESSAGE).collect()
    }

    fn unreadable(&self, reason: String) -> EmbeddingServiceError {
        EmbeddingServiceError::Unreadable {
            place: self.place.clone(),
            reason,
        }
    }
}

/// As many vectors as were asked for, each of length one, in the order of the texts.
fn read(body: &[u8], wanted: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: EmbeddingsReply =
        serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut vectors = vec![Vec::new(); wanted];
    for EmbeddingItem { index, embedding } in answer.data {
        let place = vectors
            .get_mut(index)
            .ok_or_else(|| format!("a vector for text {index} of {wanted}"))?;
        *place =
            unit(embedding).ok_or_else(|| format!("the vector of text {index} points nowhere"))?;
    }
    match vectors.iter().position(Vec::is_empty) {
        Some(missing) => Err(format!("no vector for text {missing} of {wanted}")),
        None => Ok(vectors),
    }
}

fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    if !is_sound(&vector) {
        return None;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    for value in &mut vector {
        *value /= length;
    }
    Some(vector)
}

impl EmbeddingServiceError {
    /// True if the same request may succeed in a moment.
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            Self::NoKey(_)
            | Self::OddKey
            | Self::TimedOut { .. }
            | Self::Unauthorized { .. }
            | Self::Unreadable { .. }
            | Self::Dimension { .. } => false,
        }
    }

    fn again_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { again_after, .. } => *again_after,
            _ => None,
        }
    }

    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::NoKey(MissingVariable { variable }) => format!("set the variable `{variable}`"),
            Self::OddKey => "check `api_key` under [index.embedder] for stray characters".to_owned(),
            Self::Unreachable { .. } => {
                "check `endpoint` under [index.embedder], and that the service runs".to_owned()
            }
            Self::TimedOut { .. } => {
                "check that the service runs, or raise `timeout` under [index.embedder]".to_owned()
            }
            Self::Unauthorized { .. } => "check `api_key` under [index.embedder]".to_owned(),
            Self::Busy { .. } => "wait, or ask the service for a higher limit".to_owned(),
            Self::Refused { .. } => "check `endpoint` and `model` under [index.embedder]".to_owned(),
            Self::Unreadable { .. } => {
                "check that `endpoint` under [index.embedder] speaks OpenAI's embeddings format".to_owned()
            }
            Self::Dimension { .. } => {
                "if the service has another model by now, give it another name in `model`; or correct \
                 `dimensions` under [index.embedder]"
                    .to_owned()
            }
        }
    }
}
