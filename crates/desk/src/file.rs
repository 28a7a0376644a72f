//! The edits on disk: whole or not at all, and with a copy of what was there before.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::client::{Client, Scope, Spot};
use crate::edit::{self, Door, EditError, Undone, install, uninstall};
use crate::places::Places;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path} cannot be read", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} cannot be written", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{path} cannot be edited", path = path.display())]
    Edit { path: PathBuf, source: EditError },
}

/// What came of putting Kitbag into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub changed: bool,
    /// Where the file as it was before lies, if there was one.
    pub backup: Option<PathBuf>,
}

impl Client {
    /// The file that an installation goes into: the first that is there, or whose folder is, or
    /// else the usual one. None where the client has no such file.
    pub fn file_to_edit(self, places: &Places, scope: Scope) -> Option<Spot> {
        let others = |spot: &Spot| self == Self::VsCode && !spot.path.ends_with("mcp.json");
        let mut spots: Vec<Spot> = self.spots(places);
        spots.retain(|spot| spot.scope == scope && !others(spot));
        let there = |spot: &&Spot| spot.path.is_file();
        let near = |spot: &&Spot| spot.path.parent().is_some_and(Path::is_dir);
        let chosen = spots.iter().find(there).or_else(|| spots.iter().find(near)).or(spots.first());
        chosen.cloned()
    }
}

/// Puts Kitbag into a file, or brings its entry there up to date. Servers that are behind it
/// already stay there.
pub fn install_into(spot: &Spot, door: &Door, behind: &[String]) -> Result<Installed, FileError> {
    let failed = |source| FileError::Edit { path: spot.path.clone(), source };
    let text = read(&spot.path)?;
    let backup = backup_of(&spot.path);
    let before = read(&backup)?;
    let current = text.as_deref().unwrap_or_default();
    // What was before an earlier installation, so that the backup never holds Kitbag itself.
    let clean = match uninstall(spot, current, before.as_deref()).map_err(failed)? {
        Undone::NotThere => text.clone(),
        Undone::Nothing => None,
        Undone::Restored(text) | Undone::Removed(text) => Some(text),
    };
    let earlier = match &before {
        Some(before) if clean.as_deref() != text.as_deref() => {
            edit::behind(spot, current, before).map_err(failed)?
        }
        _ => Vec::new(),
    };
    let behind = [behind, &earlier].concat();
    let new = install(spot, clean.as_deref().unwrap_or_default(), door, &behind).map_err(failed)?;
    let changed = new != current;
    if changed {
        let failed = |source| FileError::Write { path: spot.path.clone(), source };
        permissions(&destination(&spot.path)).map_err(failed)?;
        if let Some(clean) = &clean {
            write_private(&backup, clean)?;
        }
        write(&spot.path, &new).map_err(failed)?;
    }
    Ok(Installed { changed, backup: Some(backup).filter(|path| path.is_file()) })
}

/// Takes Kitbag out of a file. A file that held nothing else is removed, and so is a backup that
/// has served.
pub fn uninstall_from(spot: &Spot) -> Result<Undone, FileError> {
    let Some(text) = read(&spot.path)? else { return Ok(Undone::NotThere) };
    let backup = backup_of(&spot.path);
    let before = read(&backup)?;
    let undone = uninstall(spot, &text, before.as_deref())
        .map_err(|source| FileError::Edit { path: spot.path.clone(), source })?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| FileError::Write { path, source }
    };
    match &undone {
        Undone::NotThere => {}
        Undone::Nothing => fs::remove_file(destination(&spot.path)).map_err(failed(&spot.path))?,
        Undone::Removed(text) => write(&spot.path, text).map_err(failed(&spot.path))?,
        Undone::Restored(text) => {
            write(&spot.path, text).map_err(failed(&spot.path))?;
            fs::remove_file(&backup).map_err(failed(&backup))?;
        }
    }
    Ok(undone)
}

/// Whole or not at all: readers see the old file or the new one. A new file is for its owner
/// only, since people write secrets into it; an old one keeps its permissions.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = destination(path);
    let permissions = permissions(&path)?;
    replace(&path, text, permissions)
}

/// Where the file as it was before an installation lies.
pub fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".before-kitbag");
    path.with_file_name(name)
}

/// What a path leads to: a configuration kept elsewhere stays a link, even if nothing is there yet.
fn destination(path: &Path) -> PathBuf {
    const LINKS_AT_MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS_AT_MOST {
        let Ok(next) = fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    path
}

/// Those that a file at this path has or would get; an error if its owner wants it left alone.
fn permissions(path: &Path) -> io::Result<Permissions> {
    let Ok(found) = fs::metadata(path) else { return Ok(Permissions::from_mode(0o600)) };
    if found.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is marked as read-only"));
    }
    Ok(found.permissions())
}

