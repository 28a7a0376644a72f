//! What a tool or a prompt sees of the request it serves.
//!
//! Tools are written once for both eras. [`Call::ask`] is where the eras part: a legacy
//! client is sent requests and awaited; a modern one gets `input_required` and comes back
//! with the answers, so the tool runs again from its first line; a task parks.

use std::sync::Arc;

use futures::future::join_all;
use kitbag_wire::meta::{self, code, method, result_type};
use kitbag_wire::{ErrorObject, Notification, Raw, RawObject, Request, RequestId, raw};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::input::{Answers, Inputs, missing_capability};
use crate::outbox::Outbox;
use crate::peer::{Level, Peer};
use crate::seal::State;
use crate::server::Server;
use crate::tasks::Task;

pub(crate) type Outcome = Result<Reply, Stop>;

#[derive(Debug)]
pub(crate) enum Reply {
    Object(RawObject),
    /// Goes out as it is, also to modern clients.
    Verbatim(Raw),
}

/// Why a request ends without the result it asked for.
#[derive(Debug)]
pub(crate) enum Stop {
    Error(ErrorObject),
    /// An `input_required` result.
    Input(RawObject),
    /// The client no longer wants an answer.
    Cancelled,
}

#[derive(Debug, Clone)]
pub(crate) enum Dialogue {
    Legacy,
    Modern,
    Task(Arc<Task>),
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: RawObject,
    pub(crate) meta: RawObject,
    /// The stream of this very request.
    pub(crate) outbox: Outbox,
    pub(crate) cancelled: CancellationToken,
    pub(crate) dialogue: Dialogue,
}

impl Call {
    pub(crate) fn new(
        server: Arc<Server>,
        peer: Arc<Peer>,
        request: Request,
        outbox: Outbox,
        dialogue: Dialogue,
    ) -> Self {
        let params = request.object().unwrap_or_default();
        let meta = params.object("_meta").unwrap_or_default();
        let cancelled = peer.begin(&request.id);
        Self {
            server,
            peer,
            id: request.id,
            method: request.method,
            params,
            meta,
            outbox,
            cancelled,
            dialogue,
        }
    }

    pub(crate) fn arguments(&self) -> RawObject {
        self.params.object("arguments").unwrap_or_default()
    }

