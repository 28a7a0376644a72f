//! Routes the messages of a server: answers to their requests, questions to their client,
//! announcements to the gateway.
//!
//! On stdio nothing says which request a question or a log line belongs to. As long as only one
//! client has used the connection there is no doubt; otherwise the question is declined rather than
//! shown to the wrong user, and the log line goes only to the server's log.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kitbag_domain::{DefinitionKind, ServerName};
use kitbag_wire::meta::{self, code, method};
use kitbag_wire::{
    ErrorObject, Message, Notification, Raw, RawObject, Request, RequestId, Response, raw,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::connection_users::ConnectionUsers;
use crate::error::CallError;
use crate::exchange::{CallEvent, CallReporter, ClientIdentity, ClientQuestion};
use crate::link::ReplySender;
use crate::list_ages::ListAges;
use crate::log::ServerLog;
use crate::roots::Roots;
use kitbag_domain::sync::lock;

/// An announcement of a server that concerns no single request.
#[derive(Debug, Clone)]
pub struct Notice {
    pub server: ServerName,
    pub kind: NoticeKind,
}

/// How many announcements may wait for the gateway; beyond that, no more is read from their
/// servers.
pub(crate) const NOTICE_BACKLOG: usize = 256;
/// An update is a URI and little else.
const MAX_UPDATE: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub enum NoticeKind {
    /// The server was started, and its lists may have changed since they were last read.
    Started,
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    /// The params of `notifications/resources/updated`.
    ResourceUpdated(Raw),
}

impl NoticeKind {
    /// Returns the changed list, if it is one that is under approval.
    pub(crate) fn approved_list(&self) -> Option<DefinitionKind> {
        match self {
            Self::ToolsChanged => Some(DefinitionKind::Tool),
            Self::PromptsChanged => Some(DefinitionKind::Prompt),
            Self::Started | Self::ResourcesChanged | Self::ResourceUpdated(_) => None,
        }
    }
}

pub(crate) struct Router {
    server: ServerName,
    next_id: AtomicI64,
    pending: Mutex<HashMap<i64, Pending>>,
    users: Mutex<ConnectionUsers>,
    pub(crate) roots: Roots,
    /// Questions of the server that wait for an answer, by the server's ids.
    questions: Mutex<HashMap<RequestId, CancellationToken>>,
    ages: Arc<ListAges>,
    notices: mpsc::Sender<Notice>,
    log: Arc<ServerLog>,
    /// The number of answers to clients' calls and of progress on them so far.
    call_events: AtomicU64,
}

pub(crate) struct Pending {
    pub(crate) reporter: CallReporter,
    pub(crate) identity: Option<ClientIdentity>,
    /// The token the client chose; the gateway's token is the request id.
    pub(crate) progress_token: Option<Raw>,
    /// True for a request that stays open, like a subscription: no call waits for its answer.
    pub(crate) standing: bool,
}

impl Pending {
    /// False while the call waits for its client's answer.
    pub(crate) fn is_followed(&self) -> bool {
        !self.reporter.awaits_client.load(Ordering::Relaxed)
    }

    fn is_our_own(&self) -> bool {
        self.identity.is_none()
    }
}

impl Router {
    pub(crate) fn new(
        server: ServerName,
        notices: mpsc::Sender<Notice>,
        log: Arc<ServerLog>,
        (wants_roots, ages): (Arc<AtomicBool>, Arc<ListAges>),
    ) -> Self {
        Self {
            server,
            next_id: AtomicI64::new(1),
            pending: Mutex::default(),
            users: Mutex::default(),
            roots: Roots::new(wants_roots),
            questions: Mutex::default(),
            ages,
            notices,
            log,
            call_events: AtomicU64::new(0),
        }
    }

    /// Returns the number of answers to clients' calls, and of progress on them, so far.
    pub(crate) fn call_events(&self) -> u64 {
        self.call_events.load(Ordering::Relaxed)
    }

    pub(crate) fn server(&self) -> &ServerName {
        &self.server
    }

    pub(crate) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn register_request(&self, id: i64, pending: Pending) {
        if let Some(identity) = &pending.identity {
            lock(&self.users).add(identity);
        }
        lock(&self.pending).insert(id, pending);
    }

    /// Removes a request; a late answer to it is ignored.
    pub(crate) fn forget(&self, id: i64) {
        lock(&self.pending).remove(&id);
    }

    pub(crate) fn is_pending(&self, id: i64) -> bool {
        lock(&self.pending).contains_key(&id)
    }

    pub(crate) fn was_used(&self) -> bool {
        *lock(&self.users) != ConnectionUsers::None
    }

    /// True if no other client has ever used the connection.
    pub(crate) fn is_only(&self, client: &ClientIdentity) -> bool {
        lock(&self.users).is_only(client)
    }

    /// True while the server asks the client behind this request something.
    pub(crate) fn is_asking(&self, id: i64) -> bool {
        let pending = lock(&self.pending);
        pending
            .get(&id)
            .is_some_and(|request| request.reporter.is_asking())
    }

    /// Returns the number of requests whose answer a call waits for.
    pub(crate) fn in_flight(&self) -> usize {
        let pending = lock(&self.pending);
        pending.values().filter(|request| !request.standing).count()
    }

    pub(crate) fn fail_request(&self, id: i64, error: CallError) {
        if let Some(pending) = lock(&self.pending).remove(&id) {
            let _ = pending.reporter.done.send(Err(error));
        }
    }

    /// Returns the request that an incomplete message answers. The id may come after the result;
    /// then it must be the only pending request.
    pub(crate) fn find_request(&self, beginning: &[u8]) -> Option<i64> {
        let pending = lock(&self.pending);
        let id = leading_id(beginning).filter(|id| pending.contains_key(id));
        id.or_else(|| only_call(&pending))
    }

    pub(crate) fn fail_all(&self, error: &CallError) {
        for (_, pending) in lock(&self.pending).drain() {
            let _ = pending.reporter.done.send(Err(error.clone()));
        }
    }

    /// Handles one message. `related` is the request on whose stream it came, if the transport has
    /// such streams.
    pub(crate) async fn deliver(
        self: &Arc<Self>,
        message: Message,
        related: Option<i64>,
        outlet: &ReplySender,
    ) {
        match message {
            Message::Response(response) => self.handle_response(response),
            Message::Notification(notification) => {
                self.handle_notification(notification, related).await;
            }
            Message::Request(request) => self.handle_request(request, related, outlet),
        }
    }

    fn handle_response(&self, response: Response) {
        let Some(id) = response.id.as_ref().and_then(own_id) else {
            return;
        };
        let Some(pending) = lock(&self.pending).remove(&id) else {
            return;
        };
        if !pending.is_our_own() {
            self.call_events.fetch_add(1, Ordering::Relaxed);
        }
        let server = self.server.clone();
        let outcome = response
            .outcome
            .map_err(|error| CallError::Refused { server, error });
        let _ = pending.reporter.done.send(outcome);
    }

    async fn handle_notification(&self, notification: Notification, related: Option<i64>) {
        match notification.method.as_str() {
            method::PROGRESS => self.forward_progress(&notification),
            method::CANCELLED => self.cancel_question(&notification),
            method::TOOLS_CHANGED => self.announce(NoticeKind::ToolsChanged).await,
            method::PROMPTS_CHANGED => self.announce(NoticeKind::PromptsChanged).await,
            method::RESOURCES_CHANGED => self.announce(NoticeKind::ResourcesChanged).await,
            method::RESOURCE_UPDATED => {
                if let Some(params) = update_params(&notification) {
                    self.announce(NoticeKind::ResourceUpdated(params)).await;
                }
            }
            method::SUBSCRIPTION_ACKNOWLEDGED => {
                let related = subscription_id(&notification).or(related);
                self.forward_notification(notification, related);
            }
            _ => self.forward_notification(notification, related),
        }
    }

    async fn announce(&self, kind: NoticeKind) {
        // At once: a call that is read after this must not overtake the change.
        if let Some(list) = kind.approved_list() {
            self.ages.mark_doubtful(list);
        }
        let server = self.server.clone();
        let _ = self.notices.send(Notice { server, kind }).await;
    }

    fn forward_progress(&self, notification: &Notification) {
        if let Some((id, mut params)) = parse_progress(notification)
            && let Some(request) = lock(&self.pending).get(&id)
            && let Some(token) = &request.progress_token
        {
            self.call_events.fetch_add(1, Ordering::Relaxed);
            params.set(meta::PROGRESS_TOKEN, token.clone());
            request
                .reporter
                .send_event(CallEvent::Progress(params.to_raw()));
        }
    }

    /// Forwards a log line, or an unknown notification, to the request it came with.
    fn forward_notification(&self, notification: Notification, related: Option<i64>) {
        let event = match (notification.method.as_str(), notification.params) {
            (method::LOG, Some(params)) => {
                self.log.log_notification(&params);
                CallEvent::Log(params)
            }
            (method::LOG, None) => return,
            (_, params) => CallEvent::Other {
                method: notification.method,
                params,
            },
        };
        let pending = lock(&self.pending);
        let about = related.or_else(|| lock(&self.users).infer_request(&pending));
        if let Some(request) = about.and_then(|id| pending.get(&id)) {
            request.reporter.send_event(event);
        }
    }

    fn cancel_question(&self, notification: &Notification) {
        if let Ok(params) = notification.open_params()
            && let Some(id) = params.read::<RequestId>("requestId")
            && let Some(token) = lock(&self.questions).remove(&id)
        {
            token.cancel();
        }
    }

    fn handle_request(
        self: &Arc<Self>,
        request: Request,
        related: Option<i64>,
        outlet: &ReplySender,
    ) {
        let answer = match request.method.as_str() {
            method::PING => Ok(raw(&RawObject::new())),
            method::LIST_ROOTS | method::CREATE_MESSAGE | method::ELICIT => {
                return self.ask_client(request, related, outlet);
            }
            other => Err(ErrorObject::new(
                code::METHOD_NOT_FOUND,
                format!("`{other}` is not a method of MCP clients"),
            )),
        };
        outlet.reply(Response {
            id: Some(request.id),
            outcome: answer,
        });
    }

    fn ask_client(self: &Arc<Self>, request: Request, related: Option<i64>, outlet: &ReplySender) {
        let withdrawn = CancellationToken::new();
        let about_roots = request.method == method::LIST_ROOTS;
        let id = request.id;
        match self.put_question(request.method, request.params, related, &withdrawn) {
            Some(answer) => {
                lock(&self.questions).insert(id.clone(), withdrawn);
                let (router, outlet) = (self.clone(), outlet.clone());
                tokio::spawn(async move {
                    if let Ok(outcome) = answer.await {
                        router
                            .finish_question(id, outcome, about_roots, &outlet)
                            .await;
                    }
                });
            }
            None => {
                let users = lock(&self.users).clone();
                let outcome = match about_roots {
                    true => self.roots.answer_between_calls(&users),
                    false => Err(no_client_to_ask(&users)),
                };
                outlet.reply(Response {
                    id: Some(id),
                    outcome,
                });
            }
        }
    }

    async fn finish_question(
        &self,
        id: RequestId,
        outcome: Result<Raw, ErrorObject>,
        about_roots: bool,
        outlet: &ReplySender,
    ) {
        lock(&self.questions).remove(&id);
        let roots = about_roots.then(|| outcome.as_ref().ok().cloned());
        outlet
            .reply_first(Response {
                id: Some(id),
                outcome,
            })
            .await;
        // After the answer, because calls that wait for the roots follow directly.
        if let Some(roots) = roots {
            self.roots.set_answer(roots);
        }
    }

    /// Puts a question to the client it concerns, if that is unambiguous.
    fn put_question(
        &self,
        method: String,
        params: Option<Raw>,
        related: Option<i64>,
        withdrawn: &CancellationToken,
    ) -> Option<oneshot::Receiver<Result<Raw, ErrorObject>>> {
        let pending = lock(&self.pending);
        // A request of the gateway has no client that could be asked.
        let related = related.filter(|id| !pending.get(id).is_some_and(Pending::is_our_own));
        let about = related.or_else(|| lock(&self.users).infer_request(&pending));
        let reporter = &pending.get(&about?)?.reporter;
        let (ask, answer) = ClientQuestion::new(method, params, &reporter.asks, withdrawn.clone());
        reporter.send_event(CallEvent::Ask(ask)).then_some(answer)
    }
}

/// Returns the params of an update without the id of the gateway's subscription, which means
/// nothing to a client.
fn update_params(notification: &Notification) -> Option<Raw> {
    let mut params = notification.open_params().ok()?;
    if let Some(mut meta) = params.get_object("_meta") {
        meta.remove(meta::SUBSCRIPTION_ID);
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.put("_meta", &meta);
        }
    }
    Some(params.to_raw()).filter(|params| params.get().len() <= MAX_UPDATE)
}

