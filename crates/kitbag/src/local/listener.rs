//! The gateway's end of the local socket: opens it and accepts connections.

use std::sync::Arc;
use std::time::Duration;

use kitbag_config::{Config, ConfigSource};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::serve_connection::{LocalService, serve_connection};
use super::socket::{self, Socket, SocketError};
use super::{Identity, SocketClaim, protocol};
use crate::reload::Freshness;
use kitbag_gateway::admin::app::App;
use kitbag_gateway::front::listener::DRAIN_TIMEOUT;

/// More than the number of clients on one machine. Further connections wait.
const MAX_CONNECTIONS: usize = 256;
/// The interval between attempts to take over the socket of another gateway.
const CLAIM_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after a connection cannot be accepted, such as when no file descriptor is free.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The socket of one gateway, opened before the gateway announces that it serves.
#[derive(Debug)]
pub(crate) struct LocalListener {
    identity: Identity,
    /// `None` while another gateway holds the socket.
    socket: Option<Socket>,
}

impl LocalListener {
    /// Opens the socket. If that fails, logs the reason and returns `None`.
    pub(crate) fn open(at: &ConfigSource, config: &Config) -> Option<Self> {
        let identity = Identity::new(at, config.project.active_path()).ok()?;
        match socket::open(&identity) {
            Ok(SocketClaim::Ours(socket)) => Some(Self {
                identity,
                socket: Some(socket),
            }),
            Ok(SocketClaim::Taken) => {
                tracing::info!(
                    "another gateway serves this configuration and local commands join that one; \
                     reach this one at its address"
                );
                Some(Self {
                    identity,
                    socket: None,
                })
            }
            Err(error) => {
                warn_of_error(&error);
                None
            }
        }
    }

    /// Serves until `ended`, then gives open requests a moment to finish. If another gateway holds
    /// the socket, takes it over when that gateway ends.
    pub(crate) async fn serve(self, app: Arc<App>, fresh: Freshness, ended: CancellationToken) {
        let Some(socket) = self.claim_socket(&ended).await else {
            return;
        };
        tracing::debug!(socket = %socket.path().display(), "local clients can join");
        let service = Arc::new(LocalService {
            app,
            fresh,
            ended: ended.clone(),
        });
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = socket.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok(stream) => drop(connections.spawn(log_error(serve_connection(stream, service.clone())))),
                    Err(error) => {
                        warn_of_error(&error);
                        tokio::time::sleep(ACCEPT_RETRY).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = ended.cancelled() => break,
            }
        }
        drop(socket);
        let all_closed = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, all_closed).await;
    }

    async fn claim_socket(self, ended: &CancellationToken) -> Option<Socket> {
        if self.socket.is_some() {
            return self.socket;
        }
        loop {
            tokio::select! {
                () = tokio::time::sleep(CLAIM_INTERVAL) => {}
                () = ended.cancelled() => return None,
            }
            match socket::open(&self.identity) {
                Ok(SocketClaim::Ours(socket)) => {
                    tracing::info!("the other gateway ended; local commands now join this one");
                    return Some(socket);
                }
                Ok(SocketClaim::Taken) => {}
                Err(error) => {
                    warn_of_error(&error);
                    return None;
                }
            }
        }
    }
}

async fn log_error(conversation: impl Future<Output = Result<(), protocol::LineError>>) {
    if let Err(error) = conversation.await {
        tracing::debug!(%error, "local connection failed");
    }
}

fn warn_of_error(error: &SocketError) {
    tracing::warn!(
        remedy = error.remedy(),
        "local clients cannot join: {error}"
    );
}
