//! Writes the tables of `docs/configuration.md` from the rows, and checks that the page has them.

use std::fmt::Write as _;
use std::{env, fs};

use super::Config;
use super::rows::{Fallback, KeyRow, KeyTable, ValueType};
use super::sections::SECTIONS;
use super::sections::tests::tables;
use super::show::{Entry, Sources, list_entries};
use super::tests::config;

/// If set, the test writes the page instead of comparing it.
const WRITE: &str = "KITBAG_WRITE_REFERENCE";
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");

#[test]
fn the_reference_has_the_tables_and_defaults_that_the_rows_give() {
    let page = read_page();
    let tables = tables().fold(page.clone(), |page, table| replace_table(&page, table));
    let expected = replace_defaults(&tables);
    if env::var_os(WRITE).is_some() {
        return fs::write(PATH, expected).unwrap();
    }
    let how = format!("regenerate it with: {WRITE}=1 cargo test -p kitbag-config reference");
    for (found, expected) in page.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "{how}");
    }
    assert_eq!(page.len(), expected.len(), "{how}");
}

#[test]
fn every_section_is_explained() {
    for section in SECTIONS {
        let heading = format!("\n## [{}", section.name);
        assert!(read_page().contains(&heading), "[{}]", section.name);
    }
}

#[test]
fn every_example_is_a_configuration() {
    for example in toml_examples(&read_page()) {
        config(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

fn read_page() -> String {
    fs::read_to_string(PATH).unwrap()
}

/// Returns the contents of the fenced `toml` blocks.
fn toml_examples(page: &str) -> impl Iterator<Item = &str> {
    page.split(FENCE)
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
}

const FENCE: &str = "```toml\n";

/// Replaces the table of one section by the one rendered from the rows.
fn replace_table(page: &str, table: &KeyTable) -> String {
    let heading = format!("\n## [{}]\n", table.path);
    let (before, section) = page
        .split_once(&heading)
        .unwrap_or_else(|| panic!("the page has no section{heading}"));
    let (prose, old) = section
        .split_once("\n| Key |")
        .filter(|(prose, _)| !prose.contains("\n## "))
        .unwrap_or_else(|| panic!("write a line `| Key |` where the table should be in{heading}"));
    let (_, after) = old.split_once("\n\n").expect("prose follows a table");
    format!("{before}{heading}{prose}\n{}\n{after}", render_table(table))
}

fn render_table(table: &KeyTable) -> String {
    let head = "| Key | Type | Default | Meaning |\n|---|---|---|---|\n".to_owned();
    table
        .rows
        .iter()
        .map(render_row)
        .fold(head, |text, line| text + &line)
}

fn render_row(row: &KeyRow) -> String {
    let KeyRow { name, meaning, .. } = row;
    let restart = row.restart.map(|it| format!(" {}", it.note));
    let restart = restart.unwrap_or_default();
    let (type_name, default) = (row.value.type_name(), describe_default(row.default));
    let line = format!("| `{name}` | {type_name} | {default} | {meaning}{restart} |\n");
    line.replace("|  |", "| |")
}

fn describe_default(default: Fallback) -> String {
    match default {
        Fallback::FromConfig(_, text) | Fallback::Unset(text) => text.to_owned(),
        fixed => {
            let value = fixed.to_value(&config("").unwrap()).unwrap();
            format!("`{value}`")
        }
    }
}

impl ValueType {
    fn type_name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::WholeNumber => "whole number",
            Self::Number => "number",
            Self::Flag => "true or false",
            Self::Duration => "duration",
            Self::Texts => "list of texts",
            Self::Pairs => "table of texts",
            Self::Values => "table of values",
            Self::Table(_) => "table",
            Self::TextOrTable(_) => "text or table",
        }
    }
}

/// Replaces the block of all defaults by the one rendered from the rows.
fn replace_defaults(page: &str) -> String {
    let (before, rest) = page
        .split_once("\n## The defaults")
        .expect("the page has a section with the defaults");
    let (prose, block) = rest.split_once(FENCE).expect("the section has a block");
    let (_, after) = block.split_once("```").expect("the block ends");
    format!(
        "{before}\n## The defaults{prose}{FENCE}{}```{after}",
        render_defaults()
    )
}

/// One table of each named kind, with only its required keys.
const BARE: &str = "servers.example.command = 'example'
providers.weather.url = 'https://api.weather.example/v1'";

fn render_defaults() -> String {
    let config: Config = config(BARE).unwrap();
    let sources = Sources {
        text: BARE,
        config: &config,
        overrides: &[],
        is_set: &|_| false,
    };
    // The path of the store differs between machines.
    let mut entries = list_entries(&sources);
    entries.retain(|entry| entry.value.is_some() && entry.table != ["store"]);
    let tables = entries
        .chunk_by(|a, b| a.table == b.table)
        .map(render_entries);
    tables.collect::<Vec<_>>().join("\n")
}

fn render_entries(table: &[Entry]) -> String {
    let mut text = format!("[{}]\n", table[0].table.join("."));
    for Entry { key, value, .. } in table {
        let value = value.as_ref().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "{} = {value}", key.join(".")).unwrap();
    }
    text
}
