//! `kitbag audit export`: writes rows to a file for other programs.

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
use crate::cli::output::{
    Output, escape_json, is_terminal, pluralize, strip_controls, to_one_line,
};
use kitbag_gateway::telemetry::audit::AuditLine;

/// Export rows, oldest first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    filter: AuditFilter,
    #[arg(long, default_value = "jsonl")]
    format: ExportFormat,
    /// Output file; must not exist yet [default: stdout].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag audit export --format csv --output audit.csv
  kitbag audit export --tenant acme --since 30d --output acme.jsonl";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A table with a header row.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// Rows per read; there may be millions.
const PAGE: u32 = 1000;

pub(super) async fn run(
    arguments: &Arguments,
    store: &Store,
    output: Output,
) -> anyhow::Result<()> {
    let Some(path) = &arguments.output else {
        let for_whom = match is_terminal() {
            true => Reader::Person,
            false => Reader::Program,
        };
        write(arguments, store, for_whom, &mut io::stdout().lock()).await?;
        return Ok(());
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let file = file
        .with_context(|| format!("cannot write {}", path.display()))
        .advise(|| "choose a new file in an existing folder".to_owned())?;
    let mut file = BufWriter::new(file);
    let written = write(arguments, store, Reader::Program, &mut file).await?;
    output.show(&json!({ "rows": written, "file": path }), |_| {
        format!("Wrote {} to {}", pluralize(written, "row"), path.display())
    })
}

/// Programs get the exact text; at a terminal, control and invisible characters are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Person,
    Program,
}

async fn write(
    arguments: &Arguments,
    store: &Store,
    reader: Reader,
    into: &mut impl Write,
) -> anyhow::Result<usize> {
    let mut query = arguments.filter.to_query(PAGE);
    query.page = AuditPage::WrittenAfter { id: 0 };
    if arguments.format == ExportFormat::Csv {
        write!(into, "{}\r\n", AuditLine::COLUMNS.join(","))?;
    }
    let mut written = 0;
    loop {
        let rows = store.read_audit(&query).await?;
        let Some(last) = rows.last() else { break };
        query.page = AuditPage::WrittenAfter { id: last.id };
        for row in &rows {
            match arguments.format {
                ExportFormat::Jsonl => writeln!(into, "{}", json(row, reader)?)?,
                ExportFormat::Csv => write!(into, "{}\r\n", csv(row, reader)?)?,
            }
        }
        written += rows.len();
    }
    into.flush()?;
    Ok(written)
}

fn json(row: &AuditRow, reader: Reader) -> serde_json::Result<String> {
    let line = super::to_json_line(row)?;
    Ok(match reader {
        Reader::Person => escape_json(&line),
        Reader::Program => line,
    })
}

fn csv(row: &AuditRow, reader: Reader) -> anyhow::Result<String> {
    let line = serde_json::to_value(AuditLine::from_row(row))?;
    Ok(AuditLine::COLUMNS
        .map(|column| cell(&line[column], reader))
        .join(","))
}

fn cell(value: &Value, reader: Reader) -> String {
    let text = match (value, reader) {
        (Value::Null, _) => return String::new(),
        (Value::String(text), Reader::Person) => {
            without_formulas(&to_one_line(&strip_controls(text)))
        }
        (Value::String(text), Reader::Program) => without_formulas(text),
        (other, _) => other.to_string(),
    };
    let plain = !text.contains([',', ';', '"', '\n', '\r', '\t']);
    if plain {
        text
    } else {
        format!("\"{}\"", text.replace('"', "\"\""))
    }
}

/// Puts an apostrophe before each formula: a spreadsheet would run a cell that begins with one of
/// these characters, and clients choose their own names. Where commas are decimal signs, a semicolon
/// begins a cell too.
fn without_formulas(text: &str) -> String {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let mut safe = String::with_capacity(text.len());
    let mut is_start = true;
    for c in text.chars() {
        let is_blank = matches!(c, '\t' | '\r' | '\n');
        if is_start && (FORMULA.contains(&c) || is_blank && safe.is_empty()) {
            safe.push('\'');
        }
        is_start = match c {
            ';' | '\t' => true,
            _ => {
                is_start
                    && (is_blank
                        || c == '"'
                        || strip_controls(c.encode_utf8(&mut [0; 4])).trim().is_empty())
            }
        };
        safe.push(c);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
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
            (json!(-1.5), "-1.5"),
            (json!("-1+cmd|' /C calc'!A0"), "'-1+cmd|' /C calc'!A0"),
            (json!("\t=1"), "\"'\t'=1\""),
            (json!("\r=1"), "\"'\r'=1\""),
            (json!(" \u{200b}=1"), " \u{200b}'=1"),
            (json!("＝1"), "'＝1"),
            (json!("a;=1;b"), "\"a;'=1;b\""),
            (json!("a=1, b-c"), "\"a=1, b-c\""),
            (json!("x\u{202e}y"), "x\u{202e}y"),
        ] {
            assert_eq!(cell(&value, Reader::Program), expected);
        }
        let shown = cell(&json!("=\u{202e}a\u{1b}[2Jb\nc"), Reader::Person);
        assert_eq!(shown, "'=ab c");
    }
}
