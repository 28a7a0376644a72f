//! Imports servers from the configuration files of clients.
//!
//! # Layout
//! - `plan`: chooses the servers to add and adds them
//! - `duplicates`: recognizes servers that are configured already
//! - `history`: the servers that the clients' files had before
//! - [`staged_secrets`]: secrets on their way into the store

mod duplicates;
mod history;
mod plan;
pub(crate) mod staged_secrets;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context as _;
use kitbag_clients::{
    Client, ClientConfig, ClientDirectories, ClientFile, OperatingSystem, Scope, open,
};
use serde_json::{Value, json};

use crate::trail;
use kitbag_config::{ConfigError, ConfigSource, Environment, absolute_dir_from_env};

pub(crate) use plan::{FlaggedServers, ImportAction, ImportPlan, ImportRow};

/// Returns the folders in which clients keep their files.
pub(crate) fn client_directories(
    environment: &Environment,
) -> Result<ClientDirectories, ConfigError> {
    let home = environment.home.clone().ok_or(ConfigError::NoHome)?;
    Ok(ClientDirectories::new(
        OperatingSystem::current(),
        home,
        environment.cwd.clone(),
        absolute_dir_from_env,
    ))
}

/// Returns the files that apply in the current directory, and the other projects that have servers.
pub(crate) fn split_by_project(
    found: Vec<ClientConfig>,
    directories: &ClientDirectories,
) -> (Vec<ClientConfig>, BTreeSet<PathBuf>) {
    let (here, elsewhere): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| {
        let project = found.project.as_ref();
        project.is_none_or(|it| directories.cwd.starts_with(it))
    });
    let elsewhere = elsewhere.into_iter().filter_map(|found| found.project);
    (here, elsewhere.collect())
}

/// Imports the servers that were added to these clients' user files since the last import. Since
/// nobody confirms them, servers flagged as dangerous are imported disabled.
pub(crate) async fn import_additions(
    clients: &[Client],
    at: &ConfigSource,
) -> anyhow::Result<ImportPlan> {
    let directories = client_directories(&at.environment)?;
    let found = user_files(clients, &directories)
        .flat_map(|file| open(&file, &directories))
        .collect();
    let (here, _) = split_by_project(found, &directories);
    let mut plan = ImportPlan::build(here, at, FlaggedServers::Disabled)
        .await
        .context("cannot import the servers")?;
    plan.apply(at, &trail::typed_verb()).await?;
    Ok(plan)
}

/// Plans the import of servers from text in the form of some client's file, which a person has
/// pasted.
pub(crate) async fn plan_pasted(text: &str, at: &ConfigSource) -> anyhow::Result<ImportPlan> {
    let directories = client_directories(&at.environment)?;
    let text = complete_pasted(text);
    // The clients differ in the names of keys, and most take those of Claude.
    let read = |client: Client| {
        let file = user_files(&[client], &directories).next()?;
        // The extension tells the format.
        let extension = file.path.extension().unwrap_or_default();
        let path = PathBuf::from("pasted text").with_extension(extension);
        let file = ClientFile { path, ..file };
        Some(kitbag_clients::read(&file, &text, &directories))
    };
    let clients = [Client::ClaudeCode].into_iter().chain(Client::ALL);
    let mut read = clients.filter_map(read);
    let has_servers = |found: &Vec<ClientConfig>| found.iter().any(|it| !it.servers.is_empty());
    let found = read.find(has_servers).context(NOTHING_PASTED)?;
    let plan = ImportPlan::build(found, at, FlaggedServers::AsConfigured).await?;
    Ok(plan.without_history())
}

const NOTHING_PASTED: &str = "this text names no servers; paste the JSON of a client's configuration, such as {\"mcpServers\": {…}}";

/// Adds what people leave out when they copy a part of a file.
fn complete_pasted(text: &str) -> String {
    let text = text.trim().trim_end_matches(',');
    let text = match text.starts_with('"') {
        true => format!("{{{text}}}"),
        false => text.to_owned(),
    };
    let Ok(Value::Object(members)) = serde_json::from_str(&text) else {
        return text;
    };
    let is_server = |value: &Value| value.get("command").or_else(|| value.get("url")).is_some();
    match !members.is_empty() && members.values().all(is_server) {
        true => json!({ "mcpServers": members }).to_string(),
        false => text,
    }
}

/// Returns the user files of these clients.
pub(crate) fn client_files(clients: &[Client], environment: &Environment) -> Vec<PathBuf> {
    let Ok(directories) = client_directories(environment) else {
        return Vec::new();
    };
    user_files(clients, &directories)
        .map(|file| file.path)
        .collect()
}

/// Excludes project files: their author is unknown, so their servers are imported only after a
/// review.
fn user_files(
    clients: &[Client],
    directories: &ClientDirectories,
) -> impl Iterator<Item = ClientFile> {
    clients
        .iter()
        .flat_map(|client| client.files(directories))
        .filter(|file| file.scope != Scope::Project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_file_is_completed() {
        let whole = r#"{"mcpServers":{"time":{"command":"uvx"}}}"#;
        for part in [
            whole,
            r#"{"time":{"command":"uvx"}}"#,
            r#""time": {"command": "uvx"},"#,
            r#"  "mcpServers": {"time": {"command": "uvx"}}"#,
        ] {
            let completed: Value = serde_json::from_str(&complete_pasted(part)).unwrap();
            assert_eq!(completed.to_string(), whole, "{part}");
        }
        assert_eq!(complete_pasted("[mcp_servers.time]"), "[mcp_servers.time]");
    }
}
