//! The environment of a task attempt: an empty folder, freshly launched servers, and a gateway without
//! data from earlier attempts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use anyhow::Context as _;
use kitbag_config::{Config, StoreLocation};
use kitbag_domain::sync::lock;
use kitbag_domain::{Launch, Reach, Surface, Template};
use kitbag_eval::suite::CallArguments;
use kitbag_eval::{
    EvalSurface, EvalTools, TaskEnvironment, TaskEnvironments, ToolResult, WORKSPACE,
};
use kitbag_gateway::admin::app::App;
use kitbag_gateway::admin::eval_client::EvalClient;
use kitbag_upstream::ServerKind;
use tempfile::TempDir;

use super::server::{EvalGateway, ToolNames, parse_listed_tool, parse_result};

/// The folders of attempts. A free folder is emptied and reused, so that its tool vectors are computed
/// only once.
#[derive(Debug)]
pub(super) struct AttemptFolders {
    config: Config,
    root: TempDir,
    free: Mutex<Vec<PathBuf>>,
    made: AtomicUsize,
}

/// Opens environments, with the listings of the gateway under test.
pub(super) struct GatewayEnvironments<'a> {
    pub(super) folders: &'a AttemptFolders,
    pub(super) gateway: &'a EvalGateway,
}

pub(super) struct GatewayEnvironment<'a> {
    folders: &'a AttemptFolders,
    names: &'a ToolNames,
    app: App,
    slot: PathBuf,
    workspace: String,
    client: EvalClient,
    /// The last audit row before the model's calls.
    setup_row: AtomicI64,
}

impl AttemptFolders {
    pub(super) fn new(config: Config) -> anyhow::Result<Self> {
        Ok(Self {
            config,
            root: TempDir::with_prefix("kitbag-eval-")
                .context("cannot create a temporary folder")?,
            free: Mutex::default(),
            made: AtomicUsize::new(0),
        })
    }

    /// Returns a configuration whose servers work in the folder of one attempt.
    pub(super) fn config_for(&self, slot: &Path) -> Config {
        let mut config = self.config.clone();
        let workspace = path_text(&slot.join(WORKSPACE_FOLDER));
        for spec in config.servers.values_mut() {
            if let ServerKind::External(Reach::Command(launch)) = &mut spec.kind {
                fill_workspace(launch, &workspace);
            }
        }
        config.data_dir = slot.join("data");
        config.store = StoreLocation::File(config.data_dir.join("kitbag.db"));
        config
    }

    /// Returns an unused folder with an empty workspace.
    pub(super) fn take_folder(&self) -> std::io::Result<PathBuf> {
        let free = lock(&self.free).pop();
        let slot = free.unwrap_or_else(|| self.next_folder());
        let workspace = slot.join(WORKSPACE_FOLDER);
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        fs::create_dir_all(&workspace)?;
        Ok(slot)
    }

    fn next_folder(&self) -> PathBuf {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        self.root.path().join(number.to_string())
    }
}

/// The subfolder that servers and models see.
const WORKSPACE_FOLDER: &str = "workspace";

fn fill_workspace(launch: &mut Launch<Template>, workspace: &str) {
    let env = launch.env.iter_mut().map(|(_, value)| value);
    for template in launch.args.iter_mut().chain(env) {
        *template = Template::new(template.source().replace(WORKSPACE, workspace));
    }
    // Relative paths were resolved against the configuration's folder.
    let cwd = launch.cwd.as_deref().map(path_text);
    if let Some((_, below)) = cwd.as_deref().and_then(|it| it.split_once(WORKSPACE)) {
        launch.cwd = Some(format!("{workspace}{below}").into());
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl<'a> TaskEnvironments for GatewayEnvironments<'a> {
    type Environment = GatewayEnvironment<'a>;

    async fn open(&self, surface: EvalSurface) -> Result<GatewayEnvironment<'a>, String> {
        self.open_gateway(surface)
            .await
            .map_err(|it| format!("{it:#}"))
    }
}

impl<'a> GatewayEnvironments<'a> {
    async fn open_gateway(&self, surface: EvalSurface) -> anyhow::Result<GatewayEnvironment<'a>> {
        let slot = self.folders.take_folder()?;
        let app = App::open(&self.folders.config_for(&slot)).await?;
        app.copy_listings(self.gateway.app()).await;
        if surface != EvalSurface::All {
            app.index_known_tools().await?;
        }
        let row = AtomicI64::new(app.last_audit_row().await?);
        Ok(GatewayEnvironment {
            folders: self.folders,
            names: self.gateway.names(),
            app,
            workspace: path_text(&slot.join(WORKSPACE_FOLDER)),
            slot,
            client: EvalClient {
                surface: gateway_surface(surface),
                id: "exam".to_owned(),
            },
            setup_row: row,
        })
    }
}

pub(super) fn gateway_surface(surface: EvalSurface) -> Surface {
    match surface {
        EvalSurface::All => Surface::All,
        EvalSurface::Search => Surface::Search,
        EvalSurface::Adaptive => Surface::Adaptive,
        EvalSurface::Code => Surface::Code,
    }
}

impl GatewayEnvironment<'_> {
    async fn call_by_name(&self, tool: &str, arguments: CallArguments) -> ToolResult {
        let name = self.names.exposed_name(tool);
        match self.app.call_for_eval(name, arguments).await {
            Ok(result) => ToolResult::new(&result),
            Err(error) => ToolResult::from_error(format!("{error:#}")),
        }
    }
}

impl TaskEnvironment for GatewayEnvironment<'_> {
    fn folder(&self) -> &str {
        &self.workspace
    }

    async fn list_tools(&self) -> Result<EvalTools, String> {
        let listed = self.app.list_tools_as(&self.client).await;
        let listed = listed.map_err(|failure| failure.to_string())?;
        Ok(EvalTools::new(
            listed.iter().map(parse_listed_tool).collect(),
        ))
    }

    async fn call_tool(&self, tool: String, arguments: CallArguments) -> ToolResult {
        match self.app.call_tool_as(&self.client, &tool, arguments).await {
            Ok(result) => parse_result(&result),
            Err(failure) => ToolResult::from_error(failure.to_string()),
        }
    }

    async fn call_solution_tool(&self, tool: String, arguments: CallArguments) -> ToolResult {
        self.call_by_name(&tool, arguments).await
    }

    async fn call_setup_tool(&self, tool: String, arguments: CallArguments) -> ToolResult {
        let called = self.call_by_name(&tool, arguments).await;
        if let Ok(row) = self.app.last_audit_row().await {
            self.setup_row.store(row, Ordering::Relaxed);
        }
        called
    }

    async fn succeeded_tools(&self) -> Vec<String> {
        let calls = self
            .app
            .calls_since(self.setup_row.load(Ordering::Relaxed))
            .await;
        let calls = calls.unwrap_or_default().into_iter();
        let reached = calls.filter(|it| it.succeeded);
        reached.map(|it| self.names.suite_name(it.tool)).collect()
    }

    async fn close(self) {
        self.app.close_without_shutdown().await;
        lock(&self.folders.free).push(self.slot);
    }
}
