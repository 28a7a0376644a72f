//! Runs a gateway over HTTP or on stdin and stdout until it is asked to end.

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
use crate::pages::Pages;
use crate::reload::{ConfigFollower, ServingTransport};
use kitbag_gateway::admin::app::App;
use kitbag_gateway::catalog::list_servers;
use kitbag_gateway::front;
use kitbag_gateway::front::listener::DRAIN_TIMEOUT;
use kitbag_gateway::learning::priors_schedule;
use kitbag_gateway::learning::template_check::check_templates;
use kitbag_gateway::state::background;
use kitbag_gateway::state::follow_store;
use kitbag_gateway::state::follow_tool_files;
use kitbag_gateway::state::host::GatewayHost;
use kitbag_gateway::turn::view::McpEndpoint;

/// The minimum time, counted from the start, to list servers for the first time, even if the only
/// client has left by then.
const FIRST_LISTING: Duration = Duration::from_secs(5);
/// The time to finish such listings after the gateway was asked to end.
const LAST_LISTING: Duration = Duration::from_secs(1);

/// The facts to print when the gateway begins to serve.
#[derive(Debug)]
pub(crate) struct Banner {
    pub(crate) endpoint: String,
    /// The address of the web pages.
    pub(crate) pages: String,
    /// The number of servers with a listing from an earlier run.
    pub(crate) known: usize,
    /// The number of servers that are being listed for the first time.
    pub(crate) asking: usize,
    pub(crate) tools: usize,
}

/// Serves HTTP until the process is asked to end.
pub(crate) async fn serve_http(
    app: App,
    follower: ConfigFollower,
    ready: impl FnOnce(&Banner),
) -> anyhow::Result<()> {
    let gateway = app.host().gateway();
    check_keys(&gateway.serve, &gateway.services.store).await?;
    for tenant in unknown_tenants(&gateway.policy, &gateway.services.store).await? {
        tracing::warn!(%tenant, "{}", UnknownTenant::MESSAGE);
    }
    let bind = gateway.serve.bind;
    let listener = listen(bind).with_context(|| format!("cannot listen on {bind}"))?;
    gateway.services.index.check_embedder().await?;
    gateway.services.meter.start_export()?;
    drop(gateway);
    let address = listener.local_addr()?;
    app.set_address(address);
    let (local, fresh, source) = (
        LocalListener::open(follower.source(), follower.initial_config()),
        follower.freshness(),
        follower.source().clone(),
    );
    ready(&build_banner(&app, address));
    let mut listing = tokio::spawn(list_servers::list_new_servers(app.host().clone()));
    spawn_background_tasks(&app, follower, ServingTransport::Http);
    let ended = CancellationToken::new();
    tokio::spawn(cancel_on_signal(ended.clone(), app.host().clone()));
    let app = Arc::new(app);
    let pages = Pages::new(app.clone(), source, ended.clone()).into_router();
    let serving = front::listener::serve(listener, app.host().clone(), pages, ended.clone());
    let joining = OptionFuture::from(local.map(|local| local.serve(app.clone(), fresh, ended)));
    tokio::join!(serving, joining);
    // Save listings that clients have seen part of for the next start.
    let _ = tokio::time::timeout(LAST_LISTING, &mut listing).await;
    listing.abort();
    app.close().await;
    Ok(())
}

/// The backlog of connections to accept. With the usual 128, some of a thousand clients that
/// connect at once must retry a second or more later.
const BACKLOG: u32 = 1024;

fn listen(bind: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match bind {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Lets a restarted gateway use its address at once.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(bind)?;
    socket.listen(BACKLOG)
}

/// Serves one client on stdin and stdout until it closes stdin.
pub(crate) async fn serve_stdio(
    app: App,
    follower: ConfigFollower,
    surface: Option<Surface>,
    stdin: &mut (impl AsyncBufRead + Unpin),
) -> anyhow::Result<()> {
    app.host().gateway().services.index.check_embedder().await?;
    app.host().gateway().services.meter.start_export()?;
    spawn_background_tasks(&app, follower, ServingTransport::Stdio);
    let endpoint = surface.map_or(McpEndpoint::Main, McpEndpoint::Surface);
    let mut listing = tokio::spawn(list_servers::list_new_servers(app.host().clone()));
    let listing_deadline = tokio::time::Instant::now() + FIRST_LISTING;
    let ended = CancellationToken::new();
    tokio::spawn(cancel_on_signal(ended.clone(), app.host().clone()));
    let serving = async {
        front::stdio::serve(
            app.host().clone(),
            endpoint,
            stdin,
            tokio::io::stdout(),
            &ended,
        )
        .await?;
        // Otherwise the listings would never finish if each client leaves after one request, and
        // no client would find any tools.
        let listed = tokio::time::timeout_at(listing_deadline, &mut listing);
        tokio::select! {
            _ = listed => {}
            () = ended.cancelled() => {}
        }
        Ok::<_, std::io::Error>(())
    };
    let drained = async {
        ended.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::select! {
        served = serving => served?,
        () = drained => {}
    }
    listing.abort();
    app.close().await;
    Ok(())
}

fn spawn_background_tasks(app: &App, follower: ConfigFollower, transport: ServingTransport) {
    app.host().start_drift_log();
    app.abort_on_close([
        tokio::spawn(follower.follow(app.host().clone(), transport)).abort_handle(),
        tokio::spawn(background::follow_catalog(app.host().clone())).abort_handle(),
        tokio::spawn(background::delete_old_audit_rows(app.host().clone())).abort_handle(),
        tokio::spawn(priors_schedule::follow_schedule(app.host().clone())).abort_handle(),
        tokio::spawn(background::expire_lessons(app.host().clone())).abort_handle(),
        tokio::spawn(background::close_revoked_keys(app.host().clone())).abort_handle(),
        tokio::spawn(background::record_key_uses(app.host().clone())).abort_handle(),
        tokio::spawn(follow_store::follow_store(app.host().clone())).abort_handle(),
        tokio::spawn(follow_tool_files::follow_tool_files(app.host().clone())).abort_handle(),
        tokio::spawn(check_templates(app.host().gateway())).abort_handle(),
    ]);
}

fn build_banner(app: &App, address: SocketAddr) -> Banner {
    let gateway = app.host().gateway();
    // Counts only the user's own servers, not the built-in ones.
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
        pages: format!("http://{address}/ui"),
        known,
        asking: own.len() - known,
        tools,
    }
}

async fn cancel_on_signal(ended: CancellationToken, host: Arc<GatewayHost>) {
    wait_for_signal().await;
    ended.cancel();
    host.gateway().services.sessions.close_announcements();
}

/// Waits for a signal that asks the process to end.
pub(crate) async fn wait_for_signal() {
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
