//! The state shared by all clients of this process.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::catalog::ForeignTool;
use crate::cli::{Misbehaviour, Served};
use crate::edited;
use crate::seal::Sealer;
use crate::subscriptions::{AnnouncedChange, Listeners};
use crate::tasks::TaskTable;

#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) era: Served,
    pub(crate) sealer: Sealer,
    pub(crate) listeners: Listeners,
    pub(crate) tasks: TaskTable,
    /// True if the page of `url_elicitation` counts as visited.
    pub(crate) visited: AtomicBool,
    misbehaviours: Vec<Misbehaviour>,
    data_dir: Option<PathBuf>,
    added_tools: AtomicUsize,
    /// True once `turncoat` was called, and has another definition.
    redefined: AtomicBool,
    floods: AtomicBool,
    /// True once a call has made the server deaf.
    deaf: AtomicBool,
    /// Tools of other servers, listed instead of its own.
    pub(crate) foreign_tools: Option<Vec<ForeignTool>>,
}

impl TestServer {
    pub(crate) fn new(
        era: Served,
        misbehaviours: Vec<Misbehaviour>,
        data_dir: Option<PathBuf>,
    ) -> Arc<Self> {
        Arc::new(Self::with(era, misbehaviours, data_dir, None))
    }

    /// Returns a server that lists only these tools.
    pub(crate) fn listing(era: Served, tools: Vec<ForeignTool>) -> Arc<Self> {
        Arc::new(Self::with(era, Vec::new(), None, Some(tools)))
    }

    fn with(
        era: Served,
        misbehaviours: Vec<Misbehaviour>,
        data_dir: Option<PathBuf>,
        foreign_tools: Option<Vec<ForeignTool>>,
    ) -> Self {
        Self {
            era,
            sealer: Sealer::new(),
            listeners: Listeners::default(),
            tasks: TaskTable::default(),
            visited: AtomicBool::new(false),
            misbehaviours,
            data_dir,
            added_tools: AtomicUsize::new(0),
            redefined: AtomicBool::new(false),
            floods: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            foreign_tools,
        }
    }

    /// Returns its instructions; none of its own when it acts as another server.
    pub(crate) fn instructions(&self) -> Option<String> {
        edited::instructions(self).or_else(|| {
            self.foreign_tools
                .is_none()
                .then(|| INSTRUCTIONS.to_owned())
        })
    }

    /// Returns true the first time.
    pub(crate) fn begins_to_flood(&self) -> bool {
        !self.floods.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn has(&self, misbehaviour: Misbehaviour) -> bool {
        self.misbehaviours.contains(&misbehaviour)
    }

    /// Writes a line for the test that started this server.
    pub(crate) fn note(&self, event: &str) {
        let Some(dir) = &self.data_dir else { return };
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join("events.log"))
            .and_then(|mut file| file.write_all(format!("{event}\n").as_bytes()));
        if let Err(error) = written {
            let _ = writeln!(std::io::stderr(), "cannot write events.log: {error}");
        }
    }

    pub(crate) fn in_data_dir(&self, file: &str) -> Option<PathBuf> {
        self.data_dir.as_ref().map(|dir| dir.join(file))
    }

    /// Waits until a test has created a file with this name.
    pub(crate) async fn wait_for_file(&self, name: &str) {
        let Some(dir) = &self.data_dir else {
            return std::future::pending().await;
        };
        while !dir.join(name).exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the content of a file that a test has written.
    pub(crate) fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.in_data_dir(file)?).ok()
    }

    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::SeqCst)
    }

    pub(crate) fn deafen(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    pub(crate) fn added_tools(&self) -> usize {
        self.added_tools.load(Ordering::SeqCst)
    }

    pub(crate) fn is_redefined(&self) -> bool {
        self.redefined.load(Ordering::SeqCst)
    }

    /// Gives `turncoat` another definition from now on.
    pub(crate) fn redefine(&self) {
        self.redefined.store(true, Ordering::SeqCst);
        self.listeners.announce(&AnnouncedChange::Tools);
    }

    /// Adds a tool to the list, and returns its number.
    pub(crate) fn add_tool(&self) -> usize {
        let number = self.added_tools.fetch_add(1, Ordering::SeqCst) + 1;
        self.listeners.announce(&AnnouncedChange::Tools);
        number
    }
}

const INSTRUCTIONS: &str = "A server for tests: every tool does what its description says.";

pub(crate) fn implementation() -> Value {
    json!({ "name": "kitbag-testbed", "title": "Kitbag testbed", "version": env!("CARGO_PKG_VERSION") })
}
