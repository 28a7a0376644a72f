//! The clients whose files we know, and where each keeps them.

use std::fmt;
use std::iter;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::places::{Places, Platform};

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
#[error("there is no client `{name}`; those known are {}", Client::ALL.map(Client::name).join(", "))]
pub struct UnknownClient {
    pub name: String,
}

/// A file that a client would read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub client: Client,
    pub path: PathBuf,
    pub scope: Scope,
}

/// For whom a file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Wherever this person works.
    User,
    /// In the folder that lies around the file.
    Project,
    /// For everybody on the machine; not ours to edit.
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

    /// As one types it.
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

    /// As its makers write it.
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

    /// Whether it is opened from a window, and so launches programs without the PATH of a shell.
    pub const fn has_windows(self) -> bool {
        !matches!(
            self,
            Self::ClaudeCode | Self::Gemini | Self::Codex | Self::Opencode
        )
    }

    /// Every file it might read, whether it is there or not. Of each scope the first is where
    /// something new goes.
    pub fn spots(self, places: &Places) -> Vec<Spot> {
        let user = self
            .user_files(places)
            .into_iter()
            .map(|path| (Scope::User, path));
        let project = self
            .project_files(places)
            .into_iter()
            .map(|path| (Scope::Project, path));
        let system = self
            .system_files(places)
            .into_iter()
            .map(|path| (Scope::System, path));
        let all = user.chain(project).chain(system);
        all.map(|(scope, path)| Spot {
            client: self,
            path,
            scope,
        })
        .collect()
    }

    fn user_files(self, places: &Places) -> Vec<PathBuf> {
        let home = |path: &str| places.home.join(path);
        let xdg = |path: &str| places.config.join(path);
        let extension = |path: &str| {
            let storage = |code: &&str| {
                places
                    .applications
                    .join(code)
                    .join("User/globalStorage")
                    .join(path)
            };
            CODES.iter().map(storage).collect::<Vec<_>>()
        };
        match self {
            Self::ClaudeDesktop => vec![
                places
                    .applications
                    .join("Claude/claude_desktop_config.json"),
            ],
            Self::ClaudeCode => vec![home(".claude.json")],
            Self::Cursor => vec![home(".cursor/mcp.json")],
            Self::VsCode => {
                let files = |code: &&str| {
                    let user = places.applications.join(code).join("User");
                    [user.join("mcp.json"), user.join("settings.json")]
                };
                let copilot = places
                    .copilot_home
                    .clone()
                    .unwrap_or_else(|| home(".copilot"));
                let copilot = copilot.join("mcp-config.json");
                CODES.iter().flat_map(files).chain([copilot]).collect()
            }
            Self::Windsurf => {
                vec![
                    home(".codeium/windsurf/mcp_config.json"),
                    home(".codeium/mcp_config.json"),
                ]
            }
            Self::Zed if places.platform == Platform::Windows => {
                vec![places.applications.join("Zed/settings.json")]
            }
            Self::Zed => vec![xdg("zed/settings.json")],
            Self::Gemini => vec![home(".gemini/settings.json")],
            Self::Codex => {
                vec![
                    places
                        .codex_home
                        .clone()
                        .unwrap_or_else(|| home(".codex"))
                        .join("config.toml"),
                ]
            }
            Self::Cline => {
                let mut files =
                    extension("saoudrizwan.claude-dev/settings/cline_mcp_settings.json");
                files.push(home(".cline/data/settings/cline_mcp_settings.json"));
                places
                    .cline_settings
                    .clone()
                    .into_iter()
                    .chain(files)
                    .collect()
            }
            Self::Roo => extension("rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
            Self::Kilo => {
                let mut files = extension("kilocode.kilo-code/settings/mcp_settings.json");
                files.push(home(".kilocode/cli/global/settings/mcp_settings.json"));
                files
            }
            Self::Continue => {
                let mut files = vec![home(".continue/config.yaml")];
                files.extend(places.folder(&home(".continue/mcpServers")));
                files
            }
            Self::Goose if places.platform == Platform::Windows => {
                vec![places.applications.join("Block/goose/config/config.yaml")]
            }
            Self::Goose => vec![xdg("goose/config.yaml")],
            Self::Opencode => vec![
                xdg("opencode/opencode.json"),
                xdg("opencode/opencode.jsonc"),
            ],
            Self::LmStudio => vec![
                home(".lmstudio/mcp.json"),
                home(".cache/lm-studio/mcp.json"),
            ],
        }
    }

    fn project_files(self, places: &Places) -> Vec<PathBuf> {
        let here = |path: &str| places.cwd.join(path);
        match self {
            Self::ClaudeCode => vec![here(".mcp.json")],
            Self::Cursor => vec![here(".cursor/mcp.json")],
            Self::VsCode => vec![here(".vscode/mcp.json")],
            Self::Zed => vec![here(".zed/settings.json")],
            Self::Gemini => vec![here(".gemini/settings.json")],
            Self::Codex => vec![here(".codex/config.toml")],
            Self::Roo => vec![here(".roo/mcp.json")],
            Self::Kilo => vec![here(".kilocode/mcp.json")],
            Self::Continue => {
                let ours = here(".continue/mcpServers/kitbag.yaml");
                let others = places.folder(&here(".continue/mcpServers"));
                let others = others.into_iter().filter(|path| *path != ours);
                iter::once(ours.clone()).chain(others).collect()
            }
            Self::Opencode => [
                "opencode.json",
                "opencode.jsonc",
                ".opencode/opencode.json",
                ".opencode/opencode.jsonc",
            ]
            .map(here)
            .into(),
            Self::ClaudeDesktop | Self::Windsurf | Self::Cline | Self::Goose | Self::LmStudio => {
                Vec::new()
            }
        }
    }

    fn system_files(self, places: &Places) -> Vec<PathBuf> {
        match self {
            Self::Gemini => vec![places.system.join("gemini-cli/settings.json")],
            _ => Vec::new(),
        }
    }
}

/// The editor goes by several names.
const CODES: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl FromStr for Client {
    type Err = UnknownClient;

    /// Forgiving about case and dashes.
    fn from_str(name: &str) -> Result<Self, UnknownClient> {
        let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
        let wanted = plain(name);
        let alias = match wanted.as_str() {
            "code" => "vscode",
            "claude" => "claudecode",
            "geminicli" => "gemini",
            "roocode" => "roo",
            "kilocode" => "kilo",
            other => other,
        };
        let found = Self::ALL
            .into_iter()
            .find(|client| plain(client.name()) == alias);
        found.ok_or_else(|| UnknownClient {
            name: name.to_owned(),
        })
    }
}

impl Serialize for Client {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(client: Client, platform: Platform, scope: Scope) -> Option<String> {
        let variable = |name: &str| (name == "APPDATA").then(|| PathBuf::from("/roaming"));
        let places = Places::new(platform, "/home/ann".into(), "/shop".into(), variable);
        let spot = client
            .spots(&places)
            .into_iter()
            .find(|spot| spot.scope == scope);
        spot.map(|spot| spot.path.display().to_string())
    }

    #[test]
    fn files_are_looked_for_where_each_system_has_them() {
        use Platform::{Linux, MacOs, Windows};
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
    fn a_client_is_known_however_it_is_typed() {
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
