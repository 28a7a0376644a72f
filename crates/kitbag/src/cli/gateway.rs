//! The gateway behind a verb: the running one, or one that lives as long as the verb.

use clap::Args;
use kitbag_config::Config;
use kitbag_domain::{ExposedName, ServerName};
use kitbag_gateway::admin::app::{
    App, CallOptions, CallProgress, ServerDefinitions, UnlistedServer,
};
use kitbag_gateway::admin::offers::ToolRow;
use kitbag_gateway::admin::tool_table::ToolSummary;
use kitbag_gateway::state::background;
use serde_json::Value;

use super::Invocation;
use super::output::Output;
use super::servers::find;
use crate::local::gateway_connection::GatewayConnection;
use crate::local::protocol::Want;
use crate::local::requests::{
    FetchDefinitions, FetchListings, GetDefinition, ListTools, LocalRequest, SummarizeTools,
};

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct JoinChoice {
    /// Start separate servers instead of using the running gateway.
    #[arg(long)]
    pub(super) own: bool,
}

pub(super) enum CommandGateway {
    Joined(GatewayConnection),
    Own(Box<App>),
}

impl CommandGateway {
    /// Joins the running gateway of this user and configuration, or opens a gateway.
    pub(super) async fn join_or_open(
        join: JoinChoice,
        config: &Config,
        invocation: &Invocation,
    ) -> anyhow::Result<Self> {
        let running = match join.own {
            false => GatewayConnection::find(&invocation.source, Some(config), Want::Ask).await,
            true => None,
        };
        match running {
            Some(connection) => Ok(Self::Joined(connection)),
            None => Ok(Self::Own(Box::new(App::open(config).await?))),
        }
    }

    /// Lists this server, or all servers that were never listed. Warns of servers that fail.
    pub(super) async fn fetch_listings(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<()> {
        let failed = self.try_fetch_listings(server, output).await?;
        warn_of_missing_tools(&failed, output);
        Ok(())
    }

    /// Lists the server of this tool, or all servers if the name contains no server. If the tool's
    /// server fails, the call reports it.
    pub(super) async fn fetch_listing_of_tool(
        &mut self,
        tool: &str,
        config: &Config,
        output: Output,
    ) -> anyhow::Result<()> {
        match find_owner(tool, config) {
            Some(owner) => self
                .try_fetch_listings(Some(&owner), output)
                .await
                .map(drop),
            None => self.fetch_listings(None, output).await,
        }
    }

    async fn try_fetch_listings(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<UnlistedServer>> {
        let progress = match server {
            Some(_) => "Fetching the server's tools",
            None => FETCHING_TOOLS,
        };
        let server = server.cloned();
        let fetching = self.ask(FetchListings { server });
        output.with_progress(progress, fetching).await
    }

    /// Returns the tools that a local client sees, after listing this server or all servers.
    pub(super) async fn list_tools(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<ToolRow>> {
        self.fetch_listings(server, output).await?;
        self.ask(ListTools {}).await
    }

    /// Like `list_tools`, with the effect, the cost and the use of each tool.
    pub(super) async fn summarize_tools(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<ToolSummary>> {
        self.fetch_listings(server, output).await?;
        let mut tools = self.ask(SummarizeTools {}).await?;
        tools.retain(|tool| tool.unapproved.is_none());
        Ok(tools)
    }

    /// Returns the definition of a tool as clients see it, without asking a server.
    pub(super) async fn get_definition(&mut self, name: &str) -> anyhow::Result<Option<Value>> {
        let name = name.to_owned();
        self.ask(GetDefinition { name }).await
    }

    /// Lists these servers again and returns their definitions unchanged.
    pub(super) async fn fetch_definitions(
        &mut self,
        servers: Vec<ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<ServerDefinitions>> {
        let fetching = self.ask(FetchDefinitions { servers });
        output.with_progress(FETCHING_TOOLS, fetching).await
    }

    pub(super) async fn ask<R: LocalRequest>(&mut self, request: R) -> anyhow::Result<R::Answer> {
        self.ask_with_progress(request, |_| {}).await
    }

    pub(super) async fn ask_with_progress<R: LocalRequest>(
        &mut self,
        request: R,
        mut progress: impl FnMut(CallProgress) + Send,
    ) -> anyhow::Result<R::Answer> {
        match self {
            Self::Joined(connection) => connection.ask(request, progress).await,
            Self::Own(app) => {
                let call = CallOptions::with_progress(&mut progress);
                Box::pin(request.answer(app, call)).await
            }
        }
    }

    /// Keeps the index of a gateway opened for this verb up to date, for programs that search. A
    /// running gateway does so itself.
    pub(super) fn index_in_background(&self) {
        if let Self::Own(app) = self {
            let indexing = tokio::spawn(background::follow_catalog(app.host().clone()));
            app.abort_on_close([indexing.abort_handle()]);
        }
    }

    /// Stops the servers that were started for this verb.
    pub(super) async fn close(self) {
        match self {
            Self::Joined(_) => {}
            Self::Own(app) => app.close().await,
        }
    }
}

/// Sends a request to the running gateway of this user and configuration; `None` without one.
pub(super) async fn ask_running_gateway<R: LocalRequest>(
    request: R,
    config: &Config,
    invocation: &Invocation,
) -> Option<anyhow::Result<R::Answer>> {
    let mut gateway = GatewayConnection::find(&invocation.source, Some(config), Want::Ask).await?;
    Some(gateway.ask(request, |_| {}).await)
}

/// Returns the server to list for a verb with `--server`; an error if it is not configured. Built-in
/// servers and providers need no listing.
pub(super) fn server_to_list<'a>(
    server: Option<&'a ServerName>,
    config: &Config,
) -> anyhow::Result<Option<&'a ServerName>> {
    if let Some(server) = server.filter(|name| !config.providers.contains_key(*name)) {
        find(config, server)?;
    }
    Ok(server.filter(|name| config.servers.contains_key(*name)))
}

/// Returns the configured server in the name of a tool.
pub(super) fn find_owner(tool: &str, config: &Config) -> Option<ServerName> {
    ExposedName::server_in(tool).filter(|server| config.servers.contains_key(server))
}

/// Lists all servers that were never listed, for a verb that always opens its own gateway.
pub(super) async fn fetch_all_listings(app: &App, output: Output) {
    let failed = output
        .with_progress(FETCHING_TOOLS, app.list_unlisted(None))
        .await;
    warn_of_missing_tools(&failed, output);
}

pub(super) const FETCHING_TOOLS: &str = "Fetching tools from servers";

/// Warns in one line of the servers that could not be listed.
pub(super) fn warn_of_missing_tools(failed: &[UnlistedServer], output: Output) {
    match failed {
        [] => {}
        [UnlistedServer { server, reason }] => output.warn(&format!(
            "{reason}; its tools are missing: kitbag servers test {server}"
        )),
        several => {
            let reasons: Vec<&str> = several.iter().map(|it| it.reason.as_str()).collect();
            output.warn(&format!(
                "the tools of {} servers are missing: {}; for details: kitbag servers test",
                several.len(),
                reasons.join("; ")
            ));
        }
    }
}
