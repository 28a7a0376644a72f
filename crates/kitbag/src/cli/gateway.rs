//! The gateway a verb works with: the one that runs, or one of its own until the verb is done.

use kitbag_config::Config;
use kitbag_domain::{ExposedName, Surface};
use std::collections::BTreeMap;

use anyhow::anyhow;
use clap::Args;
use kitbag_domain::ServerName;
use kitbag_relevance::Options;
use serde_json::{Map, Value};

use super::Invocation;
use super::output::Output;
use super::servers::find;
use crate::local::answer::answer;
use crate::local::joined::Joined;
use crate::local::protocol::{LocalAnswer, LocalRequest, Want};
use kitbag_gateway::admin::app::{
    App, CallProgress, Meanwhile, ServerDefinitions, ServerReport, SilentServer,
};
use kitbag_gateway::admin::offers::{PromptRow, ResourceRow, SkillRow, ToolRow};
use kitbag_gateway::admin::search::SearchResult;
use kitbag_gateway::surface::tokens::SurfaceTokens;

/// The choice between the gateway that runs and servers of the verb's own.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct JoinChoice {
    /// Start servers of its own, also if a gateway runs that could be joined.
    #[arg(long)]
    pub(super) own: bool,
}

pub(super) enum ReachedGateway {
    Joined(Joined),
    Own(Box<App>),
}

impl ReachedGateway {
    /// Joins the gateway that runs for the same user and configuration, or opens one.
    pub(super) async fn reach(
        apart: JoinChoice,
        config: &Config,
        invocation: &Invocation,
    ) -> anyhow::Result<Self> {
        let found = match apart.own {
            false => Joined::find(&invocation.at, Some(config), Want::Ask).await,
            true => None,
        };
        match found {
            Some(joined) => Ok(Self::Joined(joined)),
            None => Ok(Self::Own(Box::new(App::open(config).await?))),
        }
    }

