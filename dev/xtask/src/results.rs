//! Reads the results of the conformance suite: one `checks.json` per scenario.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) passed: usize,
    pub(crate) failures: Vec<Failure>,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) check: String,
    pub(crate) message: String,
}

impl Scenario {
    pub(crate) fn fail(&mut self, check: &str, message: &str) {
        self.failures.push(Failure {
            check: check.to_owned(),
            message: message.to_owned(),
        });
    }
}

/// The scenario with results in `folder/PREFIX-TIMESTAMP`; missing results are a failure too.
pub(crate) fn read(folder: &Path, prefix: &str, name: String) -> anyhow::Result<Scenario> {
    let mut scenario = Scenario {
        name,
        passed: 0,
        failures: Vec::new(),
    };
    match checks_file(folder, prefix) {
        None => scenario.fail("no-result", "the suite left no result"),
        Some(path) => {
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let checks: Value = serde_json::from_str(&text)
                .with_context(|| format!("reading {}", path.display()))?;
            judge(&mut scenario, &checks);
        }
    }
    Ok(scenario)
}

fn judge(scenario: &mut Scenario, checks: &Value) {
    for check in checks.as_array().into_iter().flatten() {
        match check["status"].as_str() {
            Some("SUCCESS") => scenario.passed += 1,
            Some("FAILURE") => {
                let reason = text(check, "errorMessage");
                let message = if reason.is_empty() {
                    text(check, "description")
                } else {
                    reason
                };
                scenario.failures.push(Failure {
                    check: text(check, "id"),
                    message,
                });
            }
            _ => {}
        }
    }
    if scenario.passed == 0 && scenario.failures.is_empty() {
        scenario.fail("no-result", "no check was made");
    }
}

fn text(check: &Value, key: &str) -> String {
    check[key].as_str().unwrap_or_default().to_owned()
}

fn checks_file(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let place = folder.join(prefix);
    let stem = place.file_name()?.to_str()?;
    let entries = fs::read_dir(place.parent()?).ok()?;
    entries
        .filter_map(Result::ok)
        .find(|entry| {
            let name = entry.file_name();
            name.to_str()
                .and_then(|name| name.strip_prefix(stem))
                .is_some_and(is_timestamp)
        })
        .map(|entry| entry.path().join("checks.json"))
        .filter(|path| path.is_file())
}

/// Recognizes `-2026-11-15T03-20-28-628Z`, because one scenario's name can be a prefix of
/// another's.
fn is_timestamp(rest: &str) -> bool {
    rest.len() == "-2026-11-15T03-20-28-628Z".len()
        && rest.starts_with('-')
        && rest[1..]
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | 'T' | 'Z'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Scenario, is_timestamp, judge};

    #[test]
    fn a_scenario_name_that_begins_another_is_not_mistaken_for_it() {
        assert!(is_timestamp("-2026-11-15T03-20-28-628Z"));
        assert!(!is_timestamp("-with-args-2026-11-15T03-20-28-628Z"));
    }

    #[test]
    fn a_scenario_without_a_check_has_failed() {
        let mut scenario = Scenario {
            name: "ping".to_owned(),
            passed: 0,
            failures: Vec::new(),
        };
        judge(&mut scenario, &json!([{"id": "note", "status": "INFO"}]));
        assert_eq!(scenario.failures[0].check, "no-result");
    }
}
