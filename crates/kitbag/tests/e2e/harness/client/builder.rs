//! Configures a client before its first request.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Client, Connection, Era};

/// A client that has not sent anything yet.
pub(crate) struct ClientBuilder(pub(super) Client);

impl ClientBuilder {
    pub(crate) fn key(mut self, key: &str) -> Self {
        match &mut self.0.connection {
            Connection::Http { key: slot, .. } => *slot = Some(key.to_owned()),
            Connection::Stdio(_) => panic!("a client on stdio has no key"),
        }
        self
    }

    pub(crate) fn capabilities(mut self, capabilities: Value) -> Self {
        self.0.capabilities = capabilities;
        self
    }

    /// Declares sampling, elicitation and roots, and answers with this function.
    pub(crate) fn answer_with(
        mut self,
        answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.0.answer = Some(Arc::new(answer));
        self.capabilities(
            json!({ "sampling": {}, "elicitation": { "form": {}, "url": {} }, "roots": {} }),
        )
    }

    /// The log level that a modern client sends with every request.
    pub(crate) fn log_level(mut self, level: &str) -> Self {
        self.0.log_level = Some(level.to_owned());
        self
    }

    /// The revision that a legacy client proposes and sends in its headers.
    pub(crate) fn with_version(mut self, version: &'static str) -> Self {
        self.0.version = version;
        self
    }

    /// The client's name; `e2e` by default.
    pub(crate) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.0.name);
        self
    }

    pub(crate) async fn connect(self) -> Client {
        let mut client = self.0;
        if client.era == Era::Legacy {
            let reply = client.initialize().await;
            client.greeting = reply.result();
            if let (Connection::Http { session, .. }, Some(id)) =
                (&mut client.connection, reply.headers.get("mcp-session-id"))
            {
                *session = Some(id.to_str().unwrap().to_owned());
            }
            client.notify("notifications/initialized", &json!({})).await;
        }
        client
    }

    /// Returns the client without a handshake, for invalid requests.
    pub(crate) fn without_handshake(self) -> Client {
        self.0
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientBuilder").field(&self.0).finish()
    }
}
