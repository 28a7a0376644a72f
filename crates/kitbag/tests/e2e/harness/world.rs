//! One gateway in front of four testbeds, and every path from a client to one of them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::client::{Client, ClientBuilder, Era};
use super::exchange::Reply;
use super::gateway::{Gateway, Home};
use super::testbed::{Remote, Testbed};
use super::until;

/// Each era over stdio and over HTTP.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    /// The two servers over HTTP, which a test can also call directly.
    pub(crate) remotes: Vec<(&'static Server, Remote)>,
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) era: Era,
    pub(crate) transport: Transport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

pub(crate) const SERVERS: [Server; 4] = [
    Server {
        name: "oldio",
        era: Era::Legacy,
        transport: Transport::Stdio,
    },
    Server {
        name: "oldweb",
        era: Era::Legacy,
        transport: Transport::Http,
    },
    Server {
        name: "newio",
        era: Era::Modern,
        transport: Transport::Stdio,
    },
    Server {
        name: "newweb",
        era: Era::Modern,
        transport: Transport::Http,
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/mcp`
    All,
    /// `/servers/{name}/mcp`
    One,
    /// The client's own gateway.
    Stdio,
    /// Launched on stdio and relayed to the running gateway.
    Joined,
}

impl Endpoint {
    /// Both ways for a client that can only launch programs.
    pub(crate) const ON_STDIO: [Self; 2] = [Self::Stdio, Self::Joined];
    pub(crate) const ALL: [Self; 4] = [Self::All, Self::One, Self::Stdio, Self::Joined];

    pub(crate) fn is_on_stdio(self) -> bool {
        Self::ON_STDIO.contains(&self)
    }
}

/// A connected client, and the server it is about to use.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) client: Client,
    pub(crate) server: &'static Server,
    pub(crate) endpoint: Endpoint,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with("").await
    }

    /// With extra tables in the configuration.
    pub(crate) async fn with(config: &str) -> Self {
        let home = Home::new("");
        let (mut tables, mut remotes) = (config.to_owned(), Vec::new());
        for server in &SERVERS {
            let data = home.path(server.name);
            match server.transport {
                Transport::Stdio => {
                    let testbed = Testbed::new(server.name).era(server.era()).data_dir(&data);
                    tables.push_str(&testbed.manner("change-tools").table());
                }
                Transport::Http => {
                    let data = data.to_str().unwrap();
                    let args = [
                        "--era",
                        server.era(),
                        "--manner",
                        "change-tools",
                        "--data-dir",
                        data,
                    ];
                    let remote = Remote::http(&args).await;
                    tables.push_str(&remote.table(server.name, ""));
                    remotes.push((server, remote));
                }
            }
        }
        home.configure(&tables);
        let gateway = home.serve().await;
        // From here on, only the tests cause change notifications.
        until("every server is listed", async || {
            gateway
                .log()
                .contains("all servers have been listed")
                .then_some(())
        })
        .await;
        Self { gateway, remotes }
    }

    pub(crate) fn home(&self) -> &Arc<Home> {
        &self.gateway.home
    }

    /// All pairs of eras over all pairs of transports, through every endpoint.
    pub(crate) async fn ways(&self, prepare: impl Fn(ClientBuilder) -> ClientBuilder) -> Vec<Way> {
        let mut ways = Vec::new();
        for client_era in Era::each() {
            for endpoint in Endpoint::ALL {
                ways.extend(self.ways_through(endpoint, client_era, &prepare).await);
            }
        }
        ways
    }

    /// The four paths for clients of this era through this endpoint.
    pub(crate) async fn ways_through(
        &self,
        endpoint: Endpoint,
        client_era: Era,
        prepare: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Vec<Way> {
        let shared = match endpoint {
            Endpoint::One => None,
            Endpoint::All => Some(
                prepare(self.gateway.client_at("/mcp/all", client_era))
                    .connect()
                    .await,
            ),
            Endpoint::Stdio => {
                let flags = ["--surface", "all", "--own"];
                Some(
                    prepare(Client::stdio_with(self.home(), client_era, &flags))
                        .connect()
                        .await,
                )
            }
            Endpoint::Joined => Some(
                prepare(Client::stdio(self.home(), client_era))
                    .connect()
                    .await,
            ),
        };
        let mut ways = Vec::new();
        for server in &SERVERS {
            let client = match &shared {
                Some(client) => {
                    client.knows(&format!("{}__echo", server.name)).await;
                    client.clone()
                }
                None => {
                    prepare(self.gateway.client_at(&server.path(), client_era))
                        .connect()
                        .await
                }
            };
            ways.push(Way {
                client,
                server,
                endpoint,
            });
        }
        ways
    }

    /// How often the server has written this line to its `events.log`.
    pub(crate) fn events(&self, server: &Server, event: &str) -> usize {
        let log = fs::read_to_string(self.home().path(server.name).join("events.log"))
            .unwrap_or_default();
        log.lines().filter(|line| *line == event).count()
    }
}

impl Server {
    pub(crate) fn path(&self) -> String {
        format!("/servers/{}/mcp", self.name)
    }

    /// The value of the testbed's flag.
    pub(crate) fn era(&self) -> &'static str {
        match self.era {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }
}

impl Way {
    /// The client's name of a tool or prompt of the server.
    pub(crate) fn name(&self, own: &str) -> String {
        match self.endpoint {
            Endpoint::One => own.to_owned(),
            Endpoint::All | Endpoint::Stdio | Endpoint::Joined => {
                format!("{}__{own}", self.server.name)
            }
        }
    }

    /// The client's URI of a resource of the server. All four servers have the same resources, so none has
    /// the plain URI.
    pub(crate) fn uri(&self, own: &str) -> String {
        match self.endpoint {
            Endpoint::One => own.to_owned(),
            Endpoint::All | Endpoint::Stdio | Endpoint::Joined => {
                format!("kitbag://server/{}/{own}", self.server.name)
            }
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        self.client.call(&self.name(tool), arguments).await
    }
}

impl Drop for Way {
    /// Prints the path on which a test has failed; the remaining paths print nothing.
    #[expect(
        clippy::print_stderr,
        reason = "the test runner shows it with the failure"
    )]
    fn drop(&mut self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        if std::thread::panicking() && !SAID.swap(true, Ordering::SeqCst) {
            let Self {
                client,
                server,
                endpoint,
            } = self;
            eprintln!(
                "failed for a {:?} client at the endpoint {endpoint:?} and the server {}",
                client.era, server.name
            );
        }
    }
}
