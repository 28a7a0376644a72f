//! The effective tools from tool files: read with the configuration, and again when a file or a
//! credential changes.
//!
//! - `file_checks`: the checks that a file must pass
//! - `file_tools`: the tools, ready to be listed and called
//! - `model_providers`: the providers of language models, which some of the tools ask

mod file_checks;
mod file_tools;
mod model_providers;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kitbag_config::CatalogSettings;
use kitbag_domain::Remedy as _;
use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use kitbag_tool_files::CatalogDirectories;
use kitbag_tool_spec::CredentialName;

use file_checks::CheckedFiles;
pub use file_checks::{find_tool_file_mistakes, looks_secret};
pub(crate) use file_tools::{FileTool, FileToolExecutor, FileTools};
pub(crate) use model_providers::{ModelProvider, ModelProviders, is_model, model_subject};

/// The server name under which rules refer to tools from tool files.
pub(crate) fn tool_files_server() -> ServerName {
    CatalogSettings::SERVER.parse().expect("it is a valid name")
}

/// The tool files of one configuration, as last read.
pub(crate) struct LoadedToolFiles {
    settings: CatalogSettings,
    directories: Mutex<CatalogDirectories>,
    offered: ArcSwap<FileTools>,
}

impl LoadedToolFiles {
    /// Reads the files. `credentials` contains the names of the credentials that any tenant has,
    /// and `before` the tools of the previous configuration.
    pub(crate) fn read(
        settings: CatalogSettings,
        credentials: &BTreeSet<CredentialName>,
        before: &FileTools,
    ) -> Self {
        let directories = CatalogDirectories::read(settings.directories.clone());
        let checked = CheckedFiles::check(
            directories.current(),
            &settings.directories,
            before.checked_files(),
        );
        warn_of_new_problems(&checked, before.checked_files());
        let offered = FileTools::new(checked, &settings, credentials, before);
        Self {
            directories: Mutex::new(directories),
            offered: ArcSwap::from_pointee(offered),
            settings,
        }
    }

    pub(crate) fn tools(&self) -> Arc<FileTools> {
        self.offered.load_full()
    }

    /// Picks up new, changed and removed files and credentials. Returns true if the offered tools
    /// have changed. It reads files, so it runs on a blocking thread.
    pub(crate) fn refresh(&self, credentials: &BTreeSet<CredentialName>) -> bool {
        let mut directories = lock(&self.directories);
        let before = self.tools();
        directories.refresh();
        let (files, folders) = (directories.current(), &self.settings.directories);
        if before.checked_files().is_current(files, folders) && before.credentials() == credentials
        {
            return false;
        }
        let checked = CheckedFiles::check(files, folders, before.checked_files());
        warn_of_new_problems(&checked, before.checked_files());
        let after = FileTools::new(checked, &self.settings, credentials, &before);
        self.offered.store(Arc::new(after));
        true
    }
}

/// Warns of new mistakes.
fn warn_of_new_problems(now: &CheckedFiles, before: &CheckedFiles) {
    let (problems, known) = (now.files().problems(), before.files().problems());
    for problem in problems.iter().filter(|it| !known.contains(it)) {
        let remedy = problem.remedy();
        tracing::warn!(%problem, remedy, "skipped a tool file");
    }
    let known: Vec<_> = before.findings().collect();
    for problem in now.findings().filter(|it| !known.contains(it)) {
        let remedy = problem.advice.as_deref();
        match now.files().tools().iter().any(|it| it.path == problem.file) {
            true => tracing::warn!(%problem, remedy, "skipped a tool file"),
            false => tracing::warn!(%problem, remedy, "the manifest of tool files has an error"),
        }
    }
}
