//! Lists the prompts or the resources of servers, as a client sees them.

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::ServerName;
use serde::Serialize;

use super::Invocation;
use super::completions::servers;
use super::gateway::{JoinChoice, ReachedGateway, only};
use super::next_steps::{first_steps, is_bare};

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Only those of this server.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(servers))]
    server: Option<ServerName>,
    #[command(flatten)]
    apart: JoinChoice,
}

/// A row of something that servers offer.
pub(super) trait OfferedRow: Serialize + Sized {
    /// The word for several of them.
    const NOUN: &'static str;

    fn server(&self) -> &ServerName;

    /// Returns the rows that the gateway knows without asking a server.
    async fn known(gateway: &mut ReachedGateway) -> anyhow::Result<Vec<Self>>;

    fn table(rows: &[Self]) -> String;
}

pub(super) async fn list<T: OfferedRow>(
    arguments: &ListArguments,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let (config, output) = (invocation.config()?, invocation.output);
    let rows: Vec<T> = arguments.rows(&config, invocation).await?;
    if is_bare(&config) {
        output.note(&first_steps(invocation));
    } else if rows.is_empty() {
        output.note(&arguments.nothing(T::NOUN));
    }
    if rows.is_empty() && !output.json {
        return Ok(());
    }
    output.show(&rows, |rows| T::table(rows))
}

impl ListArguments {
    async fn rows<T: OfferedRow>(
        &self,
        config: &Config,
        invocation: &Invocation,
    ) -> anyhow::Result<Vec<T>> {
        let only = only(self.server.as_ref(), config)?;
        let mut gateway = ReachedGateway::reach(self.apart, config, invocation).await?;
        let asked = async {
            gateway.know(only, invocation.output).await?;
            T::known(&mut gateway).await
        };
        let listed = asked.await;
        gateway.close().await;
        let mut rows = listed?;
        if let Some(server) = &self.server {
            rows.retain(|row| row.server() == server);
        }
        Ok(rows)
    }

    fn nothing(&self, noun: &str) -> String {
        match &self.server {
            Some(server) => format!("`{server}` has no {noun}."),
            None => format!("No server has {noun}."),
        }
    }
}
