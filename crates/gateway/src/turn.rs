//! One request being served: who asks, through which door, and how to talk back meanwhile.

use kitbag_domain::Surface;
use std::sync::Arc;

use kitbag_domain::{Caller, Capability, Origin, Purpose, ServerName, ShortText};
use kitbag_policy::Policy;
use kitbag_upstream::{ClientIdentity, ClientProfile, LogLevel, LogWish};
use kitbag_wire::meta::code;
use kitbag_wire::{Era, ErrorObject, Message, Notification, Raw, RawObject, raw};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::catalog::Catalog;
use crate::flights::{Flights, HeldMessage};
use crate::gateway::Gateway;
use crate::session::Session;

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
    pub(crate) client: Client,
    pub(crate) view: View,
    pub(crate) back: BackChannel,
    pub(crate) cancelled: CancellationToken,
    pub(crate) origin: Origin,
    pub(crate) purpose: Purpose,
}

/// What the client behind this request is and can do.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) caller: Caller,
    pub(crate) era: Era,
    /// Tells this caller's clients apart where an upstream serves several at once.
    pub(crate) id: Arc<str>,
    /// What it calls itself.
    pub(crate) name: Option<ShortText>,
    pub(crate) capabilities: Capabilities,
    pub(crate) logs: LogWish,
}

/// The capabilities a client declared, as it wrote them.
#[derive(Debug, Clone)]
pub(crate) struct Capabilities {
    raw: Raw,
    object: RawObject,
}

/// How much of the house a door opens to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// Every server, names prefixed, as much of it as the surface shows.
    Merged(Surface),
    /// One server, names untouched.
    One(ServerName),
}

impl View {
    /// Whether the list of tools is another one when a server's is.
    pub(crate) fn tools_change(&self) -> bool {
        !matches!(self, Self::Merged(Surface::Search | Surface::Code))
    }
}

/// The way back to the client while its request is being served.
#[derive(Clone)]
pub(crate) struct BackChannel {
    outbox: mpsc::Sender<HeldMessage>,
    flights: Arc<Flights>,
    caller: Caller,
    /// Legacy clients can be asked questions; modern ones are answered with one instead.
    session: Option<Arc<Session>>,
}

impl Turn {
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
            .server_visible_in(&self.catalog, self.caller(), server)
    }

    /// The span of the client that a request belongs to may stand in `_meta`, which is nearer to
    /// the client than a header.
    pub(crate) fn traced(mut self, params: &RawObject) -> Self {
        let written = params
            .get("_meta")
            .and_then(|meta| RawObject::peek(meta, "traceparent"));
        let text: Option<String> = written.and_then(|text| serde_json::from_str(text.get()).ok());
        self.origin.trace = text
            .and_then(|text| text.parse().ok())
            .or(self.origin.trace);
        self
    }
}

impl Client {
    /// What a client says that it is called, from what it says about itself.
    pub(crate) fn name_in(info: Option<&RawObject>) -> Option<ShortText> {
        let name: String = info?.read("name")?;
        Some(ShortText::cut(&name))
    }

    pub(crate) fn face(&self) -> ClientProfile {
        ClientProfile {
            identity: self.identity(),
            capabilities: self.capabilities.raw.clone(),
            logs: self.logs,
        }
    }

    /// All clients of the person at this machine are one party. A key may be in many hands, so
    /// each client that shows one is a party of its own.
    pub(crate) fn identity(&self) -> ClientIdentity {
        let tenant = &self.caller.tenant;
        let principal = match &self.caller.key {
            Some(key) => format!("{tenant}/{key}/{}", self.id),
            None => tenant.to_string(),
        };
        let account = self
            .caller
            .key
            .as_ref()
            .map_or(tenant.to_string(), |key| format!("{tenant}/{key}"));
        ClientIdentity {
            principal: principal.into(),
            client: self.id.clone(),
            account: account.into(),
            is_owner: self.caller.key.is_none(),
        }
    }

    /// Whether the client wants a log line of this level.
    pub(crate) fn wants_log(&self, params: &Raw) -> bool {
        let level = || {
            let level: String = RawObject::open(params).ok()?.read("level")?;
            LogLevel::parse(&level)
        };
        match self.logs {
            LogWish::None => false,
            LogWish::Unset => true,
            LogWish::From(wanted) => level().is_none_or(|level| level >= wanted),
        }
    }
}

impl Capabilities {
    pub(crate) fn new(declared: Option<Raw>) -> Self {
        let raw = declared.unwrap_or_else(|| raw(&RawObject::new()));
        Self {
            object: RawObject::open(&raw).unwrap_or_default(),
            raw,
        }
    }

    /// Whether the client can answer this question of a server.
    pub(crate) fn can_answer(&self, method: &str, params: Option<&Raw>) -> bool {
        use kitbag_wire::meta::method;
        match method {
            method::LIST_ROOTS => self.object.contains("roots"),
            method::CREATE_MESSAGE => self.object.contains("sampling"),
            method::ELICIT => self.can_elicit(params),
            _ => false,
        }
    }

    /// Whether the client can show the person a page to visit.
    pub(crate) fn can_visit(&self) -> bool {
        self.object
            .object("elicitation")
            .is_some_and(|declared| declared.contains("url"))
    }

    /// An `elicitation` without modes means forms, as it did before there were modes.
    fn can_elicit(&self, params: Option<&Raw>) -> bool {
        let Some(declared) = self.object.object("elicitation") else {
            return false;
        };
        let mode: Option<String> =
            params.and_then(|params| RawObject::open(params).ok()?.read("mode"));
        match mode.as_deref() {
            Some("url") => self.can_visit(),
            _ => declared.is_empty() || declared.contains("form") || !declared.contains("url"),
        }
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
        }
    }

    /// Says something that the client can do without, unless it is too far behind already.
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

    /// Puts a question to a legacy client and waits for its answer. It lets go of the way back
    /// before it waits: the answer comes in elsewhere, and a stream ends with its last writer.
    pub(crate) async fn ask(self, method: &str, params: Option<Raw>) -> Result<Raw, ErrorObject> {
        let gone = || {
            ErrorObject::new(
                code::INTERNAL_ERROR,
                "the client went away without an answer",
            )
        };
        let Self {
            outbox,
            flights,
            caller,
            session: Some(session),
        } = self
        else {
            return Err(ErrorObject::new(
                code::METHOD_NOT_FOUND,
                "this client cannot be asked",
            ));
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

/// Forgets a question whose answer nobody waits for any more.
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
