//! The supported clients and the locations of their files.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::directories::{ClientDirectories, OperatingSystem};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Windsurf,
    Zed,
    Gemini,
    Codex,
    Cline,
    Roo,
    Kilo,
    Continue,
    Goose,
    Opencode,
    LmStudio,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown client `{name}`; known clients: {}", Client::ALL.map(Client::name).join(", "))]
pub struct UnknownClient {
    pub name: String,
}

/// A file that a client may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    pub client: Client,
    pub path: PathBuf,
    pub scope: Scope,
}

/// The users and folders for which a client reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The current user, in every folder.
    User,
    /// The folder that contains the file.
    Project,
    /// All users of the machine. Kitbag does not edit such a file.
    System,
}

impl Client {
    pub const ALL: [Self; 15] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Gemini,
        Self::Codex,
        Self::Cline,
        Self::Roo,
        Self::Kilo,
        Self::Continue,
        Self::Goose,
        Self::Opencode,
        Self::LmStudio,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
            Self::Cline => "cline",
            Self::Roo => "roo",
            Self::Kilo => "kilo",
            Self::Continue => "continue",
            Self::Goose => "goose",
            Self::Opencode => "opencode",
            Self::LmStudio => "lm-studio",
        }
    }

    /// The name as its vendor writes it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Gemini => "Gemini CLI",
            Self::Codex => "Codex",
            Self::Cline => "Cline",
            Self::Roo => "Roo Code",
            Self::Kilo => "Kilo Code",
            Self::Continue => "Continue",
            Self::Goose => "Goose",
            Self::Opencode => "opencode",
            Self::LmStudio => "LM Studio",
        }
    }

    /// True for a desktop application, which launches programs without the shell's PATH.
    pub const fn is_desktop(self) -> bool {
        !matches!(
            self,
            Self::ClaudeCode | Self::Gemini | Self::Codex | Self::Opencode
        )
    }

    /// Returns every file that the client may read, including files that do not exist. A new entry
    /// goes into the first file of its scope.
    pub fn files(self, directories: &ClientDirectories) -> Vec<ClientFile> {
        let mut files = self.with_scope(Scope::User, self.user_files(directories));
        files.extend(self.with_scope(Scope::Project, self.project_files(directories)));
        if self == Self::Gemini {
            let path = directories.system.join("gemini-cli/settings.json");
            files.extend(self.with_scope(Scope::System, vec![path]));
        }
        files
    }

    fn with_scope(self, scope: Scope, paths: Vec<PathBuf>) -> Vec<ClientFile> {
        let files = paths.into_iter().map(|path| ClientFile {
            client: self,
            path,
            scope,
        });
        files.collect()
    }

    fn user_files(self, directories: &ClientDirectories) -> Vec<PathBuf> {
        let ClientDirectories {
            home,
            config,
            applications,
            ..
        } = directories;
        let windows = directories.platform == OperatingSystem::Windows;
        match self {
            Self::ClaudeDesktop => vec![applications.join("Claude/claude_desktop_config.json")],
            Self::ClaudeCode => vec![home.join(".claude.json")],
            Self::Cursor => vec![home.join(".cursor/mcp.json")],
            Self::VsCode => vscode_files(directories),
            Self::Windsurf => vec![
                home.join(".codeium/windsurf/mcp_config.json"),
                home.join(".codeium/mcp_config.json"),
            ],
            Self::Zed if windows => vec![applications.join("Zed/settings.json")],
            Self::Zed => vec![config.join("zed/settings.json")],
            Self::Gemini => vec![home.join(".gemini/settings.json")],
            Self::Codex => vec![codex_home(directories).join("config.toml")],
            Self::Cline => cline_files(directories),
            Self::Roo => extension_files(
                directories,
                "rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
            Self::Kilo => {
                let path = "kilocode.kilo-code/settings/mcp_settings.json";
                let mut files = extension_files(directories, path);
                files.push(home.join(".kilocode/cli/global/settings/mcp_settings.json"));
                files
            }
            Self::Continue => {
                let mut files = vec![home.join(".continue/config.yaml")];
                files.extend(directories.settings_in(&home.join(".continue/mcpServers")));
                files
            }
            Self::Goose if windows => vec![applications.join("Block/goose/config/config.yaml")],
            Self::Goose => vec![config.join("goose/config.yaml")],
            Self::Opencode => vec![
                config.join("opencode/opencode.json"),
                config.join("opencode/opencode.jsonc"),
            ],
            Self::LmStudio => vec![
                home.join(".lmstudio/mcp.json"),
                home.join(".cache/lm-studio/mcp.json"),
            ],
        }
    }

    fn project_files(self, directories: &ClientDirectories) -> Vec<PathBuf> {
        let files: &[&str] = match self {
            Self::ClaudeCode => &[".mcp.json"],
            Self::Cursor => &[".cursor/mcp.json"],
            Self::VsCode => &[".vscode/mcp.json"],
            Self::Zed => &[".zed/settings.json"],
            Self::Gemini => &[".gemini/settings.json"],
            Self::Codex => &[".codex/config.toml"],
            Self::Roo => &[".roo/mcp.json"],
            Self::Kilo => &[".kilocode/mcp.json"],
            Self::Continue => return continue_project_files(directories),
            Self::Opencode => &[
                "opencode.json",
                "opencode.jsonc",
                ".opencode/opencode.json",
                ".opencode/opencode.jsonc",
            ],
            Self::ClaudeDesktop | Self::Windsurf | Self::Cline | Self::Goose | Self::LmStudio => {
                &[]
            }
        };
        let project = &directories.cwd;
        files.iter().map(|file| project.join(file)).collect()
    }
}

