//! Lists a server again as soon as a person has logged in there, from the command line.

use std::sync::Arc;
use std::time::Duration;

use kitbag_upstream::{Server, StartError};

use crate::announce::Changes;
use crate::background;
use crate::host::GatewayHost;

/// The time within which a running gateway knows of a login from the command line.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Looks for new logins until the gateway closes.
pub async fn follow(host: Arc<GatewayHost>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let gateway = host.gateway();
        for server in gateway
            .upstreams
            .iter()
            .filter(|server| waits_for_login(server))
        {
            let Some(credentials) = server.credentials() else {
                continue;
            };
            if credentials.has_news().await {
                tracing::info!(server = %server.name(), "a person has logged in");
                if let Err(error) = background::refresh(&host, server, Changes::default()).await {
                    tracing::warn!(server = %server.name(), %error, "it cannot be used yet");
                }
            }
        }
    }
}

fn waits_for_login(server: &Server) -> bool {
    server
        .trouble()
        .is_some_and(|trouble| matches!(*trouble, StartError::Login(_)))
}
