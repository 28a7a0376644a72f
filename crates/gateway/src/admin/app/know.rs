//! Asks servers what they offer, for verbs that need to know, and reports the servers that do not say.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kitbag_domain::ServerName;
use kitbag_upstream::{CallError, Server, StartError};
use serde::{Deserialize, Serialize};

use super::App;
use crate::catalog::list_servers::{ListingPlaces, refresh};
use crate::front::announce::Changes;

/// A verb waits so long, from the first request on, for a server that others are asking already.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// A server whose tools are not known, and the reason in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentServer {
    pub server: ServerName,
    pub reason: String,
}

impl App {
    /// Asks every server that was never listed, or only this one. A gateway that has asked a server
    /// in vain asks it again in the background, so that no verb waits for a server that fails;
    /// only a verb about this one server does.
    pub async fn know(&self, only: Option<&ServerName>) -> Vec<SilentServer> {
        let places = ListingPlaces::default();
        let (gateway, places) = (self.host.gateway(), &places);
        let unknown = gateway.upstreams.iter().filter(|server| {
            server.listing().is_none() && only.is_none_or(|only| only == server.name())
        });
        let asked = unknown.map(async |server| match only {
            Some(_) => self.ask(server, places).await,
            None => self.ask_unless_failing(server, places).await,
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Asks all servers what they offer, whatever is known of them.
    pub(super) async fn ask_all(&self) -> Vec<SilentServer> {
        let places = ListingPlaces::default();
        let gateway = self.host.gateway();
        let asked = gateway.upstreams.iter();
        let asked = asked.map(|server| self.ask(server, &places));
        join_all(asked).await.into_iter().flatten().collect()
    }

    async fn ask(&self, server: &Arc<Server>, places: &ListingPlaces) -> Option<SilentServer> {
        let listed = places.list(&self.host, server).await;
        listed.err().map(|error| SilentServer::of(&error))
    }

    async fn ask_unless_failing(
        &self,
        server: &Arc<Server>,
        places: &ListingPlaces,
    ) -> Option<SilentServer> {
        if let Some(failure) = server.list_failure() {
            if !server.is_being_asked() {
                let (host, server) = (self.host.clone(), server.clone());
                tokio::spawn(async move { refresh(&host, &server, Changes::default()).await });
            }
            return Some(SilentServer::of(&failure));
        }
        let Some(since) = server.first_asked() else {
            return self.ask(server, places).await;
        };
        match tokio::time::timeout_at(since + FIRST_ANSWER, self.ask(server, places)).await {
            Ok(silent) => silent,
            Err(_) => Some(SilentServer {
                server: server.name().clone(),
                reason: format!("`{}` is still being asked what it offers", server.name()),
            }),
        }
    }
}

impl SilentServer {
    /// Tells the cause rather than how often it occurred.
    fn of(error: &CallError) -> Self {
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
