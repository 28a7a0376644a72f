//! The hook for prompts, as `install` and `uninstall` put it in and take it out beside the server.

use kitbag_clients::{
    ClientDirectories, ClientFile, FileError, Installed, KitbagEntry, PromptHook, Scope,
    Uninstalled, install_into, uninstall_from,
};
use kitbag_config::Config;

use super::door::hook_command;
use crate::cli::Invocation;

/// The hook that is to be in place after an installation.
pub(super) struct WantedHook {
    pub(super) hook: &'static PromptHook,
    command: String,
    /// False for a hook of an earlier installation, which is brought up to date.
    pub(super) is_new: bool,
}

/// The edits of an installation.
pub(super) struct InstallEdits<'a> {
    pub(super) spot: &'a ClientFile,
    pub(super) places: &'a ClientDirectories,
    pub(super) entry: &'a KitbagEntry,
    pub(super) moved: &'a [String],
}

impl WantedHook {
    /// The hook of the client, if the person asks for it or has it already.
    pub(super) fn of(
        asked: bool,
        (spot, places): (&ClientFile, &ClientDirectories),
        (config, invocation): (&Config, &Invocation),
    ) -> anyhow::Result<Option<Self>> {
        let hook = match spot.client.prompt_hook() {
            Ok(hook) if spot.scope == Scope::User => hook,
            Err(none) if asked => return Err(none.into()),
            _ => return Ok(None),
        };
        let is_new = !hook.is_in_place(places);
        if is_new && !asked {
            return Ok(None);
        }
        let command = hook_command(hook, config, invocation)?;
        Ok(Some(Self {
            hook,
            command,
            is_new,
        }))
    }
}

impl InstallEdits<'_> {
    /// Adds Kitbag, then the hook. A hook in the same file steps aside meanwhile, so that the backup
    /// of either is the file without both.
    pub(super) fn carry_out(&self, wanted: Option<&WantedHook>) -> Result<Installed, FileError> {
        let Some(WantedHook { hook, command, .. }) = wanted else {
            return install_into(self.spot, self.places, self.entry, self.moved);
        };
        if hook.path(self.places) == self.spot.path {
            hook.uninstall(self.places)?;
        }
        let installed = install_into(self.spot, self.places, self.entry, self.moved);
        // Also if that failed: a hook that was there comes back.
        hook.install(self.places, command)?;
        installed
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
        Ok(hook) if spot.scope == Scope::User => hook.uninstall(places)?,
        _ => Uninstalled::NotThere,
    };
    let server = uninstall_from(spot, places)?;
    Ok(TakenOut { hook, server })
}
