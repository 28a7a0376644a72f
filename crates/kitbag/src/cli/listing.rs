//! Lists prompts, resources or skills as a client sees them.

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::ServerName;
use serde::Serialize;

use super::Invocation;
use super::completions::servers;
use super::gateway::{CommandGateway, JoinChoice, server_to_list};
use super::next_steps::{first_steps, has_no_servers};

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Only items of this server.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(servers))]
    server: Option<ServerName>,
    #[command(flatten)]
    join: JoinChoice,
}

/// A table row of something that servers offer.
pub(super) trait OfferedRow: Serialize + Sized {
    /// The plural noun.
    const NOUN: &'static str;

    fn server(&self) -> &ServerName;

    /// Returns the rows from the catalog; asks no server.
    async fn fetch_rows(gateway: &mut CommandGateway) -> anyhow::Result<Vec<Self>>;

    fn format_table(rows: &[Self]) -> String;
}

pub(super) async fn list<T: OfferedRow>(
    arguments: &ListArguments,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let (config, output) = (invocation.config()?, invocation.output);
    let rows: Vec<T> = arguments.rows(&config, invocation).await?;
    if has_no_servers(&config) {
        output.note(&first_steps(invocation));
    } else if rows.is_empty() {
        output.note(&arguments.describe_empty(T::NOUN));
    }
    if rows.is_empty() && !output.json {
        return Ok(());
    }
    output.show(&rows, |rows| T::format_table(rows))
}

impl ListArguments {
    async fn rows<T: OfferedRow>(
        &self,
        config: &Config,
        invocation: &Invocation,
    ) -> anyhow::Result<Vec<T>> {
        let server = server_to_list(self.server.as_ref(), config)?;
        let mut gateway = CommandGateway::join_or_open(self.join, config, invocation).await?;
        let listing = async {
            gateway.fetch_listings(server, invocation.output).await?;
            T::fetch_rows(&mut gateway).await
        };
        let listed = listing.await;
        gateway.close().await;
        let mut rows = listed?;
        if let Some(server) = &self.server {
            rows.retain(|row| row.server() == server);
        }
        Ok(rows)
    }

    fn describe_empty(&self, noun: &str) -> String {
        match &self.server {
            Some(server) => format!("`{server}` has no {noun}."),
            None => format!("No server has {noun}."),
        }
    }
}
