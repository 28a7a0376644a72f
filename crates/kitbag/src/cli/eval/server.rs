//! The server under test: the tools that models see, and how they are called.

use std::collections::HashMap;

use anyhow::{anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::{Launch, Reach, ServerName, Template};
use kitbag_eval::{EvalSurface, EvalTool, EvalTools, ReachedCall, SurfaceResult, ToolResult};
use kitbag_upstream::{ServerKind, ServerLimits, ServerSpec};
use kitbag_wire::Raw;
use serde_json::{Map, Value};

use super::environments::gateway_surface;
use crate::cli::Invocation;
use crate::cli::completions::servers;
use crate::cli::failure::with_advice;
use crate::cli::gateway::fetch_all_listings;
use crate::cli::servers::find;
use kitbag_gateway::admin::app::App;
use kitbag_gateway::admin::eval_client::EvalClient;
use kitbag_gateway::admin::offers::ToolRow;

#[derive(Debug, Args)]
#[command(next_help_heading = "Tools")]
pub(super) struct ServerChoice {
    /// Server whose tools models see [default: agents].
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(servers))]
    server: Option<ServerName>,
    /// Show models the tools of all servers.
    #[arg(long, conflicts_with = "server")]
    all: bool,
    /// Program to launch as the server, after `--`.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["server", "all"])]
    command: Vec<String>,
}

/// A gateway with the servers under test.
pub(super) struct EvalGateway {
    pub(super) tools: EvalTools,
    app: App,
    names: ToolNames,
}

/// Tool names in the suite and at the endpoint.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    exposed: HashMap<String, String>,
    suite_names: HashMap<String, String>,
}

impl ToolNames {
    /// Returns the endpoint's name for a tool of the suite.
    pub(super) fn exposed_name<'a>(&'a self, tool: &'a str) -> &'a str {
        self.exposed.get(tool).map_or(tool, String::as_str)
    }

    /// Returns the suite's name for a tool of the endpoint.
    pub(super) fn suite_name(&self, tool: String) -> String {
        self.suite_names.get(&tool).cloned().unwrap_or(tool)
    }
}

impl ServerChoice {
    /// Returns the configuration reduced to the servers under test.
    pub(super) fn config(&self, invocation: &Invocation) -> anyhow::Result<Config> {
        Ok(self.narrow_config(invocation.config()?)?.0)
    }

    /// Opens a gateway for a configuration returned by [`Self::config`].
    pub(super) async fn open_gateway(
        &self,
        narrowed: &Config,
        invocation: &Invocation,
    ) -> anyhow::Result<EvalGateway> {
        let config = invocation.config()?;
        let (_, wanted) = self.narrow_config(config.clone())?;
        let app = App::open(narrowed).await?;
        fetch_all_listings(&app, invocation.output).await;
        let mut rows = app.tool_rows();
        rows.retain(|row| wanted.as_ref().is_none_or(|server| *server == row.server));
        if rows.is_empty() {
            app.close().await;
            return Err(no_tools(wanted.as_ref(), &config));
        }
        Ok(EvalGateway::new(app, rows, wanted.is_some()))
    }

    /// Returns the configuration reduced to the servers under test, with the name if it is a single server.
    /// The other servers are not started.
    fn narrow_config(&self, mut config: Config) -> anyhow::Result<(Config, Option<ServerName>)> {
        if self.all {
            return Ok((config, None));
        }
        let name = match (&self.server, self.command.is_empty()) {
            (Some(name), _) => name.clone(),
            (None, true) => DEFAULT_SERVER.parse()?,
            (None, false) => LAUNCHED_SERVER.parse()?,
        };
        if let Some((command, args)) = self.command.split_first() {
            config
                .servers
                .insert(name.clone(), launched_server(name.clone(), command, args));
        } else if !config.servers.contains_key(&name) && config.disabled.contains_key(&name) {
            bail!("server `{name}` is disabled");
        }
        config.servers.retain(|other, _| *other == name);
        config.providers.clear();
        config.agents.take_if(|built_in| built_in.spec.name != name);
        Ok((config, Some(name)))
    }
}

const DEFAULT_SERVER: &str = "agents";
const LAUNCHED_SERVER: &str = "exam";

