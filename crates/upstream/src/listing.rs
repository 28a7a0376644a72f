//! What a server offers, each definition as the very text it sent.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Raw, RawObject};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::error::CallError;
use crate::exchange::Patience;
use crate::handshake::Hello;
use crate::listed::{ListKind, Listed, cut};

/// Everything a server listed, fit to be stored and read back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listing {
    pub era: Era,
    pub version: String,
    pub capabilities: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<Raw>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    pub tools: Vec<Raw>,
    pub prompts: Vec<Raw>,
    pub resources: Vec<Raw>,
    pub templates: Vec<Raw>,
    /// What went wrong without spoiling the rest.
    #[serde(default)]
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub about: String,
    pub what: String,
    /// Whether the server has more than clients are shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// More pages than any honest server has; a cursor that never ends stops here.
const MAX_PAGES: usize = 1_000;
/// A server that advertises a list and never gives it must not hold up the others.
const LIST_PATIENCE: Duration = Duration::from_secs(20);
/// Cursors are kept to see whether they go in circles, and sent back; names and offsets fit easily.
const LONGEST_CURSOR: usize = 16 * 1024;

const TOOLS: ListKind = ListKind {
    method: method::LIST_TOOLS,
    field: "tools",
    key: "name",
};
const PROMPTS: ListKind = ListKind {
    method: method::LIST_PROMPTS,
    field: "prompts",
    key: "name",
};
const RESOURCES: ListKind = ListKind {
    method: method::LIST_RESOURCES,
    field: "resources",
    key: "uri",
};
const TEMPLATES: ListKind = ListKind {
    method: method::LIST_TEMPLATES,
    field: "resourceTemplates",
    key: "uriTemplate",
};

/// How long the other lists may follow the tools before those are handed on alone.
const SAME_BREATH: Duration = Duration::from_millis(500);

impl Listing {
    /// Reads a listing that was stored, within the bounds of today.
    pub fn read(stored: &str) -> Option<Self> {
        let mut listing: Self = serde_json::from_str(stored).ok()?;
        for list in [
            &mut listing.tools,
            &mut listing.prompts,
            &mut listing.resources,
            &mut listing.templates,
        ] {
            cut(list);
        }
        Some(listing)
    }

    /// What a server said when it was greeted, before it was asked for any list.
    pub(crate) fn introduction(hello: &Hello) -> Self {
        Self {
            era: hello.era,
            version: hello.version.clone(),
            capabilities: hello.capabilities.to_raw(),
            server_info: hello.server_info.clone(),
            instructions: hello.instructions.clone(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            problems: Vec::new(),
        }
    }
}

/// Lists everything the server says it has. A list that fails is noted and left empty, unless
/// the server went away meanwhile or was too slow with its tools: that says nothing about what
/// it offers.
///
/// Where the other lists keep us waiting, `early` is handed the tools: some servers advertise
/// a list and never give it.
pub(crate) async fn list(
    connection: &Connection,
    early: impl FnOnce(Listing),
) -> Result<Listing, CallError> {
    let has = |name: &str| connection.hello.capabilities.contains(name);
    let tools = pin!(pages_if(has("tools"), connection, TOOLS));
    let rest = pin!(async {
        tokio::try_join!(
            pages_if(has("prompts"), connection, PROMPTS),
            pages_if(has("resources"), connection, RESOURCES),
            pages_if(has("resources"), connection, TEMPLATES),
        )
    });
    let mut listing = Listing::introduction(&connection.hello);
    let (prompts, resources, templates) = match select(tools, rest).await {
        Either::Left((tools, mut rest)) => {
            tools?.move_into(&mut listing, |it| &mut it.tools);
            match tokio::time::timeout(SAME_BREATH, &mut rest).await {
                Ok(rest) => rest?,
                Err(_) => {
                    early(listing.clone());
                    rest.await?
                }
            }
        }
        Either::Right((rest, tools)) => {
            tools.await?.move_into(&mut listing, |it| &mut it.tools);
            rest?
        }
    };
    prompts.move_into(&mut listing, |it| &mut it.prompts);
    resources.move_into(&mut listing, |it| &mut it.resources);
    templates.move_into(&mut listing, |it| &mut it.templates);
    Ok(listing)
}

async fn pages_if(
    wanted: bool,
    connection: &Connection,
    kind: ListKind,
) -> Result<Listed, CallError> {
    if wanted {
        pages(connection, kind).await
    } else {
        Ok(Listed::new(kind))
    }
}

async fn pages(connection: &Connection, kind: ListKind) -> Result<Listed, CallError> {
    let mut listed = Listed::new(kind);
    let mut cursors = HashSet::new();
    let mut cursor: Option<Raw> = None;
    for _ in 0..MAX_PAGES {
        let mut params = RawObject::new();
        if let Some(cursor) = cursor.take() {
            params.set("cursor", cursor);
        }
        let page = connection
            .ask(kind.method, params, Patience::of(LIST_PATIENCE))
            .await;
        let page = match page.map(|result| RawObject::open(&result)) {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => {
                listed.problem(format!("the answer is no object: {error}"));
                break;
            }
            Err(error @ (CallError::Lost { .. } | CallError::SessionExpired { .. })) => {
                return Err(error);
            }
            // Whoever is too busy to list its tools still has them; better what it had before.
            Err(error @ CallError::TimedOut { .. }) if kind.method == method::LIST_TOOLS => {
                return Err(error);
            }
            Err(error) => {
                listed.problem(error.to_string());
                break;
            }
        };
        let (taken, page, more) = take_aside(connection, listed, page).await?;
        listed = taken;
        if !more {
            break;
        }
        match page
            .get("nextCursor")
            .filter(|cursor| cursor.get() != "null")
        {
            None => break,
            Some(next) if next.get().len() > LONGEST_CURSOR => {
                listed.problem("the server's cursor is too long to be sent back");
                break;
            }
            Some(next) if !cursors.insert(next.get().to_owned()) => {
                listed.problem("the server's cursor goes in circles");
                break;
            }
            Some(next) => cursor = Some(next.to_owned()),
        }
    }
    Ok(listed)
}

/// Takes a page in on a thread of its own: one may have ten thousand entries, and requests of
/// others must not wait for that.
async fn take_aside(
    connection: &Connection,
    mut listed: Listed,
    page: RawObject,
) -> Result<(Listed, RawObject, bool), CallError> {
    let taking = tokio::task::spawn_blocking(move || {
        let more = listed.take_page(&page);
        (listed, page, more)
    });
    taking
        .await
        .map_err(|_| CallError::lost(connection.server(), "the gateway ends"))
}
