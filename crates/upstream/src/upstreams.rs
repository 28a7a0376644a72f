//! All configured servers together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kitbag_domain::{Lookup, ServerName};
use tokio::sync::mpsc;

use crate::exchange::Identity;
use crate::family;
use crate::inside::Opener;
use crate::listing::Listing;
use crate::log::ServerLog;
use crate::oauth::Logins;
use crate::process::{sweep_orphans, sweep_own};
use crate::router::{NOTICE_BACKLOG, Notice};
use crate::server::Server;
use crate::spec::ServerSpec;

/// How often servers are looked at for having nothing to do.
const REAP_EVERY: Duration = Duration::from_secs(1);
/// How often it is noted who descends from whom. Each time every process of the machine is read.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What this room is handed by the house.
#[derive(Clone)]
pub struct Outside {
    /// Asked for variables at each start.
    pub lookup: Lookup,
    /// Without it nobody can log in anywhere.
    pub logins: Option<Logins>,
    /// Opens the servers that run in this process; without it there are none.
    pub inside: Option<Opener>,
    /// Another one when those who were handed the former could not go on with it, such as after
    /// the key to all secrets was moved.
    pub edition: &'static str,
}

#[derive(Debug)]
pub struct Upstreams {
    servers: BTreeMap<ServerName, Arc<Server>>,
    log_dir: Option<PathBuf>,
    notices: mpsc::Sender<Notice>,
}

impl Upstreams {
    /// Takes the servers in without starting any. Each may come with what it offered in an
    /// earlier run. The receiver yields what servers announce.
    pub fn new(
        servers: impl IntoIterator<Item = (ServerSpec, Option<Listing>)>,
        log_dir: Option<&Path>,
        outside: &Outside,
    ) -> (Arc<Self>, mpsc::Receiver<Notice>) {
        let (notices, announced) = mpsc::channel(NOTICE_BACKLOG);
        let empty = Self {
            servers: BTreeMap::new(),
            log_dir: log_dir.map(Path::to_owned),
            notices,
        };
        tokio::spawn(sweep_orphans());
        (empty.succeeded_by(servers, outside), announced)
    }

    /// The same house with other servers: one whose specification has not changed goes on as it
    /// is. Those that are left out go on, too, until somebody [retires](Server::retire) them.
    pub fn succeeded_by(
        &self,
        servers: impl IntoIterator<Item = (ServerSpec, Option<Listing>)>,
        outside: &Outside,
    ) -> Arc<Self> {
        let mut next = BTreeMap::new();
        for (spec, listing) in servers {
            let former = self.servers.get(&spec.name);
            let goes_on =
                |it: &&Arc<Server>| *it.spec() == spec && it.ground.edition == outside.edition;
            let server = match former.filter(goes_on) {
                Some(same) => same.clone(),
                None => self.open(spec, listing, outside, former.map(Arc::as_ref)),
            };
            next.insert(server.name().clone(), server);
        }
        let (log_dir, notices) = (self.log_dir.clone(), self.notices.clone());
        let upstreams = Arc::new(Self {
            servers: next,
            log_dir,
            notices,
        });
        tokio::spawn(reap(Arc::downgrade(&upstreams)));
        upstreams
    }

    fn open(
        &self,
        spec: ServerSpec,
        listing: Option<Listing>,
        outside: &Outside,
        former: Option<&Server>,
    ) -> Arc<Server> {
        let log = ServerLog::new(
            self.log_dir
                .as_ref()
                .map(|dir| dir.join(format!("{}.log", spec.name))),
        );
        Server::new(spec, listing, log, outside, self.notices.clone(), former)
    }

    pub fn get(&self, name: &ServerName) -> Option<&Arc<Server>> {
        self.servers.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values()
    }

    /// A client has said that its roots are others now. Servers that work for it alone hear of it
    /// with its next call.
    pub fn roots_changed(&self, client: &Identity) {
        for server in self.iter() {
            server.roots_changed(client);
        }
    }

    /// Stops all servers and waits until their processes are gone.
    pub async fn shutdown(&self) {
        futures::future::join_all(self.servers.values().map(|server| server.shut())).await;
        sweep_own().await;
    }
}

async fn reap(upstreams: Weak<Upstreams>) {
    let mut looked = Instant::now();
    loop {
        tokio::time::sleep(REAP_EVERY).await;
        let Some(upstreams) = upstreams.upgrade() else {
            return;
        };
        if looked.elapsed() >= LOOK_EVERY {
            family::look();
            looked = Instant::now();
        }
        for server in upstreams.iter() {
            server.stop_if_idle().await;
        }
    }
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}
