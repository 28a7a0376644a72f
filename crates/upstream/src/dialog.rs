//! Requests to one server, before and after its era is known.

use std::sync::{Arc, LazyLock};

use kitbag_domain::ServerName;
use kitbag_wire::meta::{self, method};
use kitbag_wire::{Era, Notification, ProtocolVersion, Raw, RawObject, Request, RequestId, raw};
use serde_json::json;

use crate::error::CallError;
use crate::exchange::{CallTimeouts, ClientProfile, InFlightCall};
use crate::headers::{self, MirrorTable};
use crate::link::{Link, OutgoingRequest};
use crate::roots::RootsWait;
use crate::router::{Pending, Router};
use crate::send_queue::QueueFull;

/// A link together with the router for the messages that come back over it.
#[derive(Clone)]
pub(crate) struct Dialog {
    pub(crate) server: ServerName,
    pub(crate) router: Arc<Router>,
    pub(crate) link: Link,
}

/// A request before it has an id.
pub(crate) struct RequestDraft<'a> {
    pub(crate) era: Era,
    pub(crate) method: &'a str,
    pub(crate) params: RawObject,
    pub(crate) client: Option<&'a ClientProfile>,
    pub(crate) mirror: Option<&'a MirrorTable>,
    pub(crate) timeouts: CallTimeouts,
}

impl Dialog {
    /// Sends a request and returns its handle.
    pub(crate) fn start_request(&self, mut draft: RequestDraft<'_>) -> InFlightCall {
        let id = self.router.next_id();
        let progress_token = draft.prepare_meta(id);
        let cancel = self.cancel_action(id, draft.era);
        let (in_flight, reporter) = InFlightCall::new(self.server.clone(), draft.timeouts, cancel);
        let pending = Pending {
            reporter,
            identity: draft.client.map(|client| client.identity.clone()),
            progress_token,
            standing: draft.timeouts == CallTimeouts::ENDLESS,
        };
        self.router.register_request(id, pending);
        let client = draft.client;
        let wait = client.and_then(|client| self.wait_for_roots(draft.era, client));
        let request = draft.into_request(id, matches!(self.link, Link::Http(_)));
        match wait {
            None => self.send(request),
            Some(wait) => self.send_after_roots(request, wait),
        }
        if self.link.close_signal().is_closed() {
            let reason = self.link.close_signal().reason();
            let lost = CallError::for_lost_connection(&self.server, reason);
            self.router.fail_request(id, lost);
        }
        in_flight
    }

    fn send(&self, request: OutgoingRequest) {
        let id = request.id;
        if let Err(QueueFull { waiting }) = self.link.send(request) {
            self.router.fail_request(
                id,
                CallError::Clogged {
                    server: self.server.clone(),
                    waiting,
                },
            );
        }
    }

    /// Returns how to wait if a legacy server needs this client's roots before its call.
    fn wait_for_roots(&self, era: Era, client: &ClientProfile) -> Option<RootsWait> {
        let wait = self
            .router
            .roots
            .required_wait()
            .filter(|_| era == Era::Legacy)?;
        let has_roots = RawObject::peek_member(&client.capabilities, "roots").is_some();
        (has_roots && self.router.is_only(&client.identity)).then_some(wait)
    }

    fn send_after_roots(&self, request: OutgoingRequest, wait: RootsWait) {
        if wait == RootsWait::Notify {
            self.notify(method::ROOTS_CHANGED, None);
        }
        let dialog = self.clone();
        tokio::spawn(async move {
            let (id, router) = (request.id, &dialog.router);
            router
                .roots
                .wait_until_settled(|| router.is_asking(id))
                .await;
            // The client may have disconnected in the meantime.
            if router.is_pending(id) {
                dialog.send(request);
            }
        });
    }

    pub(crate) fn notify(&self, method: &str, params: Option<Raw>) {
        self.link.notify(Notification::new(method, params).into());
    }

