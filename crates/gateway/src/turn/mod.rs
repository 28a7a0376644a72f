//! One request that is being served: the client, the endpoint it uses, its trace, and the channel for
//! messages to the client while the request runs.
//!
//! Holds the gateway and catalog the request began with. Every room that serves requests receives a
//! [`Turn`]; this room calls none of them.

pub(crate) mod client;
pub(crate) mod run;
pub(crate) mod trace;
pub mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kitbag_domain::{Caller, Capability, Origin, Purpose, ServerName};
use kitbag_policy::Policy;
use kitbag_wire::meta::code;
use kitbag_wire::{ErrorObject, Message, Notification, Raw, RawObject};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::catalog::Catalog;
use crate::front::flights::{Flights, HeldMessage};
use crate::front::session::Session;
use crate::state::gateway::Gateway;
use crate::turn::client::McpClient;
use crate::turn::run::{CodeRun, RunQuestion};
use crate::turn::trace::TraceContext;
use crate::turn::view::View;

/// Notifications a slow client may be behind by; later ones are dropped, answers never are.
pub(crate) const BACKLOG: usize = 256;

/// One request, owned: it can outlive the connection that it came in by.
///
/// It keeps the gateway and the catalog that it began with. A configuration or a listing that comes
/// meanwhile concerns the requests after it.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) client: McpClient,
    pub(crate) view: View,
    pub(crate) back: BackChannel,
    pub(crate) cancelled: CancellationToken,
    pub(crate) origin: Origin,
    pub(crate) trace: TraceContext,
    pub(crate) purpose: Purpose,
    /// The run of a program that made the call, if a program made it.
    pub(crate) run: Option<Arc<CodeRun>>,
}

/// The way back to the client while its request is being served.
#[derive(Clone)]
pub(crate) struct BackChannel {
    outbox: mpsc::Sender<HeldMessage>,
    flights: Arc<Flights>,
    caller: Caller,
    /// Legacy clients can be asked questions; modern ones are answered with one instead.
    session: Option<Arc<Session>>,
    /// The place to which a run of a program brings its questions, if its client is a modern one.
    run: Option<mpsc::Sender<RunQuestion>>,
    /// The number of questions that wait for their answer.
    waiting: Arc<AtomicUsize>,
}

impl Turn {
    /// A request that counts as use, with no origin known yet.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        catalog: Arc<Catalog>,
        client: McpClient,
        view: View,
        back: BackChannel,
    ) -> Self {
        Self {
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

    pub(crate) fn caller(&self) -> &Caller {
        &self.client.caller
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.gateway.policy
    }

    /// True if the caller may know of a tool, prompt or resource.
    pub(crate) fn sees(&self, capability: &Capability) -> bool {
        self.policy().visible(self.caller(), capability)
    }

    /// True if the caller may know of a server or an API.
    pub(crate) fn sees_server(&self, server: &ServerName) -> bool {
        self.gateway
            .is_server_visible(&self.catalog, self.caller(), server)
    }

    /// The trace that a request belongs to may stand in `_meta`, which is nearer to the client than
    /// headers.
    pub(crate) fn traced(mut self, headers: TraceContext, params: &RawObject) -> Self {
        self.trace = TraceContext::of_params(params).or(headers);
        self.origin.trace = self.trace.parent;
        self
    }
}

impl BackChannel {
    pub(crate) fn new(
        outbox: mpsc::Sender<HeldMessage>,
        flights: Arc<Flights>,
        caller: Caller,
        session: Option<Arc<Session>>,
    ) -> Self {
        Self {
            outbox,
            flights,
            caller,
            session,
            run: None,
            waiting: Arc::default(),
        }
    }

    /// The way back for a run of a program that may outlive the request of its client: nothing is
    /// sent on the stream of the request, and questions go where the run is followed.
    pub(crate) fn of_run(&self, questions: mpsc::Sender<RunQuestion>) -> Self {
        let (outbox, _) = mpsc::channel(1);
        Self {
            outbox,
            flights: self.flights.clone(),
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

    /// Sends a message that the client can do without, unless the client is too far behind already.
    pub(crate) fn notify(&self, method: &str, params: Option<Raw>) {
        if let Ok(message) = self
            .flights
            .send(&self.caller, Notification::new(method, params).into())
        {
            let _ = self.outbox.try_send(message);
        }
    }

    /// Tells a legacy client something that concerns no request.
    pub(crate) fn announce(&self, message: Message) {
        if let Some(session) = &self.session {
            session.subscriber.mailbox.put(message);
        }
    }

    /// Puts a question to the client and waits for its answer.
    pub(crate) async fn ask(self, method: &str, params: Option<Raw>) -> Result<Raw, ErrorObject> {
        let _waits = Waits::begin(&self.waiting);
        match self.run {
            Some(run) => ask_run(&run, method, params).await,
            None => self.ask_session(method, params).await,
        }
    }

    /// Asks a legacy client. It lets go of the way back before it waits: the answer comes in
    /// elsewhere, and a stream ends with its last writer.
    async fn ask_session(self, method: &str, params: Option<Raw>) -> Result<Raw, ErrorObject> {
        let Self {
            outbox,
            flights,
            caller,
            session: Some(session),
            ..
        } = self
        else {
            let message = "this client cannot be asked";
            return Err(ErrorObject::new(code::METHOD_NOT_FOUND, message));
        };
        let (request, answer) = session.question(method, params);
        let withdraw = Withdraw {
            session: &session,
            id: Some(request.id.clone()),
        };
        let question = flights.send(&caller, request.into()).map_err(|_| gone())?;
        outbox.send(question).await.map_err(|_| gone())?;
        drop(outbox);
        let answer = answer.await.unwrap_or_else(|_| Err(gone()));
        withdraw.answered();
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
    run.send(question).await.map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| Err(gone()))
}

/// Counts a question for as long as it waits.
struct Waits(Arc<AtomicUsize>);

impl Waits {
    fn begin(waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting.clone())
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn gone() -> ErrorObject {
    let message = "the client went away without an answer";
    ErrorObject::new(code::INTERNAL_ERROR, message)
}

/// Forgets a question when no task waits for its answer any more.
struct Withdraw<'a> {
    session: &'a Session,
    id: Option<kitbag_wire::RequestId>,
}

impl Withdraw<'_> {
    fn answered(mut self) {
        self.id = None;
    }
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.session.forget_question(id);
        }
    }
}
