//! `kitbag service`: keeps one gateway running per user, with systemd.
//!
//! # Layout
//! - `unit`: the unit file
//! - `manager`: the user's systemd instance

mod manager;
mod unit;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use kitbag_config::{Config, ConfigError};
use serde::Serialize;

use super::failure::Advise as _;
use super::output::format_date;
use super::program::invoked_path;
use super::{Invocation, to_exit_code};
use crate::local::gateway_connection::{JoinOutcome, join_gateway};
use crate::local::protocol::Want;
use crate::local::requests::GetStatus;
use kitbag_gateway::admin::app::Status;
use kitbag_gateway::secrets::vault;
use manager::Manager;
use unit::Unit;

/// Keep one gateway running for all clients of this user.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag service install
  kitbag service status
  kitbag service uninstall

Clients that launch `kitbag serve --stdio`, and commands that accept `--own`,
join the running gateway and share its servers.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a gateway now and at every login, with systemd.
    #[command(
        after_help = "Examples:\n  kitbag service install\n  kitbag service install --config ~/kitbag.toml"
    )]
    Install,
    /// Stop the gateway and remove the service.
    #[command(after_help = "Examples:\n  kitbag service uninstall")]
    Uninstall,
    /// Show whether the service is installed and its gateway running.
    #[command(after_help = "Examples:\n  kitbag service status\n  kitbag service status --json")]
    Status,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        return Err(anyhow!(
            "`kitbag service` needs systemd, which this system does not have"
        ))
        .advise(|| KEEP_RUNNING.to_owned());
    }
    match arguments.verb {
        Verb::Install => install(invocation).await,
        Verb::Uninstall => uninstall(invocation),
        Verb::Status => status(invocation).await,
    }
}

const KEEP_RUNNING: &str =
    "keep `kitbag serve` running by other means; clients on stdio and `kitbag call` join it too";

async fn install(invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let path = unit_file(invocation)?;
    let former = read_unit(&path)?;
    if former.as_deref().is_some_and(|text| !Unit::is_ours(text)) {
        return Err(anyhow!("{} was not written by Kitbag", path.display()))
            .advise(|| "move the file away, then retry".to_owned());
    }
    let manager = Manager::connect().advise(|| KEEP_RUNNING.to_owned())?;
    if let (None, JoinOutcome::Joined(mut joined)) = (
        &former,
        join_gateway(&invocation.source, Some(&config), Want::Ask).await,
    ) {
        let status = joined.ask(GetStatus {}, |_| {}).await?;
        return Err(anyhow!("a gateway is already running (pid {})", status.pid))
            .advise(|| format!("stop it, then retry: kill {}", status.pid));
    }
    invocation.reject_store_override()?;
    let missing = manager.missing_variables(vault::referenced_variables(&config));
    if !missing.is_empty() {
        let names = missing.join(", ");
        return Err(anyhow!(
            "the configuration refers to {names}, which is set here but not for services"
        ))
        .advise(|| VARIABLES_REMEDY.to_owned());
    }
    let unit = build_unit(invocation)?;
    write_unit(&path, &unit.to_text()?)?;
    if let Err(error) = manager.start(former.is_some()) {
        restore_unit(&path, former.as_deref());
        let _as_before = manager.reload();
        return Err(error);
    }
    let status = await_gateway(&config, invocation).await?;
    let result = serde_json::json!({ "unit": path, "gateway": status });
    invocation.show(&result, |_| describe_installation(&path, &status))?;
    Ok(ExitCode::SUCCESS)
}

const VARIABLES_REMEDY: &str = "store secrets with `kitbag secret set NAME` and refer to them as ${secret:NAME}; set other variables in ~/.config/environment.d/kitbag.conf and log in again";

/// Returns the unit that runs this program with the default configuration, or with the one given on
/// the command line.
fn build_unit(invocation: &Invocation) -> anyhow::Result<Unit> {
    let at = &invocation.source;
    // A configuration given by path must exist when the gateway starts.
    let config = at.config_file().filter(|path| path.is_file());
    let data_dir = at
        .overrides
        .data_dir
        .as_ref()
        .map(|_| at.data_dir())
        .transpose()?;
    Ok(Unit {
        program: invoked_path()?,
        config,
        data_dir,
        path: std::env::var("PATH").unwrap_or_default(),
    })
}

