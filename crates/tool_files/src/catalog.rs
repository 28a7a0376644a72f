//! The tools of the catalog: the built-in tools and the tools of directories.
//!
//! A file with a mistake becomes an entry in a list of problems, and the other files load. If two
//! tools have the same name, the first one keeps it: built-in tools come first, then the
//! directories in their order, then files by name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kitbag_tool_spec::WireName;

use crate::file::ToolFile;
use crate::file::mistake::{ToolFileError, ToolFileMistake};

/// All tools at one moment, immutable; a changed file makes a new catalog.
#[derive(Debug, Default)]
pub struct ToolCatalog {
    tools: Vec<Arc<ToolFile>>,
    by_name: HashMap<String, usize>,
    problems: Vec<ToolFileError>,
}

/// The result of reading one file.
pub(crate) type ReadFile = Result<Arc<ToolFile>, Vec<ToolFileError>>;

impl ToolCatalog {
    /// Returns the built-in tools.
    pub fn built_in() -> Self {
        Self::from_files(crate::built_in::read_built_in_files())
    }

    /// Reads files and directories in addition to the built-in tools, which keep their names.
    pub fn with_built_in(paths: &[PathBuf]) -> Self {
        crate::directories::with_built_in(paths)
    }

    /// Reads a directory without the built-in tools; its files may declare tools that Kitbag itself
    /// runs.
    pub fn from_directory_only(directory: &Path) -> Self {
        crate::directories::without_built_in(directory)
    }

    pub(crate) fn from_files(files: impl IntoIterator<Item = ReadFile>) -> Self {
        let mut catalog = Self::default();
        for file in files {
            match file {
                Ok(tool) => catalog.add(tool),
                Err(mistakes) => catalog.problems.extend(mistakes),
            }
        }
        catalog
    }

    /// Returns the tools in the order in which they got their names.
    pub fn tools(&self) -> &[Arc<ToolFile>] {
        &self.tools
    }

    /// Returns the tool with this name or alias.
    pub fn find_by_name(&self, name: &str) -> Option<&Arc<ToolFile>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// Returns the mistakes of the files that did not load.
    pub fn problems(&self) -> &[ToolFileError] {
        &self.problems
    }

    fn add(&mut self, tool: Arc<ToolFile>) {
        let taken = self.find_conflicts(&tool);
        if !taken.is_empty() {
            self.problems.extend(taken);
            return;
        }
        let index = self.tools.len();
        for name in names(&tool) {
            self.by_name.insert(name.to_owned(), index);
        }
        self.tools.push(tool);
    }

    fn find_conflicts(&self, tool: &ToolFile) -> Vec<ToolFileError> {
        let same_id = self.tools.iter().find(|other| other.id == tool.id);
        let ids = same_id.map(|other| ("", tool.id.as_str(), other));
        let names = names(tool).filter_map(|name| {
            let key = match name == tool.name.as_str() {
                true => "name",
                false => "aliases",
            };
            Some((key, name, self.find_by_name(name)?))
        });
        ids.into_iter()
            .chain(names)
            .map(|(key, name, other)| name_conflict(tool, key, name, other))
            .collect()
    }
}

fn names(tool: &ToolFile) -> impl Iterator<Item = &str> {
    let aliases = tool.aliases.iter().map(WireName::as_str);
    std::iter::once(tool.name.as_str()).chain(aliases)
}

fn name_conflict(tool: &ToolFile, key: &str, name: &str, other: &ToolFile) -> ToolFileError {
    ToolFileError {
        file: tool.path.clone(),
        line: tool.line(key),
        key: key.to_owned(),
        mistake: ToolFileMistake::NameTaken {
            name: name.to_owned(),
            taken_by: other.id.to_string(),
            at: other.path.clone(),
        },
    }
}
