//! The folders of one person on one machine, handed in by whoever knows them.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Linux,
    MacOs,
    Windows,
}

#[derive(Debug, Clone)]
pub struct Places {
    pub platform: Platform,
    pub home: PathBuf,
    /// Where programs from Unix keep their settings: `$XDG_CONFIG_HOME` or `~/.config`.
    pub config: PathBuf,
    /// Where programs with windows keep theirs.
    pub applications: PathBuf,
    /// The settings of the whole machine.
    pub system: PathBuf,
    /// The project somebody works in.
    pub cwd: PathBuf,
    pub codex_home: Option<PathBuf>,
    pub copilot_home: Option<PathBuf>,
    pub cline_settings: Option<PathBuf>,
}

impl Places {
    /// With everything where it usually is; `variable` looks into the environment.
    pub fn new(
        platform: Platform,
        home: PathBuf,
        cwd: PathBuf,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let applications = match platform {
            Platform::Linux => config.clone(),
            Platform::MacOs => home.join("Library/Application Support"),
            Platform::Windows => {
                variable("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"))
            }
        };
        Self {
            platform,
            config,
            applications,
            system: PathBuf::from("/etc"),
            cwd,
            codex_home: variable("CODEX_HOME"),
            copilot_home: variable("COPILOT_HOME"),
            cline_settings: variable("CLINE_MCP_SETTINGS_PATH"),
            home,
        }
    }

    /// The settings files in a folder, by name.
    pub(crate) fn folder(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let known = |path: &PathBuf| {
            matches!(
                path.extension().and_then(|it| it.to_str()),
                Some("json" | "yaml" | "yml")
            )
        };
        let mut files: Vec<_> = entries.filter(known).collect();
        files.sort();
        files
    }
}

impl Platform {
    pub fn of_this_machine() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}
