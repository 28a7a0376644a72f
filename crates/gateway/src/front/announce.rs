//! Notifies clients that a list or a resource of a server has changed.

use std::collections::HashMap;

use kitbag_domain::{Caller, Capability, Kind, ServerName};
use kitbag_upstream::{Listing, NoticeKind};
use kitbag_wire::meta::method;
use kitbag_wire::{Message, Notification, Raw, RawObject, is_too_deep};

use crate::catalog::resources::{Route, mark_uri};
use crate::front::guide::guide_for;
use crate::front::session::subscriber::Subscriber;
use crate::state::gateway::Gateway;
use crate::turn::view::View;

/// The longest content that a resource update may carry in addition to its URI.
const LONGEST_UPDATE: usize = 4 << 10;

/// The lists of a server that have changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListChanges {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl ListChanges {
    pub(crate) fn add(&mut self, kind: &NoticeKind) {
        match kind {
            NoticeKind::ToolsChanged => self.tools = true,
            NoticeKind::PromptsChanged => self.prompts = true,
            NoticeKind::ResourcesChanged => self.resources = true,
            NoticeKind::Started | NoticeKind::ResourceUpdated(_) => {}
        }
    }

    pub(crate) fn tools_only() -> Self {
        Self {
            tools: true,
            ..Self::default()
        }
    }

    pub(crate) fn has_any(self) -> bool {
        self.tools || self.prompts || self.resources
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }

    pub(crate) fn between(before: Option<&Listing>, after: &Listing) -> Self {
        let Some(before) = before else {
            return Self {
                tools: !after.tools.is_empty(),
                prompts: !after.prompts.is_empty(),
                resources: !(after.resources.is_empty()
                    && after.templates.is_empty()
                    && after.skills.is_empty()),
            };
        };
        Self {
            tools: lists_differ(&before.tools, &after.tools),
            prompts: lists_differ(&before.prompts, &after.prompts),
            resources: lists_differ(&before.resources, &after.resources)
                || lists_differ(&before.templates, &after.templates)
                || lists_differ(&before.skills, &after.skills),
        }
    }
}

fn lists_differ(before: &[Raw], after: &[Raw]) -> bool {
    let (before, after) = (before.iter(), after.iter());
    before
        .map(|item| item.get())
        .ne(after.map(|item| item.get()))
}

pub(crate) fn announce_changes(gateway: &Gateway, server: &ServerName, changes: ListChanges) {
    let catalog = gateway.catalog();
    announce_lists(gateway, changes, |subscriber| {
        includes_server(&subscriber.view, server)
            && gateway.is_server_visible(&catalog, &subscriber.caller, server)
    });
}

/// Announces every list, after a change that may affect any client.
pub fn announce_all_lists(gateway: &Gateway) {
    announce_lists(
        gateway,
        ListChanges {
            tools: true,
            prompts: true,
            resources: true,
        },
        |_| true,
    );
}

fn announce_lists(
    gateway: &Gateway,
    changes: ListChanges,
    concerned: impl Fn(&Subscriber) -> bool,
) {
    let mut guides = ChangedGuides::default();
    for subscriber in gateway.services.sessions.subscribers() {
        if concerned(&subscriber) {
            let is_guide_new = subscriber.view.is_small_surface()
                && guides.has_changed(gateway, &subscriber.caller);
            for method in requested_methods(&subscriber, changes, is_guide_new) {
                let notification = Notification::new(method, None);
                subscriber.mailbox.put(Message::from(notification));
            }
        }
    }
}

/// The callers whose guide has changed. The list of a small surface contains the guide.
#[derive(Default)]
struct ChangedGuides {
    by_caller: HashMap<Caller, bool>,
}

impl ChangedGuides {
    fn has_changed(&mut self, gateway: &Gateway, caller: &Caller) -> bool {
        if let Some(known) = self.by_caller.get(caller) {
            return *known;
        }
        let guide = guide_for(gateway, &gateway.catalog(), caller);
        let announced = &gateway.services.announced_guides;
        let is_new = announced.replace(caller, guide.as_deref());
        self.by_caller.insert(caller.clone(), is_new);
        is_new
    }
}

/// Returns the notifications of these changes that the subscriber requested.
fn requested_methods(
    subscriber: &Subscriber,
    changes: ListChanges,
    is_guide_new: bool,
) -> impl Iterator<Item = &'static str> {
    let filter = subscriber.filter();
    let is_list_new = is_guide_new || changes.tools && subscriber.view.has_changing_tools();
    let tools = filter.tools && is_list_new;
    let prompts = changes.prompts && filter.prompts;
    let resources = changes.resources && filter.resources;
    let methods = [
        (tools, method::TOOLS_CHANGED),
        (prompts, method::PROMPTS_CHANGED),
        (resources, method::RESOURCES_CHANGED),
    ];
    let due = methods.into_iter().filter(|(is_due, _)| *is_due);
    due.map(|(_, method)| method)
}

pub(crate) fn announce_update(gateway: &Gateway, server: &ServerName, params: &Raw) {
    let Ok(mut object) = RawObject::open(params) else {
        return;
    };
    // An update is queued for every watching client, so a long one is reduced to the members that
    // every update has.
    if params.get().len() > LONGEST_UPDATE || is_too_deep(params.get().as_bytes()) {
        object = object
            .into_iter()
            .filter(|(name, _)| name == "uri")
            .collect();
    }
    let Some(own) = object.read::<String>("uri") else {
        return;
    };
    let capability = Capability {
        server: server.clone(),
        kind: Kind::Resource,
        name: own,
    };
    for subscriber in gateway.services.sessions.subscribers() {
        // Rules may have changed since it subscribed.
        if includes_server(&subscriber.view, server)
            && gateway.policy.is_visible(&subscriber.caller, &capability)
        {
            for uri in watched_uris(gateway, &subscriber, &capability) {
                let params = object.clone().with("uri", &uri).to_raw();
                let update = Notification::new(method::RESOURCE_UPDATED, Some(params));
                subscriber.mailbox.put(Message::from(update));
            }
        }
    }
}

/// Returns the URIs under which the subscriber watches the resource.
fn watched_uris(gateway: &Gateway, subscriber: &Subscriber, resource: &Capability) -> Vec<String> {
    let own = resource.name.clone();
    let mut names = match &subscriber.view {
        View::Server(_) => vec![own],
        View::Merged(_) => {
            let catalog = gateway.catalog();
            let route = catalog.routes().route_resource(&own, &|it| {
                gateway.policy.is_visible(&subscriber.caller, it)
            });
            (route == Route::To(resource.clone()))
                .then_some(own)
                .into_iter()
                .chain([mark_uri(resource)])
                .collect()
        }
    };
    names.retain(|name| subscriber.filter().uris.contains(name));
    names
}

fn includes_server(view: &View, server: &ServerName) -> bool {
    match view {
        View::Merged(_) => true,
        View::Server(one) => one == server,
    }
}
