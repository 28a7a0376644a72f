//! Lists servers for commands that need their capabilities, and reports the servers that fail.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kitbag_domain::ServerName;
use kitbag_upstream::{CallError, Server, StartError};
use serde::{Deserialize, Serialize};

use super::App;
use crate::catalog::list_servers::{ListingPermits, refresh_listing};
use crate::front::announce::ListChanges;

/// How long a command waits, from the first request on, for a server that is already being listed.
const LISTING_TIMEOUT: Duration = Duration::from_secs(10);

/// A server whose tools are unknown, and the reason in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedServer {
    pub server: ServerName,
    pub reason: String,
}

impl App {
    /// Lists every server that was never listed, or only this one. A gateway that failed to list a
    /// server tries again in the background, so that commands do not wait for a failing server,
    /// except a command about that server.
    pub async fn list_unlisted(&self, only: Option<&ServerName>) -> Vec<UnlistedServer> {
        let permits = ListingPermits::default();
        let (gateway, permits) = (self.host.gateway(), &permits);
        let unknown = gateway.upstreams.iter().filter(|server| {
            server.listing().is_none() && only.is_none_or(|only| only == server.name())
        });
        let listings = unknown.map(async |server| match only {
            Some(_) => self.list_server(server, permits).await,
            None => self.list_unless_failing(server, permits).await,
        });
        join_all(listings).await.into_iter().flatten().collect()
    }

    /// Lists all servers again.
    pub(super) async fn relist_all(&self) -> Vec<UnlistedServer> {
        let permits = ListingPermits::default();
        let gateway = self.host.gateway();
        let listings = gateway.upstreams.iter();
        let listings = listings.map(|server| self.list_server(server, &permits));
        join_all(listings).await.into_iter().flatten().collect()
    }

    async fn list_server(
        &self,
        server: &Arc<Server>,
        permits: &ListingPermits,
    ) -> Option<UnlistedServer> {
        let listed = permits.list_server(&self.host, server).await;
        listed.err().map(|error| UnlistedServer::from_error(&error))
    }

    async fn list_unless_failing(
        &self,
        server: &Arc<Server>,
        permits: &ListingPermits,
    ) -> Option<UnlistedServer> {
        if let Some(failure) = server.list_failure() {
            if !server.is_reading_lists() {
                let (host, server) = (self.host.clone(), server.clone());
                tokio::spawn(async move {
                    refresh_listing(&host, &server, ListChanges::default()).await
                });
            }
            return Some(UnlistedServer::from_error(&failure));
        }
        let Some(since) = server.first_listed_at() else {
            return self.list_server(server, permits).await;
        };
        match tokio::time::timeout_at(since + LISTING_TIMEOUT, self.list_server(server, permits))
            .await
        {
            Ok(silent) => silent,
            Err(_) => Some(UnlistedServer {
                server: server.name().clone(),
                reason: format!("`{}` is still being listed", server.name()),
            }),
        }
    }
}

impl UnlistedServer {
    /// Reports the cause rather than the number of failures.
    fn from_error(error: &CallError) -> Self {
        let reason = match error {
            CallError::Start(StartError::BackingOff { last, .. }) => last.to_string(),
            other => other.to_string(),
        };
        Self {
            server: error.server().clone(),
            reason: reason.lines().next().unwrap_or_default().to_owned(),
        }
    }
}
