//! Installs the hook for prompts in a client's file on disk, and removes it.

use std::path::{Path, PathBuf};

use crate::directories::ClientDirectories;
use crate::edit::{FileEditError, Uninstalled, has_hook, install_hook, uninstall_hook};
use crate::file_access::{FileAccess, FileWithBackup};
use crate::on_disk::{FileError, Installed, in_file, path_with_suffix};
use crate::prompt_hook::PromptHook;

impl PromptHook {
    /// Fails early if the user's file cannot be edited.
    pub fn check_editable(&self, directories: &ClientDirectories) -> Result<(), FileError> {
        let (path, access) = (self.path(directories), FileAccess::anywhere());
        let text = access.read(&path)?.unwrap_or_default();
        in_file(&path, install_hook(self, &text, ""))?;
        access.check_writable(&path)
    }

    /// Adds the command to the user's file, or updates it there.
    pub fn install(
        &self,
        directories: &ClientDirectories,
        command: &str,
    ) -> Result<Installed, FileError> {
        let path = self.path(directories);
        let (access, target) = (FileAccess::anywhere(), file_with_backup(&path));
        let (text, before) = (access.read(&path)?, access.read(&target.backup)?);
        let current = text.as_deref().unwrap_or_default();
        let uninstalled = in_file(&path, uninstall_hook(self, current, before.as_deref()))?;
        let clean = uninstalled.into_clean_text(text.clone());
        let without = clean.as_deref().unwrap_or_default();
        let new = in_file(&path, install_hook(self, without, command))?;
        let changed = new != current;
        if changed {
            access.replace(&target, &new, clean.as_deref())?;
        }
        let has_backup = before.is_some() || (changed && clean.is_some());
        Ok(Installed {
            changed,
            backup: has_backup.then_some(target.backup),
        })
    }

    /// Removes the command. Deletes a file that held nothing else, and a restored backup.
    pub fn uninstall(&self, directories: &ClientDirectories) -> Result<Uninstalled, FileError> {
        let path = self.path(directories);
        let (access, target) = (FileAccess::anywhere(), file_with_backup(&path));
        let Some(text) = access.read(&path)? else {
            return Ok(Uninstalled::NotInstalled);
        };
        let before = access.read(&target.backup)?;
        let uninstalled = in_file(&path, uninstall_hook(self, &text, before.as_deref()))?;
        access.apply_uninstall(&target, &uninstalled)?;
        Ok(uninstalled)
    }

    /// The path of the backup from before the hook was installed.
    pub fn backup(&self, directories: &ClientDirectories) -> PathBuf {
        hook_backup_path(&self.path(directories))
    }

    /// True if the user's file has the command, possibly among others; false if the file cannot be
    /// read.
    pub fn is_installed(&self, directories: &ClientDirectories) -> bool {
        let text = FileAccess::anywhere().read(&self.path(directories));
        let text = text.ok().flatten().unwrap_or_default();
        matches!(
            has_hook(self, &text),
            Ok(true) | Err(FileEditError::Entangled)
        )
    }
}

/// The backup has its own name: Gemini CLI keeps servers and hooks in one file.
fn file_with_backup(path: &Path) -> FileWithBackup<'_> {
    FileWithBackup {
        path,
        backup: hook_backup_path(path),
    }
}

fn hook_backup_path(path: &Path) -> PathBuf {
    path_with_suffix(path, ".before-kitbag-hook")
}