    pub(crate) fn argument<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.arguments().read(name)
    }

    /// What the client declared: for its session, or with this request.
    pub(crate) fn capabilities(&self) -> RawObject {
        match self.dialogue {
            Dialogue::Legacy => self
                .peer
                .greeting()
                .map(|it| it.capabilities.clone())
                .unwrap_or_default(),
            Dialogue::Modern | Dialogue::Task(_) => self
                .meta
                .object(meta::CLIENT_CAPABILITIES)
                .unwrap_or_default(),
        }
    }

    /// Waits for something, unless the client loses interest first.
    pub(crate) async fn wait<T>(&self, what: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(Stop::Cancelled),
            done = what => Ok(done),
        }
    }

    pub(crate) fn log(&self, level: Level, name: &str, text: &str) {
        let threshold = match self.dialogue {
            Dialogue::Legacy => Some(self.peer.log_level()),
            Dialogue::Modern | Dialogue::Task(_) => self.meta.read(meta::LOG_LEVEL),
        };
        if threshold.is_some_and(|threshold: Level| level >= threshold) {
            let params = json!({ "level": name, "logger": "testbed", "data": text });
            self.outbox
                .send(Notification::new(method::LOG, Some(raw(&params))));
        }
    }

    pub(crate) fn progress(&self, done: u64, total: u64, message: &str) {
        if let Some(token) = self.meta.get(meta::PROGRESS_TOKEN) {
            let params = RawObject::new()
                .with(meta::PROGRESS_TOKEN, token)
                .with("progress", &done)
                .with("total", &total)
                .with("message", message);
            self.outbox
                .send(Notification::new(method::PROGRESS, Some(params.to_raw())));
        }
    }

    pub(crate) async fn ask(&self, inputs: Inputs) -> Result<Answers, Stop> {
        let declared = self.capabilities();
        let missing: Map<String, Value> = inputs
            .wanted
            .iter()
            .filter(|(_, input)| !declared.contains(input.capability()))
            .map(|(_, input)| (input.capability().to_owned(), json!({})))
            .collect();
        if !missing.is_empty() {
            return Err(missing_capability(&missing.into()).into());
        }
        match &self.dialogue {
            Dialogue::Legacy => self.ask_legacy(inputs).await,
            Dialogue::Modern => self.ask_modern(&inputs),
            Dialogue::Task(task) => self.wait(task.park(inputs)).await,
        }
    }

    async fn ask_legacy(&self, inputs: Inputs) -> Result<Answers, Stop> {
        let asked = inputs.wanted.into_iter().map(|(key, input)| async move {
            let answer = self
                .peer
                .ask(&self.outbox, input.method, &input.params)
                .await?;
            let answer = serde_json::from_str(answer.get()).unwrap_or_default();
            Ok::<_, ErrorObject>((key.to_owned(), answer))
        });
        let answers = self.wait(join_all(asked)).await?;
        Ok(Answers(answers.into_iter().collect::<Result<_, _>>()?))
    }

    fn ask_modern(&self, inputs: &Inputs) -> Result<Answers, Stop> {
        let state = self.state()?;
        let may_finish = state.is_some() || !inputs.sealed;
        let mut known = state.unwrap_or_default().answers;
        known.extend(self.responses()?);
        let wanted: Map<String, Value> = inputs
            .wanted
            .iter()
            .filter(|(key, _)| !may_finish || !known.contains_key(*key))
            .map(|(key, input)| ((*key).to_owned(), input.to_json()))
            .collect();
        if wanted.is_empty() {
            return Ok(Answers(known));
        }
        let mut result = RawObject::new()
            .with("resultType", result_type::INPUT_REQUIRED)
            .with("inputRequests", &wanted);
        if inputs.sealed {
            let state = State {
                purpose: self.purpose(),
                answers: known,
            };
            result.put("requestState", &self.server.sealer.seal(&state));
        }
        Err(Stop::Input(result))
    }

    /// The state a retry brings along. It comes from outside, so it must prove to be ours.
    fn state(&self) -> Result<Option<State>, ErrorObject> {
        let Some(sealed) = self.params.get("requestState") else {
            return Ok(None);
        };
        let forged = || {
            ErrorObject::new(
                code::INVALID_PARAMS,
                "`requestState` is not what this server gave out",
            )
        };
        let sealed: String = serde_json::from_str(sealed.get()).map_err(|_| forged())?;
        let state = self
            .server
            .sealer
            .open(&sealed)
            .filter(|state| state.purpose == self.purpose());
        state.ok_or_else(forged).map(Some)
    }

    /// Answers that are not objects are as good as missing: they are asked for again.
    fn responses(&self) -> Result<Map<String, Value>, ErrorObject> {
        let Some(responses) = self.params.get("inputResponses") else {
            return Ok(Map::new());
        };
        let responses: Map<String, Value> =
            serde_json::from_str(responses.get()).map_err(|_| {
                ErrorObject::new(code::INVALID_PARAMS, "`inputResponses` must be an object")
            })?;
        Ok(responses
            .into_iter()
            .filter(|(_, answer)| answer.is_object())
            .collect())
    }

    fn purpose(&self) -> String {
        format!(
            "{} {}",
            self.method,
            self.params.read::<String>("name").unwrap_or_default()
        )
    }
}

impl Reply {
    pub(crate) fn empty() -> Outcome {
        Ok(Self::Object(RawObject::new()))
    }

    pub(crate) fn text(text: impl Into<String>) -> Outcome {
        Self::content(&json!([{ "type": "text", "text": text.into() }]))
    }

    pub(crate) fn tool_error(text: &str) -> Outcome {
        let content = json!([{ "type": "text", "text": text }]);
        Ok(Self::Object(
            RawObject::new()
                .with("content", &content)
                .with("isError", &true),
        ))
    }

    pub(crate) fn content(content: &Value) -> Outcome {
        Ok(Self::Object(RawObject::new().with("content", content)))
    }

    pub(crate) fn into_raw(self) -> Raw {
        match self {
            Self::Object(object) => object.to_raw(),
            Self::Verbatim(raw) => raw,
        }
    }
}

impl From<ErrorObject> for Stop {
    fn from(error: ErrorObject) -> Self {
        Self::Error(error)
    }
}

pub(crate) fn invalid(why: impl Into<String>) -> Stop {
    Stop::Error(ErrorObject::new(code::INVALID_PARAMS, why))
}
