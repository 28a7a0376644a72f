//! The checks that a catalog must pass before it is deployed. They are pure: what needs another room is handed in.
//!
//! - `tenancy` (03), `listed` (04), `strict` (08), `pages` (14): the four checks with a number
//! - `requests`: hosts, arguments, examples, intents and secrets
//! - `walk`: every part of a schema

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

pub(crate) use tenancy::names_a_tenant;

use crate::dated::{self, DatedData};
use crate::file::ToolFile;
use crate::file::mistake::{ToolFileError, ToolFileMistake};
use crate::manifest::Manifest;

/// Everything that the checks look at.
#[derive(Clone, Copy)]
pub struct CheckInput<'a> {
    pub tools: &'a [Arc<ToolFile>],
    /// The mistakes of files that could not be read as tools.
    pub problems: &'a [ToolFileError],
    /// Absent for a directory without one.
    pub manifest: Option<&'a Manifest>,
    /// The page of each tool, by its id. Absent where pages are not asked for.
    pub pages: Option<&'a BTreeMap<String, ToolPage>>,
    /// The rows of dated data, and the day on which they must hold.
    pub dated: Option<(&'a DatedData, Date)>,
    /// Says why a value does not fit a schema.
    pub fits: &'a dyn Fn(&Value, &Value) -> Result<(), String>,
    /// Says why a schema is none.
    pub schema_fault: &'a dyn Fn(&Value) -> Option<String>,
    /// True for a word that looks like a secret.
    pub looks_secret: &'a dyn Fn(&str) -> bool,
    /// True for the name of a header or parameter that says that its value is a secret.
    pub speaks_of_secret: &'a dyn Fn(&str) -> bool,
}

/// The page about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPage {
    pub path: PathBuf,
    pub text: String,
}

/// A check by its name. Those that the first manifest had keep their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckId {
    Tenancy,
    Manifest,
    StrictSchemas,
    Pages,
    Files,
    WriteClass,
    Hosts,
    Arguments,
    Examples,
    Intents,
    Secrets,
    DatedData,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    pub check: CheckId,
    pub file: PathBuf,
    pub line: Option<usize>,
    pub message: String,
    pub advice: Option<String>,
}

/// Returns everything that is wrong, in the order of the checks.
pub fn check(input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let mut findings = unreadable(input.problems);
    for tool in input.tools {
        findings.extend(tenancy::check(tool));
        findings.extend(strict::check(tool, input));
        findings.extend(requests::check(tool, input));
    }
    if let Some(manifest) = input.manifest {
        findings.extend(listed::check(manifest, input.tools));
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

impl CheckId {
    pub const ALL: [Self; 12] = [
        Self::Tenancy,
        Self::Manifest,
        Self::StrictSchemas,
        Self::Pages,
        Self::Files,
        Self::WriteClass,
        Self::Hosts,
        Self::Arguments,
        Self::Examples,
        Self::Intents,
        Self::Secrets,
        Self::DatedData,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tenancy => "03 tenancy",
            Self::Manifest => "04 manifest",
            Self::StrictSchemas => "08 strict schemas",
            Self::Pages => "14 pages",
            Self::Files => "files",
            Self::WriteClass => "write class",
            Self::Hosts => "hosts",
            Self::Arguments => "arguments",
            Self::Examples => "examples",
            Self::Intents => "intents",
            Self::Secrets => "secrets",
            Self::DatedData => "dated data",
        }
    }

    /// Returns the claim that holds if nothing was found.
    pub const fn claim(self) -> &'static str {
        match self {
            Self::Tenancy => "no argument names a tenant",
            Self::Manifest => "the manifest and the files say the same",
            Self::StrictSchemas => "every schema refuses what it does not know",
            Self::Pages => "every tool has a page that lists its actions",
            Self::Files => "every file can be read",
            Self::WriteClass => "every action says what it changes",
            Self::Hosts => "every address is among the hosts that the tool may reach",
            Self::Arguments => "every argument has a place in the request",
            Self::Examples => "every example fits its schema",
            Self::Intents => "every tool has requests by which it is found",
            Self::Secrets => "no file holds a secret",
            Self::DatedData => "one row of dated data holds at any time",
        }
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.message)
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
pub(crate) fn finding(
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

fn unreadable(problems: &[ToolFileError]) -> Vec<CheckFinding> {
    problems.iter().map(of_problem).collect()
}

fn of_problem(problem: &ToolFileError) -> CheckFinding {
    let lacks_class = matches!(
        &problem.mistake,
        ToolFileMistake::MissingKey { key: "writes" }
    );
    let message = match problem.key.as_str() {
        "" => problem.mistake.to_string(),
        key => format!("in `{key}`: {}", problem.mistake),
    };
    CheckFinding {
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
