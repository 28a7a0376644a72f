//! A fake service with OpenAI's embeddings API, correct or broken as a test sets.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// How the next requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// With vectors of this dimension.
    Fine(usize),
    Unauthorized,
    /// Too many requests, this many times; then normally.
    Busy(usize),
    /// Never.
    Hung,
    /// With something other than a list of vectors.
    Confused,
    /// Searches at once; requests for tools only when the test lets them pass.
    Paced,
}

/// Ends with the test.
#[derive(Debug)]
pub(crate) struct Embeddings {
    pub(crate) url: String,
    seen: Arc<Seen>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Seen {
    mood: Mutex<Mood>,
    requests: Mutex<Vec<(HeaderMap, Value)>>,
    passes: Semaphore,
}

impl Embeddings {
    pub(crate) const DIMENSION: usize = 64;
    /// The prefix that distinguishes searches from tools.
    pub(crate) const QUERY: &str = "query: ";

    pub(crate) async fn start(mood: Mood) -> Self {
        let seen = Arc::new(Seen {
            mood: Mutex::new(mood),
            requests: Mutex::default(),
            passes: Semaphore::new(0),
        });
        let router = Router::new()
            .route("/v1/embeddings", post(answer))
            .with_state(seen.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        *self.seen.mood.lock().unwrap() = mood;
    }

    /// The `[index]` table for this service, with the key in `EMBEDDINGS_KEY`.
    pub(crate) fn table(&self, settings: &str) -> String {
        format!(
            "[index.embedder]\nendpoint = \"{}\"\nmodel = \"words-64\"\napi_key = \"${{EMBEDDINGS_KEY}}\"\n{settings}\n",
            self.url
        )
    }

    /// Lets one more request for tool vectors pass.
    pub(crate) fn let_one_pass(&self) {
        self.seen.passes.add_permits(1);
    }

    /// The texts of each request for tool vectors so far.
    pub(crate) fn tools_asked(&self) -> Vec<Vec<String>> {
        let texts = self.requests().into_iter().map(|(_, body)| texts(&body));
        texts.filter(|texts| !are_of_search(texts)).collect()
    }

    /// Headers and bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<(HeaderMap, Value)> {
        self.seen.requests.lock().unwrap().clone()
    }
}

impl Drop for Embeddings {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(seen): State<Arc<Seen>>, headers: HeaderMap, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let key = headers["authorization"].to_str().unwrap().to_owned();
    seen.requests.lock().unwrap().push((headers, asked.clone()));
    let mood = *seen.mood.lock().unwrap();
    match mood {
        Mood::Fine(dimension) => vectors(&asked, dimension),
        Mood::Unauthorized => {
            let error = json!({ "error": { "message": format!("wrong key: {key}") } });
            (StatusCode::UNAUTHORIZED, error.to_string()).into_response()
        }
        Mood::Busy(0) => vectors(&asked, Embeddings::DIMENSION),
        Mood::Busy(times) => {
            *seen.mood.lock().unwrap() = Mood::Busy(times - 1);
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")]).into_response()
        }
        Mood::Hung => std::future::pending().await,
        Mood::Confused => json!({ "object": "list" }).to_string().into_response(),
        Mood::Paced => {
            if !are_of_search(&texts(&asked)) {
                seen.passes.acquire().await.unwrap().forget();
            }
            vectors(&asked, Embeddings::DIMENSION)
        }
    }
}

fn texts(asked: &Value) -> Vec<String> {
    let texts = asked["input"].as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// True if the texts have the prefix of searches.
fn are_of_search(texts: &[String]) -> bool {
    texts[0].starts_with(Embeddings::QUERY)
}

/// Texts with the same words have the same vector. Returned in reverse order, which is allowed.
fn vectors(asked: &Value, dimension: usize) -> Response {
    let data: Vec<Value> = texts(asked)
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let mut vector = vec![0.01; dimension];
            for word in text
                .to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .filter(|it| !it.is_empty())
            {
                let place = word.bytes().fold(7_usize, |sum, byte| {
                    sum.wrapping_mul(31) + usize::from(byte)
                });
                vector[place % dimension] += 3.0;
            }
            json!({ "object": "embedding", "index": index, "embedding": vector })
        })
        .rev()
        .collect();
    json!({ "object": "list", "data": data, "model": asked["model"] })
        .to_string()
        .into_response()
}
