//! A file as a name in an open folder. Links are resolved once; even if they change afterwards, the
//! file is read, written and removed in that folder.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{self, Path, PathBuf};
use std::process;

use rustix::fs::{
    AtFlags, Mode, OFlags, fchmod, mkdirat, open, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

#[derive(Debug)]
pub(crate) struct FolderEntry {
    folder: OwnedFd,
    name: OsString,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderEntryError {
    #[error("{} is a link that leads out of the project", link.display())]
    Leaves { link: PathBuf },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Whether to create missing folders on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingFolders {
    Create,
    Ignore,
}

/// The operating system's limit on followed links.
const MAX_LINKS: usize = 40;

impl FolderEntry {
    /// Follows a path, wherever links lead: users keep their own files where they like. Returns
    /// nothing if its folder is missing and is not created.
    pub(crate) fn follow_anywhere(
        path: &Path,
        missing: MissingFolders,
    ) -> io::Result<Option<Self>> {
        let path = destination(path);
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        let folder = parent.unwrap_or(Path::new("."));
        if missing == MissingFolders::Create {
            fs::create_dir_all(folder)?;
        }
        let name = path
            .file_name()
            .ok_or(io::ErrorKind::IsADirectory)?
            .to_owned();
        match open(folder, FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Some(Self { folder, name })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Follows a path below `root`. Links are followed as long as they stay below it.
    pub(crate) fn follow_within(
        root: &Path,
        path: &Path,
        missing: MissingFolders,
    ) -> Result<Option<Self>, FolderEntryError> {
        let mut walk = PathWalk::start_below(root, path)?;
        while let Some(name) = walk.ahead.pop_front() {
            match walk.classify(&name) {
                Ok(WalkedName::Parent) => walk.go_up()?,
                Ok(WalkedName::Link(target)) => walk.follow(&name, &target)?,
                Ok(WalkedName::Plain) | Err(Errno::NOENT) if walk.ahead.is_empty() => {
                    return Ok(walk.into_entry(name));
                }
                Ok(WalkedName::Plain) => walk.enter(&name)?,
                Err(Errno::NOENT) if missing == MissingFolders::Create => walk.create(&name)?,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::IsADirectory).into())
    }

    /// Returns the text of the file, or nothing if there is no file.
    pub(crate) fn read(&self) -> io::Result<Option<String>> {
        // Otherwise, opening a pipe without a writer would block forever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut text = String::new();
        { file }.read_to_string(&mut text)?;
        Ok(Some(text))
    }

    /// Returns the permissions that the file has, or would get: a new file is readable only by its
    /// owner, since users write secrets into it. Fails if the file is read-only.
    pub(crate) fn permissions(&self) -> io::Result<Mode> {
        let found = match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Mode::from_raw_mode(found.st_mode),
            Err(Errno::NOENT) => return Ok(PRIVATE),
            Err(error) => return Err(error.into()),
        };
        if !found.intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is marked as read-only",
            ));
        }
        Ok(found)
    }

    /// Replaces the file atomically: readers see the old file or the new one.
    pub(crate) fn replace(&self, text: &str, permissions: Mode) -> io::Result<()> {
        let (draft, mut file) = self.draft()?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| Ok(fchmod(&file, permissions)?))
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(renameat(&self.folder, &draft, &self.folder, &self.name)?));
        if written.is_err() {
            // The first error is the one to report.
            let _kept = unlinkat(&self.folder, &draft, AtFlags::empty());
        }
        written
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }

    /// Creates a file in the same folder, under an unused name.
    fn draft(&self) -> io::Result<(OsString, File)> {
        /// Only a folder full of leftovers has this many drafts.
        const TRIES: u32 = 1000;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for number in 0..TRIES {
            let name = self.draft_name(number);
            match openat(&self.folder, &name, flags, PRIVATE) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn draft_name(&self, number: u32) -> OsString {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(format!(".{}-{number}", process::id()));
        name
    }
}

pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A walk along a path: the open folders so far, and the names still ahead.
struct PathWalk {
    root: PathBuf,
    folders: Vec<OwnedFd>,
    ahead: VecDeque<OsString>,
    links: usize,
}

/// The kinds of names on a walked path.
enum WalkedName {
    Parent,
    Link(PathBuf),
    Plain,
}

impl PathWalk {
    fn start_below(root: &Path, path: &Path) -> Result<Self, FolderEntryError> {
        // The user works in this folder, so links on the way to it are their own.
        let top = open(root, FOLDER, Mode::empty()).map_err(io::Error::from)?;
        let relative = path.strip_prefix(root).unwrap_or(path);
        let mut walk = Self {
            root: fs::canonicalize(root)?,
            folders: vec![top],
            ahead: VecDeque::new(),
            links: 0,
        };
        walk.prepend(relative);
        Ok(walk)
    }

    fn current_folder(&self) -> &OwnedFd {
        self.folders.last().expect("the root is never left")
    }

    fn classify(&self, name: &OsStr) -> Result<WalkedName, Errno> {
        if name == ".." {
            return Ok(WalkedName::Parent);
        }
        match readlinkat(self.current_folder(), name, Vec::new()) {
            Ok(target) => Ok(WalkedName::Link(
                OsString::from_vec(target.into_bytes()).into(),
            )),
            // The kernel's answer for a name that is not a link.
            Err(Errno::INVAL) => Ok(WalkedName::Plain),
            Err(error) => Err(error),
        }
    }

    fn create(&mut self, name: &OsStr) -> Result<(), FolderEntryError> {
        mkdirat(self.current_folder(), name, Mode::from(0o777)).map_err(io::Error::from)?;
        self.enter(name)
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), FolderEntryError> {
        let folder = openat(
            self.current_folder(),
            name,
            FOLDER.union(OFlags::NOFOLLOW),
            Mode::empty(),
        );
        self.folders.push(folder.map_err(io::Error::from)?);
        Ok(())
    }

    fn go_up(&mut self) -> Result<(), FolderEntryError> {
        if self.folders.len() == 1 {
            return Err(FolderEntryError::Leaves { link: "..".into() });
        }
        self.folders.pop();
        Ok(())
    }

    fn follow(&mut self, name: &OsStr, target: &Path) -> Result<(), FolderEntryError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(io::Error::from(Errno::LOOP).into());
        }
        match self.relative_target(target) {
            Some(inside) => {
                self.prepend(inside);
                Ok(())
            }
            None => Err(FolderEntryError::Leaves { link: name.into() }),
        }
    }

    /// Returns the target as a path from the current folder, unless it leaves the root. A link that
    /// leads upwards out of the root is found here, so that the error names the link and not `..`.
    fn relative_target<'t>(&mut self, target: &'t Path) -> Option<&'t Path> {
        let inside = if target.is_absolute() {
            self.folders.truncate(1);
            target.strip_prefix(&self.root).ok()?
        } else {
            target
        };
        let ups = inside
            .components()
            .take_while(|component| *component == path::Component::ParentDir);
        (ups.count() < self.folders.len()).then_some(inside)
    }

    fn prepend(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                path::Component::Normal(name) => self.ahead.push_front(name.to_owned()),
                path::Component::ParentDir => self.ahead.push_front("..".into()),
                path::Component::CurDir | path::Component::RootDir | path::Component::Prefix(_) => {
                }
            }
        }
    }

    fn into_entry(mut self, name: OsString) -> Option<FolderEntry> {
        Some(FolderEntry {
            folder: self.folders.pop()?,
            name,
        })
    }
}

