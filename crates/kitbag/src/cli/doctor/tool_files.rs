//! Checks the tool files of the configured directories, as a gateway does before it offers them.

use kitbag_config::Config;
use kitbag_gateway::catalog::tool_files::find_tool_file_mistakes;

use super::finding::{Area, Finding};

const AREA: Area = Area::Tools;

pub(super) fn check(config: &Config) -> Vec<Finding> {
    let mistakes = find_tool_file_mistakes(&config.catalog);
    let findings = mistakes.into_iter().map(|mistake| {
        let location = match mistake.line {
            Some(line) => format!("{}:{line}", mistake.file.display()),
            None => mistake.file.display().to_string(),
        };
        let finding = AREA.problem(
            location,
            format!("check {}: {}", mistake.check, mistake.message),
        );
        match mistake.advice {
            Some(advice) => finding.with_advice(advice),
            None => finding,
        }
    });
    findings.collect()
}
