//! Checks the versions of the runtimes that the configured servers need.

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
            && let Some((runtime, program)) = find_runtime(launch.command.source())
        {
            needed.insert(program, runtime);
        }
    }
    let checks = needed
        .into_iter()
        .map(|(program, runtime)| async move { check_runtime(runtime, &program).await });
    [kitbag].into_iter().chain(join_all(checks).await).collect()
}

/// Returns the runtime of a command and the path of the runtime.
fn find_runtime(command: &str) -> Option<(&'static str, PathBuf)> {
    let name = command.rsplit('/').next().unwrap_or_default();
    let runtime = match name {
        "node" | "npx" | "npm" | "pnpx" | "pnpm" => "node",
        "uv" | "uvx" => "uv",
        "bun" | "bunx" => "bun",
        name if name.starts_with("python") => "python",
        _ => return None,
    };
    let program = if runtime == "python" { name } else { runtime };
    let sibling = Path::new(command).with_file_name(program);
    let found = if sibling.is_absolute() {
        sibling.is_file().then_some(sibling)
    } else {
        programs::find_on_path(program)
    };
    Some((runtime, found?))
}

async fn check_runtime(runtime: &'static str, program: &Path) -> Finding {
    let Some(version) = read_version(program).await else {
        return AREA.warning(
            runtime,
            format!("{} does not report its version", program.display()),
        );
    };
    let description = format!("{version} ({})", program.display());
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|number| number.parse::<u32>().ok());
    if runtime == "node" && major.is_some_and(|major| major < NODE) {
        return AREA
            .warning(
                runtime,
                format!("{description} is older than many servers need"),
            )
            .with_advice(format!(
                "install Node.js {NODE} or later from https://nodejs.org"
            ));
    }
    AREA.ok(runtime, description)
}

async fn read_version(program: &Path) -> Option<String> {
    const TIMEOUT: Duration = Duration::from_secs(5);
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(TIMEOUT, command.output())
        .await
        .ok()?
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The output of `uv` and `python` begins with the name: `uv 0.9.2 (…)`, `Python 3.12.1`.
    let mut words = text.split_whitespace();
    words.find(|word| is_version(word)).map(str::to_owned)
}

fn is_version(word: &str) -> bool {
    word.trim_start_matches('v')
        .starts_with(|letter: char| letter.is_ascii_digit())
}
