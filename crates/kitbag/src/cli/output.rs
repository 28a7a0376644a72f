//! Tables for people, JSON for programs, and colour.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, StderrLock, Write as _};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use kitbag_domain::Timestamp;
use kitbag_domain::text::strip_invisible;
use serde::Serialize;

use super::progress;

#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Output {
    /// Prints a result as JSON, or as text.
    pub fn show<T: Serialize>(
        self,
        result: &T,
        to_text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::to_string_pretty(result)?
        } else {
            to_text(result)
        };
        self.print(&text)
    }

    pub fn print(self, text: &str) -> anyhow::Result<()> {
        let text = text.trim_end();
        let text = match (is_terminal(), self.json) {
            (false, _) => Cow::Borrowed(text),
            (true, true) => Cow::Owned(escape_json(text)),
            (true, false) => Cow::Owned(strip_all_but_styles(text)),
        };
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a warning to stderr.
    pub fn warn(self, text: &str) {
        const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
        let _unheard = writeln!(
            stderr(),
            "{YELLOW}warning:{YELLOW:#} {}",
            strip_controls(text)
        );
    }

    /// Prints a note to stderr, unless the output is JSON.
    pub fn note(self, text: &str) {
        if !self.json {
            // Nothing can be done if stderr is closed.
            let _unheard = writeln!(stderr(), "{}", strip_controls(text));
        }
    }
}

/// Locks stderr for messages, hiding the progress line while they are printed.
pub fn stderr() -> anstream::AutoStream<StderrLock<'static>> {
    anstream::AutoStream::auto(progress::lock_stderr())
}

impl Color {
    pub fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Formats columns under bold headings. At a terminal, text is wrapped to its width; elsewhere every
/// row is one line, suited to grep and cut.
pub fn format_table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    format_table_within(table_width(), headings, rows)
}

/// Returns the width from `COLUMNS`, or else of the terminal if stdout is one.
fn table_width() -> Option<u16> {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.trim().parse().ok());
    columns
        .filter(|columns| *columns > 0)
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0))
}

const BOLD: Style = Style::new().bold();
/// Spaces between columns.
const GAP: u16 = 2;

fn format_table_within<const N: usize>(
    width: Option<u16>,
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| row.map(|cell| to_one_line(&strip_controls(&cell))))
        .collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings);
    match width {
        Some(width) => wrap_columns(&mut table, width, headings, &rows),
        None => drop(table.set_content_arrangement(ContentArrangement::Disabled)),
    }
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    let mut text = String::new();
    for (index, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let styled = if index == 0 {
            format!("{BOLD}{line}{BOLD:#}")
        } else {
            line.to_owned()
        };
        writeln!(text, "{styled}").expect("writing into a string cannot fail");
    }
    text
}

/// Wraps between words only, since users copy names. If the words alone are wider than the terminal,
/// lines exceed it.
fn wrap_columns<const N: usize>(
    table: &mut Table,
    width: u16,
    headings: [&str; N],
    rows: &[[String; N]],
) {
    let longest: [u16; N] = std::array::from_fn(|column| {
        let cells = rows
            .iter()
            .map(|row| row[column].as_str())
            .chain([headings[column]]);
        // The last column holds sentences; a word of any length may occur there.
        let most = if column + 1 == N { width / 3 } else { u16::MAX };
        cells
            .flat_map(str::split_whitespace)
            .map(column_count)
            .max()
            .unwrap_or_default()
            .min(most)
    });
    let needed = longest
        .iter()
        .map(|word| word.saturating_add(GAP))
        .fold(0, u16::saturating_add);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(needed));
    let bounds =
        longest.map(|word| ColumnConstraint::LowerBoundary(Width::Fixed(word.saturating_add(GAP))));
    table.set_constraints(bounds);
}

/// Returns the display width of a word.
fn column_count(word: &str) -> u16 {
    u16::try_from(word.chars().count()).unwrap_or(u16::MAX)
}

/// Removes control and invisible characters: much of the text comes from servers.
pub fn strip_controls(text: &str) -> String {
    strip_invisible(text)
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect()
}

pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Removes control characters but keeps our own styles, in case text from servers was not stripped
/// before.
fn strip_all_but_styles(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for (at, piece) in text.split("\u{1b}[").enumerate() {
        let style = piece
            .split_once('m')
            .filter(|(codes, _)| at > 0 && is_style(codes));
        match style {
            Some((codes, after)) => clean.extend(["\u{1b}[", codes, "m", &strip_controls(after)]),
            None if at > 0 => clean.push_str(&strip_controls(&format!("\u{1b}[{piece}"))),
            None => clean.push_str(&strip_controls(piece)),
        }
    }
    clean
}

