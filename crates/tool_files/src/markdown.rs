//! The tables of a Markdown text.

/// A table, with the heading above it. Lines are one-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarkdownTable {
    pub(crate) heading: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(usize, Vec<String>)>,
}

pub(crate) fn tables(text: &str) -> Vec<MarkdownTable> {
    let mut tables: Vec<MarkdownTable> = Vec::new();
    let mut heading = String::new();
    let mut is_inside = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(words) = line.strip_prefix('#') {
            heading = words.trim_start_matches('#').trim().to_owned();
        }
        let cells = cells(line);
        match cells {
            None => is_inside = false,
            Some(_) if is_ruler(line) => {}
            Some(cells) if is_inside => push_row(&mut tables, at + 1, cells),
            Some(columns) => {
                is_inside = true;
                tables.push(MarkdownTable {
                    heading: heading.clone(),
                    columns,
                    rows: Vec::new(),
                });
            }
        }
    }
    tables
}

impl MarkdownTable {
    /// Returns the position of a column, ignoring case.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.eq_ignore_ascii_case(name))
    }
}

fn push_row(tables: &mut [MarkdownTable], line: usize, cells: Vec<String>) {
    if let Some(table) = tables.last_mut() {
        table.rows.push((line, cells));
    }
}

/// Returns the cells of a line between bars; `\|` is a bar within a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut letters = inside.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next_if_eq(&'|').is_some() => push(&mut cells, '|'),
            '|' => cells.push(String::new()),
            letter => push(&mut cells, letter),
        }
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn push(cells: &mut [String], letter: char) {
    if let Some(cell) = cells.last_mut() {
        cell.push(letter);
    }
}

/// True for the line between the header and the rows.
fn is_ruler(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}
