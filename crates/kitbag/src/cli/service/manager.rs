//! The user's systemd instance, through `systemctl --user`.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use anyhow::{Context as _, anyhow};

/// The systemd unit name.
pub(super) const NAME: &str = "kitbag.service";

/// A reachable systemd user instance.
#[derive(Debug)]
pub(super) struct Manager {
    /// The environment variables of services.
    variables: BTreeSet<String>,
}

impl Manager {
    /// Sends a read-only request, so that nothing is changed if systemd is unreachable.
    pub(super) fn connect() -> anyhow::Result<Self> {
        let shown = run_systemctl(&["show-environment"])
            .context("cannot reach the systemd user instance")?;
        let names = shown
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name.to_owned());
        Ok(Self {
            variables: names.collect(),
        })
    }

    /// Enables the unit and starts it, or restarts it if it was installed before.
    pub(super) fn start(&self, again: bool) -> anyhow::Result<()> {
        self.reload()?;
        run_systemctl(&["enable", NAME])?;
        run_systemctl(&[if again { "restart" } else { "start" }, NAME])?;
        Ok(())
    }

    pub(super) fn stop(&self) -> anyhow::Result<()> {
        run_systemctl(&["disable", "--now", NAME]).map(drop)
    }

    pub(super) fn reload(&self) -> anyhow::Result<()> {
        run_systemctl(&["daemon-reload"]).map(drop)
    }

    /// Returns `active`, `inactive`, `failed` or another state of the unit.
    pub(super) fn active_state(&self) -> Option<String> {
        // The exit code repeats the output.
        let output = systemctl_output(&["is-active", NAME]).ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns the variables that are set here but not for services.
    pub(super) fn missing_variables(&self, variables: BTreeSet<String>) -> Vec<String> {
        variables
            .into_iter()
            .filter(|name| std::env::var_os(name).is_some() && name != "PATH")
            .filter(|name| !self.variables.contains(name))
            .collect()
    }
}

fn run_systemctl(words: &[&str]) -> anyhow::Result<String> {
    let output = systemctl_output(words)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(anyhow!(
            "`systemctl --user {}` failed: {stderr}",
            words.join(" ")
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn systemctl_output(words: &[&str]) -> anyhow::Result<Output> {
    Command::new("systemctl")
        .arg("--user")
        .args(words)
        .output()
        .context("cannot run `systemctl`")
}
