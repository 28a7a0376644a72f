//! Renders entries as TOML that has the same meaning when copied into a file. A comment after each
//! value names its origin.

use std::fmt::Write as _;
use std::path::Path;

use toml_edit::Key;

use super::{Entry, Variable};

/// The usual width of terminals and mail.
const WIDTH: usize = 80;
/// Values longer than this do not push the comments of the others to the right.
const COLUMN: usize = 46;

/// `file` is the configuration file.
pub fn to_toml(entries: &[Entry], file: Option<&Path>) -> String {
    let mut text = String::new();
    for table in entries.chunk_by(|a, b| a.table == b.table) {
        let gap = if text.is_empty() { "" } else { "\n" };
        let name = dotted_path(&table[0].table);
        writeln!(text, "{gap}[{name}]").expect("writing into a string cannot fail");
        let lines: Vec<_> = table
            .iter()
            .map(|entry| (render_assignment(entry), render_comment(entry, file)))
            .collect();
        let widths = lines
            .iter()
            .map(|(assignment, _)| assignment.chars().count());
        let column = widths
            .filter(|width| *width <= COLUMN)
            .max()
            .unwrap_or_default();
        for (assignment, comment) in lines {
            text.push_str(&render_line(&assignment, &comment, column));
        }
    }
    text
}

/// Returns a path of keys, quoted as TOML requires.
pub(super) fn dotted_path<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    let keys: Vec<_> = keys
        .into_iter()
        .map(|key| Key::new(key).to_string())
        .collect();
    keys.join(".")
}

fn render_assignment(entry: &Entry) -> String {
    let key = dotted_path(&entry.key);
    match &entry.value {
        Some(value) => format!("{key} = {value}"),
        None => format!("# {key}"),
    }
}

fn render_comment(entry: &Entry, file: Option<&Path>) -> String {
    let origin = if entry.value.is_some() {
        entry.origin.describe(file)
    } else {
        "not set".to_owned()
    };
    origin
        + &entry
            .variables
            .iter()
            .map(describe_variable)
            .collect::<String>()
}

fn describe_variable(variable: &Variable) -> String {
    let name = &variable.name;
    match (variable.set, variable.has_default) {
        (true, _) => format!(", {name} set"),
        (false, false) => format!(", {name} not set"),
        (false, true) => format!(", {name} not set, has a default"),
    }
}

/// A comment that does not fit after its value is written above it.
fn render_line(assignment: &str, comment: &str, column: usize) -> String {
    let line = format!("{assignment:column$}  # {comment}\n");
    if line.trim_end().chars().count() <= WIDTH {
        line
    } else {
        format!("# {comment}\n{assignment}\n")
    }
}
