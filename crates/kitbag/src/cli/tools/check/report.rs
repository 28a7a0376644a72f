//! The findings, and what was checked.

use kitbag_tool_files::{CheckFinding, CheckId};
use serde_json::{Value, json};

use super::sources::CheckSources;
use crate::cli::Invocation;
use crate::cli::output::{pluralize, strip_controls, to_one_line};

pub(in crate::cli::tools) struct CheckReport {
    findings: Vec<CheckFinding>,
    /// The sources by name, with their number of tools.
    sources: Vec<(String, usize)>,
    providers: usize,
    /// Number of Kitbag's own tools checked.
    pub(super) own_tools: usize,
    /// Number of intents, and of tools they were searched among.
    pub(super) searched: Option<(usize, usize)>,
    checks: Vec<CheckId>,
    has_manifest: bool,
    has_pages: bool,
    has_data: bool,
}

impl CheckReport {
    pub(super) fn from_sources(sources: &CheckSources) -> Self {
        let all = &sources.sources;
        Self {
            findings: Vec::new(),
            sources: all
                .iter()
                .map(|it| (it.name.clone(), it.tools.len()))
                .collect(),
            providers: all.iter().map(|it| it.providers.len()).sum(),
            own_tools: 0,
            searched: None,
            checks: Vec::new(),
            has_manifest: all.iter().any(|it| it.manifest.is_some()),
            has_pages: all.iter().any(|it| it.pages.is_some()),
            has_data: all.iter().any(|it| it.dated.is_some()),
        }
    }

    /// Adds the findings of the requested checks; an empty `only` means all.
    pub(super) fn add_findings(&mut self, mut findings: Vec<CheckFinding>, only: &[CheckId]) {
        findings.sort_by(|a, b| (a.check, &a.file, a.line).cmp(&(b.check, &b.file, b.line)));
        self.findings = findings;
        let all = CheckId::ALL.into_iter();
        let wanted = all.filter(|it| only.is_empty() || only.contains(it));
        self.checks = wanted.filter(|it| self.has_input_for(*it)).collect();
    }

    pub(in crate::cli::tools) fn has_passed(&self) -> bool {
        self.findings.is_empty()
    }

    pub(in crate::cli::tools) fn show(&self, invocation: &Invocation) -> anyhow::Result<()> {
        invocation.show(&self.to_json(), |_| self.to_text())
    }

    /// True if the data that the check needs is present.
    fn has_input_for(&self, check: CheckId) -> bool {
        match check {
            CheckId::Manifest => self.has_manifest,
            CheckId::Pages => self.has_pages,
            CheckId::DatedData => self.has_data,
            _ => true,
        }
    }

    pub(in crate::cli::tools) fn to_json(&self) -> Value {
        let findings: Vec<Value> = self.findings.iter().map(finding_to_json).collect();
        let sources = self.sources.iter();
        let sources = sources.map(|(name, tools)| json!({ "path": name, "tools": tools }));
        let (intents, among) = self.searched.unzip();
        json!({
            "ok": self.has_passed(),
            "findings": findings,
            "checks": check_names(&self.checks),
            "sources": sources.collect::<Vec<_>>(),
            "providers": self.providers,
            "own_tools": self.own_tools,
            "intents": intents,
            "searched_tools": among,
        })
    }

    pub(in crate::cli::tools) fn to_text(&self) -> String {
        let mut lines: Vec<String> = self.findings.iter().map(format_finding).collect();
        lines.push(self.summary());
        lines.join("\n")
    }

    fn summary(&self) -> String {
        let sources = self.sources.iter();
        let mut parts: Vec<String> = sources
            .map(|(name, tools)| format!("{} of {name}", pluralize(*tools, "tool")))
            .collect();
        if self.providers > 0 {
            parts.push(format!("model {}", pluralize(self.providers, "provider")));
        }
        if self.own_tools > 0 {
            parts.push(format!(
                "{} of Kitbag itself",
                pluralize(self.own_tools, "tool")
            ));
        }
        if let Some((intents, among)) = self.searched {
            let among = pluralize(among, "tool");
            parts.push(format!("{} among {among}", pluralize(intents, "intent")));
        }
        let verdict = match self.findings.len() {
            0 => "no problems".to_owned(),
            1 => "1 problem".to_owned(),
            many => format!("{many} problems"),
        };
        let checks = check_names(&self.checks).join(", ");
        format!("Checked {} ({checks}): {verdict}.", parts.join(", "))
    }
}

fn check_names(checks: &[CheckId]) -> Vec<&'static str> {
    checks.iter().map(|it| it.as_str()).collect()
}

/// `file:line: check 08 strict schemas: message => advice`
fn format_finding(finding: &CheckFinding) -> String {
    let text = match &finding.advice {
        Some(advice) => format!("{finding} => {advice}"),
        None => finding.to_string(),
    };
    to_one_line(&strip_controls(&text))
}

fn finding_to_json(finding: &CheckFinding) -> Value {
    json!({
        "check": finding.check.as_str(),
        "file": finding.file.display().to_string(),
        "line": finding.line,
        "message": finding.message,
        "advice": finding.advice,
    })
}
