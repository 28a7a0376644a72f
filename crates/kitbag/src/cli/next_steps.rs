//! Three next steps for a new user.
//!
//! Reads the clients' files; starts no server and writes nothing.

use std::collections::BTreeSet;
use std::process::ExitCode;

use kitbag_clients::{Client, ClientConfig, find, merge};
use kitbag_config::Config;
use serde::Serialize;

use super::Invocation;
use super::output::pluralize;
use crate::import::{client_directories, split_by_project};

#[derive(Debug, Serialize)]
pub(super) struct NextSteps {
    /// The number of configured servers.
    servers: usize,
    #[serde(skip)]
    heading: String,
    next: [NextStep; 3],
}

#[derive(Debug, Serialize)]
struct NextStep {
    command: String,
    why: String,
}

/// Runs `kitbag` without a verb.
pub(super) fn run(invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let clients = ExistingClients::find(invocation);
    let next = if has_no_servers(&config) {
        clients.without_servers()
    } else {
        clients.with_servers(&config)
    };
    invocation.show(&next, |next| {
        format!(
            "{ABOUT}\n\n{}\n\nEverything else: kitbag --help",
            next.to_text()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

const ABOUT: &str = "Kitbag: one MCP endpoint in front of all your MCP servers.";

/// True if no server is configured yet.
pub(super) fn has_no_servers(config: &Config) -> bool {
    config.servers.is_empty() && config.disabled.is_empty()
}

/// Returns the steps shown by verbs that have nothing to list because nothing is configured.
pub(super) fn first_steps(invocation: &Invocation) -> String {
    ExistingClients::find(invocation)
        .without_servers()
        .to_text()
}

/// Servers configured in the clients on this machine.
#[derive(Debug, Default)]
struct ExistingClients {
    servers: usize,
    /// The clients that have servers.
    clients: BTreeSet<Client>,
    has_kitbag: bool,
}

impl ExistingClients {
    fn find(invocation: &Invocation) -> Self {
        let Ok(directories) = client_directories(&invocation.source.environment) else {
            return Self::default();
        };
        let (found, _) = split_by_project(find(&directories, None), &directories);
        Self {
            has_kitbag: found.iter().any(|found| found.kitbag.is_some()),
            clients: found
                .iter()
                .filter(|it| !it.servers.is_empty())
                .map(|it| it.client)
                .collect(),
            servers: count_distinct(found),
        }
    }

    fn without_servers(&self) -> NextSteps {
        let find = "kitbag servers find TEXT";
        let next = if self.servers == 0 {
            [
                NextStep::new("kitbag demo", "see it work, without a download"),
                NextStep::new(find, "search the MCP registry"),
                self.install_step("then connect your client"),
            ]
        } else {
            let import = format!(
                "import {} from {}",
                pluralize(self.servers, "server"),
                self.describe_owners()
            );
            [
                NextStep::new("kitbag import", &import),
                NextStep::new(find, "search the MCP registry"),
                self.install_step("then connect your client"),
            ]
        };
        NextSteps {
            servers: 0,
            heading: "No servers configured yet. What to do next:".to_owned(),
            next,
        }
    }

    fn with_servers(&self, config: &Config) -> NextSteps {
        let servers = config.servers.len() + config.disabled.len();
        let connect = if self.has_kitbag {
            NextStep::new("kitbag search TEXT", "find a tool")
        } else {
            self.install_step("connect your client")
        };
        let next = [
            NextStep::new("kitbag tools", "list their tools"),
            connect,
            NextStep::new("kitbag doctor", "check the setup"),
        ];
        NextSteps {
            servers,
            heading: format!(
                "{} configured. What to do next:",
                pluralize(servers, "server")
            ),
            next,
        }
    }

    fn install_step(&self, why: &str) -> NextStep {
        let client = self.clients.first().map_or("NAME", |client| client.name());
        NextStep::new(&format!("kitbag install --client {client}"), why)
    }

    fn describe_owners(&self) -> String {
        match self.clients.first() {
            Some(only) if self.clients.len() == 1 => only.title().to_owned(),
            _ => pluralize(self.clients.len(), "client"),
        }
    }
}

/// Counts a server found in several clients once.
fn count_distinct(found: Vec<ClientConfig>) -> usize {
    merge(found, BTreeSet::new(), |_, _| None).len()
}

impl NextSteps {
    fn to_text(&self) -> String {
        let width = self
            .next
            .iter()
            .map(|step| step.command.len())
            .max()
            .unwrap_or_default();
        let lines = self
            .next
            .iter()
            .map(|step| format!("\n  {:width$}  {}", step.command, step.why));
        lines.fold(self.heading.clone(), |text, line| text + &line)
    }
}

impl NextStep {
    fn new(command: &str, why: &str) -> Self {
        Self {
            command: command.to_owned(),
            why: why.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    fn clients(servers: usize, clients: &[Client]) -> ExistingClients {
        ExistingClients {
            servers,
            clients: clients.iter().copied().collect(),
            has_kitbag: false,
        }
    }

    #[test]
    fn the_first_step_is_to_import_servers_of_other_clients() {
        let output = clients(12, &[Client::VsCode, Client::Cursor])
            .without_servers()
            .to_text();
        assert_eq!(
            output,
            "No servers configured yet. What to do next:\n  \
             kitbag import                   import 12 servers from 2 clients\n  \
             kitbag servers find TEXT        search the MCP registry\n  \
             kitbag install --client cursor  then connect your client"
        );
    }

    #[test]
    fn every_step_is_a_valid_command_and_fits_a_line() {
        for clients in [
            clients(0, &[]),
            clients(1, &[Client::ClaudeDesktop]),
            clients(120, &Client::ALL),
        ] {
            let steps = clients.without_servers();
            assert!(
                steps
                    .to_text()
                    .lines()
                    .all(|line| line.chars().count() <= 80),
                "{steps:?}"
            );
            for NextStep { command, .. } in &steps.next {
                let words = command.replace("NAME", "cursor");
                let parsed = Cli::try_parse_from(words.split(' '));
                assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
            }
        }
    }
}
