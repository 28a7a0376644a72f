//! The request that a tool or a prompt serves, as the tool sees it.
//!
//! Tools are written once for both eras. In [`TestCall::ask`] the eras differ: a legacy client is
//! sent requests and awaited; a modern one gets `input_required` and returns with the answers, so
//! the tool runs again from the start; a task waits.

use std::sync::Arc;

use futures::future::join_all;
use kitbag_wire::meta::{self, code, method, result_type};
use kitbag_wire::{ErrorObject, Notification, Raw, RawObject, Request, RequestId, raw};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::connected_client::{ConnectedClient, Level};
use crate::input::{InputAnswers, InputRequests, missing_capability};
use crate::outbox::Outbox;
use crate::seal::RoundState;
use crate::server::TestServer;
use crate::tasks::Task;

pub(crate) type CallOutcome = Result<Reply, CallEnd>;

#[derive(Debug)]
pub(crate) enum Reply {
    Object(RawObject),
    /// A result that is sent unchanged, even to modern clients.
    Verbatim(Raw),
}

/// How a request ends without the requested result.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Error(ErrorObject),
    /// An `input_required` result.
    InputRequired(RawObject),
    /// The client has cancelled the request.
    Cancelled,
}

/// How a tool asks its client.
#[derive(Debug, Clone)]
pub(crate) enum Dialogue {
    Legacy,
    Modern,
    Task(Arc<Task>),
}

#[derive(Debug, Clone)]
pub(crate) struct TestCall {
    pub(crate) server: Arc<TestServer>,
    pub(crate) peer: Arc<ConnectedClient>,
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: RawObject,
    pub(crate) meta: RawObject,
    /// The stream of this request.
    pub(crate) outbox: Outbox,
    pub(crate) cancelled: CancellationToken,
    pub(crate) dialogue: Dialogue,
}

impl TestCall {
    pub(crate) fn new(
        server: Arc<TestServer>,
        peer: Arc<ConnectedClient>,
        request: Request,
        outbox: Outbox,
        dialogue: Dialogue,
    ) -> Self {
        let params = request.open_params().unwrap_or_default();
        let meta = params.get_object("_meta").unwrap_or_default();
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
        self.params.get_object("arguments").unwrap_or_default()
    }

    pub(crate) fn argument<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.arguments().read(name)
    }

    /// Reads a required member of the params.
    pub(crate) fn required_member<T: DeserializeOwned>(&self, name: &str) -> Result<T, CallEnd> {
        let value = self.params.read(name);
        value.ok_or_else(|| invalid(format!("`{name}` is missing")))
    }

    /// Returns the capabilities that the client declared: for its session, or with this request.
    pub(crate) fn capabilities(&self) -> RawObject {
        match self.dialogue {
            Dialogue::Legacy => self
                .peer
                .handshake()
                .map(|it| it.capabilities.clone())
                .unwrap_or_default(),
            Dialogue::Modern | Dialogue::Task(_) => self
                .meta
                .get_object(meta::CLIENT_CAPABILITIES)
                .unwrap_or_default(),
        }
    }

    /// Waits for a future, unless the client cancels the request first.
    pub(crate) async fn wait<T>(&self, what: impl Future<Output = T>) -> Result<T, CallEnd> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(CallEnd::Cancelled),
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

    pub(crate) async fn ask(&self, inputs: InputRequests) -> Result<InputAnswers, CallEnd> {
        let missing = self.missing_capabilities(&inputs);
        if !missing.is_empty() {
            return Err(missing_capability(&missing.into()).into());
        }
        match &self.dialogue {
            Dialogue::Legacy => self.ask_legacy(inputs).await,
            Dialogue::Modern => self.ask_modern(&inputs),
            Dialogue::Task(task) => self.wait(task.park(inputs)).await,
        }
    }

    fn missing_capabilities(&self, inputs: &InputRequests) -> Map<String, Value> {
        let declared = self.capabilities();
        let needed = inputs.wanted.iter().map(|(_, input)| input.capability());
        needed
            .filter(|capability| !declared.contains(capability))
            .map(|capability| (capability.to_owned(), json!({})))
            .collect()
    }

    async fn ask_legacy(&self, inputs: InputRequests) -> Result<InputAnswers, CallEnd> {
        let asked = inputs.wanted.into_iter().map(|(key, input)| async move {
            let answer = self
                .peer
                .ask(&self.outbox, input.method, &input.params)
                .await?;
            let answer = serde_json::from_str(answer.get()).unwrap_or_default();
            Ok::<_, ErrorObject>((key.to_owned(), answer))
        });
        let answers = self.wait(join_all(asked)).await?;
        Ok(InputAnswers(answers.into_iter().collect::<Result<_, _>>()?))
    }

    fn ask_modern(&self, inputs: &InputRequests) -> Result<InputAnswers, CallEnd> {
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
            return Ok(InputAnswers(known));
        }
        Err(self.input_required(&wanted, inputs.sealed.then_some(known)))
    }

    /// The known answers are sent along sealed, if a retry must return them.
    fn input_required(
        &self,
        wanted: &Map<String, Value>,
        seal: Option<Map<String, Value>>,
    ) -> CallEnd {
        let mut result = RawObject::new()
            .with("resultType", result_type::INPUT_REQUIRED)
            .with("inputRequests", wanted);
        if let Some(answers) = seal {
            let purpose = self.purpose();
            let state = RoundState { purpose, answers };
            result.put("requestState", &self.server.sealer.seal(&state));
        }
        CallEnd::InputRequired(result)
    }

    /// Returns the state that a retry returns. It comes from the client, so its seal is checked.
    fn state(&self) -> Result<Option<RoundState>, ErrorObject> {
        let Some(sealed) = self.params.get("requestState") else {
            return Ok(None);
        };
        let state = serde_json::from_str::<String>(sealed.get())
            .ok()
            .and_then(|sealed| self.server.sealer.open(&sealed))
            .filter(|state| state.purpose == self.purpose());
        if state.is_none() {
            let message = "`requestState` is not what this server gave out";
            return Err(ErrorObject::new(code::INVALID_PARAMS, message));
        }
        Ok(state)
    }

    /// Returns the answers in a retry. An answer that is not an object counts as missing, and is
    /// requested again.
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
    pub(crate) fn empty() -> CallOutcome {
        Ok(Self::Object(RawObject::new()))
    }

    pub(crate) fn text(text: impl Into<String>) -> CallOutcome {
        Self::content(&json!([{ "type": "text", "text": text.into() }]))
    }

    pub(crate) fn tool_error(text: &str) -> CallOutcome {
        let content = json!([{ "type": "text", "text": text }]);
        Ok(Self::Object(
            RawObject::new()
                .with("content", &content)
                .with("isError", &true),
        ))
    }

    pub(crate) fn content(content: &Value) -> CallOutcome {
        Self::member("content", content)
    }

    /// A result with one member.
    pub(crate) fn member<T: Serialize + ?Sized>(key: &str, value: &T) -> CallOutcome {
        Ok(Self::Object(RawObject::new().with(key, value)))
    }

    pub(crate) fn into_raw(self) -> Raw {
        match self {
            Self::Object(object) => object.to_raw(),
            Self::Verbatim(raw) => raw,
        }
    }
}

impl From<ErrorObject> for CallEnd {
    fn from(error: ErrorObject) -> Self {
        Self::Error(error)
    }
}

pub(crate) fn invalid(why: impl Into<String>) -> CallEnd {
    CallEnd::Error(ErrorObject::new(code::INVALID_PARAMS, why))
}
