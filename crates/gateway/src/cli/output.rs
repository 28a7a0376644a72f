//! Tables for people, JSON for programs, colour only where it is wanted.

use std::fmt::Write as _;
use std::io::{self, StderrLock, Write as _};

use anstyle::{AnsiColor, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use kitbag_domain::Timestamp;
use kitbag_domain::text::visible;
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
    /// A result: as JSON, or as `people` would like to read it.
    pub fn show<T: Serialize>(self, result: &T, people: impl FnOnce(&T) -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string_pretty(result)? } else { people(result) };
        self.print(&text)
    }

    pub fn print(self, text: &str) -> anyhow::Result<()> {
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{}", text.trim_end())?;
        Ok(stdout.flush()?)
    }

    /// Something that went wrong without spoiling the result.
    pub fn warn(self, text: &str) {
        const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
        let _unheard = writeln!(stderr(), "{YELLOW}warning:{YELLOW:#} {}", printable(text));
    }

    /// Something worth knowing beside the result; a program has no use for it.
    pub fn note(self, text: &str) {
        if !self.json {
            // Nothing is left to do when not even stderr listens.
            let _unheard = writeln!(stderr(), "{}", printable(text));
        }
    }
}

/// Where everything goes that is no result, above the progress that may be shown there.
pub fn stderr() -> anstream::AutoStream<StderrLock<'static>> {
    anstream::AutoStream::auto(progress::stderr())
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

/// Columns under bold headings, as wide as the terminal, or 80 where there is none.
pub fn table<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let width = terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| width.0);
    table_within(width, headings, rows)
}

const DEFAULT_WIDTH: u16 = 80;
const SPACE_FOR_THE_REST: u16 = 16;
const BOLD: Style = Style::new().bold();

fn table_within<const N: usize>(
    width: u16,
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(headings);
    table.add_rows(rows.into_iter().map(|row| row.map(|cell| printable(&cell))));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    // The first column holds names, which people want to copy whole.
    let fits = table.column_max_content_widths().first().is_some_and(|it| it + SPACE_FOR_THE_REST <= width);
    if let Some(names) = table.column_mut(0).filter(|_| fits) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    let mut text = String::new();
    for (index, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let styled = if index == 0 { format!("{BOLD}{line}{BOLD:#}") } else { line.to_owned() };
        writeln!(text, "{styled}").expect("writing into a string cannot fail");
    }
    text
}

/// Without anything that could steer the terminal or hide from the person: much of what is shown was
/// written by other people's servers.
pub fn printable(text: &str) -> String {
    visible(text).chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// Without line breaks, by which a text could pass for several of ours.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As programs write it down, too.
pub fn date(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |date| date.to_string())
}

/// `1 tool`, `2 tools`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// What a server offers: `3 tools, 1 prompt`.
pub fn offers(tools: usize, prompts: usize, resources: usize) -> String {
    let kinds = [(tools, "tool"), (prompts, "prompt"), (resources, "resource")];
    let some = kinds.into_iter().filter(|(number, _)| *number > 0);
    let named: Vec<_> = some.map(|(number, noun)| count(number, noun)).collect();
    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
}

/// Whether an error only says that whoever read our output has read enough.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_width_whatever_the_cells_hold() {
        let long = "word ".repeat(40);
        let text = table_within(80, ["NAME", "TEXT"], [["x".repeat(50), long], ["y".into(), "z".into()]]);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        assert!(plain.starts_with("NAME") && plain.contains('y') && plain.contains('z'), "{plain}");
    }

    #[test]
    fn what_a_server_wrote_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mred\u{1b}[0m\u{7}\tb"), "ared b");
        assert_eq!(printable("invoice\u{202e}fdp.exe \u{200b}\u{e0041}ok\r\n"), "invoicefdp.exe ok \n");
    }
}
