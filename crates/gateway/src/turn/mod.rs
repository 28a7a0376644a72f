//! One request that is being served: the client, the endpoint it uses, its trace, and the channel
//! for messages to the client while the request runs.
//!
//! Holds the gateway and catalog that the request began with. Every module that serves requests
//! receives a [`Turn`]; this module calls none of them.

pub(crate) mod client;
pub(crate) mod run;
pub(crate) mod trace;
pub mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kitbag_domain::{Caller, Capability, Origin, Purpose, ServerName};
use kitbag_policy::Policy;
use kitbag_wire::meta::code;
use kitbag_wire::{Era, ErrorObject, Message, Notification, Raw, RawObject};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::catalog::Catalog;
use crate::front::in_flight::{InFlightLoad, OutgoingMessage};
use crate::front::session::Session;
use crate::state::gateway::Gateway;
use crate::turn::client::McpClient;
use crate::turn::run::{CodeRun, RunQuestion};
use crate::turn::trace::TraceContext;
use crate::turn::view::View;

/// The capacity of a client's queue. When it is full, notifications are dropped; answers never are.
pub(crate) const BACKLOG: usize = 256;

/// One request. It is owned, so that it can outlive its connection, and keeps the gateway and the
/// catalog it began with: a reload affects only later requests.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) client: McpClient,
    pub(crate) view: View,
    pub(crate) back: BackChannel,
    pub(crate) ask_style: AskStyle,
    pub(crate) cancelled: CancellationToken,
    pub(crate) origin: Origin,
    pub(crate) trace: TraceContext,
    pub(crate) purpose: Purpose,
    /// The program run that made the call, if a program made it.
    pub(crate) run: Option<Arc<CodeRun>>,
}

/// How the client is asked a question in the course of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskStyle {
    /// While the request is open, through its back channel.
    MidCall,
    /// By the result of the request, which the client then repeats with the answers.
    ByResult,
}

/// The channel to the client while its request is being served.
#[derive(Clone)]
pub(crate) struct BackChannel {
    outbox: mpsc::Sender<OutgoingMessage>,
    in_flight: Arc<InFlightLoad>,
    caller: Caller,
    /// The session through which a legacy client is asked. A modern client gets questions in the
    /// answer.
    session: Option<Arc<Session>>,
    /// Receives the questions of a modern client's program run.
    run: Option<mpsc::Sender<RunQuestion>>,
    /// Questions without an answer yet.
    waiting: Arc<AtomicUsize>,
}

impl Turn {
    /// Creates a request that counts as use and has no origin.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        catalog: Arc<Catalog>,
        client: McpClient,
        view: View,
        back: BackChannel,
    ) -> Self {
        Self {
            ask_style: AskStyle::for_era(client.era),
            gateway,
            catalog,
            client,
            view,
            back,
            cancelled: CancellationToken::new(),
            origin: Origin::default(),
            trace: TraceContext::default(),
            purpose: Purpose::Use,
            run: None,
        }
    }

    /// Returns the turn of work that may outlive this request and asks its questions in mid-call,
    /// through a channel.
    pub(crate) fn for_run(&self, questions: mpsc::Sender<RunQuestion>) -> Self {
        Self {
            back: self.back.for_run(questions),
            ask_style: AskStyle::MidCall,
            ..self.clone()
        }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.client.caller
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.gateway.policy
    }

    /// True if the caller may know of a tool, prompt or resource.
    pub(crate) fn can_see(&self, capability: &Capability) -> bool {
        self.policy().is_visible(self.caller(), capability)
    }

    /// True if the caller may know of a server or an API.
    pub(crate) fn can_see_server(&self, server: &ServerName) -> bool {
        self.gateway
            .is_server_visible(&self.catalog, self.caller(), server)
    }

    /// Sets the trace from `_meta`, or else from the headers: a proxy may have set those.
    pub(crate) fn with_trace(mut self, headers: TraceContext, params: &RawObject) -> Self {
        self.trace = TraceContext::from_params(params).or(headers);
        self.origin.trace = self.trace.parent;
        self
    }
}