/// Returns the request that a progress notification concerns, and its params.
fn parse_progress(notification: &Notification) -> Option<(i64, RawObject)> {
    let params = notification.open_params().ok()?;
    let token = params.read::<RequestId>(meta::PROGRESS_TOKEN)?;
    Some((own_id(&token)?, params))
}

/// Returns the pending call, if there is only one.
fn only_call(pending: &HashMap<i64, Pending>) -> Option<i64> {
    let mut calls = pending.iter().filter(|(_, request)| !request.standing);
    let (id, _) = calls.next()?;
    calls.next().is_none().then_some(*id)
}

fn subscription_id(notification: &Notification) -> Option<i64> {
    let meta = notification.open_params().ok()?.get_object("_meta")?;
    own_id(&meta.read(meta::SUBSCRIPTION_ID)?)
}

/// Returns the reason why a question without a request id is put to no client.
fn no_client_to_ask(users: &ConnectionUsers) -> ErrorObject {
    let why = match users {
        ConnectionUsers::Party(_) | ConnectionUsers::Several => {
            "several clients share this server, and the question does not name a client"
        }
        ConnectionUsers::None | ConnectionUsers::Client(_) => {
            "no client has a running call that the question could belong to"
        }
    };
    ErrorObject::new(code::METHOD_NOT_FOUND, why)
}

/// Returns the number after `"id":`, if that comes before the result.
fn leading_id(beginning: &[u8]) -> Option<i64> {
    // The id comes within the first few members, or after the result, which may be long.
    let head = &beginning[..beginning.len().min(200)];
    let head = String::from_utf8_lossy(head);
    let (head, _) = head
        .split_once("\"result\"")
        .or_else(|| head.split_once("\"error\""))?;
    let (_, value) = head.split_once("\"id\"")?;
    let value = value.trim_start().strip_prefix(':')?.trim_start();
    let digits = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    value[..digits].parse().ok()
}

fn own_id(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        // Some servers return numbers as text.
        RequestId::Text(text) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_answer_is_read_only_if_it_precedes_the_result() {
        let read = |beginning: &str| leading_id(beginning.as_bytes());
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"te"#),
            Some(17)
        );
        assert_eq!(
            read(r#"{"jsonrpc": "2.0", "id" : 3, "error": {"code""#),
            Some(3)
        );
        assert_eq!(read(r#"{"result":{"id":5,"content":["#), None);
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":"x","result":{"#), None);
        assert_eq!(read("a banner that never ends"), None);
    }
}