/// True for the colours and weights we use, but not for styles that hide text.
fn is_style(codes: &str) -> bool {
    codes.split(';').all(|code| {
        matches!(code, "" | "0" | "1" | "2" | "3" | "4" | "22" | "39")
            || matches!(code.as_bytes(), [b'3' | b'9', b'0'..=b'7'])
    })
}

/// Escapes control and invisible characters; the result is equivalent JSON.
pub fn escape_json(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for c in json.chars() {
        let is_harmless =
            c == '\n' || !strip_controls(c.encode_utf8(&mut [0; 4])).trim().is_empty();
        if c.is_ascii_graphic() || c == ' ' || is_harmless {
            clean.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(clean, "\\u{unit:04x}");
            }
        }
    }
    clean
}

/// Replaces line breaks, which could make one item look like several.
pub fn to_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a timestamp as RFC 3339, which programs can parse too.
pub fn format_date(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |date| date.to_string())
}

/// `12 ms`, `3.2 s`, `4 min`.
pub fn format_duration(length: Duration) -> String {
    match length.as_secs() {
        0 => format!("{} ms", length.as_millis()),
        1..60 => format!("{:.1} s", length.as_secs_f64()),
        seconds => format!("{} min", seconds / 60),
    }
}

/// `1 tool`, `2 tools`.
pub fn pluralize(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Counts what a server offers: `3 tools, 1 prompt`.
pub fn describe_offers(tools: usize, prompts: usize, resources: usize) -> String {
    let kinds = [
        (tools, "tool"),
        (prompts, "prompt"),
        (resources, "resource"),
    ];
    let some = kinds.into_iter().filter(|(number, _)| *number > 0);
    let named: Vec<_> = some.map(|(number, noun)| pluralize(number, noun)).collect();
    if named.is_empty() {
        "nothing".to_owned()
    } else {
        named.join(", ")
    }
}

/// True if the error means that the reader of our output closed the pipe.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: Option<u16>, rows: [[&str; 2]; 2]) -> String {
        let rows = rows.map(|row| row.map(str::to_owned));
        anstream::adapter::strip_str(&format_table_within(width, ["NAME", "TEXT"], rows))
            .to_string()
    }

    #[test]
    fn a_table_wraps_between_words_only() {
        let (name, long) = ("x".repeat(50), "word ".repeat(40));
        let text = plain(Some(80), [[&name, &long], ["y", "z"]]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains(&name) && text.lines().count() > 8, "{text}");
        assert!(
            text.split_whitespace()
                .all(|word| ["NAME", "TEXT", "word", "y", "z", &name].contains(&word))
        );
        let text = plain(Some(40), [[&name, "two words"], ["y", "z"]]);
        assert!(text.contains(&name), "{text}");
    }

    #[test]
    fn a_row_is_one_line_without_a_terminal() {
        let long = "word ".repeat(60);
        let text = plain(None, [["a name", &long], ["y", "first\nsecond"]]);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.contains(long.trim()) && text.contains("first second"),
            "{text}"
        );
    }

    #[test]
    fn escaped_json_is_equivalent_and_has_no_control_characters() {
        let json = serde_json::to_string_pretty(&serde_json::json!({
            "a\u{202e}b": "x\u{1b}[2J\u{9b}31m\u{7f}\u{e0041} é 日 👩\u{200d}💻\n",
        }));
        let json = json.unwrap();
        let shown = escape_json(&json);
        assert_eq!(strip_controls(&shown), shown);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
        assert!(
            shown.contains("a\\u202eb") && shown.contains("é 日"),
            "{shown}"
        );
    }

    #[test]
    fn only_our_styles_reach_the_terminal() {
        assert_eq!(
            strip_all_but_styles("\u{1b}[1mNAME\u{1b}[0m\nx"),
            "\u{1b}[1mNAME\u{1b}[0m\nx"
        );
        assert_eq!(
            strip_all_but_styles(
                "a\u{1b}[8mhidden\u{1b}[2Jb\u{1b}]0;t\u{7}c\u{202e}d\u{1b}[31mred"
            ),
            "ahiddenbcd\u{1b}[31mred"
        );
    }

    #[test]
    fn text_from_a_server_cannot_control_the_terminal() {
        assert_eq!(strip_controls("a\u{1b}[31mred\u{1b}[0m\u{7}\tb"), "ared b");
        assert_eq!(
            strip_controls("invoice\u{202e}fdp.exe \u{200b}\u{e0041}ok\r\n"),
            "invoicefdp.exe ok \n"
        );
    }
}
