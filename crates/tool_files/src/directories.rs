//! Reads the directories of tool files, and reloads them when they change.
//!
//! A check for changes costs one `stat` for each file. Only files with a new time or size are read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::built_in;
use crate::catalog::{ReadFile, ToolCatalog};
use crate::file::ToolFile;
use crate::file::mistake::{ToolFileError, ToolFileMistake};

/// The directories, and the catalog of their tools and the built-in ones.
#[derive(Debug)]
pub struct CatalogDirectories {
    directories: Vec<PathBuf>,
    /// In the order in which names are assigned.
    files: Vec<KnownFile>,
    unreadable: Vec<ToolFileError>,
    current: Arc<ToolCatalog>,
}

#[derive(Debug, Clone)]
struct KnownFile {
    path: PathBuf,
    stamp: FileStamp,
    read: ReadFile,
}

/// Changing a file changes its time or its size.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// The files found in the directories, and the directories that could not be read.
struct FoundFiles {
    files: Vec<(PathBuf, FileStamp)>,
    unreadable: Vec<ToolFileError>,
}

impl CatalogDirectories {
    /// Reads all files. A missing directory may appear later.
    pub fn read(directories: Vec<PathBuf>) -> Self {
        let mut read = Self {
            directories,
            files: Vec::new(),
            unreadable: Vec::new(),
            current: Arc::default(),
        };
        let found = read.find_files();
        read.take(found);
        read
    }

    pub fn current(&self) -> &Arc<ToolCatalog> {
        &self.current
    }

    /// Returns the new catalog if a file was added, changed or removed.
    pub fn refresh(&mut self) -> Option<&Arc<ToolCatalog>> {
        let found = self.find_files();
        if self.is_known(&found) {
            return None;
        }
        self.take(found);
        Some(&self.current)
    }

    fn find_files(&self) -> FoundFiles {
        let mut found = FoundFiles {
            files: Vec::new(),
            unreadable: Vec::new(),
        };
        for directory in &self.directories {
            match tool_files(directory) {
                Ok(files) => found.files.extend(files),
                // It may appear later, such as the one in the data directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => found.unreadable.push(unreadable_error(directory, &error)),
            }
        }
        found
    }

    fn is_known(&self, found: &FoundFiles) -> bool {
        let known = self.files.iter().map(|file| (&file.path, &file.stamp));
        let now = found.files.iter().map(|(path, stamp)| (path, stamp));
        known.eq(now) && self.unreadable == found.unreadable
    }

    fn take(&mut self, found: FoundFiles) {
        let mut known: BTreeMap<PathBuf, KnownFile> = std::mem::take(&mut self.files)
            .into_iter()
            .map(|file| (file.path.clone(), file))
            .collect();
        let files = found.files.into_iter().map(|(path, stamp)| {
            let same = known.remove(&path).filter(|file| file.stamp == stamp);
            same.unwrap_or_else(|| KnownFile {
                read: read(&path),
                path,
                stamp,
            })
        });
        self.files = files.collect();
        self.unreadable = found.unreadable;
        let of_files = self.files.iter().map(|file| file.read.clone());
        let of_directories = self.unreadable.iter().map(|it| Err(vec![it.clone()]));
        let all = built_in::read_built_in_files().into_iter().chain(of_files);
        self.current = Arc::new(ToolCatalog::from_files(all.chain(of_directories)));
    }
}

/// Returns the tool files of a directory, sorted by name. Names that begin with a dot belong to
/// editors.
fn tool_files(directory: &Path) -> io::Result<Vec<(PathBuf, FileStamp)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if is_tool_file(&path)
            // A file may disappear between the two calls.
            && let Ok(facts) = fs::metadata(&path)
            && facts.is_file()
        {
            let stamp = FileStamp {
                modified: facts.modified().ok(),
                bytes: facts.len(),
            };
            files.push((path, stamp));
        }
    }
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(files)
}

fn is_tool_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".toml") && !name.starts_with('.')
}

/// Reads files and directories once, as a gateway reads its directories: in addition to the
/// built-in tools.
pub(crate) fn with_built_in(paths: &[PathBuf]) -> ToolCatalog {
    let own = paths.iter().flat_map(|path| read_path(path, read));
    ToolCatalog::from_files(built_in::read_built_in_files().into_iter().chain(own))
}

/// Reads a directory without the built-in tools; its files may declare tools that Kitbag itself
/// runs.
pub(crate) fn without_built_in(directory: &Path) -> ToolCatalog {
    ToolCatalog::from_files(read_path(directory, read_text))
}

