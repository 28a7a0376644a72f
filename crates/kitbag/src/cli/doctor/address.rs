//! Checks if the address to serve on can be used, and by which clients.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use kitbag_config::{Config, UnprotectedBind};
use tokio::net::TcpListener;

use super::finding::{Area, Finding};
use crate::cli::Invocation;
use crate::cli::health::{get, reachable};
use crate::cli::output::date;
use crate::key_check::NoKeys;
use crate::local::joined::{JoinOutcome, find};
use crate::local::protocol::{LocalAnswer, LocalRequest, Want};
use kitbag_gateway::admin::app::Status;

const AREA: Area = Area::Address;

pub(super) async fn check(config: &Config, has_keys: bool) -> Vec<Finding> {
    let bind = config.serve.bind;
    let subject = bind.to_string();
    let guarded = config.serve.check_exposure();
    let open = guarded.err().map(|open| {
        AREA.problem(&subject, open.to_string())
            .mend(UnprotectedBind::REMEDY)
    });
    let walled = !config.serve.allows_keyless() && !has_keys && open.is_none();
    let walled = walled.then(|| {
        AREA.problem(&subject, NoKeys.to_string())
            .mend(NoKeys::REMEDY)
    });
    [Some(free(bind).await), open, walled]
        .into_iter()
        .flatten()
        .collect()
}

/// Checks if a gateway runs that commands and clients on stdio join.
pub(super) async fn running(config: &Config, invocation: &Invocation) -> Finding {
    match find(&invocation.at, Some(config), Want::Ask).await {
        JoinOutcome::Joined(mut joined) => match joined.ask(&LocalRequest::Status, |_| {}).await {
            Ok(LocalAnswer::Status(status)) => AREA.ok(RUNNING, join_told(&status)),
            Ok(_) => not_joined("it answers something else than was asked".to_owned()),
            Err(error) => not_joined(error.to_string()),
        },
        JoinOutcome::Refused { reason } => not_joined(reason),
        JoinOutcome::Nothing => AREA.ok(
            RUNNING,
            "none; each command and each client on stdio starts its own",
        ),
    }
}

const RUNNING: &str = "running gateway";

fn not_joined(reason: String) -> Finding {
    AREA.warning(
        RUNNING,
        "there is one, and commands and clients on stdio do not join it",
    )
    .because(reason)
    .mend("start it again: it should be of the same version, and see the same variables")
}

fn join_told(status: &Status) -> String {
    let Status {
        pid,
        address,
        since,
        ..
    } = status;
    let address = address
        .map(|address| format!(", http://{address}/mcp"))
        .unwrap_or_default();
    let since = date(*since);
    format!(
        "pid {pid}{address}, since {since}; `serve --stdio` and all commands with `--own` join it"
    )
}

async fn free(bind: SocketAddr) -> Finding {
    let subject = bind.to_string();
    let error = match TcpListener::bind(bind).await {
        Ok(_) if bind.port() == 0 => {
            return AREA.ok(subject, "a free port is chosen at each start");
        }
        Ok(_) => return AREA.ok(subject, "is free; no program serves there now"),
        Err(error) => error,
    };
    let another = "choose another one: `bind` in [serve], or `kitbag serve --bind 127.0.0.1:7421`";
    match error.kind() {
        io::ErrorKind::AddrInUse if is_kitbag(bind).await => {
            AREA.ok(subject, "Kitbag is being served there")
        }
        io::ErrorKind::AddrInUse => AREA
            .problem(subject, "another program has this address")
            .mend(another),
        io::ErrorKind::AddrNotAvailable => AREA
            .problem(subject, "this machine has no such address")
            .mend(another),
        _ => AREA
            .problem(subject, "this address cannot be used")
            .because(error.to_string())
            .mend(another),
    }
}

/// Asks in a way that needs no key, no matter which version answers.
async fn is_kitbag(bind: SocketAddr) -> bool {
    const PATIENCE: Duration = Duration::from_secs(2);
    const WHERE_NOTHING_IS: &str = "Nothing here. MCP is at /mcp";
    let url = format!("http://{}/", reachable(bind));
    let Ok(answer) = get(&url, PATIENCE).await else {
        return false;
    };
    let page = kitbag_fetch::body(answer, LONGEST_PAGE).await;
    page.is_ok_and(|page| page.starts_with(WHERE_NOTHING_IS.as_bytes()))
}

/// The page of a gateway is a line; another program may send pages without end.
const LONGEST_PAGE: usize = 64 * 1024;
