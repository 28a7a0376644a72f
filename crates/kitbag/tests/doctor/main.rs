//! `kitbag doctor`, through the real binary: the cause and remedy of real problems.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod broken;
mod surroundings;

use std::fs;
use std::path::Path;

use kitbag_testkit::home::Home;
use serde_json::Value;

/// The JSON output of the doctor, run with `bin` first on the PATH.
pub(crate) struct DoctorRun {
    pub(crate) code: Option<i32>,
    pub(crate) report: Value,
}

impl DoctorRun {
    #[track_caller]
    pub(crate) fn start(home: &Home, words: &[&str]) -> Self {
        let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
        let words = [&["doctor", "--json"], words].concat();
        let output = home.command(&words).env("PATH", path).output().unwrap();
        let report = serde_json::from_slice(&output.stdout);
        let report =
            report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        Self {
            code: output.status.code(),
            report,
        }
    }

    /// Findings about a server, a client or a path suffix; all findings if the subject is empty.
    pub(crate) fn findings(&self, area: &str, subject: &str) -> Vec<&Value> {
        let all = self.report["findings"].as_array().unwrap();
        let names =
            |it: &str| subject.is_empty() || it == subject || it.ends_with(&format!("/{subject}"));
        let wanted = |it: &&Value| it["area"] == area && names(it["subject"].as_str().unwrap());
        all.iter().filter(wanted).collect()
    }

    /// The only finding about the subject, which must have this severity.
    #[track_caller]
    pub(crate) fn only_finding(&self, area: &str, subject: &str, severity: &str) -> &Value {
        let found = self.findings(area, subject);
        assert_eq!(found.len(), 1, "{area} {subject}: {:#}", self.report);
        assert_eq!(found[0]["severity"], severity, "{:#}", found[0]);
        found[0]
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