impl AskStyle {
    fn for_era(era: Era) -> Self {
        match era {
            Era::Legacy => Self::MidCall,
            Era::Modern => Self::ByResult,
        }
    }
}

impl BackChannel {
    pub(crate) fn new(
        outbox: mpsc::Sender<OutgoingMessage>,
        in_flight: Arc<InFlightLoad>,
        caller: Caller,
        session: Option<Arc<Session>>,
    ) -> Self {
        Self {
            outbox,
            in_flight,
            caller,
            session,
            run: None,
            waiting: Arc::default(),
        }
    }

    /// Returns the channel for a program run that may outlive its request: nothing is sent on the
    /// stream of the request, and questions go to `questions`.
    pub(crate) fn for_run(&self, questions: mpsc::Sender<RunQuestion>) -> Self {
        let (outbox, _) = mpsc::channel(1);
        Self {
            outbox,
            in_flight: self.in_flight.clone(),
            caller: self.caller.clone(),
            session: None,
            run: Some(questions),
            waiting: Arc::default(),
        }
    }

    /// True while the client has been asked and has not answered.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Sends a notification, or drops it if the client is too far behind.
    pub(crate) fn notify(&self, method: &str, params: Option<Raw>) {
        if let Ok(message) = self
            .in_flight
            .reserve_message(&self.caller, Notification::new(method, params).into())
        {
            let _ = self.outbox.try_send(message);
        }
    }

    /// Sends a legacy client a message that belongs to no request.
    pub(crate) fn announce(&self, message: Message) {
        if let Some(session) = &self.session {
            session.subscriber.mailbox.put(message);
        }
    }

    /// Asks the client and waits for its answer.
    pub(crate) async fn ask(self, method: &str, params: Option<Raw>) -> Result<Raw, ErrorObject> {
        let _waits = WaitGuard::begin(&self.waiting);
        match self.run {
            Some(run) => ask_run(&run, method, params).await,
            None => self.ask_session(method, params).await,
        }
    }

    /// Asks a legacy client. Drops the outbox before it waits: the answer comes in through the
    /// session, and the stream ends when its last sender is dropped.
    async fn ask_session(self, method: &str, params: Option<Raw>) -> Result<Raw, ErrorObject> {
        let Self {
            outbox,
            in_flight,
            caller,
            session: Some(session),
            ..
        } = self
        else {
            let message = "this client cannot be asked";
            return Err(ErrorObject::new(code::METHOD_NOT_FOUND, message));
        };
        let (request, answer) = session.new_question(method, params);
        let guard = QuestionGuard {
            session: &session,
            id: Some(request.id.clone()),
        };
        let question = in_flight
            .reserve_message(&caller, request.into())
            .map_err(|_| client_gone_error())?;
        outbox
            .send(question)
            .await
            .map_err(|_| client_gone_error())?;
        drop(outbox);
        let answer = answer.await.unwrap_or_else(|_| Err(client_gone_error()));
        guard.disarm();
        answer
    }
}

async fn ask_run(
    run: &mpsc::Sender<RunQuestion>,
    method: &str,
    params: Option<Raw>,
) -> Result<Raw, ErrorObject> {
    let (answer, answered) = oneshot::channel();
    let question = RunQuestion {
        method: method.to_owned(),
        params,
        answer,
    };
    run.send(question).await.map_err(|_| client_gone_error())?;
    answered.await.unwrap_or_else(|_| Err(client_gone_error()))
}

/// Counts a question until it is answered.
struct WaitGuard(Arc<AtomicUsize>);

impl WaitGuard {
    fn begin(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting.clone())
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn client_gone_error() -> ErrorObject {
    let message = "the client disconnected without an answer";
    ErrorObject::new(code::INTERNAL_ERROR, message)
}

/// Removes a question from the session when nothing waits for its answer any more.
struct QuestionGuard<'a> {
    session: &'a Session,
    id: Option<kitbag_wire::RequestId>,
}

impl QuestionGuard<'_> {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.session.forget_question(id);
        }
    }
}
