//! Checks the sandbox for programs and the browser for screenshots.

use kitbag_config::Config;
use kitbag_gateway::state::web_pages::{BrowserError, browser_program};
use kitbag_gateway::state::workers::build_sandbox;
use kitbag_sandbox::LayerReport;

use super::finding::{Area, Finding};

const AREA: Area = Area::Programs;
const SANDBOX: &str = "sandbox";
const BROWSER: &str = "browser";

pub(super) async fn check(config: &Config) -> [Finding; 2] {
    [check_sandbox(config).await, check_browser(config)]
}

async fn check_sandbox(config: &Config) -> Finding {
    if config.code.surfaces.is_empty() {
        return AREA.ok(SANDBOX, "not used: `surfaces` in [code] is empty");
    }
    let layers = build_sandbox(&config.code).layers().await;
    let missing = layers.iter().filter(|layer| layer.missing.is_some());
    let missing: Vec<String> = missing.map(LayerReport::to_string).collect();
    if missing.is_empty() {
        return AREA.ok(SANDBOX, format!("all {} layers are active", layers.len()));
    }
    let missing = missing.join("; ");
    match config.code.best_effort {
        true => AREA.warning(SANDBOX, format!("programs run without some layers: {missing}")),
        false => AREA
            .warning(SANDBOX, format!("programs are rejected because layers are missing: {missing}"))
            .with_advice("run Kitbag on Linux 5.13 or later with Landlock and seccomp, or set `isolation = \"best_effort\"` in [code]"),
    }
}

/// A missing browser is not a problem: only the tool `browser` needs one, and it reports that itself.
fn check_browser(config: &Config) -> Finding {
    match browser_program(&config.web) {
        Ok(program) => AREA.ok(BROWSER, program.display().to_string()),
        Err(BrowserError::Missing) => {
            AREA.ok(BROWSER, "none; only needed for screenshots of pages")
        }
        Err(error) => AREA.error(BROWSER, error),
    }
}
