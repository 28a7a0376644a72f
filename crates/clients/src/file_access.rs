//! Reads and writes clients' files atomically, and a project's files only within the project.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use crate::client::{ClientFile, Scope};
use crate::directories::ClientDirectories;
use crate::edit::Uninstalled;
use crate::folder_entry::{FolderEntry, FolderEntryError, MissingFolders, PRIVATE};
use crate::on_disk::FileError;

/// A file to edit, and the backup of its original.
pub(crate) struct FileWithBackup<'a> {
    pub(crate) path: &'a Path,
    pub(crate) backup: PathBuf,
}

/// Reads and writes a user's files wherever links lead, and a project's files only within the
/// project.
pub(crate) struct FileAccess<'a> {
    project: Option<&'a Path>,
}

impl<'a> FileAccess<'a> {
    /// Access to a user's own files.
    pub(crate) const fn anywhere() -> Self {
        Self { project: None }
    }

    pub(crate) fn for_file(file: &ClientFile, directories: &'a ClientDirectories) -> Self {
        Self {
            project: (file.scope == Scope::Project).then_some(directories.cwd.as_path()),
        }
    }

    pub(crate) fn read(&self, path: &Path) -> Result<Option<String>, FileError> {
        let text = self.with_entry(path, MissingFolders::Ignore, read_error, FolderEntry::read)?;
        Ok(text.flatten())
    }

    pub(crate) fn check_writable(&self, path: &Path) -> Result<(), FileError> {
        let check = FolderEntry::permissions;
        self.with_entry(path, MissingFolders::Ignore, write_error, check)?;
        Ok(())
    }

    /// Writes with these permissions, or else with the file's current ones.
    fn write(&self, path: &Path, text: &str, mode: Option<Mode>) -> Result<(), FileError> {
        let replace = |entry: &FolderEntry| {
            let mode = mode.map_or_else(|| entry.permissions(), Ok)?;
            entry.replace(text, mode)
        };
        let written = self.with_entry(path, MissingFolders::Create, write_error, replace)?;
        written.ok_or_else(|| write_error(path.to_owned(), io::ErrorKind::NotFound.into()))
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        let remove = FolderEntry::remove;
        self.with_entry(path, MissingFolders::Ignore, write_error, remove)?;
        Ok(())
    }

    /// Writes the backup first, if there is an original.
    pub(crate) fn replace(
        &self,
        target: &FileWithBackup<'_>,
        new: &str,
        clean: Option<&str>,
    ) -> Result<(), FileError> {
        self.check_writable(target.path)?;
        if let Some(clean) = clean {
            self.write(&target.backup, clean, Some(PRIVATE))?;
        }
        self.write(target.path, new, None)
    }

    /// Writes the remaining text of a file.
    pub(crate) fn apply_uninstall(
        &self,
        target: &FileWithBackup<'_>,
        uninstalled: &Uninstalled,
    ) -> Result<(), FileError> {
        match uninstalled {
            Uninstalled::NotInstalled => Ok(()),
            Uninstalled::Empty => self.remove(target.path),
            Uninstalled::Removed(text) => self.write(target.path, text, None),
            Uninstalled::Restored(text) => {
                self.write(target.path, text, None)?;
                self.remove(&target.backup)
            }
        }
    }

    /// Does something with the file. Returns `None` if its folder is missing and is not created.
    fn with_entry<T>(
        &self,
        path: &Path,
        missing: MissingFolders,
        to_error: fn(PathBuf, io::Error) -> FileError,
        act: impl FnOnce(&FolderEntry) -> io::Result<T>,
    ) -> Result<Option<T>, FileError> {
        let entry = match self.project {
            Some(project) => FolderEntry::follow_within(project, path, missing),
            None => FolderEntry::follow_anywhere(path, missing).map_err(Into::into),
        };
        let path = path.to_owned();
        let done = entry.and_then(|entry| Ok(entry.as_ref().map(act).transpose()?));
        done.map_err(|error| match error {
            FolderEntryError::Leaves { link } => FileError::LeavesProject { path, link },
            FolderEntryError::Io(source) => to_error(path, source),
        })
    }
}

fn read_error(path: PathBuf, source: io::Error) -> FileError {
    FileError::Read { path, source }
}

fn write_error(path: PathBuf, source: io::Error) -> FileError {
    FileError::Write { path, source }
}