fn read_path(path: &Path, read: fn(&Path) -> ReadFile) -> Vec<ReadFile> {
    if path.is_file() {
        return vec![read(path)];
    }
    match tool_files(path) {
        Ok(files) => files.iter().map(|(path, _)| read(path)).collect(),
        Err(error) => vec![Err(vec![unreadable_error(path, &error)])],
    }
}

/// Reads a file of a directory, which must have an API: Kitbag itself runs only built-in tools.
fn read(path: &Path) -> ReadFile {
    let tool = read_text(path)?;
    if tool.api.is_none() {
        return Err(vec![ToolFileError {
            file: path.to_owned(),
            line: 1,
            key: String::new(),
            mistake: ToolFileMistake::NoApi,
        }]);
    }
    Ok(tool)
}

fn read_text(path: &Path) -> ReadFile {
    match fs::read_to_string(path) {
        Ok(text) => ToolFile::read(path, &text).map(Arc::new),
        Err(error) => Err(vec![unreadable_error(path, &error)]),
    }
}

fn unreadable_error(path: &Path, error: &io::Error) -> ToolFileError {
    ToolFileError {
        file: path.to_owned(),
        line: 0,
        key: String::new(),
        mistake: ToolFileMistake::Unreadable {
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::TICKET;

    fn write(directory: &Path, id: &str, name: &str) {
        let text = TICKET.replacen("name = \"ticket\"", &format!("name = \"{name}\""), 1);
        fs::write(directory.join(format!("{id}.toml")), text).unwrap();
    }

    fn own(catalog: &ToolCatalog) -> Vec<&str> {
        let built_in = built_in::read_built_in_files().len();
        let own = catalog.tools().iter().skip(built_in);
        own.map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn a_file_comes_and_goes_and_a_bad_one_harms_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("later");
        let mut tools = CatalogDirectories::read(vec![folder.path().to_owned(), absent.clone()]);
        assert_eq!(own(tools.current()), [""; 0]);
        assert_eq!(tools.current().problems(), []);
        assert!(tools.refresh().is_none());

        write(folder.path(), "desk", "desk");
        fs::write(folder.path().join("bad.toml"), "name = 1\n").unwrap();
        fs::write(folder.path().join(".#desk.toml"), "").unwrap();
        fs::create_dir(&absent).unwrap();
        let first = tools.refresh().unwrap().clone();
        assert_eq!(own(&first), ["desk"]);
        let message = first.problems()[0].to_string();
        assert!(
            message.ends_with("bad.toml, line 1, in `name`: expected a text, found an integer"),
            "{message}"
        );
        assert!(tools.refresh().is_none());

        write(&absent, "shop", "shop");
        fs::remove_file(folder.path().join("bad.toml")).unwrap();
        let second = tools.refresh().unwrap();
        assert_eq!(own(second), ["desk", "shop"]);
        assert_eq!(second.problems(), []);
        let desk = |catalog: &ToolCatalog| catalog.find_by_name("desk").unwrap().clone();
        assert!(
            Arc::ptr_eq(&desk(&first), &desk(second)),
            "read again without need"
        );
    }

    #[test]
    fn of_two_tools_with_one_name_the_later_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a", "desk");
        write(folder.path(), "b", "desk");
        write(folder.path(), "c", "google_ads");
        let tools = CatalogDirectories::read(vec![folder.path().to_owned()]);
        assert_eq!(own(tools.current()), ["desk"]);
        let messages: Vec<String> = tools
            .current()
            .problems()
            .iter()
            .map(|it| {
                it.to_string()
                    .replace(&format!("{}/", folder.path().display()), "")
            })
            .collect();
        let expected = [
            "b.toml, line 1, in `name`: the name `desk` is taken by `a` (a.toml)",
            "c.toml, line 1, in `name`: the name `google_ads` is taken by `google-ads` (built-in/google-ads.toml)",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn checking_a_thousand_unchanged_files_reads_none_of_them() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..1000 {
            let id = format!("tool-{number}");
            write(folder.path(), &id, &id.replace('-', "_"));
        }
        let mut tools = CatalogDirectories::read(vec![folder.path().to_owned()]);
        assert_eq!(own(tools.current()).len(), 1000);
        assert!(tools.refresh().is_none());
        // A file that would be a mistake if it were read, with the time and size of the previous
        // one.
        let path = folder.path().join("tool-7.toml");
        let (modified, bytes) = (
            fs::metadata(&path).unwrap().modified().unwrap(),
            fs::read(&path).unwrap(),
        );
        fs::write(&path, vec![b'x'; bytes.len()]).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(modified)
            .unwrap();
        assert!(tools.refresh().is_none());
    }
}