    fn cancel_action(&self, id: i64, era: Era) -> crate::exchange::Cancel {
        let dialog = self.clone();
        Box::new(move || {
            dialog.router.forget(id);
            // To a modern server over HTTP, closing the stream is the cancellation.
            let needs_notification = match &dialog.link {
                Link::Pipe(_) => true,
                Link::Http(http) => {
                    http.abandon(id);
                    era == Era::Legacy
                }
            };
            if needs_notification && !dialog.link.close_signal().is_closed() {
                let params = RawObject::new()
                    .with("requestId", &RequestId::Number(id))
                    .with("reason", "the client no longer waits for the answer");
                dialog.notify(method::CANCELLED, Some(params.to_raw()));
            }
        })
    }
}

impl RequestDraft<'_> {
    /// Adds the `_meta` members that the era requires of every request, and replaces the progress
    /// token by one that is unique on this link. Returns the client's own token.
    fn prepare_meta(&mut self, id: i64) -> Option<Raw> {
        let mut meta = self.params.get_object("_meta").unwrap_or_default();
        let progress_token = meta.get(meta::PROGRESS_TOKEN).map(ToOwned::to_owned);
        if progress_token.is_some() {
            meta.put(meta::PROGRESS_TOKEN, &id);
        }
        match self.era {
            Era::Modern => self.add_client_meta(&mut meta),
            Era::Legacy => {
                for key in [
                    meta::PROTOCOL_VERSION,
                    meta::CLIENT_INFO,
                    meta::CLIENT_CAPABILITIES,
                    meta::LOG_LEVEL,
                ] {
                    meta.remove(key);
                }
            }
        }
        if meta.is_empty() {
            self.params.remove("_meta");
        } else {
            self.params.put("_meta", &meta);
        }
        progress_token
    }

    fn add_client_meta(&self, meta: &mut RawObject) {
        let capabilities = match self.client {
            Some(client) => client.capabilities.clone(),
            None => raw(&RawObject::new()),
        };
        meta.put(meta::PROTOCOL_VERSION, ProtocolVersion::LATEST.as_str());
        meta.set(meta::CLIENT_INFO, client_info());
        meta.set(meta::CLIENT_CAPABILITIES, capabilities);
        match self.client.and_then(|client| client.logs.requested_level()) {
            Some(level) => meta.put(meta::LOG_LEVEL, level.as_str()),
            None => drop(meta.remove(meta::LOG_LEVEL)),
        }
    }

    fn into_request(self, id: i64, over_http: bool) -> OutgoingRequest {
        let mut headers = Vec::new();
        if over_http && self.era == Era::Modern {
            headers = headers::standard_headers(self.method, &self.params);
            if let Some(table) = self.mirror
                && self.method == method::CALL_TOOL
            {
                headers.extend(headers::mirrored_headers(table, &self.params));
            }
        }
        if over_http {
            headers.extend(headers::trace_headers(&self.params));
        }
        let params = (!self.params.is_empty()).then(|| self.params.to_raw());
        OutgoingRequest {
            request: Request::new(id, self.method, params),
            id,
            headers,
        }
    }
}

pub(crate) fn client_info() -> Raw {
    static INFO: LazyLock<Raw> = LazyLock::new(|| {
        raw(&json!({ "name": "kitbag", "title": "Kitbag", "version": env!("CARGO_PKG_VERSION") }))
    });
    INFO.clone()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_request_over_http_has_trace_headers_in_either_era() {
        let meta =
            json!({ "traceparent": "00-aa-bb-01", "baggage": "user=alice", "tracestate": 7 });
        for (era, over_http, expected) in [
            (
                Era::Modern,
                true,
                "traceparent: 00-aa-bb-01, baggage: user=alice",
            ),
            (
                Era::Legacy,
                true,
                "traceparent: 00-aa-bb-01, baggage: user=alice",
            ),
            (Era::Modern, false, ""),
        ] {
            let draft = RequestDraft {
                era,
                method: "tools/list",
                params: RawObject::new().with("_meta", &meta),
                client: None,
                mirror: None,
                timeouts: CallTimeouts::with_single_limit(Duration::from_secs(1)),
            };
            let headers = draft.into_request(1, over_http).headers.into_iter();
            let traced = headers.filter(|(name, _)| !name.as_str().starts_with("mcp-"));
            let shown = traced.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected);
        }
    }
}
