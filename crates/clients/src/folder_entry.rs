//! A file by the open folder it lies in: links are resolved once, and whatever happens to them
//! afterwards, what is read, written and removed is in that folder.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::process;

use rustix::fs::{
    AtFlags, Mode, OFlags, fchmod, mkdirat, open, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

#[derive(Debug)]
pub(crate) struct Place {
    folder: OwnedFd,
    name: OsString,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{} is a link that leads out of the project", link.display())]
    Leaves { link: PathBuf },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Whether folders on the way are made where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Make,
    Leave,
}

/// As many as the operating system follows.
const LINKS_AT_MOST: usize = 40;

impl Place {
    /// What a path leads to, wherever links lead: a person keeps their own files where they like.
    /// Nothing, if its folder is missing and left so.
    pub(crate) fn anywhere(path: &Path, missing: Missing) -> io::Result<Option<Self>> {
        let path = destination(path);
        let folder = path
            .parent()
            .filter(|it| !it.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        if missing == Missing::Make {
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

    /// What a path below `root` leads to. Links are followed as long as they stay there.
    pub(crate) fn within(
        root: &Path,
        path: &Path,
        missing: Missing,
    ) -> Result<Option<Self>, PlaceError> {
        let mut way = Way::below(root, path)?;
        while let Some(name) = way.ahead.pop_front() {
            if name == ".." {
                way.back()?;
                continue;
            }
            match readlinkat(way.here(), &name, Vec::new()) {
                Ok(target) => way.follow(
                    &name,
                    &PathBuf::from(OsString::from_vec(target.into_bytes())),
                )?,
                Err(Errno::INVAL | Errno::NOENT) if way.ahead.is_empty() => {
                    return Ok(way.arrive(name));
                }
                Err(Errno::INVAL) => way.enter(&name)?,
                Err(Errno::NOENT) if missing == Missing::Make => {
                    mkdirat(way.here(), &name, Mode::from(0o777)).map_err(io::Error::from)?;
                    way.enter(&name)?;
                }
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::IsADirectory).into())
    }

    /// Its text; nothing where there is no file.
    pub(crate) fn read(&self) -> io::Result<Option<String>> {
        // A pipe that nobody writes to must not hold us up.
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

    /// The permissions that the file has, or would get: a new one is for its owner only, since
    /// people write secrets into it. An error if its owner wants it left alone.
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

    /// Whole or not at all: readers see the old file or the new one.
    pub(crate) fn replace(&self, text: &str, permissions: Mode) -> io::Result<()> {
        let (draft, mut file) = self.draft()?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| Ok(fchmod(&file, permissions)?))
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(renameat(&self.folder, &draft, &self.folder, &self.name)?));
        if written.is_err() {
            // The first error is the one to tell.
            let _kept = unlinkat(&self.folder, &draft, AtFlags::empty());
        }
        written
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }

    /// A new file beside this one, under a name that nothing has.
    fn draft(&self) -> io::Result<(OsString, File)> {
        /// So many that only a folder full of leftovers has them all.
        const TRIES: u32 = 1000;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for number in 0..TRIES {
            let mut name = OsString::from(".");
            name.push(&self.name);
            name.push(format!(".{}-{number}", process::id()));
            match openat(&self.folder, &name, flags, PRIVATE) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The folders gone through so far, all open, and what is still ahead.
struct Way {
    root: PathBuf,
    folders: Vec<OwnedFd>,
    ahead: VecDeque<OsString>,
    links: usize,
}

impl Way {
    fn below(root: &Path, path: &Path) -> Result<Self, PlaceError> {
        // The person is in this folder; how they came there is their own affair.
        let top = open(root, FOLDER, Mode::empty()).map_err(io::Error::from)?;
        let relative = path.strip_prefix(root).unwrap_or(path);
        let mut way = Self {
            root: fs::canonicalize(root)?,
            folders: vec![top],
            ahead: VecDeque::new(),
            links: 0,
        };
        way.prepend(relative);
        Ok(way)
    }

    fn here(&self) -> &OwnedFd {
        self.folders.last().expect("the root is never left")
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), PlaceError> {
        let folder = openat(
            self.here(),
            name,
            FOLDER.union(OFlags::NOFOLLOW),
            Mode::empty(),
        );
        self.folders.push(folder.map_err(io::Error::from)?);
        Ok(())
    }

    fn back(&mut self) -> Result<(), PlaceError> {
        if self.folders.len() == 1 {
            return Err(PlaceError::Leaves { link: "..".into() });
        }
        self.folders.pop();
        Ok(())
    }

    fn follow(&mut self, name: &OsStr, target: &Path) -> Result<(), PlaceError> {
        let leaves = || PlaceError::Leaves { link: name.into() };
        self.links += 1;
        if self.links > LINKS_AT_MOST {
            return Err(io::Error::from(Errno::LOOP).into());
        }
        let inside = if target.is_absolute() {
            self.folders.truncate(1);
            target.strip_prefix(&self.root).map_err(|_| leaves())?
        } else {
            target
        };
        // A link upwards is told by its own name, not by the dots in it.
        let ups = inside
            .components()
            .take_while(|it| *it == Component::ParentDir)
            .count();
        if ups >= self.folders.len() {
            return Err(leaves());
        }
        self.prepend(inside);
        Ok(())
    }

    fn prepend(&mut self, path: &Path) {
        let names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        for name in names.collect::<Vec<_>>().into_iter().rev() {
            self.ahead.push_front(name);
        }
    }

    fn arrive(mut self, name: OsString) -> Option<Place> {
        Some(Place {
            folder: self.folders.pop()?,
            name,
        })
    }
}

/// What a path leads to: a configuration kept elsewhere stays a link, even if nothing is there yet.
fn destination(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_AT_MOST {
        let Ok(next) = fs::read_link(&path) else {
            break;
        };
        path = path
            .parent()
            .map_or_else(|| next.clone(), |folder| folder.join(&next));
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
            let place = Place::within(&root, &root.join(path), Missing::Leave);
            place
                .map(|place| place.and_then(|place| place.read().unwrap()))
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
    fn what_is_written_stays_in_the_folder_that_was_opened() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("project");
        fs::create_dir_all(root.join("a")).unwrap();
        let place = Place::within(&root, Path::new("a/file"), Missing::Make)
            .unwrap()
            .unwrap();
        // Somebody turns the folder into a link while it is open.
        fs::rename(root.join("a"), root.join("was")).unwrap();
        symlink(outside.path(), root.join("a")).unwrap();
        symlink(outside.path().join("victim"), root.join("was/file")).unwrap();
        place.replace("text", PRIVATE).unwrap();
        assert_eq!(fs::read_to_string(root.join("was/file")).unwrap(), "text");
        assert!(!root.join("was/file").is_symlink() && !outside.path().join("victim").exists());
        assert!(!outside.path().join("file").exists());
    }
}