fn vscode_files(directories: &ClientDirectories) -> Vec<PathBuf> {
    let copilot = directories.copilot_home.clone();
    let copilot = copilot.unwrap_or_else(|| directories.home.join(".copilot"));
    let mut files = Vec::new();
    for editor in EDITORS {
        let user = directories.applications.join(editor).join("User");
        files.extend([user.join("mcp.json"), user.join("settings.json")]);
    }
    files.push(copilot.join("mcp-config.json"));
    files
}

/// The file of an editor extension, in each variant of the editor.
fn extension_files(directories: &ClientDirectories, path: &str) -> Vec<PathBuf> {
    let applications = &directories.applications;
    let storages = EDITORS
        .iter()
        .map(|editor| applications.join(editor).join("User/globalStorage"));
    storages.map(|storage| storage.join(path)).collect()
}

pub(crate) fn codex_home(directories: &ClientDirectories) -> PathBuf {
    let named = directories.codex_home.clone();
    named.unwrap_or_else(|| directories.home.join(".codex"))
}

fn cline_files(directories: &ClientDirectories) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = directories.cline_settings.iter().cloned().collect();
    files.extend(extension_files(
        directories,
        "saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ));
    let home = &directories.home;
    files.push(home.join(".cline/data/settings/cline_mcp_settings.json"));
    files
}

/// Kitbag gets its own file, which comes first.
fn continue_project_files(directories: &ClientDirectories) -> Vec<PathBuf> {
    let folder = directories.cwd.join(".continue/mcpServers");
    let own_file = folder.join("kitbag.yaml");
    let mut others = directories.settings_in(&folder);
    others.retain(|path| *path != own_file);
    [vec![own_file], others].concat()
}

/// The folders of VS Code and its variants.
const EDITORS: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl FromStr for Client {
    type Err = UnknownClient;

    /// Ignores case and dashes.
    fn from_str(name: &str) -> Result<Self, UnknownClient> {
        let typed = simplify_name(name);
        let wanted = match typed.as_str() {
            "code" => "vscode",
            "claude" => "claudecode",
            "geminicli" => "gemini",
            "roocode" => "roo",
            "kilocode" => "kilo",
            other => other,
        };
        let mut clients = Self::ALL.into_iter();
        clients
            .find(|client| simplify_name(client.name()) == wanted)
            .ok_or_else(|| UnknownClient {
                name: name.to_owned(),
            })
    }
}

fn simplify_name(name: &str) -> String {
    name.to_lowercase().replace([' ', '-', '_'], "")
}

impl Serialize for Client {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(client: Client, platform: OperatingSystem, scope: Scope) -> Option<String> {
        let variable = |name: &str| (name == "APPDATA").then(|| PathBuf::from("/roaming"));
        let directories =
            ClientDirectories::new(platform, "/home/ann".into(), "/shop".into(), variable);
        let mut files = client.files(&directories).into_iter();
        let file = files.find(|file| file.scope == scope);
        file.map(|file| file.path.display().to_string())
    }

    #[test]
    fn each_system_has_its_own_paths() {
        use OperatingSystem::{Linux, MacOs, Windows};
        for (client, platform, expected) in [
            (
                Client::ClaudeDesktop,
                Linux,
                "/home/ann/.config/Claude/claude_desktop_config.json",
            ),
            (
                Client::ClaudeDesktop,
                MacOs,
                "/home/ann/Library/Application Support/Claude/claude_desktop_config.json",
            ),
            (
                Client::ClaudeDesktop,
                Windows,
                "/roaming/Claude/claude_desktop_config.json",
            ),
            (
                Client::VsCode,
                MacOs,
                "/home/ann/Library/Application Support/Code/User/mcp.json",
            ),
            (Client::Zed, MacOs, "/home/ann/.config/zed/settings.json"),
            (Client::Zed, Windows, "/roaming/Zed/settings.json"),
            (Client::Goose, MacOs, "/home/ann/.config/goose/config.yaml"),
            (
                Client::Goose,
                Windows,
                "/roaming/Block/goose/config/config.yaml",
            ),
            (Client::Cursor, Windows, "/home/ann/.cursor/mcp.json"),
        ] {
            assert_eq!(
                first(client, platform, Scope::User).as_deref(),
                Some(expected)
            );
        }
        assert_eq!(
            first(Client::VsCode, Linux, Scope::Project).as_deref(),
            Some("/shop/.vscode/mcp.json")
        );
        assert_eq!(first(Client::Goose, Linux, Scope::Project), None);
    }

    #[test]
    fn the_name_of_a_client_may_be_typed_in_several_ways() {
        for (name, expected) in [
            ("claude-code", "Claude Code"),
            ("VS Code", "VS Code"),
            ("lmstudio", "LM Studio"),
            ("claude", "Claude Code"),
        ] {
            assert_eq!(name.parse::<Client>().unwrap().to_string(), expected);
        }
        let unknown = "emacs".parse::<Client>().unwrap_err().to_string();
        assert!(
            unknown.contains("`emacs`") && unknown.contains("claude-desktop, claude-code"),
            "{unknown}"
        );
    }
}
