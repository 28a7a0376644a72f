//! Checks if the configuration can be used, and which users may read the secrets in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use kitbag_clients::holds_secret;
use kitbag_config::{Config, LockState, OnDrift, Project};
use kitbag_domain::{Remedy as _, Template};
use kitbag_upstream::ServerSpec;

use super::finding::{Area, Finding};
use super::store::StoreState;
use crate::cli::Invocation;
use crate::cli::output::count;

const AREA: Area = Area::Configuration;

/// Returns the configuration, if it can be used for the other checks.
pub(super) fn check(invocation: &Invocation, findings: &mut Vec<Finding>) -> Option<Config> {
    let loaded = invocation.at.load();
    let config = match loaded.context("the configuration cannot be used") {
        Ok(config) => config,
        Err(error) => {
            let finding = AREA.error("kitbag.toml", error);
            let advice = finding
                .advice
                .clone()
                .unwrap_or_else(|| "mend the file, and run this again".to_owned());
            findings.push(finding.mend(advice));
            return None;
        }
    };
    findings.push(loaded_from(&config));
    findings.extend(project(&config.project));
    findings.extend(lock(&config));
    findings.extend(
        config
            .origin
            .as_deref()
            .and_then(|path| readable_secrets(path, &config)),
    );
    Some(config)
}

/// Finds a lock file, and if it can be read.
fn lock(config: &Config) -> Option<Finding> {
    match &config.lock.state {
        LockState::Absent => None,
        LockState::Read(file) => {
            let servers = count(file.servers.len(), "server");
            let what = format!("has what was approved of {servers}");
            Some(AREA.ok("lock file", what))
        }
        LockState::Unreadable(error) => {
            let finding = AREA.problem("lock file", error.to_string());
            let why = match config.lock.on_drift {
                OnDrift::Hold => "so the tools and prompts of all servers are held back",
                OnDrift::Report => "so nothing can be compared with what was approved",
            };
            let advice = "mend the file, or remove it and run `kitbag lock`";
            Some(finding.because(why.to_owned()).mend(advice))
        }
    }
}

/// Finds providers that lack a variable.
pub(super) fn providers(config: &Config, state: &StoreState) -> Vec<Finding> {
    let Some(lookup) = &state.lookup else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (name, provider) in &config.providers {
        let missing = provider
            .spec
            .headers
            .values()
            .filter_map(|it| it.resolve(|name| lookup(name)).err());
        findings.extend(missing.map(|source| {
            AREA.problem(format!("[providers.{name}]"), source.to_string())
                .mend(source.remedy().unwrap_or_default())
        }));
    }
    findings
}

fn loaded_from(config: &Config) -> Finding {
    let servers = count(config.servers.len(), "server");
    let disabled = match config.disabled.len() {
        0 => String::new(),
        number => format!(", {number} switched off"),
    };
    match &config.origin {
        Some(path) => AREA.ok(path.display().to_string(), format!("loads, with {servers}{disabled}")),
        None => AREA
            .note("kitbag.toml", "there is none, so the defaults apply")
            .mend("take over what your clients have with `kitbag import`, or run `kitbag servers add`"),
    }
}

/// Finds the file of the project in the current directory, and why its servers and settings are not
/// in force.
fn project(project: &Project) -> Vec<Finding> {
    let Some(path) = project.path() else {
        return Vec::new();
    };
    let subject = path.display().to_string();
    let mut findings = Vec::new();
    if let Project::Active { servers, .. } = project {
        let servers = count(servers.len(), "server");
        let what = format!("is trusted, and adds {servers} in this folder");
        findings.push(AREA.ok(&subject, what));
    }
    let notices = project.notices().into_iter();
    findings.extend(notices.map(|(what, remedy)| AREA.note(&subject, what).mend(remedy)));
    findings
}

/// Finds a secret that stands in a file other users can read.
fn readable_secrets(path: &Path, config: &Config) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let all = config.servers.values().chain(config.disabled.values());
    let servers: Vec<&str> = all
        .filter(|spec| has_literal_secret(spec))
        .map(|spec| spec.name.as_str())
        .collect();
    if mode & 0o077 == 0 || servers.is_empty() {
        return None;
    }
    let subject = path.display().to_string();
    let what = format!(
        "holds secrets in plain text ({}), and others on this machine can read it",
        servers.join(", ")
    );
    let advice = format!(
        "run `chmod 600 {subject}`, and move them into the store with `kitbag secret set NAME`"
    );
    Some(AREA.problem(&subject, what).mend(advice))
}

/// True if a reader of the configuration could read a secret of this server there.
pub(in crate::cli) fn has_literal_secret(spec: &ServerSpec) -> bool {
    let mut named = spec.named_values().iter();
    let args = spec.launch().map_or(&[][..], |launch| &launch.args);
    let words = args.iter().map(Template::source);
    let mut pairs = [""].into_iter().chain(words.clone()).zip(words);
    let url = spec.endpoint().map(|endpoint| endpoint.url.source());
    named.any(|(name, template)| holds_secret(name, template.source()))
        || pairs.any(|(name, word)| holds_secret(name, word))
        || url.is_some_and(|url| holds_secret("url", url))
}
