//! Finds the configuration and merges its sources: defaults, then the user's file, then environment
//! and flags, plus the servers of a trusted project.

use kitbag_domain::Surface;
use std::env;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::sections::lock::{self, LockState};
use super::trust::TrustFile;
use super::{Config, StoreLocation, build, project, raw};

/// Values of flags and of the environment. They take precedence over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub config: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    pub bind: Option<SocketAddr>,
    pub require_key: Option<bool>,
    /// The URL or the path of the database.
    pub store: Option<String>,
    pub surface: Option<Surface>,
}

/// The directories in which files are looked up.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    pub config_home: Option<PathBuf>,
    pub data_home: Option<PathBuf>,
}

/// Everything that determines the effective configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigSource {
    pub overrides: Overrides,
    pub environment: Environment,
}

/// The directories that paths in a configuration are relative to.
pub(super) struct BaseDirs {
    pub(super) data_dir: PathBuf,
    pub(super) base: PathBuf,
    pub(super) home: Option<PathBuf>,
}

impl ConfigSource {
    /// Without a file, every value is its default. A file named by the user must exist, unless it
    /// is the default one, which clients name before it exists.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let is_usual = self.config_file() == self.environment.default_config_file();
        let own = self
            .config_file()
            .filter(|path| !is_usual || path.is_file());
        let mut config = match own {
            Some(path) => self.parse(&read_config_file(&path)?, &path)?,
            None => parse("", None, &self.overrides, &self.environment)?,
        };
        project::add_project_servers(&mut config, self);
        config.lock.built_in = config.agents.as_ref().map(|it| it.spec.name.clone());
        if let Some(path) = self.lock_file() {
            config.lock.state = LockState::load(&path);
        }
        Ok(config)
    }

    /// Returns the user's file, whether it exists or not: the named one, or else the default.
    pub fn config_file(&self) -> Option<PathBuf> {
        match &self.overrides.config {
            Some(path) => Some(self.environment.cwd.join(path)),
            None => self.environment.default_config_file(),
        }
    }

    /// Returns the directory for everything Kitbag writes. The configuration file cannot change it.
    pub fn data_dir(&self) -> Result<PathBuf, ConfigError> {
        self.environment.data_dir(&self.overrides)
    }

    /// Returns the lock file next to the user's file, whether it exists or not.
    pub fn lock_file(&self) -> Option<PathBuf> {
        self.config_file().map(|path| lock::lock_file_path(&path))
    }

    /// Returns the file that edits change.
    pub fn editable_file(&self) -> Result<PathBuf, ConfigError> {
        self.config_file().ok_or(ConfigError::NoHome)
    }

    /// Returns the project file in the current directory, trusted or not.
    pub fn project_file(&self) -> Option<PathBuf> {
        project::find_project_file(&self.environment.cwd).filter(|path| !self.is_config_file(path))
    }

    fn is_config_file(&self, path: &Path) -> bool {
        self.config_file()
            .and_then(|own| fs::canonicalize(own).ok())
            .is_some_and(|own| own == path)
    }

    /// Returns every file that determines the effective configuration.
    pub fn source_files(&self) -> Vec<PathBuf> {
        let project = self.environment.cwd.join(FILE_NAME);
        let trust = self
            .data_dir()
            .ok()
            .map(|data_dir| TrustFile::in_data_dir(&data_dir).path().to_owned());
        self.config_file()
            .into_iter()
            .chain(self.lock_file())
            .chain([project])
            .chain(trust)
            .collect()
    }

    /// Parses a configuration text as if it were in `file`.
    pub fn parse(&self, text: &str, file: &Path) -> Result<Config, ConfigError> {
        parse(text, Some(file), &self.overrides, &self.environment)
    }
}

/// Parses a configuration text as if it were in `file`.
pub fn parse(
    text: &str,
    file: Option<&Path>,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<Config, ConfigError> {
    let base_dirs = BaseDirs {
        data_dir: environment.data_dir(overrides)?,
        base: file
            .and_then(Path::parent)
            .unwrap_or(&environment.cwd)
            .to_owned(),
        home: environment.home.clone(),
    };
    let built = raw::parse_raw(text).and_then(|raw| build::build(raw, &base_dirs));
    let mut config = built.map_err(|fault| fault.into_error(text, file))?;
    config.serve.bind = overrides.bind.unwrap_or(config.serve.bind);
    config.serve.require_key = overrides.require_key.unwrap_or(config.serve.require_key);
    if let Some(store) = &overrides.store {
        config.store = StoreLocation::parse(store, |path| environment.cwd.join(path));
    }
    config.surfaces.default = overrides.surface.unwrap_or(config.surfaces.default);
    config.origin = file.map(Path::to_owned);
    Ok(config)
}

pub(super) fn read_config_file(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ConfigError::Missing {
            path: path.to_owned(),
        },
        _ => ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        },
    })
}

impl Environment {
    pub fn from_process() -> Self {
        Self {
            cwd: env::current_dir().unwrap_or_default(),
            home: absolute_dir_from_env("HOME"),
            config_home: absolute_dir_from_env("XDG_CONFIG_HOME"),
            data_home: absolute_dir_from_env("XDG_DATA_HOME"),
        }
    }

    /// Returns the user's configuration file when none is named.
    fn default_config_file(&self) -> Option<PathBuf> {
        let home = self
            .config_home
            .clone()
            .or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        home.map(|home| home.join("kitbag").join(FILE_NAME))
    }

    fn data_dir(&self, overrides: &Overrides) -> Result<PathBuf, ConfigError> {
        if let Some(path) = &overrides.data_dir {
            return Ok(self.cwd.join(path));
        }
        let home = self
            .data_home
            .clone()
            .or_else(|| self.home.as_ref().map(|home| home.join(".local/share")));
        home.map(|home| home.join("kitbag"))
            .ok_or(ConfigError::NoHome)
    }
}

/// Returns the directory that an environment variable names.
pub fn absolute_dir_from_env(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

pub(super) const FILE_NAME: &str = "kitbag.toml";
