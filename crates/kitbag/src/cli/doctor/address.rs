//! Checks the address to serve on and the running gateway.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use kitbag_config::{Config, UnprotectedBind};
use tokio::net::TcpListener;

use super::finding::{Area, Finding};
use crate::cli::Invocation;
use crate::cli::health::{connectable_address, fetch};
use crate::cli::output::format_date;
use crate::key_check::NoKeys;
use crate::local::gateway_connection::{JoinOutcome, join_gateway};
use crate::local::protocol::Want;
use crate::local::requests::GetStatus;
use kitbag_gateway::admin::app::Status;

const AREA: Area = Area::Address;

pub(super) async fn check(config: &Config, has_keys: bool) -> Vec<Finding> {
    let bind = config.serve.bind;
    let subject = bind.to_string();
    let exposure = config.serve.check_exposure();
    let unprotected = exposure.err().map(|error| {
        AREA.problem(&subject, error.to_string())
            .with_advice(UnprotectedBind::REMEDY)
    });
    let lacks_keys = !config.serve.allows_keyless() && !has_keys && unprotected.is_none();
    let lacks_keys = lacks_keys.then(|| {
        AREA.problem(&subject, NoKeys.to_string())
            .with_advice(NoKeys::REMEDY)
    });
    [Some(check_bind(bind).await), unprotected, lacks_keys]
        .into_iter()
        .flatten()
        .collect()
}

/// Checks whether commands and clients on stdio can join the running gateway.
pub(super) async fn check_running_gateway(config: &Config, invocation: &Invocation) -> Finding {
    match join_gateway(&invocation.source, Some(config), Want::Ask).await {
        JoinOutcome::Joined(mut joined) => match joined.ask(GetStatus {}, |_| {}).await {
            Ok(status) => AREA.ok(RUNNING, describe_running(&status)),
            Err(error) => not_joined(error.to_string()),
        },
        JoinOutcome::Refused { reason } => not_joined(reason),
        JoinOutcome::Nothing => AREA.ok(
            RUNNING,
            "none; each command and each client on stdio starts its own servers",
        ),
    }
}

const RUNNING: &str = "running gateway";

fn not_joined(reason: String) -> Finding {
    AREA.warning(RUNNING, "commands and clients on stdio cannot join it")
        .with_reason(reason)
        .with_advice(
            "restart it with the same version of Kitbag and the same environment variables",
        )
}

fn describe_running(status: &Status) -> String {
    let Status {
        pid,
        address,
        since,
        ..
    } = status;
    let address = address
        .map(|address| format!(", http://{address}/mcp"))
        .unwrap_or_default();
    let since = format_date(*since);
    format!(
        "pid {pid}{address}, since {since}; `serve --stdio` and all commands that accept `--own` join it"
    )
}

async fn check_bind(bind: SocketAddr) -> Finding {
    let subject = bind.to_string();
    let error = match TcpListener::bind(bind).await {
        Ok(_) if bind.port() == 0 => {
            return AREA.ok(subject, "a free port is chosen at each start");
        }
        Ok(_) => return AREA.ok(subject, "is free"),
        Err(error) => error,
    };
    let another = "choose another: `bind` in [serve], or `kitbag serve --bind 127.0.0.1:7421`";
    match error.kind() {
        io::ErrorKind::AddrInUse if is_kitbag(bind).await => AREA.ok(subject, "in use by Kitbag"),
        io::ErrorKind::AddrInUse => AREA
            .problem(subject, "in use by another program")
            .with_advice(another),
        io::ErrorKind::AddrNotAvailable => AREA
            .problem(subject, "this machine does not have this address")
            .with_advice(another),
        _ => AREA
            .problem(subject, "this address cannot be used")
            .with_reason(error.to_string())
            .with_advice(another),
    }
}

/// Needs no key and works with any version of Kitbag.
async fn is_kitbag(bind: SocketAddr) -> bool {
    const TIMEOUT: Duration = Duration::from_secs(2);
    const NOT_FOUND_PAGE: &str = "MCP is at /mcp";
    // A path that no version serves.
    let url = format!("http://{}/nothing", connectable_address(bind));
    let Ok(answer) = fetch(&url, TIMEOUT).await else {
        return false;
    };
    let page = kitbag_fetch::read_body(answer, MAX_PAGE_BYTES).await;
    page.is_ok_and(|page| String::from_utf8_lossy(&page).contains(NOT_FOUND_PAGE))
}

/// A gateway answers with one line. Another program may send pages of any length.
const MAX_PAGE_BYTES: usize = 64 * 1024;