impl EvalGateway {
    /// For a single server, models see the server's own tool names where vendors allow them.
    fn new(app: App, rows: Vec<ToolRow>, single: bool) -> Self {
        let mut names = ToolNames::default();
        let mut tools = Vec::with_capacity(rows.len());
        for row in rows {
            let own = single && is_callable(&row.tool) && !names.exposed.contains_key(&row.tool);
            let shown = if own {
                row.tool.clone()
            } else {
                row.name.clone()
            };
            let definition = app
                .tool_definition(&row.name)
                .ok()
                .flatten()
                .unwrap_or_default();
            names.exposed.insert(shown.clone(), row.name.clone());
            names.suite_names.insert(row.name.clone(), shown.clone());
            // A long name is shortened at the endpoint; a suite need not know how.
            let whole = format!("{}__{}", row.server, row.tool);
            let aliases = vec![row.name, row.tool, whole];
            tools.push(EvalTool::new(shown, aliases, &definition));
        }
        Self {
            tools: EvalTools::new(tools),
            app,
            names,
        }
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    pub(super) fn names(&self) -> &ToolNames {
        &self.names
    }

    /// Returns the tools that a model sees first on a surface. For prompts on the surface `all`, tools of
    /// a single server have the server's own names.
    pub(super) async fn shown_tools(&self, surface: EvalSurface) -> anyhow::Result<EvalTools> {
        if surface == EvalSurface::All {
            return Ok(self.tools.clone());
        }
        let client = EvalClient {
            surface: gateway_surface(surface),
            id: "plan".to_owned(),
        };
        let listed = self.app.list_tools_as(&client).await?;
        Ok(EvalTools::new(
            listed.iter().map(parse_listed_tool).collect(),
        ))
    }

    /// Indexes the tools, as in a gateway that has been running for a while.
    pub(super) async fn index_tools(&self) -> anyhow::Result<()> {
        self.app.index_known_tools().await
    }

    /// Makes a model's call on this surface.
    pub(super) async fn call_on_surface(
        &self,
        on: EvalSurface,
        tool: String,
        arguments: Map<String, Value>,
    ) -> SurfaceResult {
        match on {
            EvalSurface::All => {
                let called = self.call(&tool, arguments.clone()).await;
                SurfaceResult::from_direct_call(tool, arguments, called)
            }
            _ => self.call_search_tool(&tool, arguments).await,
        }
    }

    async fn call_search_tool(&self, tool: &str, arguments: Map<String, Value>) -> SurfaceResult {
        let answered = match self.app.search_for_eval(tool, arguments).await {
            Ok(answered) => answered,
            Err(failure) => {
                return SurfaceResult {
                    text: failure.to_string(),
                    failed: true,
                    reached: None,
                };
            }
        };
        let ToolResult { text, failed, .. } = parse_result(&answered.shown);
        let reached = answered.called.map(|it| ReachedCall {
            tool: self.names.suite_name(it.tool),
            // Arguments that are not an object are rejected, and the result says so.
            arguments: serde_json::from_str(it.arguments.get()).unwrap_or_default(),
            called: parse_result(&it.result),
            extra_calls: it.also,
        });
        SurfaceResult {
            text,
            failed,
            reached,
        }
    }

    pub(super) async fn call(&self, tool: &str, arguments: Map<String, Value>) -> ToolResult {
        match self
            .app
            .call_for_eval(self.names.exposed_name(tool), arguments)
            .await
        {
            Ok(result) => ToolResult::new(&result),
            Err(error) => ToolResult::from_error(format!("{error:#}")),
        }
    }

    /// Returns the function with which a suite calls the server's tools.
    pub(super) fn tool_caller(&self) -> impl AsyncFn(String, Map<String, Value>) -> ToolResult {
        async |tool, given| self.call(&tool, given).await
    }

    pub(super) async fn close(self) {
        self.app.close().await;
    }
}

pub(super) fn parse_result(result: &Raw) -> ToolResult {
    match serde_json::from_str(result.get()) {
        Ok(result) => ToolResult::new(&result),
        Err(error) => ToolResult::from_error(error.to_string()),
    }
}

/// Parses an always-on tool, which has the same name everywhere.
pub(super) fn parse_listed_tool(definition: &Value) -> EvalTool {
    let name = definition
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    EvalTool::new(name.to_owned(), Vec::new(), definition)
}

fn launched_server(name: ServerName, command: &str, args: &[String]) -> ServerSpec {
    let launch = Launch {
        command: Template::new(command),
        args: args.iter().map(Template::new).collect(),
        env: Vec::new(),
        cwd: None,
    };
    ServerSpec {
        name,
        kind: ServerKind::External(Reach::Command(launch)),
        description: None,
        oauth: Default::default(),
        era: None,
        limits: ServerLimits::default(),
    }
}

/// True if vendors accept the name as a function name.
fn is_callable(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c))
}

fn no_tools(wanted: Option<&ServerName>, config: &Config) -> anyhow::Error {
    let Some(name) = wanted else {
        return anyhow!("no server offers any tools");
    };
    match find(config, name) {
        Ok(_) => with_advice(
            anyhow!("server `{name}` offers no tools"),
            format!("test it: kitbag servers test {name}"),
        ),
        Err(unknown) => unknown,
    }
}
