//! The manifest: which tools may exist, and which were removed. It is a Markdown file, so that
//! people read and review it like any other text.

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use kitbag_domain::Remedy;
use kitbag_tool_spec::{ToolKind, ToolWrites};

use crate::markdown::{MarkdownTable, tables};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub path: PathBuf,
    pub rows: Vec<ManifestRow>,
    pub removed: Vec<RemovedTool>,
    /// The lines that cannot be compared with files.
    pub mistakes: Vec<(usize, ManifestMistake)>,
}

/// A tool that may exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRow {
    pub line: usize,
    pub tool: String,
    pub kind: ToolKind,
    pub purpose: String,
    pub writes: ToolWrites,
    pub owner: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedTool {
    pub line: usize,
    pub tool: String,
    pub date: Date,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestMistake {
    #[error("there is no table with the columns {}", COLUMNS.join(", "))]
    NoTable,
    #[error("the row has {found} cells, and the table has {expected} columns")]
    Cells { found: usize, expected: usize },
    #[error("unknown kind of tool `{found}`")]
    Kind { found: String },
    #[error("unknown class of write operations `{found}`")]
    Writes { found: String },
    #[error("`{found}` is not a date")]
    Date { found: String },
}

const COLUMNS: [&str; 5] = ["Tool", "Kind", "Purpose", "Write ops", "Owner"];
const REMOVED_COLUMNS: [&str; 3] = ["Tool", "Removed", "Reason"];

impl Manifest {
    /// The name of the file, in the catalog and in tool directories.
    pub const FILE: &str = "TOOLS.md";

    /// Returns the manifest of the built-in tools.
    pub fn built_in() -> Self {
        let path = Path::new("built-in").join(Self::FILE);
        Self::read(&path, include_str!("../../../catalog/TOOLS.md"))
    }

    pub fn read(path: &Path, text: &str) -> Self {
        let mut manifest = Self {
            path: path.to_owned(),
            rows: Vec::new(),
            removed: Vec::new(),
            mistakes: Vec::new(),
        };
        let tables = tables(text);
        match tables
            .iter()
            .find_map(|table| find_columns(table, &COLUMNS))
        {
            Some((table, column_positions)) => manifest.take_tools(table, column_positions),
            None => manifest.mistakes.push((1, ManifestMistake::NoTable)),
        }
        let removed = tables
            .iter()
            .find_map(|it| find_columns(it, &REMOVED_COLUMNS));
        if let Some((table, column_positions)) = removed {
            manifest.take_removed(table, column_positions);
        }
        manifest
    }

    fn take_tools(&mut self, table: &MarkdownTable, column_positions: [usize; 5]) {
        for (line, cells) in &table.rows {
            match row(*line, table, cells, column_positions) {
                Ok(row) => self.rows.push(row),
                Err(mistake) => self.mistakes.push((*line, mistake)),
            }
        }
    }

    fn take_removed(&mut self, table: &MarkdownTable, column_positions: [usize; 3]) {
        for (line, cells) in &table.rows {
            match parse_removed_row(*line, table, cells, column_positions) {
                Ok(row) => self.removed.push(row),
                Err(mistake) => self.mistakes.push((*line, mistake)),
            }
        }
    }
}

impl Remedy for ManifestMistake {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NoTable => format!("write a table that begins with | {} |", COLUMNS.join(" | ")),
            Self::Cells { .. } => "write `\\|` for a bar within a cell".to_owned(),
            Self::Kind { .. } => "write curated or platform".to_owned(),
            Self::Writes { .. } => "write read, write, send, any or read + write".to_owned(),
            Self::Date { .. } => "write it like 2026-05-17".to_owned(),
        })
    }
}

/// Returns the table and the positions of its columns, if it has all of them.
fn find_columns<'t, const N: usize>(
    table: &'t MarkdownTable,
    names: &[&str; N],
) -> Option<(&'t MarkdownTable, [usize; N])> {
    let found: Option<Vec<usize>> = names.iter().map(|name| table.column(name)).collect();
    Some((table, found?.try_into().ok()?))
}

fn cells_at<'c, const N: usize>(
    table: &MarkdownTable,
    cells: &'c [String],
    column_positions: [usize; N],
) -> Result<[&'c str; N], ManifestMistake> {
    if cells.len() != table.columns.len() {
        return Err(ManifestMistake::Cells {
            found: cells.len(),
            expected: table.columns.len(),
        });
    }
    Ok(column_positions.map(|position| cells[position].as_str()))
}

fn row(
    line: usize,
    table: &MarkdownTable,
    cells: &[String],
    column_positions: [usize; 5],
) -> Result<ManifestRow, ManifestMistake> {
    let [tool, kind, purpose, writes, owner] = cells_at(table, cells, column_positions)?;
    let kinds = ToolKind::ALL.into_iter().find(|it| it.as_str() == kind);
    let classes = ToolWrites::ALL.into_iter();
    let class = classes.into_iter().find(|it| it.as_str() == writes);
    Ok(ManifestRow {
        line,
        tool: without_marks(tool),
        kind: kinds.ok_or_else(|| ManifestMistake::Kind {
            found: kind.to_owned(),
        })?,
        purpose: purpose.to_owned(),
        writes: class.ok_or_else(|| ManifestMistake::Writes {
            found: writes.to_owned(),
        })?,
        owner: owner.to_owned(),
    })
}

fn parse_removed_row(
    line: usize,
    table: &MarkdownTable,
    cells: &[String],
    column_positions: [usize; 3],
) -> Result<RemovedTool, ManifestMistake> {
    let [tool, date, reason] = cells_at(table, cells, column_positions)?;
    Ok(RemovedTool {
        line,
        tool: without_marks(tool),
        date: date.parse().map_err(|_| ManifestMistake::Date {
            found: date.to_owned(),
        })?,
        reason: reason.to_owned(),
    })
}

/// Returns the text of a cell without code and link markup.
fn without_marks(cell: &str) -> String {
    let words = match cell.strip_prefix('[').and_then(|it| it.split_once("](")) {
        Some((words, _)) => words,
        None => cell,
    };
    words.trim_matches('`').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_an_invalid_row_is_reported_with_its_line() {
        let text = "# Tools\n\n| Tool | Kind | Owner | Purpose | Write ops |\n|---|:-:|---|---|---|\n\
                    | [`a-b`](x.md) | curated | sales | One \\| two | read + write |\n\
                    | c | curate | x | y | read |\n| d | curated | x | y | reads |\n| e |\n\n\
                    ## Removed\n| Tool | Removed | Reason |\n|-|-|-|\n| old | 2026-05-17 | Gone. |\n| older | May | x |\n";
        let manifest = Manifest::read(Path::new("TOOLS.md"), text);
        let expected = ManifestRow {
            line: 5,
            tool: "a-b".to_owned(),
            kind: ToolKind::Curated,
            purpose: "One | two".to_owned(),
            writes: ToolWrites::ReadAndWrite,
            owner: "sales".to_owned(),
        };
        assert_eq!(manifest.rows, [expected]);
        assert_eq!(manifest.removed[0].tool, "old");
        let messages: Vec<String> = manifest
            .mistakes
            .iter()
            .map(|(line, mistake)| format!("{line}: {mistake}"))
            .collect();
        let expected = [
            "6: unknown kind of tool `curate`",
            "7: unknown class of write operations `reads`",
            "8: the row has 1 cells, and the table has 5 columns",
            "14: `May` is not a date",
        ];
        assert_eq!(messages, expected);
    }
}
