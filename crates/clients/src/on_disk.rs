//! Edits files on disk atomically, keeping a backup of the original.

use std::io;
use std::path::{Path, PathBuf};

use crate::client::{Client, ClientFile, Scope};
use crate::directories::ClientDirectories;
use crate::edit::{self, FileEditError, KitbagEntry, Uninstalled, install, uninstall};
use crate::file_access::{FileAccess, FileWithBackup};
use crate::folder_entry::{FolderEntry, MissingFolders};

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path} cannot be read", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} cannot be written", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{path} cannot be edited", path = path.display())]
    Edit {
        path: PathBuf,
        source: FileEditError,
    },
    #[error("{path} is not edited: `{link}` is a link that leads out of the project", path = path.display(), link = link.display())]
    LeavesProject { path: PathBuf, link: PathBuf },
}

/// The result of adding Kitbag to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub changed: bool,
    /// The backup of the original, if there was a file.
    pub backup: Option<PathBuf>,
}

impl Client {
    /// Returns the file to add Kitbag to: the first that exists, or else the first whose folder
    /// exists, or else the usual one. Some clients have no file of that scope.
    pub fn file_to_edit(self, directories: &ClientDirectories, scope: Scope) -> Option<ClientFile> {
        let mut files = self.files(directories);
        files.retain(|file| file.scope == scope && file.is_for_servers());
        let existing = files.iter().find(|file| file.path.is_file());
        let beside = files.iter().find(|file| file.has_folder());
        existing.or(beside).or(files.first()).cloned()
    }
}

impl ClientFile {
    /// False for VS Code's files that list servers only for legacy reasons.
    fn is_for_servers(&self) -> bool {
        self.client != Client::VsCode || self.path.ends_with("mcp.json")
    }

    fn has_folder(&self) -> bool {
        self.path.parent().is_some_and(Path::is_dir)
    }
}

/// Fails early if the file cannot be edited.
pub fn check_editable(file: &ClientFile, directories: &ClientDirectories) -> Result<(), FileError> {
    let access = FileAccess::for_file(file, directories);
    access.read(&file.path)?;
    access.read(&backup_path(&file.path))?;
    access.check_writable(&file.path)
}

/// Adds Kitbag to a file, or updates its entry. Servers that an earlier installation switched off
/// stay off.
pub fn install_into(
    file: &ClientFile,
    directories: &ClientDirectories,
    entry: &KitbagEntry,
    behind: &[String],
) -> Result<Installed, FileError> {
    let access = FileAccess::for_file(file, directories);
    let target = file_with_backup(file);
    let (text, before) = (access.read(target.path)?, access.read(&target.backup)?);
    let current = text.as_deref().unwrap_or_default();
    // The backup never contains Kitbag itself.
    let uninstalled = in_file(&file.path, uninstall(file, current, before.as_deref()))?;
    let clean = uninstalled.into_clean_text(text.clone());
    let earlier = match &before {
        Some(before) if clean != text => in_file(
            &file.path,
            edit::switched_off_servers(file, current, before),
        )?,
        _ => Vec::new(),
    };
    let behind = [behind, &earlier].concat();
    let new = install(file, clean.as_deref().unwrap_or_default(), entry, &behind);
    let new = in_file(&file.path, new)?;
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

/// Removes Kitbag from a file. Deletes a file that held nothing else, and a restored backup.
pub fn uninstall_from(
    file: &ClientFile,
    directories: &ClientDirectories,
) -> Result<Uninstalled, FileError> {
    let access = FileAccess::for_file(file, directories);
    let Some(text) = access.read(&file.path)? else {
        return Ok(Uninstalled::NotInstalled);
    };
    let before = access.read(&backup_path(&file.path))?;
    let uninstalled = in_file(&file.path, uninstall(file, &text, before.as_deref()))?;
    access.apply_uninstall(&file_with_backup(file), &uninstalled)?;
    Ok(uninstalled)
}

/// Writes the file atomically: readers see the old file or the new one. A new file is readable only
/// by its owner, since users write secrets into it; an existing one keeps its permissions.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let entry = FolderEntry::follow_anywhere(path, MissingFolders::Create)?
        .ok_or(io::ErrorKind::NotFound)?;
    entry.replace(text, entry.permissions()?)
}

/// The path of the backup from before an installation.
pub fn backup_path(path: &Path) -> PathBuf {
    path_with_suffix(path, ".before-kitbag")
}

pub(crate) fn path_with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

fn file_with_backup(file: &ClientFile) -> FileWithBackup<'_> {
    FileWithBackup {
        path: &file.path,
        backup: backup_path(&file.path),
    }
}

