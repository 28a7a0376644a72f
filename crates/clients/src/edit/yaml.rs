//! Edits of YAML, line by line, where the tree says the lines are.

use std::ops::Range;

use serde_json::Value;

use super::{EditError, splice};
use crate::tree::{self, Format, Node};

/// A server, as an item of a list or under its name. It becomes the first, right below the key
/// of the section, so that comments stay above what they speak of.
pub(super) fn add(
    text: &str,
    keys: &[&str],
    name: &str,
    server: &Value,
    in_list: bool,
) -> Result<String, EditError> {
    let key = *keys.first().ok_or(EditError::Entangled)?;
    let (root, end) = (parse(text)?, line_end(text));
    let block = |indent: &str| {
        if in_list {
            item(server, indent, end)
        } else {
            under(name, server, indent, end)
        }
    };
    let Some((at, section)) = root.entry(key) else {
        let before = if text.trim().is_empty() && in_list {
            HEADER
        } else {
            text
        };
        let between = if before.is_empty() || before.ends_with('\n') {
            ""
        } else {
            end
        };
        return Ok(format!("{before}{between}{key}:{end}{}", block("  ")));
    };
    if let Some(opening) = opening(text, section) {
        let is_empty = text[opening + 1..].trim_start().starts_with([']', '}']);
        let comma = if is_empty { "" } else { ", " };
        let entry = if in_list {
            server.to_string()
        } else {
            format!("{name}: {server}")
        };
        return Ok(splice(
            text,
            opening + 1..opening + 1,
            &format!("{entry}{comma}"),
        ));
    }
    let begin = match section.list() {
        Some(items) => items.first().map(|node| node.span.start),
        None => section.entries().first().map(|(key, _)| key.span.start),
    };
    let indent = begin.map_or("  ", |begin| indent(text, begin));
    Ok(inserted(
        text,
        line_after(text, at.span.end),
        &block(indent),
        end,
    ))
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Result<String, EditError> {
    let root = parse(text)?;
    let ours = in_line(text, &root, keys, name).or_else(|| lines_of(text, &root, keys, name));
    Ok(splice(text, ours.ok_or(EditError::Entangled)?, ""))
}

pub(super) fn switch(
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    on: bool,
) -> Result<String, EditError> {
    let root = parse(text)?;
    let server = root
        .at(keys)
        .and_then(|section| section.get(name))
        .ok_or(EditError::Entangled)?;
    if let Some(there) = server.get(key) {
        return Ok(splice(text, there.span.clone(), &on.to_string()));
    }
    if let Some(opening) = opening(text, server) {
        return Ok(splice(
            text,
            opening + 1..opening + 1,
            &format!("{key}: {on}, "),
        ));
    }
    let first = server
        .entries()
        .first()
        .ok_or(EditError::Entangled)?
        .0
        .span
        .start;
    let line = format!("{key}: {on}{}{}", line_end(text), indent(text, first));
    Ok(splice(text, first..first, &line))
}

/// Turns the lines of a list's item into comments that we know again.
pub(super) fn put_aside(text: &str, keys: &[&str], name: &str) -> Result<String, EditError> {
    let root = parse(text)?;
    let lines = lines_of(text, &root, keys, name).ok_or(EditError::Entangled)?;
    let commented: String = text[lines.clone()]
        .split_inclusive('\n')
        .map(|line| format!("{ASIDE}{line}"))
        .collect();
    Ok(splice(text, lines, &commented))
}

pub(super) fn bring_back(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| line.strip_prefix(ASIDE).unwrap_or(line))
        .collect()
}

const ASIDE: &str = "#kitbag ";

/// What Continue wants at the top of a file.
const HEADER: &str = "name: kitbag\nversion: 0.0.1\nschema: v1\n";

fn item(server: &Value, indent: &str, end: &str) -> String {
    let mut lines = settings(server)
        .map(|line| format!("{indent}  {line}{end}"))
        .collect::<String>();
    if lines.len() > indent.len() {
        lines.replace_range(indent.len()..=indent.len(), "-");
    }
    lines
}

fn under(name: &str, server: &Value, indent: &str, end: &str) -> String {
    let lines: String = settings(server)
        .map(|line| format!("{indent}  {line}{end}"))
        .collect();
    format!("{indent}{name}:{end}{lines}")
}

/// JSON is YAML, so a value needs no spelling of its own; only plain words go without quotes.
fn settings(server: &Value) -> impl Iterator<Item = String> {
    let plain = |text: &str| {
        let letters = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        let meant = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
        letters && !meant.contains(&text.to_lowercase().as_str())
    };
    let spelt = move |value: &Value| match value {
        Value::String(text) if plain(text) => text.clone(),
        other => other.to_string(),
    };
    let entries = server.as_object().into_iter().flatten();
    entries.map(move |(key, value)| format!("{key}: {}", spelt(value)))
}

/// A server that we have put into a list or table written in one line, and the comma after it.
fn in_line(text: &str, root: &Node, keys: &[&str], name: &str) -> Option<Range<usize>> {
    let section = root
        .at(keys)
        .filter(|section| opening(text, section).is_some())?;
    let (begin, value) = match section.list() {
        Some(items) => {
            let item = items
                .iter()
                .find(|it| it.get("name").and_then(Node::text) == Some(name))?;
            (item.span.start, item.span.start)
        }
        None => section
            .entry(name)
            .map(|(key, node)| (key.span.start, node.span.start))?,
    };
    // What we write in one line is JSON, so a reader of JSON knows where it ends.
    let mut values = serde_json::Deserializer::from_str(&text[value..]).into_iter::<Value>();
    values.next()?.ok()?;
    let end = value + values.byte_offset();
    Some(
        begin..if text[end..].starts_with(", ") {
            end + 2
        } else {
            end
        },
    )
}

/// The whole lines of one server.
fn lines_of(text: &str, root: &Node, keys: &[&str], name: &str) -> Option<Range<usize>> {
    let section = root.at(keys)?;
    if opening(text, section).is_some() {
        return None;
    }
    let begin = match section.list() {
        Some(items) => {
            let item = items
                .iter()
                .find(|it| it.get("name").and_then(Node::text) == Some(name))?;
            let line = line_of(text, item.span.start);
            // The dash may stand alone, above.
            if text[line..].trim_start().starts_with('-') {
                line
            } else {
                line_of(text, line.checked_sub(1)?)
            }
        }
        None => line_of(text, section.entry(name)?.0.span.start),
    };
    let depth = indent(text, begin).len();
    let mut end = line_after(text, begin);
    let mut at = end;
    for line in text[end..].split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if !blank && line.len() - line.trim_start().len() <= depth {
            break;
        }
        at += line.len();
        // Empty lines at the end belong to what comes next.
        end = if blank { end } else { at };
    }
    Some(begin..end)
}

/// Where the bracket of a value written in one line stands.
fn opening(text: &str, node: &Node) -> Option<usize> {
    text[node.span.start..]
        .starts_with(['[', '{'])
        .then_some(node.span.start)
}

fn parse(text: &str) -> Result<Node, EditError> {
    tree::parse(Format::Yaml, text).map_err(|wrong| EditError::Misspelt {
        line: tree::line(text, wrong.at),
        message: wrong.message,
    })
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

/// A block of lines at the begin of a line, or after a last line that does not end.
fn inserted(text: &str, at: usize, block: &str, end: &str) -> String {
    let between = if text[..at].ends_with('\n') || at == 0 {
        ""
    } else {
        end
    };
    splice(text, at..at, &format!("{between}{block}"))
}
