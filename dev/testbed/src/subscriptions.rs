//! The clients that listen for changes, in either era, and their notifications.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use kitbag_domain::sync::lock;
use kitbag_wire::meta::{self, method};
use kitbag_wire::{Notification, RawObject, RequestId, raw};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::outbox::Outbox;

#[derive(Debug, Clone)]
pub(crate) enum AnnouncedChange {
    Tools,
    Prompts,
    Resource(String),
}

/// The filter of `subscriptions/listen`. A legacy session has one too: every list, and the
/// resources it subscribed to one by one.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Interests {
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) resources_list_changed: bool,
    #[serde(skip_serializing_if = "HashSet::is_empty")]
    pub(crate) resource_subscriptions: HashSet<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ListenerId(u64);

#[derive(Debug, Default)]
pub(crate) struct Listeners {
    registry: Mutex<ListenerTable>,
}

impl Listeners {
    /// `tag` is the id of the listen request that every message on its stream must contain.
    pub(crate) fn add(
        &self,
        interests: Interests,
        outbox: Outbox,
        tag: Option<RequestId>,
    ) -> ListenerId {
        self.lock().add(Listener {
            interests,
            outbox,
            tag,
        })
    }

    /// Like [`Self::add`], for a listener that gets `greeting` first. From then on it misses no
    /// change.
    pub(crate) fn greet(
        &self,
        greeting: Notification,
        interests: Interests,
        outbox: Outbox,
        tag: RequestId,
    ) -> ListenerId {
        let mut registry = self.lock();
        outbox.send(greeting);
        registry.add(Listener {
            interests,
            outbox,
            tag: Some(tag),
        })
    }

    pub(crate) fn remove(&self, id: ListenerId) {
        self.lock().listeners.remove(&id.0);
    }

    pub(crate) fn subscribe(&self, id: ListenerId, uri: String) {
        if let Some(listener) = self.lock().listeners.get_mut(&id.0) {
            listener.interests.resource_subscriptions.insert(uri);
        }
    }

    pub(crate) fn unsubscribe(&self, id: ListenerId, uri: &str) {
        if let Some(listener) = self.lock().listeners.get_mut(&id.0) {
            listener.interests.resource_subscriptions.remove(uri);
        }
    }

    pub(crate) fn announce(&self, change: &AnnouncedChange) {
        for listener in self.lock().listeners.values() {
            if listener.interests.include(change) {
                listener
                    .outbox
                    .send(change.notification(listener.tag.as_ref()));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ListenerTable> {
        lock(&self.registry)
    }
}

impl Interests {
    pub(crate) fn every_list() -> Self {
        Self {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: HashSet::new(),
        }
    }

    fn include(&self, change: &AnnouncedChange) -> bool {
        match change {
            AnnouncedChange::Tools => self.tools_list_changed,
            AnnouncedChange::Prompts => self.prompts_list_changed,
            AnnouncedChange::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }
}

/// Adds the `_meta` of every message on a listen stream.
pub(crate) fn tag_params(mut params: RawObject, subscription: &RequestId) -> RawObject {
    params.put("_meta", &json!({ meta::SUBSCRIPTION_ID: subscription }));
    params
}

#[derive(Debug, Default)]
struct ListenerTable {
    next: u64,
    listeners: BTreeMap<u64, Listener>,
}

impl ListenerTable {
    fn add(&mut self, listener: Listener) -> ListenerId {
        let id = self.next;
        self.next += 1;
        self.listeners.insert(id, listener);
        ListenerId(id)
    }
}

#[derive(Debug)]
struct Listener {
    interests: Interests,
    outbox: Outbox,
    tag: Option<RequestId>,
}

impl AnnouncedChange {
    fn notification(&self, tag: Option<&RequestId>) -> Notification {
        let (name, params) = match self {
            Self::Tools => (method::TOOLS_CHANGED, RawObject::new()),
            Self::Prompts => (method::PROMPTS_CHANGED, RawObject::new()),
            Self::Resource(uri) => (method::RESOURCE_UPDATED, RawObject::new().with("uri", uri)),
        };
        let params = match tag {
            Some(tag) => tag_params(params, tag),
            None => params,
        };
        Notification::new(name, (!params.is_empty()).then(|| raw(&params)))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}
