//! `kitbag audit export`: rows into a file, for other programs.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kitbag_store::{AuditPage, AuditRow, Store};
use serde_json::{Value, json};

use super::filter::AuditFilter;
use crate::cli::failure::Advise as _;
use crate::cli::output::{Output, count};
use kitbag_gateway::audit::AuditLine;

/// Write rows into a file, the oldest first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    filter: AuditFilter,
    #[arg(long, default_value = "jsonl")]
    format: ExportFormat,
    /// The file, which must not exist yet; stdout unless given.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag audit export --format csv --output audit.csv
  kitbag audit export --tenant acme --since 30d --output acme.jsonl";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A table, the first line with the names of its columns.
    Csv,
    /// A JSON object for each line.
    Jsonl,
}

/// The number of rows that are read at once; there may be millions.
const PAGE: u32 = 1000;

pub(super) async fn run(
    arguments: &Arguments,
    store: &Store,
    output: Output,
) -> anyhow::Result<()> {
    let Some(path) = &arguments.output else {
        write(arguments, store, &mut io::stdout().lock()).await?;
        return Ok(());
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let file = file
        .with_context(|| format!("{} cannot be written", path.display()))
        .advise(|| "choose a file that does not exist yet, in a folder that does".to_owned())?;
    let mut file = BufWriter::new(file);
    let written = write(arguments, store, &mut file).await?;
    output.show(&json!({ "rows": written, "file": path }), |_| {
        format!("Wrote {} to {}", count(written, "row"), path.display())
    })
}

async fn write(
    arguments: &Arguments,
    store: &Store,
    into: &mut impl Write,
) -> anyhow::Result<usize> {
    let mut query = arguments.filter.query(PAGE);
    query.page = AuditPage::WrittenAfter { id: 0 };
    if arguments.format == ExportFormat::Csv {
        write!(into, "{}\r\n", AuditLine::COLUMNS.join(","))?;
    }
    let mut written = 0;
    loop {
        let rows = store.audit(&query).await?;
        let Some(last) = rows.last() else { break };
        query.page = AuditPage::WrittenAfter { id: last.id };
        for row in &rows {
            match arguments.format {
                ExportFormat::Jsonl => writeln!(into, "{}", super::json_line(row)?)?,
                ExportFormat::Csv => write!(into, "{}\r\n", csv(row)?)?,
            }
        }
        written += rows.len();
    }
    into.flush()?;
    Ok(written)
}

fn csv(row: &AuditRow) -> anyhow::Result<String> {
    let line = serde_json::to_value(AuditLine::of(row))?;
    Ok(AuditLine::COLUMNS
        .map(|column| cell(&line[column]))
        .join(","))
}

/// A program that shows tables would take a text that begins with such a character for a formula,
/// and clients choose their names themselves; an apostrophe in front makes it text.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{text}")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let plain = !text.contains([',', '"', '\n', '\r']);
    if plain {
        text
    } else {
        format!("\"{}\"", text.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_read_back_as_text_by_whatever_shows_tables() {
        for (value, expected) in [
            (json!(null), ""),
            (json!(12.5), "12.5"),
            (json!("plain"), "plain"),
            (json!("a, \"b\""), "\"a, \"\"b\"\"\""),
            (
                json!("=HYPERLINK(\"http://evil.example\")"),
                "\"'=HYPERLINK(\"\"http://evil.example\"\")\"",
            ),
            (json!("@SUM(1)"), "'@SUM(1)"),
            (json!("two\nlines"), "\"two\nlines\""),
        ] {
            assert_eq!(cell(&value), expected);
        }
    }
}
