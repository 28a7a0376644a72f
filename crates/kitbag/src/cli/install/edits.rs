//! Edits of `install` and `uninstall`: the server entry and the prompt hook.

use kitbag_clients::{
    ClientDirectories, ClientFile, FileError, Installed, KitbagEntry, NoPromptHook, PromptHook,
    Scope, Uninstalled, install_into, uninstall_from,
};

use super::entry::HookCommand;

/// The hook to install.
pub(super) struct WantedHook {
    pub(super) hook: &'static PromptHook,
    /// False if an earlier installation added it; it is updated then.
    pub(super) is_new: bool,
}

impl WantedHook {
    /// Returns the client's hook if it was requested or is installed already.
    pub(super) fn for_client(
        client_file: &ClientFile,
        directories: &ClientDirectories,
        asked: bool,
    ) -> Result<Option<Self>, NoPromptHook> {
        let hook = match client_file.client.prompt_hook() {
            Ok(hook) if client_file.scope == Scope::User => hook,
            Err(none) if asked => return Err(none),
            _ => return Ok(None),
        };
        let is_new = !hook.is_installed(directories);
        Ok((asked || !is_new).then_some(Self { hook, is_new }))
    }
}

/// The edits of an installation.
pub(super) struct InstallEdits<'a> {
    pub(super) client_file: &'a ClientFile,
    pub(super) directories: &'a ClientDirectories,
    pub(super) entry: &'a KitbagEntry,
    pub(super) moved: &'a [String],
    pub(super) hook: Option<HookCommand>,
}

impl InstallEdits<'_> {
    /// Adds Kitbag, then the hook. A hook in the same file is removed first, so that the backup contains
    /// neither.
    pub(super) fn apply(&self) -> Result<Installed, FileError> {
        let Some(HookCommand { hook, line }) = &self.hook else {
            return self.add_server();
        };
        if hook.path(self.directories) == self.client_file.path {
            hook.uninstall(self.directories)?;
        }
        let installed = self.add_server();
        // Even if that failed: restore an existing hook.
        hook.install(self.directories, line)?;
        installed
    }

    fn add_server(&self) -> Result<Installed, FileError> {
        install_into(self.client_file, self.directories, self.entry, self.moved)
    }
}

/// What was removed from the client's files.
pub(super) struct RemovedEntries {
    pub(super) hook: Uninstalled,
    pub(super) server: Uninstalled,
}

pub(super) fn remove_entries(
    client_file: &ClientFile,
    directories: &ClientDirectories,
) -> Result<RemovedEntries, FileError> {
    let hook = match client_file.client.prompt_hook() {
        Ok(hook) if client_file.scope == Scope::User && hook.is_installed(directories) => {
            hook.uninstall(directories)?
        }
        // A broken hook file that was not edited must not prevent the removal.
        _ => Uninstalled::NotInstalled,
    };
    let server = uninstall_from(client_file, directories)?;
    Ok(RemovedEntries { hook, server })
}
