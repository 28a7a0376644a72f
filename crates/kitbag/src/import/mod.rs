//! The servers that clients have written down, taken into our configuration.
//!
//! # Layout
//! - `plan`: the choice of the servers to add, and the adding
//! - `same`: tells if a server of ours does the same already
//! - `memory`: the servers clients' files had before, so that only new ones are followed
//! - [`keeping`]: names for the secrets that go into the store

pub(crate) mod keeping;
mod memory;
mod plan;
mod same;

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;

use anyhow::Context as _;
use kitbag_clients::{
    Client, ClientConfig, ClientDirectories, ClientFile, OperatingSystem, Scope, open,
};
use kitbag_config::{ConfigError, ConfigSource, Environment};

pub(crate) use plan::{ImportAction, ImportPlan, ImportRow};

/// The folders in which clients keep their files.
pub(crate) fn places(around: &Environment) -> Result<ClientDirectories, ConfigError> {
    let home = around.home.clone().ok_or(ConfigError::NoHome)?;
    Ok(ClientDirectories::new(
        OperatingSystem::of_this_machine(),
        home,
        around.cwd.clone(),
        folder_in_variable,
    ))
}

fn folder_in_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Returns the files that count in this folder, and the other projects that have servers of their
/// own.
pub(crate) fn of_this_project(
    found: Vec<ClientConfig>,
    places: &ClientDirectories,
) -> (Vec<ClientConfig>, BTreeSet<PathBuf>) {
    let (here, elsewhere): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| {
        let project = found.project.as_ref();
        project.is_none_or(|it| places.cwd.starts_with(it))
    });
    let elsewhere = elsewhere.into_iter().filter_map(|found| found.project);
    (here, elsewhere.collect())
}

/// Takes over the servers that these clients have written down for the person since their files
/// were last looked at. No person is asked, so servers with a mark are taken over switched off.
pub(crate) async fn additions(clients: &[Client], at: &ConfigSource) -> anyhow::Result<ImportPlan> {
    let places = places(&at.environment)?;
    let found = own_files(clients, &places)
        .flat_map(|spot| open(&spot, &places))
        .collect();
    let (here, _) = of_this_project(found, &places);
    let mut plan = ImportPlan::of_additions(here, at)
        .await
        .context("the servers cannot be taken over")?;
    plan.carry_out(at).await?;
    Ok(plan)
}

/// The files in which these clients may write something down for the person.
pub(crate) fn files(clients: &[Client], around: &Environment) -> Vec<PathBuf> {
    let Ok(places) = places(around) else {
        return Vec::new();
    };
    own_files(clients, &places).map(|spot| spot.path).collect()
}

/// The files without those that lie in a project: they came along with it, and a server that their
/// unknown author wrote there runs only after a person has looked at it.
fn own_files(clients: &[Client], places: &ClientDirectories) -> impl Iterator<Item = ClientFile> {
    clients
        .iter()
        .flat_map(|client| client.files(places))
        .filter(|spot| spot.scope != Scope::Project)
}
