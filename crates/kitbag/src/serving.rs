//! A gateway that serves clients, over HTTP or on stdin and stdout, until it is asked to end.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::future::OptionFuture;
use kitbag_domain::Surface;
use tokio::io::AsyncBufRead;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use crate::key_check::{UnknownTenant, check_keys, unknown_tenants};
use crate::local::listener::LocalListener;
use crate::reload::{Follower, ServingTransport};
use kitbag_gateway::admin::app::App;
use kitbag_gateway::catalog::list_servers;
use kitbag_gateway::front;
use kitbag_gateway::front::listener::LAST_CALLS;
use kitbag_gateway::learning::priors_schedule;
use kitbag_gateway::learning::template_check::check_templates;
use kitbag_gateway::state::background;
use kitbag_gateway::state::follow_store;
use kitbag_gateway::state::follow_tool_files;
use kitbag_gateway::state::host::GatewayHost;
use kitbag_gateway::turn::view::McpEndpoint;

/// The time that servers have at least if they are asked for the first time, counted from the
/// start, also when the only client has left by then.
const FIRST_LISTING: Duration = Duration::from_secs(5);
/// The time that such servers have after the gateway was asked to end.
const LAST_LISTING: Duration = Duration::from_secs(1);

/// The facts that are known at the moment the gateway begins to serve.
#[derive(Debug)]
pub(crate) struct Banner {
    pub(crate) endpoint: String,
    /// The number of servers whose tools are known from an earlier run.
    pub(crate) known: usize,
    /// The number of servers that are being asked for the first time.
    pub(crate) asking: usize,
    pub(crate) tools: usize,
}

/// Serves HTTP until the process is asked to end.
pub(crate) async fn serve_http(
    app: App,
    follower: Follower,
    ready: impl FnOnce(&Banner),
) -> anyhow::Result<()> {
    let gateway = app.host().gateway();
    check_keys(&gateway.serve, &gateway.services.store).await?;
    for tenant in unknown_tenants(&gateway.policy, &gateway.services.store).await? {
        tracing::warn!(%tenant, "{}", UnknownTenant::WHAT);
    }
    let bind = gateway.serve.bind;
    let listener = listen(bind).with_context(|| format!("the address {bind} cannot be used"))?;
    gateway.services.index.ready().await?;
    gateway.services.meter.export()?;
    drop(gateway);
    let address = listener.local_addr()?;
    app.serves_at(address);
    let (door, fresh) = (
        LocalListener::open(follower.whereabouts(), follower.running()),
        follower.freshness(),
    );
    ready(&banner(&app, address));
    let mut listing = tokio::spawn(list_servers::list_unknown(app.host().clone()));
    work_beside_requests(&app, follower, ServingTransport::Http);
    let ended = CancellationToken::new();
    tokio::spawn(until_asked_to_end(ended.clone(), app.host().clone()));
    let app = Arc::new(app);
    let serving = front::listener::serve(listener, app.host().clone(), ended.clone());
    let joining = OptionFuture::from(door.map(|door| door.serve(app.clone(), fresh, ended)));
    tokio::join!(serving, joining);
    // A listing that clients have seen part of should be kept for the next start.
    let _ = tokio::time::timeout(LAST_LISTING, &mut listing).await;
    listing.abort();
    app.close().await;
    Ok(())
}

/// Connections that may wait to be accepted. With the usual 128, some of a thousand clients that
/// connect at once are only let in when their system tries again, a second or more later.
const WAITING: u32 = 1024;

fn listen(bind: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match bind {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A gateway that is started again takes over its address at once.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(bind)?;
    socket.listen(WAITING)
}

/// Serves one client on stdin and stdout until it closes stdin.
pub(crate) async fn serve_stdio(
    app: App,
    follower: Follower,
    surface: Option<Surface>,
    stdin: &mut (impl AsyncBufRead + Unpin),
) -> anyhow::Result<()> {
    app.host().gateway().services.index.ready().await?;
    app.host().gateway().services.meter.export()?;
    work_beside_requests(&app, follower, ServingTransport::Stdio);
    let door = surface.map_or(McpEndpoint::Main, McpEndpoint::Surface);
    let mut listing = tokio::spawn(list_servers::list_unknown(app.host().clone()));
    let enough = tokio::time::Instant::now() + FIRST_LISTING;
    let ended = CancellationToken::new();
    tokio::spawn(until_asked_to_end(ended.clone(), app.host().clone()));
    let serving = async {
        front::stdio::serve(app.host().clone(), door, stdin, tokio::io::stdout(), &ended).await?;
        // A client that asks one thing and leaves would otherwise never let the servers
        // finish their introduction, and the next such client would find nothing again.
        let listed = tokio::time::timeout_at(enough, &mut listing);
        tokio::select! {
            _ = listed => {}
            () = ended.cancelled() => {}
        }
        Ok::<_, std::io::Error>(())
    };
    let drained = async {
        ended.cancelled().await;
        tokio::time::sleep(LAST_CALLS).await;
    };
    tokio::select! {
        served = serving => served?,
        () = drained => {}
    }
    listing.abort();
    app.close().await;
    Ok(())
}

fn work_beside_requests(app: &App, follower: Follower, entrance: ServingTransport) {
    app.host().start_drift_log();
    app.work_until_closed([
        tokio::spawn(follower.follow(app.host().clone(), entrance)).abort_handle(),
        tokio::spawn(background::follow_catalog(app.host().clone())).abort_handle(),
        tokio::spawn(background::delete_old_audit(app.host().clone())).abort_handle(),
        tokio::spawn(priors_schedule::follow(app.host().clone())).abort_handle(),
        tokio::spawn(background::expire_lessons(app.host().clone())).abort_handle(),
        tokio::spawn(background::close_revoked_keys(app.host().clone())).abort_handle(),
        tokio::spawn(background::record_key_uses(app.host().clone())).abort_handle(),
        tokio::spawn(follow_store::follow_store(app.host().clone())).abort_handle(),
        tokio::spawn(follow_tool_files::follow_tool_files(app.host().clone())).abort_handle(),
        tokio::spawn(check_templates(app.host().gateway())).abort_handle(),
    ]);
}

fn banner(app: &App, address: SocketAddr) -> Banner {
    let gateway = app.host().gateway();
    // The built-in servers are there for every client; the person wants to read of their own.
    let own: Vec<_> = gateway
        .upstreams
        .iter()
        .filter(|server| !server.spec().is_built_in())
        .collect();
    let known = own
        .iter()
        .filter(|server| server.listing().is_some())
        .count();
    let catalog = gateway.catalog();
    let owners = catalog.tools.iter().map(|entry| &entry.capability.server);
    let tools = owners
        .filter(|owner| own.iter().any(|server| server.name() == *owner))
        .count();
    Banner {
        endpoint: format!("http://{address}/mcp"),
        known,
        asking: own.len() - known,
        tools,
    }
}

async fn until_asked_to_end(ended: CancellationToken, host: Arc<GatewayHost>) {
    asked_to_end().await;
    ended.cancel();
    host.gateway().services.sessions.close_announcements();
}

/// Comes back when the process is asked to end.
pub(crate) async fn asked_to_end() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let Ok(mut terminate) =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        else {
            return pending().await;
        };
        tokio::select! {
            _ = interrupt => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = interrupt.await;
}
