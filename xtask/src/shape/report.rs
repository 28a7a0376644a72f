//! The figures as tables for a person, and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::goals::{GOALS, Goal, rounded};
use super::spread::Spread;
use super::{CrateShape, Shape};

const COLUMNS: [&str; 10] = [
    "crate",
    "lines",
    "share",
    "files: med/p90/max",
    "functions",
    "lines: med/p90/p99/max",
    "characters: med/p90/p99",
    "closures/1k",
    "headless",
    "no actor",
];

/// The row of each crate, then the figures of the whole with their goals.
#[must_use]
pub fn tables(shape: &Shape) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    rows.extend(shape.crates.iter().map(|found| row(shape, found)));
    rows.push(row(shape, &shape.production));
    let mut text = table(&rows);
    text.push_str("\nIn brackets: not production code, and not in the sum.\n\n");
    let mut rows = vec![["figure", "now", "goal", ""].map(str::to_owned).to_vec()];
    rows.extend(GOALS.iter().map(|goal| goal_row(shape, goal)));
    text.push_str(&table(&rows));
    let knot = &shape.knot;
    let _ = writeln!(
        text,
        "\nThe knot: {} lines; {} of {} modules: {}",
        knot.lines,
        knot.modules.len(),
        knot.of_modules,
        knot.modules.join(", ")
    );
    text
}

fn row(shape: &Shape, found: &CrateShape) -> Vec<String> {
    let (name, share) = if found.is_production {
        let share = format!("{} %", rounded(shape.share(found)));
        (found.name.clone(), share)
    } else {
        (format!("({})", found.name), String::new())
    };
    let (files, lines) = (found.files, found.functions.lines);
    let characters = found.functions.characters;
    vec![
        name,
        found.lines.to_string(),
        share,
        format!("{}/{}/{}", files.median, files.p90, files.largest),
        lines.count.to_string(),
        format!(
            "{}/{}/{}/{}",
            lines.median, lines.p90, lines.p99, lines.largest
        ),
        format!(
            "{}/{}/{}",
            characters.median, characters.p90, characters.p99
        ),
        rounded(found.closures_per_thousand()),
        found.prose.headless.to_string(),
        found.prose.unnamed_actors.to_string(),
    ]
}

fn goal_row(shape: &Shape, goal: &Goal) -> Vec<String> {
    let Goal { name, unit, .. } = goal;
    let value = goal.measure(shape);
    let state = match (goal.is_met(shape), goal.is_held) {
        (true, true) => "held",
        (true, false) => "met; hold it in xtask/src/shape/goals.rs",
        (false, true) => "missed again",
        (false, false) => "open",
    };
    vec![
        (*name).to_owned(),
        value.map_or("?".to_owned(), |value| format!("{}{unit}", rounded(value))),
        format!("{}{unit}", goal.at_most),
        state.to_owned(),
    ]
}

/// Columns of equal width, the first and the last read from the left.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns).map(|at| width(rows, at)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match at {
                0 => write!(line, "{cell:<width$}"),
                _ if cell.starts_with(char::is_alphabetic) => write!(line, "  {cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn width(rows: &[Vec<String>], at: usize) -> usize {
    rows.iter()
        .map(|row| row[at].chars().count())
        .max()
        .unwrap_or(0)
}

/// The type names with several meanings and where each is defined.
#[must_use]
pub fn names(shape: &Shape) -> String {
    let mut text = format!(
        "{} of {} type names mean more than one type.\n",
        shape.shared_names.len(),
        shape.type_names
    );
    for shared in &shape.shared_names {
        let _ = writeln!(text, "{}  {}", shared.name, shared.defined_at.join("  "));
    }
    text
}

#[must_use]
pub fn json(shape: &Shape) -> Value {
    let goals = GOALS.iter().map(|goal| {
        json!({
            "figure": goal.name,
            "value": goal.measure(shape),
            "goal": goal.at_most,
            "met": goal.is_met(shape),
            "held": goal.is_held,
        })
    });
    let names = shape.shared_names.iter();
    json!({
        "goals": goals.collect::<Vec<_>>(),
        "production": crate_json(shape, &shape.production),
        "crates": shape.crates.iter().map(|found| crate_json(shape, found)).collect::<Vec<_>>(),
        "knot": { "modules": shape.knot.modules, "lines": shape.knot.lines, "of_modules": shape.knot.of_modules },
        "catalog_loads": shape.catalog_loads,
        "take_everything": shape.production.functions.take_everything,
        "type_names": shape.type_names,
        "shared_names": names.map(|shared| json!({ "name": shared.name, "defined_at": shared.defined_at })).collect::<Vec<_>>(),
    })
}

fn crate_json(shape: &Shape, found: &CrateShape) -> Value {
    json!({
        "name": found.name,
        "production": found.is_production,
        "lines": found.lines,
        "share_percent": found.is_production.then(|| shape.share(found)),
        "file_lines": spread_json(found.files),
        "function_lines": spread_json(found.functions.lines),
        "body_characters": spread_json(found.functions.characters),
        "named_closures": found.functions.named_closures,
        "named_closures_per_1000_lines": found.closures_per_thousand(),
        "headless_comments": found.prose.headless,
        "unnamed_actors": found.prose.unnamed_actors,
    })
}

fn spread_json(spread: Spread) -> Value {
    json!({
        "count": spread.count,
        "median": spread.median,
        "p90": spread.p90,
        "p99": spread.p99,
        "max": spread.largest,
    })
}