pub(crate) fn in_file<T>(path: &Path, edited: Result<T, FileEditError>) -> Result<T, FileError> {
    edited.map_err(|source| FileError::Edit {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::directories::OperatingSystem;

    fn entry(command: &str) -> KitbagEntry {
        KitbagEntry::Stdio {
            command: command.to_owned(),
            args: vec!["serve".to_owned()],
        }
    }

    fn directories(home: &Path) -> ClientDirectories {
        ClientDirectories::new(
            OperatingSystem::Linux,
            home.to_owned(),
            home.join("project"),
            |_| None,
        )
    }

    fn file(home: &Path, client: Client) -> ClientFile {
        client
            .file_to_edit(&directories(home), Scope::User)
            .unwrap()
    }

    #[test]
    fn an_installation_leaves_a_private_backup_and_its_removal_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path(), Client::Cursor);
        let before = "{ \"mcpServers\": { \"a\": { \"command\": \"x\" } } } // mine";
        write(&file.path, before).unwrap();
        fs::set_permissions(&file.path, Permissions::from_mode(0o644)).unwrap();

        let first = install_into(
            &file,
            &directories(home.path()),
            &entry("/a/kitbag"),
            &["a".to_owned()],
        )
        .unwrap();
        let backup = first.backup.clone().unwrap();
        assert!(first.changed && fs::read_to_string(&backup).unwrap() == before);
        assert_eq!(
            fs::metadata(&backup).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::metadata(&file.path).unwrap().permissions().mode() & 0o777,
            0o644
        );

        let again = install_into(
            &file,
            &directories(home.path()),
            &entry("/a/kitbag"),
            &["a".to_owned()],
        )
        .unwrap();
        assert!(!again.changed);
        let newer =
            install_into(&file, &directories(home.path()), &entry("/b/kitbag"), &[]).unwrap();
        assert!(newer.changed && fs::read_to_string(&backup).unwrap() == before);
        assert!(
            fs::read_to_string(&file.path)
                .unwrap()
                .contains("BehindKitbag")
        );

        assert_eq!(
            uninstall_from(&file, &directories(home.path())).unwrap(),
            Uninstalled::Restored(before.to_owned())
        );
        assert_eq!(fs::read_to_string(&file.path).unwrap(), before);
        assert!(
            !backup.exists()
                && uninstall_from(&file, &directories(home.path())).unwrap()
                    == Uninstalled::NotInstalled
        );
    }

    #[test]
    fn a_file_created_for_kitbag_is_removed_with_it() {
        let home = tempfile::tempdir().unwrap();
        for client in Client::ALL {
            let file = file(home.path(), client);
            let installed =
                install_into(&file, &directories(home.path()), &entry("kitbag"), &[]).unwrap();
            assert!(installed.changed && installed.backup.is_none() && file.path.exists());
            assert!(
                install_into(&file, &directories(home.path()), &entry("/b/kitbag"), &[])
                    .unwrap()
                    .backup
                    .is_none()
            );
            assert_eq!(
                uninstall_from(&file, &directories(home.path())).unwrap(),
                Uninstalled::Empty
            );
            assert!(!file.path.exists(), "{client}");
        }
    }

    #[test]
    fn a_link_stays_a_link_even_if_its_target_is_missing() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path(), Client::Cursor);
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        symlink("../dotfiles/mcp.json", &file.path).unwrap();
        let kept = home.path().join("dotfiles/mcp.json");
        for before in [None, Some("{ \"mcpServers\": {} }")] {
            if let Some(before) = before {
                fs::write(&kept, before).unwrap();
            }
            install_into(&file, &directories(home.path()), &entry("kitbag"), &[]).unwrap();
            assert!(
                file.path.is_symlink() && fs::read_to_string(&kept).unwrap().contains("kitbag")
            );
            uninstall_from(&file, &directories(home.path())).unwrap();
            assert!(file.path.is_symlink());
            assert_eq!(fs::read_to_string(&kept).ok().as_deref(), before);
        }
    }

    #[test]
    fn a_read_only_file_is_not_changed() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path(), Client::Cursor);
        write(&file.path, "{}").unwrap();
        fs::set_permissions(&file.path, Permissions::from_mode(0o444)).unwrap();
        let error =
            install_into(&file, &directories(home.path()), &entry("kitbag"), &[]).unwrap_err();
        assert!(matches!(error, FileError::Write { .. }), "{error}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "{}");
        assert!(!backup_path(&file.path).exists());
    }

    #[test]
    fn a_new_file_is_for_its_owner_and_an_old_one_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kitbag/kitbag.toml");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        write(&path, "a").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&path, "b").unwrap();
        assert_eq!(
            (mode(), fs::read_to_string(&path).unwrap().as_str()),
            (0o640, "b")
        );
    }

    #[test]
    fn a_file_of_a_project_is_never_edited_through_a_link_that_leaves_the_project() {
        for (link, target) in [
            (".cursor/mcp.json", "../../mine.json"),
            (".cursor", "../elsewhere"),
            (".cursor/mcp.json.before-kitbag", "../../mine.json"),
        ] {
            let home = tempfile::tempdir().unwrap();
            let (directories, mine) = (directories(home.path()), home.path().join("mine.json"));
            let at = home.path().join("project").join(link);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::create_dir_all(home.path().join("elsewhere")).unwrap();
            fs::write(&mine, "{}").unwrap();
            fs::write(home.path().join("elsewhere/mcp.json"), "{}").unwrap();
            symlink(target, &at).unwrap();
            let file = Client::Cursor
                .file_to_edit(&directories, Scope::Project)
                .unwrap();
            let error = install_into(&file, &directories, &entry("kitbag"), &[]).unwrap_err();
            assert!(
                matches!(error, FileError::LeavesProject { .. }),
                "{link}: {error}"
            );
            let undone = uninstall_from(&file, &directories);
            assert!(
                undone.is_err() || matches!(undone, Ok(Uninstalled::NotInstalled)),
                "{link}: {undone:?}"
            );
            for kept in [mine, home.path().join("elsewhere/mcp.json")] {
                assert_eq!(fs::read_to_string(kept).unwrap(), "{}", "{link}");
            }
        }
        let home = tempfile::tempdir().unwrap();
        let directories = directories(home.path());
        fs::create_dir_all(home.path().join("project/.cursor")).unwrap();
        fs::write(home.path().join("project/.mcp.json"), "{}").unwrap();
        symlink("../.mcp.json", home.path().join("project/.cursor/mcp.json")).unwrap();
        let file = Client::Cursor
            .file_to_edit(&directories, Scope::Project)
            .unwrap();
        assert!(
            install_into(&file, &directories, &entry("kitbag"), &[])
                .unwrap()
                .changed
        );
        assert!(
            fs::read_to_string(home.path().join("project/.mcp.json"))
                .unwrap()
                .contains("kitbag")
        );
    }
}
