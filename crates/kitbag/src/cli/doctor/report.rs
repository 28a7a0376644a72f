//! All findings together: grouped for people, as they are for programs.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::finding::{Area, Finding, Severity};
use crate::cli::output::{count, printable};

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
    pub(super) fn of(findings: Vec<Finding>) -> Self {
        let summary = Summary {
            ok: number(&findings, Severity::Ok),
            notes: number(&findings, Severity::Note),
            warnings: number(&findings, Severity::Warning),
            problems: number(&findings, Severity::Problem),
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

    pub(super) fn for_people(&self) -> String {
        let mut text = String::new();
        for area in Area::ALL {
            let mut findings = self
                .findings
                .iter()
                .filter(|finding| finding.area == area)
                .peekable();
            if findings.peek().is_some() {
                let _ = writeln!(text, "{BOLD}{}{BOLD:#}", area.title());
                text.extend(findings.map(told));
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
            .map(|(number, noun)| count(number, noun))
            .collect();
        match (problems + warnings, notes) {
            (0, 0) => "All is well.".to_owned(),
            (0, _) => format!("All is well, with {}.", some.join(", ")),
            _ => format!("{}.", some.join(", ")),
        }
    }
}

fn number(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|it| it.severity == severity).count()
}

fn told(finding: &Finding) -> String {
    const DIM: Style = Style::new().dimmed();
    const CYAN: Style = AnsiColor::Cyan.on_default().bold();
    let (mark, word, style) = finding.severity.face();
    let mut text = format!("  {style}{mark} {word:<7}{style:#}  ");
    let headline = format!("{}: {}", finding.subject, finding.what);
    text.push_str(&wrapped(&printable(&headline), FIRST));
    if let Some(why) = &finding.why {
        text += &beneath(DIM, "why: ", why);
    }
    if let (Some(words), None) = (&finding.last_words, &finding.cause) {
        text += &beneath(DIM, "it said: ", &last_lines(words));
    }
    if let Some(advice) = &finding.advice {
        text += &beneath(CYAN, "try: ", advice);
    }
    text + "\n"
}

fn beneath(style: Style, label: &str, said: &str) -> String {
    let rest = wrapped(&printable(said), INDENT.len() + label.len());
    format!("\n{INDENT}{style}{label}{style:#}{rest}")
}

impl Severity {
    /// Returns a mark, a word and a colour: each alone tells the severity.
    fn face(self) -> (char, &'static str, Style) {
        match self {
            Self::Ok => ('✓', "ok", AnsiColor::Green.on_default()),
            Self::Note => ('·', "note", Style::new()),
            Self::Warning => ('!', "warning", AnsiColor::Yellow.on_default().bold()),
            Self::Problem => ('✗', "problem", AnsiColor::Red.on_default().bold()),
        }
    }
}

fn last_lines(words: &str) -> String {
    const ENOUGH: usize = 3;
    let lines: Vec<&str> = words
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(ENOUGH)..].join("\n")
}

/// Breaks the text between words after `at` columns are taken, and never within backquotes, so that
/// a command stays one piece.
fn wrapped(text: &str, at: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in pieces(paragraph) {
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

/// Returns the words, of which those between backquotes are one.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match pieces.last_mut() {
            Some(open) if open.matches('`').count() % 2 == 1 => {
                open.push(' ');
                open.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces
}

const BOLD: Style = Style::new().bold();
const WIDTH: usize = 80;
const INDENT: &str = "             ";
/// The column in which the text behind mark and word begins.
const FIRST: usize = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_grouped_told_in_words_and_fit_a_terminal() {
        let long = "word ".repeat(30);
        let findings = vec![
            Area::Servers
                .problem("notes", "ended")
                .because(long.clone())
                .mend("run `kitbag servers login notes`, then"),
            Area::Configuration.ok("kitbag.toml", "loads"),
            Area::Servers.ok("time", "offers 2 tools"),
        ];
        let report = HealthReport::of(findings);
        let told = anstream::adapter::strip_str(&report.for_people()).to_string();
        assert!(
            told.lines().all(|line| line.chars().count() <= 80),
            "{told}"
        );
        assert!(
            told.starts_with("Configuration\n  ✓ ok       kitbag.toml: loads\n\nServers\n"),
            "{told}"
        );
        assert!(
            told.contains("✗ problem  notes: ended\n             why: word word"),
            "{told}"
        );
        assert!(told.ends_with("\n1 problem."), "{told}");
        assert!(!report.is_healthy() && HealthReport::of(Vec::new()).is_healthy());
    }

    #[test]
    fn a_command_is_never_broken() {
        let text = format!(
            "first do this and that, and {} `{}` now",
            "so on ".repeat(6),
            "a b ".repeat(10).trim()
        );
        let told = wrapped(&text, 20);
        assert!(
            told.contains(&format!("`{}`", "a b ".repeat(10).trim())),
            "{told}"
        );
        assert!(told.lines().count() > 1, "{told}");
    }
}
