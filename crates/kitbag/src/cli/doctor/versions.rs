//! The versions of the runtimes of servers, as far as a configured server needs them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::future::join_all;
use kitbag_config::Config;
use kitbag_upstream::programs::{self, NODE};
use tokio::process::Command;

use super::finding::{Area, Finding};

const AREA: Area = Area::Versions;

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let kitbag = AREA.ok("kitbag", env!("CARGO_PKG_VERSION"));
    let mut needed: BTreeMap<PathBuf, &'static str> = BTreeMap::new();
    for spec in config.servers.values() {
        if let Some(launch) = spec.launch()
            && let Some((runtime, program)) = runtime(launch.command.source())
        {
            needed.insert(program, runtime);
        }
    }
    let asked = needed
        .into_iter()
        .map(|(program, runtime)| async move { judge(runtime, &program).await });
    [kitbag].into_iter().chain(join_all(asked).await).collect()
}

/// Returns the runtime that a command runs with, and its path.
fn runtime(command: &str) -> Option<(&'static str, PathBuf)> {
    let name = command.rsplit('/').next().unwrap_or_default();
    let runtime = match name {
        "node" | "npx" | "npm" | "pnpx" | "pnpm" => "node",
        "uv" | "uvx" => "uv",
        "bun" | "bunx" => "bun",
        name if name.starts_with("python") => "python",
        _ => return None,
    };
    let program = if runtime == "python" { name } else { runtime };
    let beside = Path::new(command).with_file_name(program);
    let found = if beside.is_absolute() {
        beside.is_file().then_some(beside)
    } else {
        programs::on_path(program)
    };
    Some((runtime, found?))
}

async fn judge(runtime: &'static str, program: &Path) -> Finding {
    let Some(version) = version(program).await else {
        return AREA.warning(
            runtime,
            format!("{} does not say its version", program.display()),
        );
    };
    let told = format!("{version} ({})", program.display());
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|number| number.parse::<u32>().ok());
    if runtime == "node" && major.is_some_and(|major| major < NODE) {
        return AREA
            .warning(runtime, format!("{told} is older than many servers need"))
            .mend(format!(
                "install Node.js {NODE} or later from https://nodejs.org"
            ));
    }
    AREA.ok(runtime, told)
}

async fn version(program: &Path) -> Option<String> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output())
        .await
        .ok()?
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // `uv 0.9.2 (…)` and `Python 3.12.1` say their name first.
    let mut words = text.split_whitespace();
    words.find(|word| is_version(word)).map(str::to_owned)
}

fn is_version(word: &str) -> bool {
    word.trim_start_matches('v')
        .starts_with(|letter: char| letter.is_ascii_digit())
}