fn write_private(path: &Path, text: &str) -> Result<(), FileError> {
    replace(path, text, Permissions::from_mode(0o600))
        .map_err(|source| FileError::Write { path: path.to_owned(), source })
}

fn replace(path: &Path, text: &str, permissions: Permissions) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // The error would speak of a file that nobody knows.
    let mut file = NamedTempFile::new_in(folder).map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn read(path: &Path) -> Result<Option<String>, FileError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::Read { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::places::Platform;

    fn door(command: &str) -> Door {
        Door::Stdio { command: command.to_owned(), args: vec!["serve".to_owned()] }
    }

    fn spot(home: &Path, client: Client) -> Spot {
        let places = Places::new(Platform::Linux, home.to_owned(), home.join("project"), |_| None);
        client.file_to_edit(&places, Scope::User).unwrap()
    }

    #[test]
    fn an_installation_leaves_a_private_backup_and_its_end_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let spot = spot(home.path(), Client::Cursor);
        let before = "{ \"mcpServers\": { \"a\": { \"command\": \"x\" } } } // mine";
        write(&spot.path, before).unwrap();
        fs::set_permissions(&spot.path, Permissions::from_mode(0o644)).unwrap();

        let first = install_into(&spot, &door("/a/kitbag"), &["a".to_owned()]).unwrap();
        let backup = first.backup.clone().unwrap();
        assert!(first.changed && fs::read_to_string(&backup).unwrap() == before);
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&spot.path).unwrap().permissions().mode() & 0o777, 0o644);

        let again = install_into(&spot, &door("/a/kitbag"), &["a".to_owned()]).unwrap();
        assert!(!again.changed);
        let newer = install_into(&spot, &door("/b/kitbag"), &[]).unwrap();
        assert!(newer.changed && fs::read_to_string(&backup).unwrap() == before);
        assert!(fs::read_to_string(&spot.path).unwrap().contains("BehindKitbag"));

        assert_eq!(uninstall_from(&spot).unwrap(), Undone::Restored(before.to_owned()));
        assert_eq!(fs::read_to_string(&spot.path).unwrap(), before);
        assert!(!backup.exists() && uninstall_from(&spot).unwrap() == Undone::NotThere);
    }

    #[test]
    fn a_file_made_for_kitbag_goes_with_it() {
        let home = tempfile::tempdir().unwrap();
        for client in Client::ALL {
            let spot = spot(home.path(), client);
            let installed = install_into(&spot, &door("kitbag"), &[]).unwrap();
            assert!(installed.changed && installed.backup.is_none() && spot.path.exists());
            assert!(install_into(&spot, &door("/b/kitbag"), &[]).unwrap().backup.is_none());
            assert_eq!(uninstall_from(&spot).unwrap(), Undone::Nothing);
            assert!(!spot.path.exists(), "{client}");
        }
    }

    #[test]
    fn a_link_stays_a_link_even_if_nothing_is_behind_it() {
        let home = tempfile::tempdir().unwrap();
        let spot = spot(home.path(), Client::Cursor);
        fs::create_dir_all(spot.path.parent().unwrap()).unwrap();
        symlink("../dotfiles/mcp.json", &spot.path).unwrap();
        let kept = home.path().join("dotfiles/mcp.json");
        for before in [None, Some("{ \"mcpServers\": {} }")] {
            if let Some(before) = before {
                fs::write(&kept, before).unwrap();
            }
            install_into(&spot, &door("kitbag"), &[]).unwrap();
            assert!(spot.path.is_symlink() && fs::read_to_string(&kept).unwrap().contains("kitbag"));
            uninstall_from(&spot).unwrap();
            assert!(spot.path.is_symlink());
            assert_eq!(fs::read_to_string(&kept).ok().as_deref(), before);
        }
    }

    #[test]
    fn a_file_that_is_marked_as_read_only_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let spot = spot(home.path(), Client::Cursor);
        write(&spot.path, "{}").unwrap();
        fs::set_permissions(&spot.path, Permissions::from_mode(0o444)).unwrap();
        let error = install_into(&spot, &door("kitbag"), &[]).unwrap_err();
        assert!(matches!(error, FileError::Write { .. }), "{error}");
        assert_eq!(fs::read_to_string(&spot.path).unwrap(), "{}");
        assert!(!backup_of(&spot.path).exists());
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
        assert_eq!((mode(), fs::read_to_string(&path).unwrap().as_str()), (0o640, "b"));
    }
}
