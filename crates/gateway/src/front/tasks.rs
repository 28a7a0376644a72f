//! `tasks/list`: a tenant's tasks, collected from the servers that run them.

use kitbag_domain::ServerName;
use kitbag_wire::{Raw, RawObject};

use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::{Call, McpCall};
use crate::turn::Turn;
use crate::turn::view::View;

/// More pages than any well-behaved server has.
const MAX_PAGES: usize = 100;

/// Servers know one client, the gateway; only the gateway knows the owner of each task.
pub(super) async fn list_tasks(turn: &Turn) -> Result<Raw, Failure> {
    let mut tasks = Vec::new();
    for server in task_servers(turn) {
        let there = Turn {
            view: View::Server(server.clone()),
            ..turn.clone()
        };
        match list_server_tasks(&there).await {
            Ok(listed) => tasks.extend(
                listed
                    .iter()
                    .filter_map(|task| visible_task(turn, &server, task)),
            ),
            // One failing server must not hide the tasks of the others.
            Err(failure) => tracing::warn!(%server, %failure, "failed to list tasks"),
        }
    }
    Ok(RawObject::new().with("tasks", &tasks).to_raw())
}

async fn list_server_tasks(turn: &Turn) -> Result<Vec<Raw>, Failure> {
    let mut tasks = Vec::new();
    let mut params = RawObject::new();
    for _ in 0..MAX_PAGES {
        let call = Call::Mcp(McpCall::for_list("tasks/list", params));
        let page = pipeline::run(turn, call).await?;
        let page = RawObject::open(&page).unwrap_or_default();
        let listed = page.read::<Vec<Raw>>("tasks").unwrap_or_default();
        tasks.extend(listed);
        match page
            .get("nextCursor")
            .filter(|cursor| cursor.get() != "null")
        {
            Some(cursor) => params = RawObject::new().with("cursor", cursor),
            None => break,
        }
    }
    Ok(tasks)
}

/// Returns the task as this client sees it, if it belongs to the client's tenant.
fn visible_task(turn: &Turn, server: &ServerName, task: &Raw) -> Option<Raw> {
    let id: String = RawObject::open(task).ok()?.read("taskId")?;
    let tenant = &turn.client.caller.tenant;
    let capability = turn
        .gateway
        .services
        .tasks
        .find_by_server_id(tenant, server, &id)?;
    match turn.view {
        View::Server(_) => Some(task.clone()),
        View::Merged(_) => turn
            .gateway
            .services
            .tasks
            .remember_task(tenant, &capability, task),
    }
}

/// Returns the servers in view that can list tasks.
fn task_servers(turn: &Turn) -> Vec<ServerName> {
    let listings = turn.catalog.listings();
    listings
        .filter(|(server, listing)| is_in_view(turn, server) && lists_tasks(&listing.capabilities))
        .map(|(server, _)| server.clone())
        .collect()
}

fn is_in_view(turn: &Turn, server: &ServerName) -> bool {
    match &turn.view {
        View::Merged(_) => turn.can_see_server(server),
        View::Server(one) => one == server,
    }
}

fn lists_tasks(capabilities: &Raw) -> bool {
    let capabilities = RawObject::open(capabilities).unwrap_or_default();
    let tasks = capabilities.get_object("tasks");
    tasks.is_some_and(|tasks| tasks.contains("list"))
}
