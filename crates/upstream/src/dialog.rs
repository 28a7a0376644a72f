//! Requests to one server, before and after it is known which era it speaks.

use std::sync::{Arc, LazyLock};

use kitbag_domain::ServerName;
use kitbag_wire::meta::{self, method};
use kitbag_wire::{
    Era, Message, Notification, ProtocolVersion, Raw, RawObject, Request, RequestId, raw,
};
use serde_json::json;

use crate::error::CallError;
use crate::exchange::{ClientFace, InFlight, LogLevel, Logs, Patience};
use crate::headers::{self, MirrorTable};
use crate::link::{Link, Packet};
use crate::outgoing::Full;
use crate::roots::Wait;
use crate::router::{Pending, Router};

/// A link together with the router that sorts what comes back over it.
#[derive(Clone)]
pub(crate) struct Dialog {
    pub(crate) server: ServerName,
    pub(crate) router: Arc<Router>,
    pub(crate) link: Link,
}

/// One request in the manner of one era.
pub(crate) struct Asking<'a> {
    pub(crate) era: Era,
    pub(crate) method: &'a str,
    pub(crate) params: RawObject,
    pub(crate) client: Option<&'a ClientFace>,
    pub(crate) mirror: Option<&'a MirrorTable>,
    pub(crate) patience: Patience,
}

impl Dialog {
    /// Sends a request and hands back the handle on it.
    pub(crate) fn start(&self, asking: Asking<'_>) -> InFlight {
        let id = self.router.next_id();
        let packet_of = |params: RawObject| {
            let mut headers = Vec::new();
            if asking.era == Era::Modern && matches!(self.link, Link::Http(_)) {
                headers = headers::standard(asking.method, &params);
                if let Some(table) = asking.mirror.filter(|_| asking.method == method::CALL_TOOL) {
                    headers.extend(headers::mirrored(table, &params));
                }
            }
            let params = (!params.is_empty()).then(|| params.to_raw());
            Packet {
                request: Request::new(id, asking.method, params),
                id,
                headers,
            }
        };
        let (params, progress_token) = dress(asking.era, asking.params, asking.client, id);
        let (in_flight, progressing) = InFlight::new(
            self.server.clone(),
            asking.patience,
            self.cancel(id, asking.era),
        );
        let pending = Pending {
            progressing,
            identity: asking.client.map(|client| client.identity.clone()),
            progress_token,
            standing: asking.patience == Patience::ENDLESS,
        };
        self.router.expect(id, pending);
        let packet = packet_of(params);
        match asking
            .client
            .and_then(|client| self.wait_for_roots(asking.era, client))
        {
            None => self.send(packet),
            Some(wait) => self.send_after_roots(packet, wait),
        }
        if self.link.closed().is_closed() {
            self.router.fail(id, self.lost());
        }
        in_flight
    }

    fn send(&self, packet: Packet) {
        let id = packet.id;
        if let Err(Full { waiting }) = self.link.send(packet) {
            self.router.fail(
                id,
                CallError::Clogged {
                    server: self.server.clone(),
                    waiting,
                },
            );
        }
    }

    /// Whether a legacy server must be given the roots of this client before its call.
    fn wait_for_roots(&self, era: Era, client: &ClientFace) -> Option<Wait> {
        let wait = self.router.roots.wait().filter(|_| era == Era::Legacy)?;
        let has_roots = RawObject::peek(&client.capabilities, "roots").is_some();
        (has_roots && self.router.is_only(&client.identity)).then_some(wait)
    }

    fn send_after_roots(&self, packet: Packet, wait: Wait) {
        if wait == Wait::Tell {
            self.notify(method::ROOTS_CHANGED, None);
        }
        let dialog = self.clone();
        tokio::spawn(async move {
            let id = packet.id;
            dialog
                .router
                .roots
                .settle(|| dialog.router.is_asking(id))
                .await;
            // The client may have gone away meanwhile.
            if dialog.router.is_pending(id) {
                dialog.send(packet);
            }
        });
    }

    pub(crate) fn notify(&self, method: &str, params: Option<Raw>) {
        self.link.tell(Notification::new(method, params).into());
    }

    fn lost(&self) -> CallError {
        CallError::lost(&self.server, self.link.closed().reason())
    }

    fn cancel(&self, id: i64, era: Era) -> crate::exchange::Cancel {
        let dialog = self.clone();
        Box::new(move || {
            dialog.router.forget(id);
            let tells = match &dialog.link {
                Link::Pipe(_) => true,
                Link::Http(http) => {
                    http.abandon(id);
                    era == Era::Legacy
                }
            };
            if tells && !dialog.link.closed().is_closed() {
                dialog.link.tell(cancelled(id));
            }
        })
    }
}

fn cancelled(id: i64) -> Message {
    let params = RawObject::new()
        .with("requestId", &RequestId::Number(id))
        .with("reason", "the client no longer waits for the answer");
    Notification::new(method::CANCELLED, Some(params.to_raw())).into()
}

/// Puts on what the era requires of every request and swaps the progress token for one that
/// is unique on this link.
fn dress(
    era: Era,
    mut params: RawObject,
    client: Option<&ClientFace>,
    id: i64,
) -> (RawObject, Option<Raw>) {
    let mut meta = params.object("_meta").unwrap_or_default();
    let progress_token = meta.get(meta::PROGRESS_TOKEN).map(ToOwned::to_owned);
    if progress_token.is_some() {
        meta.put(meta::PROGRESS_TOKEN, &id);
    }
    match era {
        Era::Modern => {
            meta.put(meta::PROTOCOL_VERSION, ProtocolVersion::LATEST.as_str());
            meta.set(meta::CLIENT_INFO, client_info());
            let capabilities =
                client.map_or_else(|| raw(&RawObject::new()), |it| it.capabilities.clone());
            meta.set(meta::CLIENT_CAPABILITIES, capabilities);
            match client.map_or(Logs::None, |it| it.logs) {
                Logs::None => drop(meta.remove(meta::LOG_LEVEL)),
                // What a legacy server would send unasked.
                Logs::Unset => meta.put(meta::LOG_LEVEL, LogLevel::Info.as_str()),
                Logs::From(level) => meta.put(meta::LOG_LEVEL, level.as_str()),
            }
        }
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
        params.remove("_meta");
    } else {
        params.put("_meta", &meta);
    }
    (params, progress_token)
}

pub(crate) fn client_info() -> Raw {
    static INFO: LazyLock<Raw> = LazyLock::new(|| {
        raw(&json!({ "name": "kitbag", "title": "Kitbag", "version": env!("CARGO_PKG_VERSION") }))
    });
    INFO.clone()
}
