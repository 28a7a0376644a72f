//! Checks if programs can be run behind every layer of their jail, and if pages can be pictured.

use kitbag_config::Config;
use kitbag_domain::Remedy as _;
use kitbag_gateway::web_pages::browser_program;
use kitbag_gateway::workers::sandbox_of;
use kitbag_sandbox::LayerReport;

use super::finding::{Area, Finding};

const AREA: Area = Area::Programs;
const SANDBOX: &str = "sandbox";
const BROWSER: &str = "browser";

pub(super) async fn check(config: &Config) -> [Finding; 2] {
    [sandbox(config).await, browser(config)]
}

async fn sandbox(config: &Config) -> Finding {
    if config.code.surfaces.is_empty() {
        return AREA.ok(SANDBOX, "not used: `surfaces` in [code] is empty");
    }
    let layers = sandbox_of(&config.code).layers().await;
    let missing = layers.iter().filter(|layer| layer.missing.is_some());
    let missing: Vec<String> = missing.map(LayerReport::to_string).collect();
    if missing.is_empty() {
        return AREA.ok(SANDBOX, format!("all {} layers hold", layers.len()));
    }
    let missing = missing.join("; ");
    match config.code.best_effort {
        true => AREA.warning(SANDBOX, format!("programs run without some layers: {missing}")),
        false => AREA
            .warning(SANDBOX, format!("programs are refused, because layers are missing: {missing}"))
            .mend("run Kitbag on Linux 5.13 or later with Landlock and seccomp, or set `isolation = \"best_effort\"` in [code]"),
    }
}

/// Without a browser only the tool `browser` does not work, which matters to an operator who named one.
fn browser(config: &Config) -> Finding {
    let missing = match browser_program(&config.web) {
        Ok(program) => return AREA.ok(BROWSER, program.display().to_string()),
        Err(missing) => missing,
    };
    let finding = match config.web.browser_program {
        Some(_) => AREA.problem(BROWSER, missing.to_string()),
        None => AREA.note(BROWSER, missing.to_string()),
    };
    match missing.remedy() {
        Some(advice) => finding.mend(advice),
        None => finding,
    }
}