/// Follows the links of a path. A configuration file that is a link remains one, even if its target
/// does not exist yet.
fn destination(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            break;
        };
        path = match path.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_followed_within_a_folder_and_never_out_of_it() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("project");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(outside.path().join("mine"), "mine").unwrap();
        fs::write(root.join("ours"), "ours").unwrap();
        for (at, target) in [
            ("a/up", "../ours"),
            ("a/whole", root.join("ours").to_str().unwrap()),
            ("a/out", "../../mine"),
            ("a/far", "/etc/hostname"),
            ("folder", ".."),
            ("a/round", "b/../../folder/mine"),
            ("loop", "loop"),
            ("inner", "a"),
        ] {
            symlink(target, root.join(at)).unwrap();
        }
        let read = |path: &str| {
            let entry = FolderEntry::follow_within(&root, &root.join(path), MissingFolders::Ignore);
            entry
                .map(|entry| entry.and_then(|entry| entry.read().unwrap()))
                .map_err(|error| error.to_string())
        };
        for (path, expected) in [
            ("ours", "ours"),
            ("a/up", "ours"),
            ("a/whole", "ours"),
            ("inner/up", "ours"),
        ] {
            assert_eq!(read(path), Ok(Some(expected.to_owned())), "{path}");
        }
        for path in [
            "a/out",
            "a/far",
            "folder/mine",
            "a/round",
            "../mine",
            "loop",
            "inner/out",
        ] {
            assert!(read(path).is_err(), "{path}");
        }
        assert_eq!((read("none"), read("none/deeper")), (Ok(None), Ok(None)));
        assert!(
            read("a/out")
                .unwrap_err()
                .contains("out is a link that leads out of the project")
        );
    }

    #[test]
    fn a_file_is_written_into_the_folder_that_was_opened() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("project");
        fs::create_dir_all(root.join("a")).unwrap();
        let entry = FolderEntry::follow_within(&root, Path::new("a/file"), MissingFolders::Create)
            .unwrap()
            .unwrap();
        // Another process replaces the folder with a link while it is open.
        fs::rename(root.join("a"), root.join("was")).unwrap();
        symlink(outside.path(), root.join("a")).unwrap();
        symlink(outside.path().join("victim"), root.join("was/file")).unwrap();
        entry.replace("text", PRIVATE).unwrap();
        assert_eq!(fs::read_to_string(root.join("was/file")).unwrap(), "text");
        assert!(!root.join("was/file").is_symlink() && !outside.path().join("victim").exists());
        assert!(!outside.path().join("file").exists());
    }
}
