//! The checks that a catalog must pass before it is deployed. They are pure: functions of other
//! crates are passed in.
//!
//! - `tenancy` (03), `listed` (04), `strict` (08), `pages` (14): the four checks with a number
//! - `requests`: hosts, arguments, examples, intents and secrets
//! - `id`: the ids of the checks
//! - `walk`: every part of a schema

mod id;
mod listed;
mod pages;
mod requests;
mod strict;
mod tenancy;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::Date;
use kitbag_domain::Remedy as _;
use serde_json::Value;

pub use id::{CheckId, NoSuchCheck};
pub use listed::check as check_manifest;
pub use strict::{LoosePart, loose_parts};
pub(crate) use tenancy::names_a_tenant;

use crate::dated::{self, DatedData};
use crate::file::ToolFile;
use crate::file::mistake::{ToolFileError, ToolFileMistake};
use crate::manifest::Manifest;

/// The input of all checks.
#[derive(Clone, Copy)]
pub struct CheckInput<'a> {
    pub tools: &'a [Arc<ToolFile>],
    /// The mistakes of files that could not be read as tools.
    pub problems: &'a [ToolFileError],
    /// Absent for a directory without a manifest.
    pub manifest: Option<&'a Manifest>,
    /// The page of each tool, by its id. Absent if pages are not required.
    pub pages: Option<&'a BTreeMap<String, ToolPage>>,
    /// The rows of dated data, and the day on which they must be valid.
    pub dated: Option<(&'a DatedData, Date)>,
    /// Reports why a value does not match a schema.
    pub fits: &'a dyn Fn(&Value, &Value) -> Result<(), String>,
    /// Reports why a schema is invalid.
    pub schema_fault: &'a dyn Fn(&Value) -> Option<String>,
    /// True for a word that looks like a secret.
    pub looks_secret: &'a dyn Fn(&str) -> bool,
    /// True for a header or parameter whose name marks its value as a secret.
    pub names_secret: &'a dyn Fn(&str) -> bool,
}

/// The page about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPage {
    pub path: PathBuf,
    pub text: String,
}

/// One mistake that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    pub check: CheckId,
    pub file: PathBuf,
    pub line: Option<usize>,
    pub message: String,
    pub advice: Option<String>,
}

/// Returns all findings, in the order of the checks.
pub fn check(input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let mut findings: Vec<_> = input.problems.iter().map(CheckFinding::from).collect();
    for tool in input.tools {
        findings.extend(check_tool(tool, input));
    }
    if let Some(manifest) = input.manifest {
        findings.extend(check_manifest(manifest, input.tools, input.problems));
    }
    if let Some(found) = input.pages {
        findings.extend(pages::check(found, input.tools));
    }
    if let Some((data, today)) = input.dated {
        findings.extend(dated::check(data, today));
    }
    findings.sort_by_key(|finding| finding.check);
    findings
}

/// Returns the findings about one tool by itself.
pub fn check_tool(tool: &ToolFile, input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let mut findings = tenancy::check(tool);
    findings.extend(strict::check(tool, input));
    findings.extend(requests::check(tool, input));
    findings
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " check {}: {}", self.check, self.message)
    }
}

impl fmt::Debug for CheckInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckInput")
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

/// A finding about a tool file.
pub(crate) fn tool_finding(
    check: CheckId,
    tool: &ToolFile,
    line: usize,
    message: impl Into<String>,
    advice: impl Into<String>,
) -> CheckFinding {
    CheckFinding {
        check,
        file: tool.path.clone(),
        line: Some(line),
        message: message.into(),
        advice: Some(advice.into()),
    }
}

impl From<&ToolFileError> for CheckFinding {
    fn from(problem: &ToolFileError) -> Self {
        let lacks_class = matches!(
            &problem.mistake,
            ToolFileMistake::MissingKey { key: "writes" }
        );
        let message = match problem.key.as_str() {
            "" => problem.mistake.to_string(),
            key => format!("in `{key}`: {}", problem.mistake),
        };
        Self {
            check: match lacks_class {
                true => CheckId::WriteClass,
                false => CheckId::Files,
            },
            file: problem.file.clone(),
            line: Some(problem.line).filter(|line| *line > 0),
            message,
            advice: problem.remedy(),
        }
    }
}
