//! The folders of one user on one machine, as passed by the caller of this crate.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatingSystem {
    Linux,
    MacOs,
    Windows,
}

#[derive(Debug, Clone)]
pub struct ClientDirectories {
    pub platform: OperatingSystem,
    pub home: PathBuf,
    /// The settings of Unix programs: `$XDG_CONFIG_HOME` or `~/.config`.
    pub config: PathBuf,
    /// The settings of desktop applications.
    pub applications: PathBuf,
    /// The machine-wide settings.
    pub system: PathBuf,
    /// The current project.
    pub cwd: PathBuf,
    pub codex_home: Option<PathBuf>,
    pub copilot_home: Option<PathBuf>,
    pub cline_settings: Option<PathBuf>,
}

impl ClientDirectories {
    /// The usual folders of the platform; `variable` reads the environment.
    pub fn new(
        platform: OperatingSystem,
        home: PathBuf,
        cwd: PathBuf,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let roaming = variable("APPDATA");
        Self {
            platform,
            applications: applications(platform, &home, &config, roaming),
            config,
            system: PathBuf::from("/etc"),
            cwd,
            codex_home: variable("CODEX_HOME"),
            copilot_home: variable("COPILOT_HOME"),
            cline_settings: variable("CLINE_MCP_SETTINGS_PATH"),
            home,
        }
    }

    /// Returns the settings files in a folder, sorted by name.
    pub(crate) fn settings_in(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut files: Vec<_> = paths.filter(|path| is_settings(path)).collect();
        files.sort();
        files
    }
}

fn applications(
    platform: OperatingSystem,
    home: &Path,
    config: &Path,
    roaming: Option<PathBuf>,
) -> PathBuf {
    match platform {
        OperatingSystem::Linux => config.to_owned(),
        OperatingSystem::MacOs => home.join("Library/Application Support"),
        OperatingSystem::Windows => roaming.unwrap_or_else(|| home.join("AppData/Roaming")),
    }
}

fn is_settings(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "yaml" | "yml"))
}

impl OperatingSystem {
    pub fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}
