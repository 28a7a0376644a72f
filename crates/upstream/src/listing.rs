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
}

/// More pages than any honest server has; a cursor that never ends stops here.
const MAX_PAGES: usize = 1_000;
/// A server that advertises a list and never gives it must not hold up the others.
const LIST_PATIENCE: Duration = Duration::from_secs(20);

/// How long the other lists may follow the tools before those are handed on alone.
const SAME_BREATH: Duration = Duration::from_millis(500);

impl Listing {
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
pub(crate) async fn list(connection: &Connection, early: impl FnOnce(Listing)) -> Result<Listing, CallError> {
    let has = |name: &str| connection.hello.capabilities.contains(name);
    let tools = pin!(pages_if(has("tools"), connection, method::LIST_TOOLS, "tools", "name"));
    let rest = pin!(async {
        tokio::try_join!(
            pages_if(has("prompts"), connection, method::LIST_PROMPTS, "prompts", "name"),
            pages_if(has("resources"), connection, method::LIST_RESOURCES, "resources", "uri"),
            pages_if(
                has("resources"),
                connection,
                method::LIST_TEMPLATES,
                "resourceTemplates",
                "uriTemplate"
            ),
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

#[derive(Default)]
struct Listed {
    items: Vec<Raw>,
    problems: Vec<Problem>,
}

impl Listed {
    fn problem(&mut self, about: &str, what: impl Into<String>) {
        self.problems.push(Problem { about: about.to_owned(), what: what.into() });
    }

    fn move_into(self, listing: &mut Listing, list: fn(&mut Listing) -> &mut Vec<Raw>) {
        *list(listing) = self.items;
        listing.problems.extend(self.problems);
    }
}

async fn pages_if(
    wanted: bool,
    connection: &Connection,
    method: &str,
    field: &str,
    key: &str,
) -> Result<Listed, CallError> {
    if wanted { pages(connection, method, field, key).await } else { Ok(Listed::default()) }
}

async fn pages(connection: &Connection, method: &str, field: &str, key: &str) -> Result<Listed, CallError> {
    let mut listed = Listed::default();
    let (mut names, mut cursors) = (HashSet::new(), HashSet::new());
    let mut cursor: Option<Raw> = None;
    for _ in 0..MAX_PAGES {
        let mut params = RawObject::new();
        if let Some(cursor) = cursor.take() {
            params.set("cursor", cursor);
        }
        let page = connection.ask(method, params, Patience::of(LIST_PATIENCE)).await;
        let page = match page.map(|result| RawObject::open(&result)) {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => {
                listed.problem(method, format!("the answer is no object: {error}"));
                break;
            }
            Err(error @ (CallError::Lost { .. } | CallError::SessionExpired { .. })) => return Err(error),
            // Whoever is too busy to list its tools still has them; better what it had before.
            Err(error @ CallError::TimedOut { .. }) if method == method::LIST_TOOLS => return Err(error),
            Err(error) => {
                listed.problem(method, error.to_string());
                break;
            }
        };
        take_items(&mut listed, &page, method, field, key, &mut names);
        match page.get("nextCursor").filter(|cursor| cursor.get() != "null") {
            None => break,
            Some(next) if !cursors.insert(next.get().to_owned()) => {
                listed.problem(method, "the server's cursor goes in circles");
                break;
            }
            Some(next) => cursor = Some(next.to_owned()),
        }
    }
    Ok(listed)
}

fn take_items(
    listed: &mut Listed,
    page: &RawObject,
    method: &str,
    field: &str,
    key: &str,
    names: &mut HashSet<String>,
) {
    let Some(items) = page.read::<Vec<Raw>>(field) else {
        return listed.problem(method, format!("the answer has no `{field}`"));
    };
    for item in items {
        match RawObject::open(&item).ok().and_then(|it| it.read::<String>(key)) {
            None => listed.problem(method, format!("an entry has no `{key}` and is left out")),
            Some(name) if names.contains(&name) => {
                listed.problem(method, format!("`{name}` is listed twice; the first one counts"));
            }
            Some(name) => {
                names.insert(name);
                listed.items.push(item);
            }
        }
    }
}
