//! Manages change notifications: `resources/subscribe` of legacy clients and `subscriptions/listen`
//! of modern ones.

use std::sync::Arc;

use kitbag_domain::{Capability, Kind};
use kitbag_wire::meta::{self, method};
use kitbag_wire::{Message, Notification, Raw, RawObject, RequestId, raw};

use crate::call::failure::Failure;
use crate::call::policy_check;
use crate::call::required_string;
use crate::call::resolve;
use crate::front::session::Session;
use crate::front::session::subscriber::{Subscriber, SubscriptionFilter};
use crate::front::session::watched_resources::{WatchedResource, WatchedResources};
use crate::turn::Turn;
use crate::turn::view::View;

/// The most resources that one client may watch. The gateway and the server store each of them as
/// long as the client listens.
const MAX_WATCHED: usize = 1_000;
/// The most bytes of a watched URI. Programs do not accept longer ones.
const MAX_URI_BYTES: usize = 2_048;

pub(super) async fn subscribe(
    turn: &Turn,
    session: &Session,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let uri: String = required_string(params, "uri")?;
    check_watch_limits(&uri, session.subscriber.filter().uris.len())?;
    let resource = resolve_watched(turn, &uri)?;
    if session.subscriber.filter().uris.insert(uri.clone()) {
        if let Err(error) = resource.start_watching().await {
            session.subscriber.filter().uris.remove(&uri);
            return Err(error.into());
        }
        session.watched.add(resource);
    }
    Ok(raw(&RawObject::new()))
}

/// Rejects a resource whose URI is too long or that exceeds the client's limit.
fn check_watch_limits(uri: &str, watched: usize) -> Result<(), Failure> {
    if uri.len() > MAX_URI_BYTES {
        return Err(Failure::bad_params(format!(
            "the URI is longer than {MAX_URI_BYTES} bytes"
        )));
    }
    if watched >= MAX_WATCHED {
        return Err(Failure::bad_params(format!(
            "a client may watch at most {MAX_WATCHED} resources"
        )));
    }
    Ok(())
}

pub(super) async fn unsubscribe(
    turn: &Turn,
    session: &Session,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let uri: String = required_string(params, "uri")?;
    let resource = resolve_watched(turn, &uri)?;
    if session.subscriber.filter().uris.remove(&uri) {
        session
            .watched
            .remove(&uri)
            .unwrap_or(resource)
            .end()
            .await?;
    }
    Ok(raw(&RawObject::new()))
}

/// Serves a listen stream until the client ends it or the gateway closes.
pub(super) async fn listen(
    turn: &Turn,
    params: &RawObject,
    id: &RequestId,
) -> Result<Raw, Failure> {
    let filter = read_filter(params)?;
    let watching = watch_resources(turn, &filter).await;
    let filter = SubscriptionFilter {
        uris: watching.uris(),
        ..filter
    };
    let subscriber = Subscriber::new(turn.client.caller.clone(), turn.view.clone(), filter);
    let subscriber = Arc::new(subscriber);
    turn.gateway.services.sessions.add_subscriber(&subscriber);
    turn.back.notify(
        method::SUBSCRIPTION_ACKNOWLEDGED,
        Some(acknowledgement(&subscriber, id)),
    );
    tokio::select! {
        () = forward_changes(turn, &subscriber, id) => {}
        () = turn.cancelled.cancelled() => {}
    }
    watching.end().await;
    let meta = RawObject::new().with(meta::SUBSCRIPTION_ID, id);
    Ok(RawObject::new()
        .with("resultType", "complete")
        .with("_meta", &meta)
        .to_raw())
}

/// Returns the changes that the client wants to be notified of.
fn read_filter(params: &RawObject) -> Result<SubscriptionFilter, Failure> {
    let wanted = params
        .get_object("notifications")
        .ok_or_else(|| Failure::bad_params("`notifications` must be an object"))?;
    let uris: Vec<String> = wanted.read("resourceSubscriptions").unwrap_or_default();
    for (at, uri) in uris.iter().enumerate() {
        check_watch_limits(uri, at)?;
    }
    Ok(SubscriptionFilter {
        tools: wanted.read("toolsListChanged").unwrap_or(false),
        prompts: wanted.read("promptsListChanged").unwrap_or(false),
        resources: wanted.read("resourcesListChanged").unwrap_or(false),
        uris: uris.into_iter().collect(),
    })
}

/// Forwards changes to the client until the gateway closes.
async fn forward_changes(turn: &Turn, subscriber: &Arc<Subscriber>, id: &RequestId) {
    let reader = subscriber.new_reader();
    while let Some((_, message)) = reader.next().await {
        if let Message::Notification(notification) = message {
            let params = with_subscription(&notification, id);
            turn.back.notify(&notification.method, Some(params));
        }
    }
}

/// Starts to watch the resources that the caller may watch and whose servers agree.
async fn watch_resources(turn: &Turn, filter: &SubscriptionFilter) -> WatchedResources {
    let watching = WatchedResources::default();
    for uri in &filter.uris {
        if let Ok(resource) = resolve_watched(turn, uri)
            && resource.start_watching().await.is_ok()
        {
            watching.add(resource);
        }
    }
    watching
}

fn resolve_watched(turn: &Turn, uri: &str) -> Result<WatchedResource, Failure> {
    policy_check::check_known_tenant(turn)?;
    let capability = match &turn.view {
        View::Server(server) => Capability {
            server: server.clone(),
            kind: Kind::Resource,
            name: uri.to_owned(),
        },
        View::Merged(_) => resolve::resolve_resource(turn, uri)?,
    };
    let server = turn.gateway.upstreams.get(&capability.server);
    let server = server.cloned().ok_or_else(|| unknown_resource(uri))?;
    policy_check::authorize(turn, &capability, || unknown_resource(uri))?;
    Ok(WatchedResource {
        uri: uri.to_owned(),
        server,
        own: capability.name,
    })
}

fn unknown_resource(uri: &str) -> Failure {
    Failure::UnknownResource {
        uri: uri.to_owned(),
    }
}

fn acknowledgement(subscriber: &Subscriber, id: &RequestId) -> Raw {
    let filter = subscriber.filter();
    let mut agreed = RawObject::new();
    for (on, key) in [
        (filter.tools, "toolsListChanged"),
        (filter.prompts, "promptsListChanged"),
        (filter.resources, "resourcesListChanged"),
    ] {
        if on {
            agreed.put(key, &true);
        }
    }
    if !filter.uris.is_empty() {
        agreed.put("resourceSubscriptions", &filter.uris);
    }
    let meta = RawObject::new().with(meta::SUBSCRIPTION_ID, id);
    RawObject::new()
        .with("_meta", &meta)
        .with("notifications", &agreed)
        .to_raw()
}

fn with_subscription(notification: &Notification, id: &RequestId) -> Raw {
    let mut params = notification.open_params().unwrap_or_default();
    let meta = params
        .get_object("_meta")
        .unwrap_or_default()
        .with(meta::SUBSCRIPTION_ID, id);
    params.put("_meta", &meta);
    params.to_raw()
}
