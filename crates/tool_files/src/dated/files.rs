//! The effective dated data: the rows of the binary, overridden by the operator's files.
//!
//! The files are small and are read for each call, so that a change applies at once.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, io};

use super::DatedData;
use crate::file::mistake::ToolFileError;

/// An operator's file that cannot be used. Its path is only for the operator.
#[derive(Debug, thiserror::Error)]
pub enum DataFileError {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Mistake(Box<ToolFileError>),
}

impl DataFileError {
    /// Returns the reason without the path, which is of no use to a caller.
    pub fn reason(&self) -> String {
        match self {
            Self::Unreadable { .. } => "it cannot be read".to_owned(),
            Self::Mistake(it) => format!("line {}, `{}`: {}", it.line, it.key, it.mistake),
        }
    }
}

impl DatedData {
    /// Reads the operator's files. If several have rows about the same subject, the last file wins.
    pub fn with_files(paths: &[PathBuf]) -> Result<Self, DataFileError> {
        static BUILT_IN: LazyLock<DatedData> = LazyLock::new(DatedData::built_in);
        let mut data = BUILT_IN.clone();
        for path in paths {
            data = data.apply_file(path)?;
        }
        Ok(data)
    }

    /// Reads a file, applies its rows over these, and returns its mistakes.
    pub fn with_file_at(&self, path: &Path) -> io::Result<(Self, Vec<ToolFileError>)> {
        Ok(self.with_file(path, &fs::read_to_string(path)?))
    }

    fn apply_file(&self, path: &Path) -> Result<Self, DataFileError> {
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