    /// Asks this server what it offers, or all that have not been asked yet, and warns of those
    /// that give no answer.
    pub(super) async fn know(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<()> {
        mention(&self.silent(server, output).await?, output);
        Ok(())
    }

    /// Asks what has to be known to use a tool of this name: the server in the name, or all
    /// servers. A server that fails says so when the tool is used.
    pub(super) async fn know_owner(
        &mut self,
        tool: &str,
        config: &Config,
        output: Output,
    ) -> anyhow::Result<()> {
        match owner(tool, config) {
            Some(owner) => self.silent(Some(&owner), output).await.map(drop),
            None => self.know(None, output).await,
        }
    }

    /// Asks this server what it offers, or all that have not been asked yet. Returns those that
    /// give no answer.
    async fn silent(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<SilentServer>> {
        let what = match server {
            Some(_) => "Asking the server what it offers",
            None => ASKING_ALL,
        };
        let request = LocalRequest::Know {
            server: server.cloned(),
        };
        match output.during(what, self.ask(request)).await? {
            LocalAnswer::Silent(silent) => Ok(silent),
            other => Err(unexpected(&other)),
        }
    }

    /// The tools a local client sees, those of this server or of all of them at any rate.
    pub(super) async fn list(
        &mut self,
        server: Option<&ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<ToolRow>> {
        self.know(server, output).await?;
        match self.ask(LocalRequest::Tools).await? {
            LocalAnswer::Tools(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the definition of the tool that clients get, if it is known without asking any
    /// server.
    pub(super) async fn definition(&mut self, name: &str) -> anyhow::Result<Option<Value>> {
        match self
            .ask(LocalRequest::Definition {
                name: name.to_owned(),
            })
            .await?
        {
            LocalAnswer::Definition(definition) => Ok(definition),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks these servers anew for their tools and prompts, to the letter.
    pub(super) async fn definitions(
        &mut self,
        servers: Vec<ServerName>,
        output: Output,
    ) -> anyhow::Result<Vec<ServerDefinitions>> {
        let request = LocalRequest::Definitions { servers };
        match output.during(ASKING_ALL, self.ask(request)).await? {
            LocalAnswer::Definitions(definitions) => Ok(definitions),
            other => Err(unexpected(&other)),
        }
    }

    /// The prompts a local client sees, as far as they are known.
    pub(super) async fn prompts(&mut self) -> anyhow::Result<Vec<PromptRow>> {
        match self.ask(LocalRequest::Prompts).await? {
            LocalAnswer::Prompts(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns what a prompt says with these arguments.
    pub(super) async fn prompt(
        &mut self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> anyhow::Result<Value> {
        self.result(
            LocalRequest::Prompt {
                name: name.to_owned(),
                arguments,
            },
            |_| {},
        )
        .await
    }

    /// The skills a local client sees, as far as they are known.
    pub(super) async fn skills(&mut self) -> anyhow::Result<Vec<SkillRow>> {
        match self.ask(LocalRequest::Skills).await? {
            LocalAnswer::Skills(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    /// The resources and templates a local client sees, as far as they are known.
    pub(super) async fn resources(&mut self) -> anyhow::Result<Vec<ResourceRow>> {
        match self.ask(LocalRequest::Resources).await? {
            LocalAnswer::Resources(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the contents of a resource.
    pub(super) async fn read(&mut self, uri: &str) -> anyhow::Result<Value> {
        self.result(
            LocalRequest::Read {
                uri: uri.to_owned(),
            },
            |_| {},
        )
        .await
    }

    /// The tools for an intent, best first.
    pub(super) async fn search(
        &mut self,
        intent: String,
        options: Options,
        progress: impl FnMut(CallProgress) + Send,
    ) -> anyhow::Result<SearchResult> {
        let request = LocalRequest::Search { intent, options };
        match self.ask_watching(request, progress).await? {
            LocalAnswer::Found(searched) => Ok(searched),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn tokens(&mut self, surface: Surface) -> anyhow::Result<SurfaceTokens> {
        match self.ask(LocalRequest::Tokens { surface }).await? {
            LocalAnswer::Tokens(tokens) => Ok(tokens),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn call(
        &mut self,
        name: &str,
        arguments: Map<String, Value>,
        progress: impl FnMut(CallProgress) + Send,
    ) -> anyhow::Result<Value> {
        self.result(
            LocalRequest::Call {
                name: name.to_owned(),
                arguments,
            },
            progress,
        )
        .await
    }

    /// Stops the servers that were started for this verb; those of a gateway that runs stay.
    /// Calls one of the always-on tools.
    pub(super) async fn on_surface(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> anyhow::Result<Value> {
        let tool = tool.to_owned();
        let request = LocalRequest::OnSurface { tool, arguments };
        self.result(request, |_| {}).await
    }

    pub(super) async fn close(self) {
        match self {
            Self::Joined(_) => {}
            Self::Own(app) => app.close().await,
        }
    }

    async fn result(
        &mut self,
        request: LocalRequest,
        progress: impl FnMut(CallProgress) + Send,
    ) -> anyhow::Result<Value> {
        match self.ask_watching(request, progress).await? {
            LocalAnswer::Result(result) => Ok(result),
            other => Err(unexpected(&other)),
        }
    }

    async fn ask(&mut self, request: LocalRequest) -> anyhow::Result<LocalAnswer> {
        self.ask_watching(request, |_| {}).await
    }

    async fn ask_watching(
        &mut self,
        request: LocalRequest,
        mut progress: impl FnMut(CallProgress) + Send,
    ) -> anyhow::Result<LocalAnswer> {
        match self {
            Self::Joined(joined) => joined.ask(&request, progress).await,
            Self::Own(app) => {
                Box::pin(answer(app, request, Meanwhile::to_its_end(&mut progress))).await
            }
        }
    }
}

/// The server that has to be asked if the caller wants only what this server offers; it must be a
/// configured one. A built-in server needs no asking, and providers list nothing.
pub(super) fn only<'a>(
    server: Option<&'a ServerName>,
    config: &Config,
) -> anyhow::Result<Option<&'a ServerName>> {
    if let Some(server) = server.filter(|name| !config.providers.contains_key(*name)) {
        find(config, server)?;
    }
    Ok(server.filter(|name| config.servers.contains_key(*name)))
}

/// Returns the configured server that a tool of this name belongs to.
pub(super) fn owner(tool: &str, config: &Config) -> Option<ServerName> {
    ExposedName::server_in(tool).filter(|server| config.servers.contains_key(server))
}

/// Restarts a server of the gateway that runs, if one does.
pub(super) async fn restart(
    server: &ServerName,
    config: &Config,
    invocation: &Invocation,
) -> Option<anyhow::Result<ServerReport>> {
    let mut joined = Joined::find(&invocation.at, Some(config), Want::Ask).await?;
    let request = LocalRequest::Restart {
        server: server.clone(),
    };
    let what = format!("Restarting {server}");
    Some(
        match invocation
            .output
            .during(&what, joined.ask(&request, |_| {}))
            .await
        {
            Ok(LocalAnswer::Restarted(report)) => Ok(report),
            Ok(other) => Err(unexpected(&other)),
            Err(error) => Err(error),
        },
    )
}

/// Asks the gateway that runs for what it has counted, if one runs.
pub(super) async fn figures(
    config: &Config,
    invocation: &Invocation,
) -> Option<anyhow::Result<Value>> {
    let mut joined = Joined::find(&invocation.at, Some(config), Want::Ask).await?;
    Some(match joined.ask(&LocalRequest::Figures, |_| {}).await {
        Ok(LocalAnswer::Result(figures)) => Ok(figures),
        Ok(other) => Err(unexpected(&other)),
        Err(error) => Err(error),
    })
}

/// Asks the servers that have not been asked yet, for a verb that always has an app of its own.
pub(super) async fn know_all(app: &App, output: Output) {
    let silent = output.during(ASKING_ALL, app.know(None)).await;
    mention(&silent, output);
}

const ASKING_ALL: &str = "Asking servers what they offer";

/// Warns in one line of the servers whose tools are missing.
pub(super) fn mention(silent: &[SilentServer], output: Output) {
    match silent {
        [] => {}
        [SilentServer { server, reason }] => output.warn(&format!(
            "{reason}; its tools are missing: kitbag servers test {server}"
        )),
        several => {
            let reasons: Vec<&str> = several.iter().map(|it| it.reason.as_str()).collect();
            output.warn(&format!(
                "the tools of {} servers are missing: {}; kitbag servers test says more",
                several.len(),
                reasons.join("; ")
            ));
        }
    }
}

fn unexpected(answer: &LocalAnswer) -> anyhow::Error {
    tracing::debug!(?answer, "this was not asked for");
    anyhow!("the gateway answered something else than was asked")
}
