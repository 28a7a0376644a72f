//! The project files the user trusts, by path and content hash, each with the secrets and variables
//! it may get.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One project file as the user trusted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The canonical path, so that the same file is recognized however it is reached.
    pub path: PathBuf,
    /// The hash of the whole text.
    pub hash: String,
    pub since: jiff::Timestamp,
    /// The stored secrets that the servers of the file may get.
    #[serde(default)]
    pub secrets: BTreeSet<String>,
    /// The environment variables that the servers of the file may get.
    #[serde(default)]
    pub variables: BTreeSet<String>,
}

/// The file that records trust. It is in the data directory, which no project writes to.
#[derive(Debug, Clone)]
pub struct TrustFile {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("{}, the record of trusted projects, cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}, the record of trusted projects, is damaged", path.display())]
    Damaged {
        path: PathBuf,
        source: Box<toml::de::Error>,
    },
    #[error("{}, the record of trusted projects, cannot be written", path.display())]
    Write { path: PathBuf, source: io::Error },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    projects: Vec<Trust>,
}

impl Trust {
    /// Returns the hash of a text.
    pub fn hash_text(text: &str) -> String {
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// True if the servers of the file may get that variable. The name of a secret starts with
    /// `secret:`.
    pub fn grants(&self, variable: &str) -> bool {
        match variable.strip_prefix(kitbag_domain::Template::SECRET) {
            Some(secret) => self.secrets.contains(secret),
            None => self.variables.contains(variable),
        }
    }
}

impl TrustFile {
    pub fn in_data_dir(data_dir: &Path) -> Self {
        Self {
            path: data_dir.join("trusted.toml"),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns every trusted file, or nothing if the trust file does not exist.
    pub fn read_all(&self) -> Result<Vec<Trust>, TrustError> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|source| TrustError::Read {
                path: self.path.clone(),
                source,
            })?,
        };
        let content: Content = toml::from_str(&text).map_err(|source| TrustError::Damaged {
            path: self.path.clone(),
            source: Box::new(source),
        })?;
        Ok(content.projects)
    }

    /// Returns the record of the file at that path.
    pub fn find(&self, path: &Path) -> Result<Option<Trust>, TrustError> {
        Ok(self
            .read_all()?
            .into_iter()
            .find(|trust| trust.path == path))
    }

    /// Adds a record and replaces an earlier record of the same file.
    pub fn add(&self, trust: Trust) -> Result<(), TrustError> {
        let mut projects = self.read_all()?;
        projects.retain(|other| other.path != trust.path);
        projects.push(trust);
        self.write(projects)
    }

    /// Removes the record of a file. Returns true if there was one.
    pub fn withdraw(&self, path: &Path) -> Result<bool, TrustError> {
        let mut projects = self.read_all()?;
        let before = projects.len();
        projects.retain(|trust| trust.path != path);
        let withdrawn = projects.len() < before;
        if withdrawn {
            self.write(projects)?;
        }
        Ok(withdrawn)
    }

    fn write(&self, projects: Vec<Trust>) -> Result<(), TrustError> {
        let content = Content { projects };
        self.write_content(&content)
            .map_err(|source| TrustError::Write {
                path: self.path.clone(),
                source,
            })
    }

    fn write_content(&self, content: &Content) -> io::Result<()> {
        let text = toml::to_string(content).map_err(io::Error::other)?;
        if let Some(folder) = self.path.parent() {
            create_private_dir(folder)?;
        }
        kitbag_clients::write(&self.path, &text)
    }
}

/// Creates the data directory if it does not exist. Only its owner may read it.
pub fn create_private_dir(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(path: &str, text: &str) -> Trust {
        Trust {
            path: path.into(),
            hash: Trust::hash_text(text),
            since: jiff::Timestamp::UNIX_EPOCH,
            secrets: BTreeSet::from(["token".to_owned()]),
            variables: BTreeSet::new(),
        }
    }

    #[test]
    fn trust_is_stored_replaced_and_withdrawn() {
        let folder = tempfile::tempdir().unwrap();
        let file = TrustFile::in_data_dir(&folder.path().join("data"));
        assert_eq!(file.read_all().unwrap(), []);
        file.add(trust("/a", "one")).unwrap();
        file.add(trust("/b", "two")).unwrap();
        file.add(trust("/a", "three")).unwrap();
        assert_eq!(
            file.find(Path::new("/a")).unwrap(),
            Some(trust("/a", "three"))
        );
        assert_eq!(file.read_all().unwrap().len(), 2);
        assert!(
            file.withdraw(Path::new("/a")).unwrap() && !file.withdraw(Path::new("/a")).unwrap()
        );
        assert_eq!(file.read_all().unwrap(), [trust("/b", "two")]);
    }

    #[test]
    fn a_damaged_file_trusts_nothing_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = TrustFile::in_data_dir(folder.path());
        fs::write(file.path(), "projects = 3").unwrap();
        assert!(matches!(
            file.find(Path::new("/a")),
            Err(TrustError::Damaged { .. })
        ));
        assert!(matches!(
            file.add(trust("/a", "one")),
            Err(TrustError::Damaged { .. })
        ));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "projects = 3");
    }
}
