//! Edits of YAML, line by line, at the positions in the tree.

use std::ops::Range;

use serde_json::Value;

use super::{FileEditError, parse, splice};
use crate::tree::{FileFormat, Node};

/// Adds a server, as a list item or under its name. It becomes the first, right below the section's
/// key, so that comments stay above the entry that they describe.
pub(super) fn add(
    text: &str,
    keys: &[&str],
    name: &str,
    server: &Value,
    in_list: bool,
) -> Result<String, FileEditError> {
    let key = *keys.first().ok_or(FileEditError::Entangled)?;
    let root = parse(FileFormat::Yaml, text)?;
    let entry = NewEntry {
        name,
        server,
        in_list,
        end: line_end(text),
    };
    Ok(match root.entry(key) {
        None => entry.with_section(text, key),
        Some((at, section)) => match opening_bracket(text, section) {
            Some(opening) => entry.add_in_line(text, opening),
            None => entry.insert_below(text, at.span.end, section),
        },
    })
}

/// A server to write.
struct NewEntry<'a> {
    name: &'a str,
    server: &'a Value,
    in_list: bool,
    /// The file's line ending.
    end: &'static str,
}

impl NewEntry<'_> {
    /// Adds a section for it at the end of a file.
    fn with_section(&self, text: &str, key: &str) -> String {
        let is_new = text.trim().is_empty() && self.in_list;
        let before = if is_new { HEADER } else { text };
        let ends = before.is_empty() || before.ends_with('\n');
        let end = self.end;
        let between = if ends { "" } else { end };
        format!("{before}{between}{key}:{end}{}", self.block("  "))
    }

    /// Adds it to a single-line section, after the opening bracket.
    fn add_in_line(&self, text: &str, opening: usize) -> String {
        let at = opening + 1;
        let is_empty = text[at..].trim_start().starts_with([']', '}']);
        let comma = if is_empty { "" } else { ", " };
        let (name, server) = (self.name, self.server);
        let entry = if self.in_list {
            format!("{server}{comma}")
        } else {
            format!("{name}: {server}{comma}")
        };
        splice(text, at..at, &entry)
    }

    /// Adds it below the line of the section's key.
    fn insert_below(&self, text: &str, key_end: usize, section: &Node) -> String {
        let first = match section.list() {
            Some(items) => items.first().map(|node| node.span.start),
            None => section.entries().first().map(|(key, _)| key.span.start),
        };
        let indent = first.map_or("  ", |first| indent(text, first));
        let at = line_after(text, key_end);
        insert_block(text, at, &self.block(indent), self.end)
    }

    fn block(&self, indent: &str) -> String {
        let lines = settings(self.server);
        let end = self.end;
        let mut block: String = lines.map(|line| format!("{indent}  {line}{end}")).collect();
        if !self.in_list {
            return format!("{indent}{}:{end}{block}", self.name);
        }
        if block.len() > indent.len() {
            block.replace_range(indent.len()..=indent.len(), "-");
        }
        block
    }
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Result<String, FileEditError> {
    let root = parse(FileFormat::Yaml, text)?;
    let range =
        find_in_line(text, &root, keys, name).or_else(|| find_lines(text, &root, keys, name));
    Ok(splice(text, range.ok_or(FileEditError::Entangled)?, ""))
}

pub(super) fn set_switch(
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    on: bool,
) -> Result<String, FileEditError> {
    let root = parse(FileFormat::Yaml, text)?;
    let server = root.at(keys).and_then(|section| section.get(name));
    let server = server.ok_or(FileEditError::Entangled)?;
    if let Some(there) = server.get(key) {
        return Ok(splice(text, there.span.clone(), &on.to_string()));
    }
    if let Some(opening) = opening_bracket(text, server) {
        let at = opening + 1;
        return Ok(splice(text, at..at, &format!("{key}: {on}, ")));
    }
    let (first, _) = server.entries().first().ok_or(FileEditError::Entangled)?;
    let at = first.span.start;
    let line = format!("{key}: {on}{}{}", line_end(text), indent(text, at));
    Ok(splice(text, at..at, &line))
}

