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
    plan.apply(at).await?;
    Ok(plan)
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
