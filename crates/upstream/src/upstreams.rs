//! All configured servers together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kitbag_domain::{Lookup, ServerName};
use tokio::sync::mpsc;

use crate::built_in::BuiltInOpener;
use crate::connection::LaunchContext;
use crate::exchange::ClientIdentity;
use crate::listing::Listing;
use crate::log::ServerLog;
use crate::oauth::{Credentials, Logins};
use crate::process::{sweep_orphans, sweep_own};
use crate::process_tree;
use crate::router::{NOTICE_BACKLOG, Notice};
use crate::secret_masking::HashDefinition;
use crate::server::{FindSecrets, Server, ServerParts};
use crate::spec::ServerSpec;

/// Idle servers are stopped within a second of their timeout, which is precise enough for minutes.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Each update of the process tree reads every process of the machine, so it is less frequent.
const TREE_UPDATE_INTERVAL: Duration = Duration::from_secs(5);

/// The gateway services that servers need.
#[derive(Clone)]
pub struct UpstreamContext {
    /// Looks up variables at each start.
    pub lookup: Lookup,
    /// Without it no user can log in at a server.
    pub logins: Option<Logins>,
    /// Opens the built-in servers; without it there are none.
    pub built_in: Option<BuiltInOpener>,
    /// Finds the secrets among a server's values.
    pub find_secrets: FindSecrets,
    pub hash_definition: HashDefinition,
    /// Where the key for secrets is stored. A server opened under another key is opened again.
    pub secrets_key: &'static str,
}

#[derive(Debug)]
pub struct Upstreams {
    servers: BTreeMap<ServerName, Arc<Server>>,
    log_dir: Option<PathBuf>,
    notices: mpsc::Sender<Notice>,
}

impl UpstreamContext {
    pub(crate) fn for_server(&self, spec: &ServerSpec) -> LaunchContext {
        let logins = self.logins.as_ref();
        LaunchContext {
            lookup: self.lookup.clone(),
            credentials: logins.and_then(|logins| Credentials::new(spec, &self.lookup, logins)),
            built_in: self.built_in.clone(),
            secrets_key: self.secrets_key,
            wants_roots: Arc::default(),
            ages: Arc::default(),
            find_secrets: self.find_secrets,
            hash_definition: self.hash_definition,
            pause: Arc::default(),
        }
    }
}

impl Upstreams {
    /// Adds the servers without starting any. Each may come with its lists of an earlier run. The
    /// receiver yields the announcements of servers.
    pub fn new(
        servers: impl IntoIterator<Item = (ServerSpec, Option<Listing>)>,
        log_dir: Option<&Path>,
        context: &UpstreamContext,
    ) -> (Arc<Self>, mpsc::Receiver<Notice>) {
        let (notices, announced) = mpsc::channel(NOTICE_BACKLOG);
        let empty = Self {
            servers: BTreeMap::new(),
            log_dir: log_dir.map(Path::to_owned),
            notices,
        };
        tokio::spawn(sweep_orphans());
        (empty.with_servers(servers, context), announced)
    }

    /// Returns another set of servers, in which a server with an unchanged specification continues
    /// as it is. A removed server continues, too, until it is [retired](Server::retire).
    pub fn with_servers(
        &self,
        servers: impl IntoIterator<Item = (ServerSpec, Option<Listing>)>,
        context: &UpstreamContext,
    ) -> Arc<Self> {
        let mut next = BTreeMap::new();
        for (spec, listing) in servers {
            let server = self.reuse_or_create(spec, listing, context);
            next.insert(server.name().clone(), server);
        }
        let upstreams = Arc::new(Self {
            servers: next,
            log_dir: self.log_dir.clone(),
            notices: self.notices.clone(),
        });
        tokio::spawn(stop_idle_servers(Arc::downgrade(&upstreams)));
        upstreams
    }

    /// Returns the server of that name if it can continue, or else its replacement.
    fn reuse_or_create(
        &self,
        spec: ServerSpec,
        listing: Option<Listing>,
        context: &UpstreamContext,
    ) -> Arc<Server> {
        let former = self.servers.get(&spec.name);
        if let Some(former) = former
            && *former.spec() == spec
            && former.context.secrets_key == context.secrets_key
        {
            return former.clone();
        }
        let parts = ServerParts {
            log: ServerLog::new(self.log_file(&spec.name)),
            spec,
            listing,
            notices: self.notices.clone(),
        };
        Server::new(parts, context, former.map(Arc::as_ref))
    }

    fn log_file(&self, server: &ServerName) -> Option<PathBuf> {
        let folder = self.log_dir.as_ref()?;
        Some(folder.join(format!("{server}.log")))
    }

    pub fn get(&self, name: &ServerName) -> Option<&Arc<Server>> {
        self.servers.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values()
    }

    /// Records that the roots of a client have changed. Servers that work only for this client are
    /// notified with its next call.
    pub fn roots_changed(&self, client: &ClientIdentity) {
        for server in self.iter() {
            server.roots_changed(client);
        }
    }

    /// Stops all servers and waits until their processes are gone, including processes left behind
    /// by other servers of this gateway.
    pub async fn shutdown(&self) {
        self.stop_all().await;
        sweep_own().await;
    }

    /// Stops all servers of this set, but not of other sets in this process.
    pub async fn stop_all(&self) {
        futures::future::join_all(self.servers.values().map(|server| server.stop_for_good())).await;
    }
}

/// Stops idle servers as long as the set of servers exists.
async fn stop_idle_servers(upstreams: Weak<Upstreams>) {
    let mut looked = Instant::now();
    loop {
        tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
        let Some(upstreams) = upstreams.upgrade() else {
            return;
        };
        if looked.elapsed() >= TREE_UPDATE_INTERVAL {
            process_tree::update_tree();
            looked = Instant::now();
        }
        for server in upstreams.iter() {
            server.stop_if_idle().await;
        }
    }
}

impl std::fmt::Debug for UpstreamContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamContext").finish_non_exhaustive()
    }
}
