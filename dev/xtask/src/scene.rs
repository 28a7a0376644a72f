//! A gateway with one testbed behind it, started for one measurement.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::processes::Server;
use crate::repository::{Profile, Repository};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Http,
    Stdio,
}

/// The server behind the gateway: the testbed, in one era, over one transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upstream {
    pub era: Era,
    pub transport: Transport,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Http => "http",
            Transport::Stdio => "stdio",
        };
        write!(f, "{}-{transport}", self.era)
    }
}

#[derive(Debug)]
pub struct Gateway {
    pub process: Server,
    pub origin: String,
}

impl Gateway {
    /// The route that shows the upstream unchanged, with its own names.
    pub fn route(&self) -> String {
        format!("{}/servers/{NAME}/mcp", self.origin)
    }

    /// Starts it in `folder`, in front of the upstream configured by `section`.
    pub fn start(
        repository: &Repository,
        profile: Profile,
        folder: &Path,
        section: &str,
    ) -> anyhow::Result<Self> {
        Self::start_with_sections(
            repository,
            profile,
            folder,
            &format!("[servers.{NAME}]\n{section}"),
        )
    }

    /// Starts it in `folder`, in front of all the servers of these sections.
    pub fn start_with_sections(
        repository: &Repository,
        profile: Profile,
        folder: &Path,
        sections: &str,
    ) -> anyhow::Result<Self> {
        Self::start_program(
            &repository.program_path(profile, "kitbag"),
            folder,
            sections,
        )
    }

    /// Starts this program in `folder`, in front of all the servers of these sections.
    pub fn start_program(program: &Path, folder: &Path, sections: &str) -> anyhow::Result<Self> {
        let config = folder.join("kitbag.toml");
        let text = format!("[serve]\nbind = \"127.0.0.1:0\"\n\n{sections}");
        fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
        let mut command = Command::new(program);
        command
            .args(["serve", "--config"])
            .arg(&config)
            .arg("--data-dir")
            .arg(folder.join("data"));
        let process = Server::start(&mut command, &folder.join("kitbag.log"))?;
        let origin = process
            .origin()
            .with_context(|| format!("see {}", folder.join("kitbag.log").display()))?;
        Ok(Self { process, origin })
    }
}

/// Starts the testbed over HTTP and returns its endpoint.
pub fn start_testbed(
    repository: &Repository,
    profile: Profile,
    folder: &Path,
    era: Era,
) -> anyhow::Result<(Server, String)> {
    let mut command = Command::new(repository.program_path(profile, TESTBED));
    command.args(["--era", &era.to_string(), "http", "--port", "0"]);
    let server = Server::start(&mut command, &folder.join("testbed.log"))?;
    let endpoint = format!("{}/mcp", server.origin()?);
    Ok((server, endpoint))
}

pub fn http_section(endpoint: &str) -> String {
    format!("url = '{endpoint}'\n")
}

pub fn stdio_section(repository: &Repository, profile: Profile, era: Era) -> String {
    let program = repository.program_path(profile, TESTBED);
    format!(
        "command = '{}'\nargs = [\"--era\", \"{era}\", \"stdio\"]\n",
        program.display()
    )
}

/// The upstream's name in the configuration, and so in the names of its tools on `/mcp`.
pub const NAME: &str = "testbed";
const TESTBED: &str = "kitbag-testbed";