/// Waits until the started gateway can be joined.
async fn await_gateway(config: &Config, invocation: &Invocation) -> anyhow::Result<Status> {
    let deadline = Instant::now() + START_TIMEOUT;
    let starting = invocation.output.progress("Starting the gateway");
    let reason = loop {
        let reason = match join_gateway(&invocation.source, Some(config), Want::Ask).await {
            JoinOutcome::Joined(mut joined) => {
                return joined.ask(GetStatus {}, |_| {}).await;
            }
            JoinOutcome::Refused { reason } => reason,
            JoinOutcome::Nothing => "it did not start".to_owned(),
        };
        if Instant::now() > deadline {
            break reason;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    drop(starting);
    Err(anyhow!(reason).context("the service is installed, but its gateway is not reachable"))
        .advise(|| format!("check its log: journalctl --user --unit {}", manager::NAME))
}

/// The gateway opens its socket before it lists any server.
const START_TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

fn describe_installation(path: &Path, status: &Status) -> String {
    format!(
        "Installed {}\nA gateway is running and will start at every login ({}).\n\
         To run it without a login: loginctl enable-linger\nUndo: kitbag service uninstall",
        path.display(),
        describe_gateway(status)
    )
}

fn describe_gateway(status: &Status) -> String {
    let address = status
        .address
        .map(|address| format!(", http://{address}/mcp"))
        .unwrap_or_default();
    format!("pid {}{address}", status.pid)
}

fn uninstall(invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let path = unit_file(invocation)?;
    match read_unit(&path)? {
        Some(text) if Unit::is_ours(&text) => {}
        Some(_) => {
            return Err(anyhow!("{} was not written by Kitbag", path.display())).advise(|| {
                format!(
                    "remove it by hand: systemctl --user disable --now {}",
                    manager::NAME
                )
            });
        }
        None => {
            return Err(anyhow!("the service is not installed"))
                .advise(|| "kitbag service install".to_owned());
        }
    }
    // If systemd is unreachable, the service is not running.
    let stopped = Manager::connect().and_then(|manager| manager.stop().map(|()| manager));
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    match stopped {
        Ok(manager) => manager.reload()?,
        Err(error) => tracing::warn!("cannot stop the service: {error:#}"),
    }
    let result = serde_json::json!({ "removed": path });
    invocation.show(&result, |_| {
        format!(
            "Removed {}; the gateway is no longer kept running.",
            path.display()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Serialize)]
struct ServiceState {
    /// The unit file, if installed.
    unit: Option<PathBuf>,
    /// The unit's state according to systemd.
    active: Option<String>,
    /// The gateway that commands join, however it was started.
    gateway: Option<Status>,
    /// Why the running gateway cannot be joined.
    refused: Option<String>,
}

async fn status(invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let path = unit_file(invocation)?;
    let unit = read_unit(&path)?.map(|_| path);
    let active = Manager::connect()
        .ok()
        .and_then(|manager| manager.active_state());
    let config = invocation.config()?;
    let (gateway, refused) = match join_gateway(&invocation.source, Some(&config), Want::Ask).await
    {
        JoinOutcome::Joined(mut joined) => (Some(joined.ask(GetStatus {}, |_| {}).await?), None),
        JoinOutcome::Refused { reason } => (None, Some(reason)),
        JoinOutcome::Nothing => (None, None),
    };
    let state = ServiceState {
        unit,
        active,
        gateway,
        refused,
    };
    invocation.show(&state, ServiceState::to_text)?;
    Ok(to_exit_code(state.gateway.is_some()))
}

impl ServiceState {
    fn to_text(&self) -> String {
        let unit = match &self.unit {
            Some(path) => path.display().to_string(),
            None => "not installed (kitbag service install)".to_owned(),
        };
        let active = self
            .active
            .as_deref()
            .unwrap_or("unknown (systemd is not reachable)");
        let gateway = match (&self.gateway, &self.refused) {
            (Some(status), _) => format!(
                "{}, since {}; commands join it",
                describe_gateway(status),
                format_date(status.since)
            ),
            (None, Some(reason)) => format!("running, but commands cannot join it: {reason}"),
            (None, None) => "none running for this configuration".to_owned(),
        };
        format!("Service: {unit}\nsystemd: {active}\nGateway: {gateway}")
    }
}

/// Returns the path of the unit file among the user's units.
fn unit_file(invocation: &Invocation) -> Result<PathBuf, ConfigError> {
    let environment = &invocation.source.environment;
    let home = environment
        .config_home
        .clone()
        .or_else(|| environment.home.as_ref().map(|home| home.join(".config")));
    Ok(home
        .ok_or(ConfigError::NoHome)?
        .join("systemd/user")
        .join(manager::NAME))
}

fn read_unit(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes the file atomically.
fn write_unit(path: &Path, text: &str) -> anyhow::Result<()> {
    let temporary = path.with_extension("service.new");
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&temporary, text))
        .and_then(|()| fs::rename(&temporary, path));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Restores the previous unit file.
fn restore_unit(path: &Path, former: Option<&str>) {
    let undone = match former {
        Some(text) => write_unit(path, text),
        None => fs::remove_file(path).map_err(Into::into),
    };
    if let Err(error) = undone {
        tracing::warn!("cannot restore {}: {error:#}", path.display());
    }
}
