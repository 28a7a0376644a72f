//! The place of an attempt at a task: an empty folder, servers that are launched anew, and a gateway
//! in front of them that remembers nothing of earlier attempts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use anyhow::Context as _;
use kitbag_config::{Config, StorePlace};
use kitbag_domain::sync::lock;
use kitbag_domain::{Launch, Reach, Surface, Template};
use kitbag_eval::suite::CallArguments;
use kitbag_eval::{Called, ExamSurface, ExamTools, WORKSPACE, Workplace, Workplaces};
use kitbag_gateway::admin::app::App;
use kitbag_gateway::admin::measured_client::MeasuredClient;
use kitbag_upstream::ServerKind;
use tempfile::TempDir;

use super::server::{Examined, ToolNames, called, own_tool};

/// The folders of attempts. A folder that is free again is emptied and used anew, so that the vectors
/// of the tools are computed once for each.
#[derive(Debug)]
pub(super) struct ExamFolders {
    config: Config,
    root: TempDir,
    free: Mutex<Vec<PathBuf>>,
    made: AtomicUsize,
}

/// The places of an exam. What servers list is known from the gateway that was opened first.
pub(super) struct ExamPlaces<'a> {
    pub(super) folders: &'a ExamFolders,
    pub(super) examined: &'a Examined,
}

pub(super) struct FreshPlace<'a> {
    folders: &'a ExamFolders,
    names: &'a ToolNames,
    app: App,
    slot: PathBuf,
    workspace: String,
    client: MeasuredClient,
    /// The last row of the audit that is not about the model.
    row: AtomicI64,
}

impl ExamFolders {
    pub(super) fn new(config: Config) -> anyhow::Result<Self> {
        Ok(Self {
            config,
            root: TempDir::with_prefix("kitbag-eval-").context("no temporary folder")?,
            free: Mutex::default(),
            made: AtomicUsize::new(0),
        })
    }

    /// Returns a configuration whose servers work in the folder of one attempt.
    pub(super) fn config_in(&self, slot: &Path) -> Config {
        let mut config = self.config.clone();
        let workspace = text(&slot.join(INSIDE));
        for spec in config.servers.values_mut() {
            if let ServerKind::External(Reach::Command(launch)) = &mut spec.kind {
                fill(launch, &workspace);
            }
        }
        config.data_dir = slot.join("data");
        config.store = StorePlace::File(config.data_dir.join("kitbag.db"));
        config
    }

    /// Returns a folder that no attempt uses now, with an empty workspace in it.
    pub(super) fn take(&self) -> std::io::Result<PathBuf> {
        let free = lock(&self.free).pop();
        let slot = free.unwrap_or_else(|| self.next());
        let workspace = slot.join(INSIDE);
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        fs::create_dir_all(&workspace)?;
        Ok(slot)
    }

    fn next(&self) -> PathBuf {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        self.root.path().join(number.to_string())
    }
}

/// The folder of an attempt that servers and models know of.
const INSIDE: &str = "workspace";

fn fill(launch: &mut Launch<Template>, workspace: &str) {
    let env = launch.env.iter_mut().map(|(_, value)| value);
    for template in launch.args.iter_mut().chain(env) {
        *template = Template::new(template.source().replace(WORKSPACE, workspace));
    }
    // A relative path was taken as one below the folder of the configuration.
    let cwd = launch.cwd.as_deref().map(text);
    if let Some((_, below)) = cwd.as_deref().and_then(|it| it.split_once(WORKSPACE)) {
        launch.cwd = Some(format!("{workspace}{below}").into());
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl<'a> Workplaces for ExamPlaces<'a> {
    type Place = FreshPlace<'a>;

    async fn open(&self, surface: ExamSurface) -> Result<FreshPlace<'a>, String> {
        self.opened(surface).await.map_err(|it| format!("{it:#}"))
    }
}

impl<'a> ExamPlaces<'a> {
    async fn opened(&self, surface: ExamSurface) -> anyhow::Result<FreshPlace<'a>> {
        let slot = self.folders.take()?;
        let app = App::open(&self.folders.config_in(&slot)).await?;
        app.take_listings(self.examined.app()).await;
        if surface != ExamSurface::All {
            app.index_in_part().await?;
        }
        let row = AtomicI64::new(app.audited().await?);
        Ok(FreshPlace {
            folders: self.folders,
            names: self.examined.names(),
            app,
            workspace: text(&slot.join(INSIDE)),
            slot,
            client: MeasuredClient {
                surface: shown(surface),
                id: "exam".to_owned(),
            },
            row,
        })
    }
}

pub(super) fn shown(surface: ExamSurface) -> Surface {
    match surface {
        ExamSurface::All => Surface::All,
        ExamSurface::Search => Surface::Search,
        ExamSurface::Adaptive => Surface::Adaptive,
        ExamSurface::Code => Surface::Code,
    }
}

impl FreshPlace<'_> {
    async fn call_by_name(&self, tool: &str, arguments: CallArguments) -> Called {
        let name = self.names.exposed(tool);
        match self.app.measure(name, arguments).await {
            Ok(result) => Called::new(&result),
            Err(error) => Called::failure(format!("{error:#}")),
        }
    }
}

impl Workplace for FreshPlace<'_> {
    fn folder(&self) -> &str {
        &self.workspace
    }

    async fn listed(&self) -> Result<ExamTools, String> {
        let listed = self.app.list_for(&self.client).await;
        let listed = listed.map_err(|failure| failure.to_string())?;
        Ok(ExamTools::new(listed.iter().map(own_tool).collect()))
    }

    async fn call(&self, tool: String, arguments: CallArguments) -> Called {
        match self.app.call_for(&self.client, &tool, arguments).await {
            Ok(result) => called(&result),
            Err(failure) => Called::failure(failure.to_string()),
        }
    }

    async fn play(&self, tool: String, arguments: CallArguments) -> Called {
        self.call_by_name(&tool, arguments).await
    }

    async fn arrange(&self, tool: String, arguments: CallArguments) -> Called {
        let called = self.call_by_name(&tool, arguments).await;
        if let Ok(row) = self.app.audited().await {
            self.row.store(row, Ordering::Relaxed);
        }
        called
    }

    async fn reached(&self) -> Vec<String> {
        let calls = self.app.calls_since(self.row.load(Ordering::Relaxed)).await;
        let calls = calls.unwrap_or_default().into_iter();
        let reached = calls.filter(|it| it.succeeded);
        reached.map(|it| self.names.spelt(it.tool)).collect()
    }

    async fn close(self) {
        self.app.close_beside_others().await;
        lock(&self.folders.free).push(self.slot);
    }
}
