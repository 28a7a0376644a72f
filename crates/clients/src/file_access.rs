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
        self.try_read(path)
            .map_err(|error| to_file_error(error, path, read_error))
    }

    pub(crate) fn check_writable(&self, path: &Path) -> Result<(), FileError> {
        self.try_check_writable(path)
            .map_err(|error| to_file_error(error, path, write_error))
    }

    /// Writes with these permissions, or else with the file's current ones.
    fn write(&self, path: &Path, text: &str, mode: Option<Mode>) -> Result<(), FileError> {
        self.try_write(path, text, mode)
            .map_err(|error| to_file_error(error, path, write_error))
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        self.try_remove(path)
            .map_err(|error| to_file_error(error, path, write_error))
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

    fn entry(
        &self,
        path: &Path,
        missing: MissingFolders,
    ) -> Result<Option<FolderEntry>, FolderEntryError> {
        match self.project {
            Some(project) => FolderEntry::follow_within(project, path, missing),
            None => Ok(FolderEntry::follow_anywhere(path, missing)?),
        }
    }

    fn try_read(&self, path: &Path) -> Result<Option<String>, FolderEntryError> {
        match self.entry(path, MissingFolders::Ignore)? {
            Some(entry) => Ok(entry.read()?),
            None => Ok(None),
        }
    }

    fn try_check_writable(&self, path: &Path) -> Result<(), FolderEntryError> {
        if let Some(entry) = self.entry(path, MissingFolders::Ignore)? {
            entry.permissions()?;
        }
        Ok(())
    }

    fn try_write(
        &self,
        path: &Path,
        text: &str,
        mode: Option<Mode>,
    ) -> Result<(), FolderEntryError> {
        let entry = self.entry(path, MissingFolders::Create)?;
        let entry = entry.ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let mode = mode.map_or_else(|| entry.permissions(), Ok)?;
        Ok(entry.replace(text, mode)?)
    }

    fn try_remove(&self, path: &Path) -> Result<(), FolderEntryError> {
        if let Some(entry) = self.entry(path, MissingFolders::Ignore)? {
            entry.remove()?;
        }
        Ok(())
    }
}

/// Adds the path of the file to an error.
fn to_file_error(
    error: FolderEntryError,
    path: &Path,
    doing: fn(PathBuf, io::Error) -> FileError,
) -> FileError {
    match error {
        FolderEntryError::Leaves { link } => FileError::LeavesProject {
            path: path.to_owned(),
            link,
        },
        FolderEntryError::Io(source) => doing(path.to_owned(), source),
    }
}

fn read_error(path: PathBuf, source: io::Error) -> FileError {
    FileError::Read { path, source }
}

fn write_error(path: PathBuf, source: io::Error) -> FileError {
    FileError::Write { path, source }
}
