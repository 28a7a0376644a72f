//! The edits on disk: whole or not at all, and with a copy of what was there before.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use crate::client::{Client, Scope, Spot};
use crate::edit::{self, Door, EditError, Undone, install, uninstall};
use crate::place::{Missing, PRIVATE, Place, PlaceError};
use crate::places::Places;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path} cannot be read", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} cannot be written", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{path} cannot be edited", path = path.display())]
    Edit { path: PathBuf, source: EditError },
    #[error("{path} is not edited: `{link}` is a link that leads out of the project", path = path.display(), link = link.display())]
    LeavesProject { path: PathBuf, link: PathBuf },
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
        let chosen = spots
            .iter()
            .find(there)
            .or_else(|| spots.iter().find(near))
            .or(spots.first());
        chosen.cloned()
    }
}

/// Whether the file may be edited at all, before anything else is done for it.
pub fn check_editable(spot: &Spot, places: &Places) -> Result<(), FileError> {
    let desk = Desk::of(spot, places);
    desk.read(&spot.path)?;
    desk.read(&backup_of(&spot.path))?;
    desk.check_writable(&spot.path)
}

/// Puts Kitbag into a file, or brings its entry there up to date. Servers that are behind it
/// already stay there.
pub fn install_into(
    spot: &Spot,
    places: &Places,
    door: &Door,
    behind: &[String],
) -> Result<Installed, FileError> {
    let failed = |source| FileError::Edit {
        path: spot.path.clone(),
        source,
    };
    let desk = Desk::of(spot, places);
    let text = desk.read(&spot.path)?;
    let backup = backup_of(&spot.path);
    let before = desk.read(&backup)?;
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
        desk.check_writable(&spot.path)?;
        if let Some(clean) = &clean {
            desk.write(&backup, clean, Some(PRIVATE))?;
        }
        desk.write(&spot.path, &new, None)?;
    }
    let has_backup = before.is_some() || (changed && clean.is_some());
    Ok(Installed {
        changed,
        backup: Some(backup).filter(|_| has_backup),
    })
}

/// Takes Kitbag out of a file. A file that held nothing else is removed, and so is a backup that
/// has served.
pub fn uninstall_from(spot: &Spot, places: &Places) -> Result<Undone, FileError> {
    let desk = Desk::of(spot, places);
    let Some(text) = desk.read(&spot.path)? else {
        return Ok(Undone::NotThere);
    };
    let backup = backup_of(&spot.path);
    let before = desk.read(&backup)?;
    let undone = uninstall(spot, &text, before.as_deref()).map_err(|source| FileError::Edit {
        path: spot.path.clone(),
        source,
    })?;
    match &undone {
        Undone::NotThere => {}
        Undone::Nothing => desk.remove(&spot.path)?,
        Undone::Removed(text) => desk.write(&spot.path, text, None)?,
        Undone::Restored(text) => {
            desk.write(&spot.path, text, None)?;
            desk.remove(&backup)?;
        }
    }
    Ok(undone)
}

/// Whole or not at all: readers see the old file or the new one. A new file is for its owner
/// only, since people write secrets into it; an old one keeps its permissions.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let place = Place::anywhere(path, Missing::Make)?.ok_or(io::ErrorKind::NotFound)?;
    place.replace(text, place.permissions()?)
}

/// Where the file as it was before an installation lies.
pub fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".before-kitbag");
    path.with_file_name(name)
}

/// Where files are edited: anywhere for those of a person, and for those of a project nowhere
/// else, whatever links it brings along.
struct Desk<'a> {
    project: Option<&'a Path>,
}

impl<'a> Desk<'a> {
    fn of(spot: &Spot, places: &'a Places) -> Self {
        Self {
            project: (spot.scope == Scope::Project).then_some(places.cwd.as_path()),
        }
    }

    fn place(&self, path: &Path, missing: Missing) -> Result<Option<Place>, PlaceError> {
        match self.project {
            Some(project) => Place::within(project, path, missing),
            None => Ok(Place::anywhere(path, missing)?),
        }
    }

    fn read(&self, path: &Path) -> Result<Option<String>, FileError> {
        let read =
            |place: Option<Place>| Ok(place.map(|place| place.read()).transpose()?.flatten());
        self.place(path, Missing::Leave)
            .and_then(read)
            .map_err(|error| told(error, path, reading))
    }

    fn check_writable(&self, path: &Path) -> Result<(), FileError> {
        let check = |place: Option<Place>| {
            Ok(place
                .map(|place| place.permissions())
                .transpose()
                .map(drop)?)
        };
        self.place(path, Missing::Leave)
            .and_then(check)
            .map_err(|error| told(error, path, writing))
    }

    /// With these permissions, or else with those that it has.
    fn write(&self, path: &Path, text: &str, mode: Option<Mode>) -> Result<(), FileError> {
        let write = |place: Option<Place>| {
            let place = place.ok_or(io::Error::from(io::ErrorKind::NotFound))?;
            let mode = mode.map_or_else(|| place.permissions(), Ok)?;
            Ok(place.replace(text, mode)?)
        };
        self.place(path, Missing::Make)
            .and_then(write)
            .map_err(|error| told(error, path, writing))
    }