/// Turns the lines of an item into comments that [`bring_back`] recognizes.
pub(super) fn put_aside(text: &str, keys: &[&str], name: &str) -> Result<String, FileEditError> {
    let root = parse(FileFormat::Yaml, text)?;
    let lines = find_lines(text, &root, keys, name).ok_or(FileEditError::Entangled)?;
    let commented = text[lines.clone()].split_inclusive('\n');
    let commented: String = commented.map(|line| format!("{ASIDE}{line}")).collect();
    Ok(splice(text, lines, &commented))
}

pub(super) fn bring_back(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| line.strip_prefix(ASIDE).unwrap_or(line))
        .collect()
}

const ASIDE: &str = "#kitbag ";

/// The lines that Continue needs at the top of a file.
const HEADER: &str = "name: kitbag\nversion: 0.0.1\nschema: v1\n";

/// Returns the lines of a server. JSON is YAML, so only plain words are written differently,
/// without quotes.
fn settings(server: &Value) -> impl Iterator<Item = String> {
    let entries = server.as_object().into_iter().flatten();
    entries.map(|(key, value)| format!("{key}: {}", format_scalar(value)))
}

fn format_scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// True for a word that YAML reads as text even without quotes.
fn is_plain(text: &str) -> bool {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let with_meaning = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    is_word && !with_meaning.contains(&text.to_lowercase().as_str())
}

/// Finds a server that Kitbag has put into a single-line list or table, and the comma after it.
fn find_in_line(text: &str, root: &Node, keys: &[&str], name: &str) -> Option<Range<usize>> {
    let section = root.at(keys)?;
    opening_bracket(text, section)?;
    let (begin, value) = match section.list() {
        Some(items) => {
            let item = item_named(items, name)?;
            (item.span.start, item.span.start)
        }
        None => {
            let (key, node) = section.entry(name)?;
            (key.span.start, node.span.start)
        }
    };
    let end = value + json_length(&text[value..])?;
    let comma = if text[end..].starts_with(", ") { 2 } else { 0 };
    Some(begin..end + comma)
}

/// Kitbag writes JSON into such a line, so a JSON reader finds its end.
fn json_length(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

fn item_named<'a>(items: &'a [Node], name: &str) -> Option<&'a Node> {
    let mut items = items.iter();
    items.find(|item| item.get("name").and_then(Node::text) == Some(name))
}

/// Finds the whole lines of one server.
fn find_lines(text: &str, root: &Node, keys: &[&str], name: &str) -> Option<Range<usize>> {
    let section = root.at(keys)?;
    if opening_bracket(text, section).is_some() {
        return None;
    }
    let begin = match section.list() {
        Some(items) => line_of_item(text, item_named(items, name)?)?,
        None => line_of(text, section.entry(name)?.0.span.start),
    };
    Some(begin..end_of_block(text, begin))
}

/// The dash of an item may be on the line above, by itself.
fn line_of_item(text: &str, item: &Node) -> Option<usize> {
    let line = line_of(text, item.span.start);
    if text[line..].trim_start().starts_with('-') {
        Some(line)
    } else {
        Some(line_of(text, line.checked_sub(1)?))
    }
}

/// Finds the end of the lines that are indented more than the line at `begin`.
fn end_of_block(text: &str, begin: usize) -> usize {
    let depth = indent(text, begin).len();
    let mut end = line_after(text, begin);
    let mut at = end;
    for line in text[end..].split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if !blank && line.len() - line.trim_start().len() <= depth {
            break;
        }
        at += line.len();
        // Empty lines at the end belong to the next entry.
        end = if blank { end } else { at };
    }
    end
}

/// The position of the bracket of a single-line value.
fn opening_bracket(text: &str, node: &Node) -> Option<usize> {
    text[node.span.start..]
        .starts_with(['[', '{'])
        .then_some(node.span.start)
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_after(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_of(text, at)..];
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

/// Inserts a block of lines at the start of a line, or after a last line that has no line ending.
fn insert_block(text: &str, at: usize, block: &str, end: &str) -> String {
    let between = if text[..at].ends_with('\n') || at == 0 {
        ""
    } else {
        end
    };
    splice(text, at..at, &format!("{between}{block}"))
}
