//! The lists of a server: tools, prompts, resources, templates and skills, each in its original
//! text.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use kitbag_domain::{DefinitionKind, Timestamp, UnmaskedHash};
use kitbag_wire::meta::{extension, method};
use kitbag_wire::{Era, Raw, RawObject};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::error::CallError;
use crate::exchange::CallTimeouts;
use crate::handshake::ServerHello;
use crate::listing_limits::{ListKind, ListedItems, truncate_list};

/// Everything a server listed, in a form that can be stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listing {
    /// When the server was asked.
    #[serde(skip)]
    pub listed_at: Timestamp,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Raw>,
    /// Problems that did not affect the rest.
    #[serde(default)]
    pub problems: Vec<ListingProblem>,
    /// The hashes, before masking, of definitions in which a secret was masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmasked: Vec<UnmaskedHash>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingProblem {
    pub about: String,
    pub what: String,
    /// True if the server has more than clients are shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// More pages than any honest server has; an endless cursor stops here.
const MAX_PAGES: usize = 1_000;
/// A server that advertises a list and never sends it must not hold up its other lists.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Cursors are stored to detect loops, and sent back; names and offsets fit easily.
const MAX_CURSOR: usize = 16 * 1024;

/// How long the other lists may take after the tools; after that the tools are passed on first. A
/// responsive server answers all its lists within this time.
const OTHER_LISTS_DELAY: Duration = Duration::from_millis(500);

impl Listing {
    /// Reads a stored listing within the current limits.
    pub fn from_stored(stored: &str, listed_at: Timestamp) -> Option<Self> {
        let mut listing: Self = serde_json::from_str(stored).ok()?;
        listing.listed_at = listed_at;
        for list in [
            &mut listing.tools,
            &mut listing.prompts,
            &mut listing.resources,
            &mut listing.templates,
            &mut listing.skills,
        ] {
            truncate_list(list);
        }
        Some(listing)
    }

    /// Returns the definitions of one kind.
    pub(crate) fn definitions(&self, kind: DefinitionKind) -> &[Raw] {
        match kind {
            DefinitionKind::Tool => &self.tools,
            DefinitionKind::Prompt => &self.prompts,
            DefinitionKind::ResourceTemplate => &self.templates,
            DefinitionKind::Skill => &self.skills,
            DefinitionKind::Resource => &self.resources,
        }
    }

    /// Copies the definitions of one kind from another listing.
    pub(crate) fn copy_list(&mut self, kind: DefinitionKind, known: &Self) {
        let list = ListKind::of_definitions(kind).list_mut(self);
        known.definitions(kind).clone_into(list);
        self.unmasked.retain(|it| it.kind != kind);
        let kept = known.unmasked.iter().filter(|it| it.kind == kind);
        self.unmasked.extend(kept.cloned());
    }