    fn remove(&self, path: &Path) -> Result<(), FileError> {
        let remove = |place: Option<Place>| Ok(place.map_or(Ok(()), |place| place.remove())?);
        self.place(path, Missing::Leave)
            .and_then(remove)
            .map_err(|error| told(error, path, writing))
    }
}

fn told(error: PlaceError, path: &Path, doing: fn(PathBuf, io::Error) -> FileError) -> FileError {
    match error {
        PlaceError::Leaves { link } => FileError::LeavesProject {
            path: path.to_owned(),
            link,
        },
        PlaceError::Io(source) => doing(path.to_owned(), source),
    }
}

fn reading(path: PathBuf, source: io::Error) -> FileError {
    FileError::Read { path, source }
}

fn writing(path: PathBuf, source: io::Error) -> FileError {
    FileError::Write { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::places::Platform;

    fn door(command: &str) -> Door {
        Door::Stdio {
            command: command.to_owned(),
            args: vec!["serve".to_owned()],
        }
    }

    fn places(home: &Path) -> Places {
        Places::new(
            Platform::Linux,
            home.to_owned(),
            home.join("project"),
            |_| None,
        )
    }

    fn spot(home: &Path, client: Client) -> Spot {
        client.file_to_edit(&places(home), Scope::User).unwrap()
    }

    #[test]
    fn an_installation_leaves_a_private_backup_and_its_end_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let spot = spot(home.path(), Client::Cursor);
        let before = "{ \"mcpServers\": { \"a\": { \"command\": \"x\" } } } // mine";
        write(&spot.path, before).unwrap();
        fs::set_permissions(&spot.path, Permissions::from_mode(0o644)).unwrap();

        let first = install_into(
            &spot,
            &places(home.path()),
            &door("/a/kitbag"),
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
            fs::metadata(&spot.path).unwrap().permissions().mode() & 0o777,
            0o644
        );

        let again = install_into(
            &spot,
            &places(home.path()),
            &door("/a/kitbag"),
            &["a".to_owned()],
        )
        .unwrap();
        assert!(!again.changed);
        let newer = install_into(&spot, &places(home.path()), &door("/b/kitbag"), &[]).unwrap();
        assert!(newer.changed && fs::read_to_string(&backup).unwrap() == before);
        assert!(
            fs::read_to_string(&spot.path)
                .unwrap()
                .contains("BehindKitbag")
        );

        assert_eq!(
            uninstall_from(&spot, &places(home.path())).unwrap(),
            Undone::Restored(before.to_owned())
        );
        assert_eq!(fs::read_to_string(&spot.path).unwrap(), before);
        assert!(
            !backup.exists()
                && uninstall_from(&spot, &places(home.path())).unwrap() == Undone::NotThere
        );
    }

    #[test]
    fn a_file_made_for_kitbag_goes_with_it() {
        let home = tempfile::tempdir().unwrap();
        for client in Client::ALL {
            let spot = spot(home.path(), client);
            let installed =
                install_into(&spot, &places(home.path()), &door("kitbag"), &[]).unwrap();
            assert!(installed.changed && installed.backup.is_none() && spot.path.exists());
            assert!(
                install_into(&spot, &places(home.path()), &door("/b/kitbag"), &[])
                    .unwrap()
                    .backup
                    .is_none()
            );
            assert_eq!(
                uninstall_from(&spot, &places(home.path())).unwrap(),
                Undone::Nothing
            );
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
            install_into(&spot, &places(home.path()), &door("kitbag"), &[]).unwrap();
            assert!(
                spot.path.is_symlink() && fs::read_to_string(&kept).unwrap().contains("kitbag")
            );
            uninstall_from(&spot, &places(home.path())).unwrap();
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
        let error = install_into(&spot, &places(home.path()), &door("kitbag"), &[]).unwrap_err();
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
            let (places, mine) = (places(home.path()), home.path().join("mine.json"));
            let at = home.path().join("project").join(link);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::create_dir_all(home.path().join("elsewhere")).unwrap();
            fs::write(&mine, "{}").unwrap();
            fs::write(home.path().join("elsewhere/mcp.json"), "{}").unwrap();
            symlink(target, &at).unwrap();
            let spot = Client::Cursor
                .file_to_edit(&places, Scope::Project)
                .unwrap();
            let error = install_into(&spot, &places, &door("kitbag"), &[]).unwrap_err();
            assert!(
                matches!(error, FileError::LeavesProject { .. }),
                "{link}: {error}"
            );
            let undone = uninstall_from(&spot, &places);
            assert!(
                undone.is_err() || matches!(undone, Ok(Undone::NotThere)),
                "{link}: {undone:?}"
            );
            for kept in [mine, home.path().join("elsewhere/mcp.json")] {
                assert_eq!(fs::read_to_string(kept).unwrap(), "{}", "{link}");
            }
        }
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        fs::create_dir_all(home.path().join("project/.cursor")).unwrap();
        fs::write(home.path().join("project/.mcp.json"), "{}").unwrap();
        symlink("../.mcp.json", home.path().join("project/.cursor/mcp.json")).unwrap();
        let spot = Client::Cursor
            .file_to_edit(&places, Scope::Project)
            .unwrap();
        assert!(
            install_into(&spot, &places, &door("kitbag"), &[])
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
