//! The way in which a client reaches Kitbag: the command line that it launches, or the address of a
//! gateway that runs.

use std::path::Path;

use anyhow::anyhow;
use kitbag_clients::{ClientFile, KitbagEntry, Scope};
use kitbag_config::Config;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::program::called_by;

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
    invocation.refuse_passing_store()?;
    let own = invocation.at.editable()?;
    args.extend(["--config".to_owned(), text(&std::path::absolute(own)?)]);
    if invocation.at.overrides.data_dir.is_some() {
        args.extend([
            "--data-dir".to_owned(),
            text(&std::path::absolute(&config.data_dir)?),
        ]);
    }
    Ok(KitbagEntry::Stdio {
        command: text(&called_by()?),
        args,
    })
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