    /// Returns the server's description from its handshake, without any list.
    pub(crate) fn from_hello(hello: &ServerHello) -> Self {
        Self {
            listed_at: Timestamp(jiff::Timestamp::now().as_millisecond()),
            era: hello.era,
            version: hello.version.clone(),
            capabilities: hello.capabilities.to_raw(),
            server_info: hello.server_info.clone(),
            instructions: hello.instructions.clone(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            skills: Vec::new(),
            problems: Vec::new(),
            unmasked: Vec::new(),
        }
    }
}

/// Reads every list that the server advertises. A list that fails is recorded and left empty,
/// unless the server disconnected or was too slow with its tools: then nothing is known about them.
///
/// `early` gets the tools if the other lists take longer, because some servers advertise a list and
/// never send it.
pub(crate) async fn fetch_lists(
    connection: &Connection,
    early: impl FnOnce(Listing),
) -> Result<Listing, CallError> {
    let tools = pin!(fetch_pages_if("tools", connection, ListKind::TOOLS));
    let rest = pin!(fetch_other_lists(connection));
    let mut listing = Listing::from_hello(&connection.hello);
    let (prompts, resources, templates, skills) = match select(tools, rest).await {
        Either::Left((tools, mut rest)) => {
            tools?.move_into(&mut listing);
            match tokio::time::timeout(OTHER_LISTS_DELAY, &mut rest).await {
                Ok(rest) => rest?,
                Err(_) => {
                    early(listing.clone());
                    rest.await?
                }
            }
        }
        Either::Right((rest, tools)) => {
            tools.await?.move_into(&mut listing);
            rest?
        }
    };
    prompts.move_into(&mut listing);
    resources.move_into(&mut listing);
    templates.move_into(&mut listing);
    skills.move_into(&mut listing);
    Ok(listing)
}

/// Reads one list into a listing that already has the other lists.
pub(crate) async fn refetch_list(
    connection: &Connection,
    kind: DefinitionKind,
    listing: &mut Listing,
) -> Result<(), CallError> {
    let list = ListKind::of_definitions(kind);
    let listed = match kind {
        DefinitionKind::Tool => fetch_pages_if("tools", connection, list).await?,
        DefinitionKind::Prompt => fetch_pages_if("prompts", connection, list).await?,
        DefinitionKind::ResourceTemplate | DefinitionKind::Resource => {
            fetch_pages_if("resources", connection, list).await?
        }
        DefinitionKind::Skill => fetch_skills(connection).await?,
    };
    listing.unmasked.retain(|it| it.kind != kind);
    listed.move_into(listing);
    Ok(())
}

async fn fetch_other_lists(
    connection: &Connection,
) -> Result<(ListedItems, ListedItems, ListedItems, ListedItems), CallError> {
    tokio::try_join!(
        fetch_pages_if("prompts", connection, ListKind::PROMPTS),
        fetch_pages_if("resources", connection, ListKind::RESOURCES),
        fetch_pages_if("resources", connection, ListKind::TEMPLATES),
        fetch_skills(connection),
    )
}

/// Reads the skills if the server supports the extension.
async fn fetch_skills(connection: &Connection) -> Result<ListedItems, CallError> {
    let extensions = connection.hello.capabilities.get_object("extensions");
    match extensions.is_some_and(|it| it.contains(extension::SKILLS)) {
        true => fetch_pages(connection, ListKind::SKILLS).await,
        false => Ok(ListedItems::new(ListKind::SKILLS)),
    }
}

/// Reads a list if the server has the capability for it.
async fn fetch_pages_if(
    capability: &str,
    connection: &Connection,
    kind: ListKind,
) -> Result<ListedItems, CallError> {
    match connection.hello.capabilities.contains(capability) {
        true => fetch_pages(connection, kind).await,
        false => Ok(ListedItems::new(kind)),
    }
}

async fn fetch_pages(connection: &Connection, kind: ListKind) -> Result<ListedItems, CallError> {
    let mut listed = ListedItems::new(kind);
    let mut cursors = HashSet::new();
    let mut cursor: Option<Raw> = None;
    for _ in 0..MAX_PAGES {
        let page = match fetch_page(connection, kind, cursor.take()).await? {
            Ok(page) => page,
            Err(problem) => {
                listed.add_problem(problem);
                break;
            }
        };
        let (taken, page, more) = add_page_blocking(connection, listed, page).await?;
        listed = taken;
        if !more {
            break;
        }
        match next_cursor(&page, &mut cursors) {
            Ok(Some(next)) => cursor = Some(next),
            Ok(None) => break,
            Err(problem) => {
                listed.add_problem(problem);
                break;
            }
        }
    }
    Ok(listed)
}

/// Requests one page. The inner error is a problem of this list only.
async fn fetch_page(
    connection: &Connection,
    kind: ListKind,
    cursor: Option<Raw>,
) -> Result<Result<RawObject, String>, CallError> {
    let mut params = RawObject::new();
    if let Some(cursor) = cursor {
        params.set("cursor", cursor);
    }
    let timeouts = CallTimeouts::with_single_limit(LIST_TIMEOUT);
    match connection.request(kind.method, params, timeouts).await {
        Ok(result) => Ok(RawObject::open(&result)
            .map_err(|error| format!("the answer is not an object: {error}"))),
        Err(error @ (CallError::Lost { .. } | CallError::SessionExpired { .. })) => Err(error),
        // A server that is too busy to list its tools still has them, so its previous list is kept.
        Err(error @ CallError::TimedOut { .. }) if kind.method == method::LIST_TOOLS => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// Returns the cursor of the next page, if there is one.
fn next_cursor(page: &RawObject, seen: &mut HashSet<String>) -> Result<Option<Raw>, &'static str> {
    let next = page.get("nextCursor");
    let Some(next) = next.filter(|cursor| cursor.get() != "null") else {
        return Ok(None);
    };
    if next.get().len() > MAX_CURSOR {
        return Err("the server's cursor is too long to send back");
    }
    if !seen.insert(next.get().to_owned()) {
        return Err("the server's cursors form a loop");
    }
    Ok(Some(next.to_owned()))
}

/// Adds a page on a blocking thread: a page may have ten thousand entries, and other requests must
/// not wait for that.
async fn add_page_blocking(
    connection: &Connection,
    mut listed: ListedItems,
    page: RawObject,
) -> Result<(ListedItems, RawObject, bool), CallError> {
    let taking = tokio::task::spawn_blocking(move || {
        let more = listed.add_page(&page);
        (listed, page, more)
    });
    taking.await.map_err(|_| {
        CallError::for_lost_connection(connection.server(), "the gateway is shutting down")
    })
}
