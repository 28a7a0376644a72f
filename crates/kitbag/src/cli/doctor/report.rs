//! All findings, grouped by area for people and as JSON for programs.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::finding::{Area, Finding, Severity};
use crate::cli::output::{pluralize, strip_controls};

#[derive(Debug, Serialize)]
pub(super) struct HealthReport {
    version: &'static str,
    healthy: bool,
    summary: Summary,
    pub(super) findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Summary {
    ok: usize,
    notes: usize,
    warnings: usize,
    problems: usize,
}

impl HealthReport {
    pub(super) fn new(findings: Vec<Finding>) -> Self {
        let summary = Summary {
            ok: count_severity(&findings, Severity::Ok),
            notes: count_severity(&findings, Severity::Note),
            warnings: count_severity(&findings, Severity::Warning),
            problems: count_severity(&findings, Severity::Problem),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            healthy: summary.problems == 0,
            summary,
            findings,
        }
    }

    pub(super) fn is_healthy(&self) -> bool {
        self.healthy
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for area in Area::ALL {
            let mut findings = self
                .findings
                .iter()
                .filter(|finding| finding.area == area)
                .peekable();
            if findings.peek().is_some() {
                let _ = writeln!(text, "{BOLD}{}{BOLD:#}", area.title());
                text.extend(findings.map(format_finding));
                text.push('\n');
            }
        }
        text + &self.last_line()
    }

    fn last_line(&self) -> String {
        let Summary {
            notes,
            warnings,
            problems,
            ..
        } = self.summary;
        let kinds = [
            (problems, "problem"),
            (warnings, "warning"),
            (notes, "note"),
        ];
        let some: Vec<_> = kinds
            .into_iter()
            .filter(|it| it.0 > 0)
            .map(|(number, noun)| pluralize(number, noun))
            .collect();
        match (problems + warnings, notes) {
            (0, 0) => "No problems found.".to_owned(),
            (0, _) => format!("No problems found, {}.", some.join(", ")),
            _ => format!("{}.", some.join(", ")),
        }
    }
}

fn count_severity(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|it| it.severity == severity).count()
}

fn format_finding(finding: &Finding) -> String {
    const DIM: Style = Style::new().dimmed();
    const CYAN: Style = AnsiColor::Cyan.on_default().bold();
    let (mark, word, style) = finding.severity.symbol();
    let mut text = format!("  {style}{mark} {word:<7}{style:#}  ");
    let headline = format!("{}: {}", finding.subject, finding.what);
    text.push_str(&wrap_text(&strip_controls(&headline), TEXT_COLUMN));
    if let Some(why) = &finding.why {
        text += &indented_line(DIM, "why: ", why);
    }
    if let (Some(words), None) = (&finding.last_words, &finding.cause) {
        text += &indented_line(DIM, "output: ", &last_lines(words));
    }
    if let Some(advice) = &finding.advice {
        text += &indented_line(CYAN, "try: ", advice);
    }
    text + "\n"
}

fn indented_line(style: Style, label: &str, text: &str) -> String {
    let rest = wrap_text(&strip_controls(text), INDENT.len() + label.len());
    format!("\n{INDENT}{style}{label}{style:#}{rest}")
}

impl Severity {
    /// Returns a mark, a word and a colour. Any one of them is enough to recognize the severity.
    fn symbol(self) -> (char, &'static str, Style) {
        match self {
            Self::Ok => ('✓', "ok", AnsiColor::Green.on_default()),
            Self::Note => ('·', "note", Style::new()),
            Self::Warning => ('!', "warning", AnsiColor::Yellow.on_default().bold()),
            Self::Problem => ('✗', "problem", AnsiColor::Red.on_default().bold()),
        }
    }
}

fn last_lines(output: &str) -> String {
    const MAX_LINES: usize = 3;
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(MAX_LINES)..].join("\n")
}

/// Wraps the text between words, the first line starting at column `at`. Does not break within
/// backquotes, so that commands stay whole.
fn wrap_text(text: &str, at: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in split_words(paragraph) {
            let room = WIDTH - if lines.is_empty() { at } else { INDENT.len() };
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    lines.join(&format!("\n{INDENT}"))
}

/// Splits the text at whitespace outside of backquotes.
fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(open) if open.matches('`').count() % 2 == 1 => {
                open.push(' ');
                open.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

const BOLD: Style = Style::new().bold();
const WIDTH: usize = 80;
const INDENT: &str = "             ";
/// The column where the text after the mark and the word begins.
const TEXT_COLUMN: usize = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_grouped_and_fit_a_terminal() {
        let long = "word ".repeat(30);
        let findings = vec![
            Area::Servers
                .problem("notes", "ended")
                .with_reason(long.clone())
                .with_advice("run `kitbag servers login notes`, then"),
            Area::Configuration.ok("kitbag.toml", "loads"),
            Area::Servers.ok("time", "offers 2 tools"),
        ];
        let report = HealthReport::new(findings);
        let text = anstream::adapter::strip_str(&report.to_text()).to_string();
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.starts_with("Configuration\n  ✓ ok       kitbag.toml: loads\n\nServers\n"),
            "{text}"
        );
        assert!(
            text.contains("✗ problem  notes: ended\n             why: word word"),
            "{text}"
        );
        assert!(text.ends_with("\n1 problem."), "{text}");
        assert!(!report.is_healthy() && HealthReport::new(Vec::new()).is_healthy());
    }

    #[test]
    fn a_command_is_never_broken() {
        let text = format!(
            "first do this and that, and {} `{}` now",
            "so on ".repeat(6),
            "a b ".repeat(10).trim()
        );
        let text = wrap_text(&text, 20);
        assert!(
            text.contains(&format!("`{}`", "a b ".repeat(10).trim())),
            "{text}"
        );
        assert!(text.lines().count() > 1, "{text}");
    }
}
