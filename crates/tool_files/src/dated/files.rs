//! The dated data in force: that of the binary, and that of the operator's files over it.
//!
//! The files are small and are read for each call, so that a change holds at once.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, io};

use super::DatedData;
use crate::file::mistake::ToolFileError;

/// A file of the operator that cannot be used. Its path is for the operator alone.
#[derive(Debug, thiserror::Error)]
pub enum DataFileError {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Mistake(Box<ToolFileError>),
}

impl DataFileError {
    /// Returns the reason without the path, for a caller who could do nothing with it.
    pub fn reason(&self) -> String {
        match self {
            Self::Unreadable { .. } => "it cannot be read".to_owned(),
            Self::Mistake(it) => format!("line {}, `{}`: {}", it.line, it.key, it.mistake),
        }
    }
}

impl DatedData {
    /// Reads the operator's files. Of rows about the same thing, those of a later file hold.
    pub fn with_files(paths: &[PathBuf]) -> Result<Self, DataFileError> {
        static BUILT_IN: LazyLock<DatedData> = LazyLock::new(DatedData::built_in);
        let mut data = BUILT_IN.clone();
        for path in paths {
            data = data.over(path)?;
        }
        Ok(data)
    }

    /// Reads a file, lays its rows over these, and returns its mistakes.
    pub fn with_file_at(&self, path: &Path) -> io::Result<(Self, Vec<ToolFileError>)> {
        Ok(self.with_file(path, &fs::read_to_string(path)?))
    }

    fn over(&self, path: &Path) -> Result<Self, DataFileError> {
        let read = self.with_file_at(path);
        let (data, mistakes) = read.map_err(|error| DataFileError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        match mistakes.into_iter().next() {
            None => Ok(data),
            Some(mistake) => Err(DataFileError::Mistake(Box::new(mistake))),
        }
    }
}
