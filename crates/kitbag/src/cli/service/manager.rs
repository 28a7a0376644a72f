//! The user's own systemd, asked with `systemctl --user`.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use anyhow::{Context as _, anyhow};

/// The name of the service in systemd.
pub(super) const NAME: &str = "kitbag.service";

/// A systemd that answers.
#[derive(Debug)]
pub(super) struct Manager {
    /// The variables that services are started with.
    variables: BTreeSet<String>,
}

impl Manager {
    /// Asks for something that changes nothing, so that nothing is begun if systemd does not
    /// answer.
    pub(super) fn reach() -> anyhow::Result<Self> {
        let shown =
            succeed(&["show-environment"]).context("systemd does not answer for this user")?;
        let names = shown
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name.to_owned());
        Ok(Self {
            variables: names.collect(),
        })
    }

    /// Reads the unit, starts it now and at every login; one that was there before starts anew.
    pub(super) fn start(&self, again: bool) -> anyhow::Result<()> {
        self.reload()?;
        succeed(&["enable", NAME])?;
        succeed(&[if again { "restart" } else { "start" }, NAME])?;
        Ok(())
    }

    pub(super) fn stop(&self) -> anyhow::Result<()> {
        succeed(&["disable", "--now", NAME]).map(drop)
    }

    pub(super) fn reload(&self) -> anyhow::Result<()> {
        succeed(&["daemon-reload"]).map(drop)
    }

    /// `active`, `inactive`, `failed`, …
    pub(super) fn active(&self) -> Option<String> {
        // The exit code says the same once more.
        let output = ask(&["is-active", NAME]).ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns those of these variables that are set here, and not for services.
    pub(super) fn lacking(&self, variables: BTreeSet<String>) -> Vec<String> {
        variables
            .into_iter()
            .filter(|name| std::env::var_os(name).is_some() && name != "PATH")
            .filter(|name| !self.variables.contains(name))
            .collect()
    }
}

fn succeed(words: &[&str]) -> anyhow::Result<String> {
    let output = ask(words)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(anyhow!(
            "`systemctl --user {}` failed: {said}",
            words.join(" ")
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn ask(words: &[&str]) -> anyhow::Result<Output> {
    Command::new("systemctl")
        .arg("--user")
        .args(words)
        .output()
        .context("`systemctl` cannot be run")
}
