//! Checks that the configuration is valid and that other users cannot read its secrets.

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
use crate::cli::output::pluralize;

const AREA: Area = Area::Configuration;

/// Returns the configuration, if it can be used for the other checks.
pub(super) fn check(invocation: &Invocation, findings: &mut Vec<Finding>) -> Option<Config> {
    let loaded = invocation.source.load();
    let config = match loaded.context("the configuration cannot be used") {
        Ok(config) => config,
        Err(error) => {
            let finding = AREA.error("kitbag.toml", error);
            let advice = finding
                .advice
                .clone()
                .unwrap_or_else(|| "fix the file and run this again".to_owned());
            findings.push(finding.with_advice(advice));
            return None;
        }
    };
    findings.push(describe_config(&config));
    findings.extend(check_project(&config.project));
    findings.extend(check_lock_file(&config));
    findings.extend(
        config
            .origin
            .as_deref()
            .and_then(|path| readable_secrets(path, &config)),
    );
    Some(config)
}

fn check_lock_file(config: &Config) -> Option<Finding> {
    match &config.lock.state {
        LockState::Absent => None,
        LockState::Read(file) => {
            let servers = pluralize(file.servers.len(), "server");
            let what = format!("has the approved definitions of {servers}");
            Some(AREA.ok("lock file", what))
        }
        LockState::Unreadable(error) => {
            let finding = AREA.problem("lock file", error.to_string());
            let why = match config.lock.on_drift {
                OnDrift::Hold => "everything that servers list is withheld",
                OnDrift::Report => "drift cannot be detected",
            };
            let advice = "fix the file, or remove it and run `kitbag lock`";
            Some(finding.with_reason(why.to_owned()).with_advice(advice))
        }
    }
}

/// Finds providers with unset variables.
pub(super) fn check_providers(config: &Config, state: &StoreState) -> Vec<Finding> {
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
                .with_advice(source.remedy().unwrap_or_default())
        }));
    }
    findings
}

fn describe_config(config: &Config) -> Finding {
    let servers = pluralize(config.servers.len(), "server");
    let disabled = match config.disabled.len() {
        0 => String::new(),
        number => format!(", {number} disabled"),
    };
    match &config.origin {
        Some(path) => AREA.ok(path.display().to_string(), format!("loads, with {servers}{disabled}")),
        None => AREA
            .note("kitbag.toml", "not found; using defaults")
            .with_advice("import the servers of your clients with `kitbag import`, or run `kitbag servers add`"),
    }
}

/// Checks the project file of the current directory.
fn check_project(project: &Project) -> Vec<Finding> {
    let Some(path) = project.path() else {
        return Vec::new();
    };
    let subject = path.display().to_string();
    let mut findings = Vec::new();
    if let Project::Active { servers, .. } = project {
        let servers = pluralize(servers.len(), "server");
        let what = format!("is trusted and adds {servers} in this folder");
        findings.push(AREA.ok(&subject, what));
    }
    let notices = project.notices().into_iter();
    findings.extend(notices.map(|(what, remedy)| AREA.note(&subject, what).with_advice(remedy)));
    findings
}

/// Finds secrets in a file that other users can read.
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
        "contains secrets in plain text ({}) and is readable by other users",
        servers.join(", ")
    );
    let advice = format!(
        "run `chmod 600 {subject}`, and move the secrets into the store with `kitbag secret set NAME`"
    );
    Some(AREA.problem(&subject, what).with_advice(advice))
}

/// True if the configuration contains a secret of this server in plain text.
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
