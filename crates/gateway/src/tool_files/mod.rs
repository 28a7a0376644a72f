//! The tools that come from files, as they are in force: read with the configuration, and again when a
//! file or a credential changes.
//!
//! - `in_force`: the tools, ready to be listed and called
//! - `model_providers`: the providers of language models, which some of them ask

mod in_force;
mod model_providers;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kitbag_config::CatalogSettings;
use kitbag_declared::CredentialName;
use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use kitbag_manifest::{CatalogDirectories, ToolFileError};

pub(crate) use in_force::{CarriedOutBy, FileTool, FileTools};
pub(crate) use model_providers::{ModelProvider, ModelProviders, is_model, model_subject};

/// The name that rules have for all tools that come from files.
pub(crate) fn server() -> ServerName {
    CatalogSettings::SERVER.parse().expect("it is a valid name")
}

/// The tool files of one configuration, as they were when last looked at.
pub(crate) struct DeclaredTools {
    settings: CatalogSettings,
    directories: Mutex<CatalogDirectories>,
    offered: ArcSwap<FileTools>,
}

impl DeclaredTools {
    /// Reads the files. `credentials` are the names under which some tenant has one, and `before` the
    /// tools of the configuration before.
    pub(crate) fn read(
        settings: CatalogSettings,
        credentials: &BTreeSet<CredentialName>,
        before: &FileTools,
    ) -> Self {
        let directories = CatalogDirectories::read(settings.directories.clone());
        let files = directories.current().clone();
        warn_of(files.problems(), before.files().problems());
        let offered = FileTools::of(files, &settings, credentials, before);
        Self {
            directories: Mutex::new(directories),
            offered: ArcSwap::from_pointee(offered),
            settings,
        }
    }

    pub(crate) fn offered(&self) -> Arc<FileTools> {
        self.offered.load_full()
    }

    /// Looks for files and credentials that came, changed or went. Returns true if other tools are
    /// offered now. It reads files, so it runs on a thread that may wait.
    pub(crate) fn refresh(&self, credentials: &BTreeSet<CredentialName>) -> bool {
        let mut directories = lock(&self.directories);
        let before = self.offered();
        directories.refresh();
        let files = directories.current().clone();
        if Arc::ptr_eq(&files, before.files()) && before.credentials() == credentials {
            return false;
        }
        warn_of(files.problems(), before.files().problems());
        let after = FileTools::of(files, &self.settings, credentials, &before);
        self.offered.store(Arc::new(after));
        true
    }
}

/// Tells of the mistakes in files that are new.
fn warn_of(problems: &[ToolFileError], known: &[ToolFileError]) {
    for problem in problems.iter().filter(|it| !known.contains(it)) {
        tracing::warn!(%problem, "a tool file is left out");
    }
}
