//! Checks if programs can be run behind every layer of their jail.

use kitbag_config::Config;
use kitbag_gateway::workers::sandbox_of;
use kitbag_sandbox::LayerReport;

use super::finding::{Area, Finding};

const AREA: Area = Area::Programs;
const SUBJECT: &str = "sandbox";

pub(super) async fn check(config: &Config) -> Finding {
    if config.code.surfaces.is_empty() {
        return AREA.ok(SUBJECT, "not used: `surfaces` in [code] is empty");
    }
    let layers = sandbox_of(&config.code).layers().await;
    let missing = layers.iter().filter(|layer| layer.missing.is_some());
    let missing: Vec<String> = missing.map(LayerReport::to_string).collect();
    if missing.is_empty() {
        return AREA.ok(SUBJECT, format!("all {} layers hold", layers.len()));
    }
    let missing = missing.join("; ");
    match config.code.best_effort {
        true => AREA.warning(SUBJECT, format!("programs run without some layers: {missing}")),
        false => AREA
            .warning(SUBJECT, format!("programs are refused, because layers are missing: {missing}"))
            .mend("run Kitbag on Linux 5.13 or later with Landlock and seccomp, or set `isolation = \"best_effort\"` in [code]"),
    }
}
