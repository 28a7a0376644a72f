//! The gateway's local socket for its own user, and the connections to it.

use std::sync::Arc;
use std::time::Duration;

use kitbag_config::{Config, ConfigSource};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::connection::{LocalService, converse};
use super::socket::{self, Socket, SocketError};
use super::{Identity, SocketClaim, protocol};
use crate::reload::Freshness;
use kitbag_gateway::admin::app::App;
use kitbag_gateway::front::listener::LAST_CALLS;

/// The limit is higher than the number of clients on one machine; connections beyond it wait.
const MOST_CONNECTIONS: usize = 256;
/// The interval at which a gateway looks if the gateway that holds the socket has gone.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The time to wait when the system has no more connections to give.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// The local socket of one gateway, opened before clients and the person are told that it serves.
#[derive(Debug)]
pub(crate) struct LocalListener {
    identity: Identity,
    socket: Option<Socket>,
}

impl LocalListener {
    /// Opens the socket. A gateway that cannot have it serves without, and logs the reason.
    pub(crate) fn open(at: &ConfigSource, config: &Config) -> Option<Self> {
        let identity = Identity::of(at, config.project.active_path()).ok()?;
        match socket::open(&identity) {
            Ok(SocketClaim::Ours(socket)) => Some(Self {
                identity,
                socket: Some(socket),
            }),
            Ok(SocketClaim::Taken) => {
                tracing::info!(
                    "another gateway serves this configuration, and local commands join that one; \
                     this one is reached by its address"
                );
                Some(Self {
                    identity,
                    socket: None,
                })
            }
            Err(error) => {
                mention(&error);
                None
            }
        }
    }

    /// Serves until `ended`; requests under way are then given a moment to finish. If another
    /// gateway has the socket, this gateway takes it when the other is gone.
    pub(crate) async fn serve(self, app: Arc<App>, fresh: Freshness, ended: CancellationToken) {
        let Some(socket) = self.claimed(&ended).await else {
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
                accepted = socket.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                    Ok(stream) => drop(connections.spawn(served(converse(stream, service.clone())))),
                    Err(error) => {
                        mention(&error);
                        tokio::time::sleep(EXHAUSTED).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = ended.cancelled() => break,
            }
        }
        drop(socket);
        let all_gone = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_CALLS, all_gone).await;
    }

    async fn claimed(self, ended: &CancellationToken) -> Option<Socket> {
        if self.socket.is_some() {
            return self.socket;
        }
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = ended.cancelled() => return None,
            }
            match socket::open(&self.identity) {
                Ok(SocketClaim::Ours(socket)) => {
                    tracing::info!(
                        "the other gateway is gone; local commands join this one from now on"
                    );
                    return Some(socket);
                }
                Ok(SocketClaim::Taken) => {}
                Err(error) => {
                    mention(&error);
                    return None;
                }
            }
        }
    }
}

async fn served(conversation: impl Future<Output = Result<(), protocol::LineError>>) {
    if let Err(error) = conversation.await {
        tracing::debug!(%error, "a local connection ended badly");
    }
}

fn mention(error: &SocketError) {
    tracing::warn!(
        remedy = error.remedy(),
        "local clients cannot join: {error}"
    );
}
