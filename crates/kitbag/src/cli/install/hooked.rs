//! The hook for prompts, as `install` and `uninstall` put it in and take it out beside the server.

use kitbag_clients::{
    ClientDirectories, ClientFile, FileError, Installed, KitbagEntry, NoPromptHook, PromptHook,
    Scope, Uninstalled, install_into, uninstall_from,
};

use super::door::HookCommand;

/// The hook that is to be in place after an installation.
pub(super) struct WantedHook {
    pub(super) hook: &'static PromptHook,
    /// False for a hook of an earlier installation, which is brought up to date.
    pub(super) is_new: bool,
}

impl WantedHook {
    /// The hook of the client, if the person asks for it or has it already.
    pub(super) fn of(
        spot: &ClientFile,
        places: &ClientDirectories,
        asked: bool,
    ) -> Result<Option<Self>, NoPromptHook> {
        let hook = match spot.client.prompt_hook() {
            Ok(hook) if spot.scope == Scope::User => hook,
            Err(none) if asked => return Err(none),
            _ => return Ok(None),
        };
        let is_new = !hook.is_installed(places);
        Ok((asked || !is_new).then_some(Self { hook, is_new }))
    }
}

/// The edits of an installation.
pub(super) struct InstallEdits<'a> {
    pub(super) spot: &'a ClientFile,
    pub(super) places: &'a ClientDirectories,
    pub(super) entry: &'a KitbagEntry,
    pub(super) moved: &'a [String],
    pub(super) hook: Option<HookCommand>,
}

impl InstallEdits<'_> {
    /// Adds Kitbag, then the hook. A hook in the same file steps aside meanwhile, so that the backup
    /// of the file is the file without both.
    pub(super) fn carry_out(&self) -> Result<Installed, FileError> {
        let Some(HookCommand { hook, line }) = &self.hook else {
            return self.add_server();
        };
        if hook.path(self.places) == self.spot.path {
            hook.uninstall(self.places)?;
        }
        let installed = self.add_server();
        // Also if that failed: a hook that was there comes back.
        hook.install(self.places, line)?;
        installed
    }

    fn add_server(&self) -> Result<Installed, FileError> {
        install_into(self.spot, self.places, self.entry, self.moved)
    }
}

/// The state of the client's files without Kitbag.
pub(super) struct TakenOut {
    pub(super) hook: Uninstalled,
    pub(super) server: Uninstalled,
}

pub(super) fn take_out(
    spot: &ClientFile,
    places: &ClientDirectories,
) -> Result<TakenOut, FileError> {
    let hook = match spot.client.prompt_hook() {
        Ok(hook) if spot.scope == Scope::User && hook.is_installed(places) => {
            hook.uninstall(places)?
        }
        // A file of hooks that is broken, and was not edited, is no reason to stay.
        _ => Uninstalled::NotThere,
    };
    let server = uninstall_from(spot, places)?;
    Ok(TakenOut { hook, server })
}
