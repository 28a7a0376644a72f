//! Keeps which client is told of which changes: `resources/subscribe` of legacy clients and
//! `subscriptions/listen` of modern ones.

use std::sync::Arc;

use kitbag_domain::{Caller, Capability, Kind};
use kitbag_upstream::Server;
use kitbag_wire::meta::{self, method};
use kitbag_wire::{Message, Notification, Raw, RawObject, RequestId, raw};

use crate::call::required;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::hidden;
use crate::resolve;
use crate::session::Session;
use crate::session::announcements::{Subscriber, SubscriptionFilter};
use crate::turn::Turn;
use crate::view::View;

/// The most resources that one client may watch. The gateway and the server keep each of them for
/// as long as the client listens.
const MOST_WATCHED: usize = 1_000;
/// The most bytes of a URI to be watched; programs accept no longer addresses.
const LONGEST_WATCHED: usize = 2_048;

pub(super) async fn subscribe(
    turn: &Turn,
    session: &Session,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let uri: String = required(params, "uri")?;
    check_room(&uri, session.subscriber.filter().uris.len())?;
    let (server, own) = owner(turn, &uri)?;
    if session.subscriber.filter().uris.insert(uri.clone())
        && let Err(error) = server.watch(&own).await
    {
        session.subscriber.filter().uris.remove(&uri);
        return Err(error.into());
    }
    Ok(raw(&RawObject::new()))
}

/// Refuses a resource whose URI is too long, or that is one more than a client may watch.
fn check_room(uri: &str, watched: usize) -> Result<(), Failure> {
    if uri.len() > LONGEST_WATCHED {
        return Err(Failure::params(format!(
            "a URI to be watched has at most {LONGEST_WATCHED} bytes"
        )));
    }
    if watched >= MOST_WATCHED {
        return Err(Failure::params(format!(
            "a client watches at most {MOST_WATCHED} resources at once"
        )));
    }
    Ok(())
}

pub(super) async fn unsubscribe(
    turn: &Turn,
    session: &Session,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let uri: String = required(params, "uri")?;
    let (server, own) = owner(turn, &uri)?;
    if session.subscriber.filter().uris.remove(&uri) {
        server.unwatch(&own).await?;
    }
    Ok(raw(&RawObject::new()))
}

/// Serves a listen stream until the client ends it or the gateway closes.
pub(super) async fn listen(
    turn: &Turn,
    params: &RawObject,
    id: &RequestId,
) -> Result<Raw, Failure> {
    let wanted = params
        .object("notifications")
        .ok_or_else(|| Failure::params("`notifications` must be an object"))?;
    let wants = |key: &str| wanted.read::<bool>(key).unwrap_or(false);
    let uris = wanted
        .read::<Vec<String>>("resourceSubscriptions")
        .unwrap_or_default();
    for (at, uri) in uris.iter().enumerate() {
        check_room(uri, at)?;
    }
    let filter = SubscriptionFilter {
        tools: wants("toolsListChanged"),
        prompts: wants("promptsListChanged"),
        resources: wants("resourcesListChanged"),
        uris: uris.into_iter().collect(),
    };
    let watching = Watching::begin(turn, &filter).await;
    let subscriber = Arc::new(Subscriber::new(
        turn.client.caller.clone(),
        turn.view.clone(),
        watching.agreed(filter),
    ));
    turn.gateway.services.sessions.subscribe(&subscriber);
    turn.back.notify(
        method::SUBSCRIPTION_ACKNOWLEDGED,
        Some(acknowledgement(&subscriber, id)),
    );
    let tell = async {
        let reader = subscriber.read();
        while let Some((_, message)) = reader.next().await {
            if let Message::Notification(notification) = message {
                turn.back.notify(
                    &notification.method,
                    Some(with_subscription(&notification, id)),
                );
            }
        }
    };
    tokio::select! {
        () = tell => {}
        () = turn.cancelled.cancelled() => {}
    }
    watching.end().await;
    let meta = RawObject::new().with(meta::SUBSCRIPTION_ID, id);
    Ok(RawObject::new()
        .with("resultType", "complete")
        .with("_meta", &meta)
        .to_raw())
}

/// Ends the watching of resources for a session that ends.
pub(crate) async fn forget(gateway: &Gateway, session: &Session) {
    let uris = std::mem::take(&mut session.subscriber.filter().uris);
    let catalog = gateway.catalog();
    for uri in uris {
        if let Ok((server, own)) = find(
            gateway,
            &catalog,
            &session.view,
            &session.subscriber.caller,
            &uri,
        ) {
            let _ = server.unwatch(&own).await;
        }
    }
}

/// The resources that a listen stream watches. They are watched no longer once the stream ends,
/// however it ends.
struct Watching {
    held: Vec<(String, Arc<Server>, String)>,
}

impl Watching {
    async fn begin(turn: &Turn, filter: &SubscriptionFilter) -> Self {
        let mut held = Vec::new();
        for uri in &filter.uris {
            if let Ok((server, own)) = owner(turn, uri)
                && server.watch(&own).await.is_ok()
            {
                held.push((uri.clone(), server, own));
            }
        }
        Self { held }
    }

    fn agreed(&self, mut filter: SubscriptionFilter) -> SubscriptionFilter {
        filter.uris = self.held.iter().map(|(uri, ..)| uri.clone()).collect();
        filter
    }

    async fn end(mut self) {
        for (_, server, own) in std::mem::take(&mut self.held) {
            let _ = server.unwatch(&own).await;
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            tokio::spawn(Self { held }.end());
        }
    }
}

fn owner(turn: &Turn, uri: &str) -> Result<(Arc<Server>, String), Failure> {
    hidden::known_tenant(turn)?;
    let unknown = || Failure::UnknownResource {
        uri: uri.to_owned(),
    };
    let (server, own) = find(&turn.gateway, &turn.catalog, &turn.view, turn.caller(), uri)?;
    let capability = Capability {
        server: server.name().clone(),
        kind: Kind::Resource,
        name: own.clone(),
    };
    hidden::permit(turn, &capability, unknown)?;
    Ok((server, own))
}

fn find(
    gateway: &Gateway,
    catalog: &Catalog,
    view: &View,
    caller: &Caller,
    uri: &str,
) -> Result<(Arc<Server>, String), Failure> {
    let capability = match view {
        View::One(server) => Capability {
            server: server.clone(),
            kind: Kind::Resource,
            name: uri.to_owned(),
        },
        View::Merged(_) => {
            let seen = |it: &Capability| gateway.policy.visible(caller, it);
            resolve::only_owner(catalog.routes().resource(uri, &seen), uri)?
        }
    };
    let unknown = || Failure::UnknownResource {
        uri: uri.to_owned(),
    };
    Ok((
        gateway
            .upstreams
            .get(&capability.server)
            .ok_or_else(unknown)?
            .clone(),
        capability.name,
    ))
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
    let mut params = notification.object().unwrap_or_default();
    let meta = params
        .object("_meta")
        .unwrap_or_default()
        .with(meta::SUBSCRIPTION_ID, id);
    params.put("_meta", &meta);
    params.to_raw()
}
