//! Check 04: the manifest and the files agree, in both directions.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;

use kitbag_domain::Remedy as _;

use super::{CheckFinding, CheckId, tool_finding};
use crate::file::ToolFile;
use crate::file::mistake::ToolFileError;
use crate::manifest::{Manifest, ManifestRow};

/// Compares the manifest with the tools. `problems` are the mistakes of files that did not load.
pub fn check(
    manifest: &Manifest,
    tools: &[Arc<ToolFile>],
    problems: &[ToolFileError],
) -> Vec<CheckFinding> {
    let mut findings = unreadable_rows(manifest);
    findings.extend(repeated_rows(manifest));
    findings.extend(rows_without_file(manifest, tools, problems));
    for tool in tools {
        findings.extend(wrong_name(tool));
        findings.extend(find_removed_tool(manifest, tool));
        match manifest
            .rows
            .iter()
            .find(|row| row.tool == tool.id.as_str())
        {
            Some(row) => findings.extend(differences(manifest, row, tool)),
            None => findings.push(missing_row_finding(manifest, tool)),
        }
    }
    findings
}

fn unreadable_rows(manifest: &Manifest) -> Vec<CheckFinding> {
    let mistakes = manifest.mistakes.iter();
    mistakes
        .map(|(line, mistake)| CheckFinding {
            advice: mistake.remedy(),
            ..manifest_finding(manifest, *line, mistake.to_string())
        })
        .collect()
}

fn repeated_rows(manifest: &Manifest) -> Vec<CheckFinding> {
    let mut seen = BTreeSet::new();
    let again = manifest.rows.iter().filter(|row| !seen.insert(&row.tool));
    again
        .map(|row| CheckFinding {
            advice: Some("keep one of the rows".to_owned()),
            ..manifest_finding(manifest, row.line, format!("`{}` has two rows", row.tool))
        })
        .collect()
}

fn rows_without_file(
    manifest: &Manifest,
    tools: &[Arc<ToolFile>],
    problems: &[ToolFileError],
) -> Vec<CheckFinding> {
    // A file with a mistake still exists.
    let broken = problems.iter().filter_map(|it| it.file.file_stem());
    let broken: BTreeSet<&OsStr> = broken.collect();
    let without = manifest.rows.iter().filter(|row| {
        !tools.iter().any(|tool| tool.id.as_str() == row.tool)
            && !broken.contains(OsStr::new(&row.tool))
    });
    without
        .map(|row| CheckFinding {
            advice: Some(format!(
                "add the file, or move `{}` to the removed tools with the date",
                row.tool
            )),
            ..manifest_finding(
                manifest,
                row.line,
                format!("`{}` has a row and no file `{0}.toml`", row.tool),
            )
        })
        .collect()
}

fn missing_row_finding(manifest: &Manifest, tool: &ToolFile) -> CheckFinding {
    let manifest = manifest.path.display();
    tool_finding(
        CheckId::Manifest,
        tool,
        1,
        format!("`{}` has a file and no row in {manifest}", tool.id),
        format!(
            "add | {} | {} | {} | {} | {} | to {manifest}",
            tool.id,
            tool.kind.as_str(),
            tool.purpose,
            tool.writes.as_str(),
            tool.owner
        ),
    )
}

/// The tool's name follows from its id; if it does not, the derived name must be an alias.
fn wrong_name(tool: &ToolFile) -> Option<CheckFinding> {
    let expected = tool.id.as_str().replace('-', "_");
    let is_known = std::iter::once(&tool.name)
        .chain(&tool.aliases)
        .any(|name| name.as_str() == expected);
    (!is_known).then(|| {
        tool_finding(
            CheckId::Manifest,
            tool,
            tool.line("name"),
            format!(
                "`{}` is called `{}`, but has no alias `{expected}`",
                tool.id, tool.name
            ),
            format!("write aliases = [\"{expected}\"], or name = \"{expected}\""),
        )
    })
}

fn find_removed_tool(manifest: &Manifest, tool: &ToolFile) -> Option<CheckFinding> {
    let mut removed = manifest.removed.iter();
    let removed = removed.find(|it| it.tool == tool.id.as_str())?;
    Some(tool_finding(
        CheckId::Manifest,
        tool,
        1,
        format!(
            "`{}` was removed on {}: {}",
            tool.id, removed.date, removed.reason
        ),
        "remove the file, or remove the tool from the removed tools",
    ))
}

fn differences(manifest: &Manifest, row: &ManifestRow, tool: &ToolFile) -> Vec<CheckFinding> {
    let pairs = [
        ("kind", row.kind.as_str(), tool.kind.as_str()),
        ("purpose", row.purpose.as_str(), tool.purpose.as_str()),
        ("writes", row.writes.as_str(), tool.writes.as_str()),
        ("owner", row.owner.as_str(), tool.owner.as_str()),
    ];
    let different = pairs.into_iter().filter(|(_, row, file)| row != file);
    different
        .map(|(key, of_row, of_file)| {
            tool_finding(
                CheckId::Manifest,
                tool,
                tool.line(key),
                format!(
                    "`{key}` is \"{of_file}\", and \"{of_row}\" in {}, line {}",
                    manifest.path.display(),
                    row.line
                ),
                "make the two equal",
            )
        })
        .collect()
}

fn manifest_finding(manifest: &Manifest, line: usize, message: String) -> CheckFinding {
    CheckFinding {
        check: CheckId::Manifest,
        file: manifest.path.clone(),
        line: Some(line),
        message,
        advice: None,
    }
}
