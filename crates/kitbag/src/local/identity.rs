//! Identifies the gateway that serves a configuration from a data directory.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use kitbag_config::{ConfigError, ConfigSource};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(super) data_dir: PathBuf,
    /// The file that edits of the configuration go to. It may not exist: a gateway that started with
    /// defaults keeps its identity when the file is written.
    config: PathBuf,
    /// The active project file. Its servers are for one folder.
    project: Option<PathBuf>,
    /// The database, if a flag or a variable overrides the configuration.
    store: Option<String>,
}

impl Identity {
    pub(crate) fn new(at: &ConfigSource, project: Option<&Path>) -> Result<Self, ConfigError> {
        let data_dir = at.data_dir()?;
        Ok(Self {
            data_dir: canonicalize(&data_dir),
            config: canonicalize(&at.editable_file()?),
            project: project.map(Path::to_owned),
            store: at.overrides.store.clone(),
        })
    }

    /// Returns a hash of the identity, short because the path of a socket must be.
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "only the names of sockets need it")
    )]
    pub(super) fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let paths = [&self.data_dir, &self.config].into_iter();
        let paths = paths.chain(&self.project).map(|path| path.as_os_str());
        for text in paths.chain(self.store.as_deref().map(OsStr::new)) {
            let bytes = text.as_encoded_bytes();
            // Hashing the lengths distinguishes lists whose concatenation is the same.
            hasher
                .update(&(bytes.len() as u64).to_le_bytes())
                .update(bytes);
        }
        hasher.finalize().to_hex()[..NAME_LENGTH].to_owned()
    }
}

/// 64 bits are enough, since all paths that could collide belong to one user.
const NAME_LENGTH: usize = 16;

/// Resolves the links of a path whose last components may not exist yet.
fn canonicalize(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|prefix| canonicalize_prefix(prefix, path))
        .unwrap_or_else(|| path.to_owned())
}

/// Resolves the links of the prefix, if it exists.
fn canonicalize_prefix(prefix: &Path, path: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(prefix).ok()?;
    let real = fs::canonicalize(prefix).ok()?;
    Some(if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    })
}

#[cfg(test)]
mod tests {
    use kitbag_config::{Environment, Overrides};

    use super::*;

    fn at(folder: &Path, config: Option<&str>, data_dir: &str) -> Identity {
        with_project(folder, config, data_dir, None)
    }

    fn with_project(
        folder: &Path,
        config: Option<&str>,
        data_dir: &str,
        project: Option<&Path>,
    ) -> Identity {
        let overrides = Overrides {
            config: config.map(PathBuf::from),
            data_dir: Some(folder.join(data_dir)),
            ..Overrides::default()
        };
        let environment = Environment {
            cwd: folder.to_owned(),
            home: Some(folder.to_owned()),
            ..Environment::default()
        };
        Identity::new(
            &ConfigSource {
                overrides,
                environment,
            },
            project,
        )
        .unwrap()
    }

    #[test]
    fn the_same_configuration_is_the_same_gateway_however_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("data")).unwrap();
        fs::write(folder.join("a.toml"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("a.toml", folder.join("link.toml")).unwrap();

        let one = at(folder, Some("a.toml"), "data");
        assert_eq!(
            one.name(),
            at(
                folder,
                Some(folder.join("a.toml").to_str().unwrap()),
                "data"
            )
            .name()
        );
        #[cfg(unix)]
        assert_eq!(one.name(), at(folder, Some("link.toml"), "data").name());
        assert_ne!(one.name(), at(folder, Some("b.toml"), "data").name());
        assert_ne!(one.name(), at(folder, Some("a.toml"), "other").name());

        let in_project = with_project(
            folder,
            Some("a.toml"),
            "data",
            Some(&folder.join("p/kitbag.toml")),
        );
        assert_ne!(one.name(), in_project.name());

        let before = at(folder, None, "data");
        fs::create_dir_all(folder.join(".config/kitbag")).unwrap();
        fs::write(folder.join(".config/kitbag/kitbag.toml"), "").unwrap();
        assert_eq!(
            before.name(),
            at(folder, None, "data").name(),
            "its file has been written since"
        );
    }
}
