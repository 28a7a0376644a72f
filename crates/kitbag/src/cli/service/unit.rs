//! The systemd unit file.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

/// The gateway's command line and the `PATH` for its servers.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) program: PathBuf,
    pub(super) config: Option<PathBuf>,
    pub(super) data_dir: Option<PathBuf>,
    /// Services start with a minimal `PATH`; servers need the user's.
    pub(super) path: String,
}

const MARK: &str = "# Written by `kitbag service install`; `kitbag service uninstall` removes it.";

impl Unit {
    /// True if Kitbag wrote the text.
    pub(super) fn is_ours(text: &str) -> bool {
        text.starts_with(MARK)
    }

    pub(super) fn to_text(&self) -> anyhow::Result<String> {
        let mut command = vec![quote_path(&self.program)?, "serve".to_owned()];
        for (flag, path) in [("--config", &self.config), ("--data-dir", &self.data_dir)] {
            if let Some(path) = path {
                command.extend([flag.to_owned(), quote_path(path)?]);
            }
        }
        let command = command.join(" ");
        let path = format_assignment("PATH", &self.path)?;
        Ok(format!(
            "{MARK}

[Unit]
Description=Kitbag, one gateway for all MCP clients of this user
Documentation=man:kitbag(1)

[Service]
Type=exec
ExecStart={command}
Environment={path}
Restart=on-failure
RestartSec=2s
# Servers are asked to exit before they are killed.
KillMode=mixed
TimeoutStopSec=20s

# Servers are programs of this user and need the home directory, the network,
# caches and temporary files, but no more rights than the user has. For a server
# that does, such as a rootless container, run
#   systemctl --user edit kitbag
# and set NoNewPrivileges=no, and an empty value for each line below it.
UMask=0077
NoNewPrivileges=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"
        ))
    }
}

/// Quotes a path as one word of `ExecStart`.
fn quote_path(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .ok_or_else(|| anyhow!("path {} cannot be used in a systemd unit", path.display()))?;
    // Variables are expanded here, and nowhere else in the unit.
    Ok(quote(text)?.replace('$', "$$"))
}

fn format_assignment(name: &str, value: &str) -> anyhow::Result<String> {
    quote(&format!("{name}={value}"))
}

/// Quotes the text and escapes characters that are special to systemd within quotes.
fn quote(text: &str) -> anyhow::Result<String> {
    if text.chars().any(char::is_control) {
        return Err(anyhow!("{text:?} cannot be used in a systemd unit"));
    }
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    Ok(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(config: Option<&str>, data_dir: Option<&str>) -> Unit {
        Unit {
            program: "/opt/a b/kitbag".into(),
            config: config.map(PathBuf::from),
            data_dir: data_dir.map(PathBuf::from),
            path: "/usr/bin:/home/ann/100%/bin".to_owned(),
        }
    }

    #[test]
    fn the_unit_has_the_flags_and_is_recognized() {
        let line = |unit: &Unit, key: &str| {
            let text = unit.to_text().unwrap();
            assert!(Unit::is_ours(&text));
            text.lines()
                .find_map(|line| line.strip_prefix(key).map(str::to_owned))
                .unwrap()
        };
        assert_eq!(
            line(&unit(None, None), "ExecStart="),
            r#""/opt/a b/kitbag" serve"#
        );
        let both = unit(Some("/home/ann/$x/k\"1\".toml"), Some("/data\\d"));
        assert_eq!(
            line(&both, "ExecStart="),
            r#""/opt/a b/kitbag" serve --config "/home/ann/$$x/k\"1\".toml" --data-dir "/data\\d""#
        );
        assert_eq!(
            line(&both, "Environment="),
            r#""PATH=/usr/bin:/home/ann/100%%/bin""#
        );
    }

    #[test]
    fn a_path_that_would_add_lines_to_the_unit_is_rejected() {
        let error = unit(Some("/home/ann/x\nExecStartPre=evil"), None)
            .to_text()
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("cannot be used in a systemd unit"),
            "{error}"
        );
    }
}
