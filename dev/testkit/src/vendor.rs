//! The service of a model vendor: it records requests byte for byte, and answers as the test
//! defines.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use axum::routing::any;
use futures::StreamExt as _;
use tokio::sync::{mpsc, oneshot};

/// Ends with the test.
pub struct ScriptedVendor {
    /// Without a path.
    pub url: String,
    state: Arc<VendorState>,
    serving: tokio::task::JoinHandle<()>,
}

/// A request as the vendor received it.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

type VendorScript = Box<dyn Fn(&Received) -> Response + Send + Sync>;

struct VendorState {
    script: Mutex<VendorScript>,
    received: Mutex<Vec<Received>>,
}

impl ScriptedVendor {
    pub async fn start(script: impl Fn(&Received) -> Response + Send + Sync + 'static) -> Self {
        let state = Arc::new(VendorState {
            script: Mutex::new(Box::new(script)),
            received: Mutex::default(),
        });
        let router = Router::new()
            .fallback(any(answer))
            .layer(DefaultBodyLimit::disable())
            .with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            state,
            serving,
        }
    }

    /// The configuration tables for both vendors, with a limit that a test can exceed. The table of
    /// OpenAI is the last.
    pub fn tables(&self) -> String {
        self.tables_with("")
    }

    /// The same, with further lines in `[models]`.
    pub fn tables_with(&self, lines: &str) -> String {
        let url = &self.url;
        format!(
            "[models]\nenabled = true\nmax_body_bytes = 12_000_000\n{lines}[models.anthropic]\nurl = \"{url}\"\n[models.openai]\nurl = \"{url}/v1\"\n"
        )
    }

    pub fn set_script(&self, script: impl Fn(&Received) -> Response + Send + Sync + 'static) {
        *self.state.script.lock().unwrap() = Box::new(script);
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.state.received.lock().unwrap().len()
    }

    /// The latest request.
    pub fn last(&self) -> Received {
        let received = self.state.received.lock().unwrap();
        received.last().expect("a request has come").clone()
    }
}

impl std::fmt::Debug for ScriptedVendor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ScriptedVendor").field(&self.url).finish()
    }
}

impl Drop for ScriptedVendor {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State(state): State<Arc<VendorState>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let received = Received {
        method,
        uri,
        headers,
        body,
    };
    state.received.lock().unwrap().push(received.clone());
    (state.script.lock().unwrap())(&received)
}

/// A piece of an answer; `Err` breaks the connection.
pub type AnswerPiece = Result<Bytes, std::io::Error>;

/// The test's end of an answer in pieces.
#[derive(Debug)]
pub struct AnswerSource {
    pub pieces: mpsc::UnboundedSender<AnswerPiece>,
    /// Notified when the reader of the answer has disconnected.
    pub gone: oneshot::Receiver<()>,
}

/// An answer whose pieces the test sends one by one.
pub fn in_pieces() -> (Body, AnswerSource) {
    let (pieces, receiver) = mpsc::unbounded_channel();
    let (left, gone) = oneshot::channel::<()>();
    let stream = futures::stream::unfold(receiver, async |mut receiver| {
        Some((receiver.recv().await?, receiver))
    });
    let stream = stream.map(move |piece: AnswerPiece| {
        // The sender is dropped with the stream, and that is the signal.
        let _alive = &left;
        piece
    });
    (Body::from_stream(stream), AnswerSource { pieces, gone })
}
