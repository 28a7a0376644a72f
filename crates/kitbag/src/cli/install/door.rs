//! The way in which a client reaches Kitbag: the command line that it launches, or the address of a
//! gateway that runs.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use kitbag_clients::{ClientFile, KitbagEntry, Scope};
use kitbag_config::Config;
use kitbag_upstream::programs;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;

/// Desktop programs are started with hardly a `PATH`, so a person's own file names the program in
/// full; a project's file goes to other people, who have the program elsewhere. The configuration
/// is named, so that it does not depend on the folder in which the client happens to launch Kitbag.
pub(super) fn launched(
    spot: &ClientFile,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<KitbagEntry> {
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    if spot.scope == Scope::Project {
        return Ok(KitbagEntry::Stdio {
            command: "kitbag".to_owned(),
            args,
        });
    }
    let own = invocation.at.editable()?;
    args.extend(["--config".to_owned(), text(&std::path::absolute(own)?)]);
    if invocation.at.overrides.data_dir.is_some() {
        args.extend([
            "--data-dir".to_owned(),
            text(&std::path::absolute(&config.data_dir)?),
        ]);
    }
    Ok(KitbagEntry::Stdio {
        command: text(&program()?),
        args,
    })
}

/// Returns the path by which Kitbag was called, if that leads to this program: a link on the `PATH`
/// will lead to the next version, while the folder that the link leads to now may go with this one.
fn program() -> anyhow::Result<PathBuf> {
    let program =
        env::current_exe().context("the operating system does not say where Kitbag is")?;
    let called = env::args_os().next().map(PathBuf::from);
    let named = called.and_then(
        |called| match programs::is_path(&called.to_string_lossy()) {
            true => std::path::absolute(called).ok(),
            false => programs::on_path(&called.to_string_lossy()).filter(|path| path.is_absolute()),
        },
    );
    let real = |path: &Path| path.canonicalize().ok();
    let leads_there = |named: &PathBuf| real(named).is_some() && real(named) == real(&program);
    Ok(named.filter(leads_there).unwrap_or(program))
}

pub(super) fn running(config: &Config) -> anyhow::Result<KitbagEntry> {
    if !config.serve.keyless() {
        return Err(anyhow!(
            "connecting over HTTP needs a key, and a key does not belong into a readable file"
        ))
        .advise(|| "leave out --http, so that the client launches Kitbag by itself".to_owned());
    }
    Ok(KitbagEntry::Http {
        url: format!("http://{}/mcp", config.serve.bind),
        headers: Vec::new(),
    })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
