//! Edits of JSON that preserve comments, commas and indentation.

mod list;

use std::ops::Range;

use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::Value;

use super::{FileEditError, splice};
use crate::tree::{self, FileFormat, Node};
pub(super) use list::{add_item, remove_item};

pub(super) fn add(
    text: &str,
    keys: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, FileEditError> {
    JsonDocument::parse(text)?.insert(keys, name, JsonText::Ours(value))
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Result<String, FileEditError> {
    JsonDocument::parse(text)?.remove(keys, name)
}

pub(super) fn set_switch(
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    value: bool,
) -> Result<String, FileEditError> {
    let document = JsonDocument::parse(text)?;
    let server = document.server(keys, name)?;
    match server.get(key) {
        Some(there) => Ok(splice(text, there.span.clone(), &value.to_string())),
        None => document.insert(
            &[keys, &[name]].concat(),
            key,
            JsonText::Ours(&Value::Bool(value)),
        ),
    }
}

/// Moves a server to a neighbouring key that no client reads.
pub(super) fn put_aside(text: &str, keys: &[&str], name: &str) -> Result<String, FileEditError> {
    move_server(text, keys, &aside_keys(keys), name)
}

/// Moves all servers back, and removes the key.
pub(super) fn bring_back(text: &str, keys: &[&str]) -> Result<String, FileEditError> {
    let aside = aside_keys(keys);
    let mut text = text.to_owned();
    loop {
        let document = JsonDocument::parse(&text)?;
        let Some(parked) = document.root.at(&aside) else {
            return Ok(text);
        };
        let Some((name, _)) = parked.entries().first() else {
            let (last, around) = aside.split_last().ok_or(FileEditError::Entangled)?;
            return document.remove(around, last);
        };
        let name = name.text.clone();
        text = move_server(&text, &aside, keys, &name)?;
    }
}

/// Moves a server from one object to another, byte for byte.
fn move_server(
    text: &str,
    from: &[&str],
    to: &[&str],
    name: &str,
) -> Result<String, FileEditError> {
    let document = JsonDocument::parse(text)?;
    let server = document.server(from, name)?;
    let value = JsonText::Theirs(&text[server.span.clone()]);
    JsonDocument::parse(&document.remove(from, name)?)?.insert(to, name, value)
}

fn aside_keys<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let mut aside = keys.to_vec();
    if let Some(last) = aside.last_mut() {
        *last = match *last {
            "servers" => "serversBehindKitbag",
            _ => "mcpServersBehindKitbag",
        };
    }
    aside
}

/// A text with its tree and the positions of its commas.
struct JsonDocument<'a> {
    text: &'a str,
    root: Node,
    commas: Vec<Range<usize>>,
}

/// The value of a new entry.
#[derive(Clone, Copy)]
enum JsonText<'a> {
    Ours(&'a Value),
    /// A value copied from the file.
    Theirs(&'a str),
}

/// The indentation of a value, and the additional indentation of its entries. Without a step,
/// everything stays on one line.
#[derive(Clone, Copy)]
struct Indentation<'a> {
    indent: &'a str,
    step: Option<&'a str>,
}

impl<'a> JsonDocument<'a> {
    fn parse(text: &'a str) -> Result<Self, FileEditError> {
        let root = super::parse(FileFormat::Json, text)?;
        let commas = commas(text);
        Ok(Self { text, root, commas })
    }

    fn server(&self, keys: &[&str], name: &str) -> Result<&Node, FileEditError> {
        let section = self.root.at(keys);
        section
            .and_then(|section| section.get(name))
            .ok_or(FileEditError::Entangled)
    }

    /// Adds an entry at the end of an object, creating the objects on the way to it.
    fn insert(
        &self,
        keys: &[&str],
        name: &str,
        value: JsonText<'_>,
    ) -> Result<String, FileEditError> {
        if !self.text[self.root.span.start..].starts_with('{') {
            let text = self.with_empty_object();
            return JsonDocument::parse(&text)?.insert(keys, name, value);
        }
        let path = [keys, &[name]].concat();
        let mut object = &self.root;
        for (depth, key) in keys.iter().enumerate() {
            match object.get(key) {
                Some(inner) if inner.is_map() => object = inner,
                Some(_) => return Err(FileEditError::not_a_table(keys)),
                None => return Ok(self.append(object, key, &path[depth + 1..], value)),
            }
        }
        Ok(self.append(object, name, &[], value))
    }

    /// A file of nothing but comments gets an object below them.
    fn with_empty_object(&self) -> String {
        let end = self.line_end();
        let ends_with_line = self.text.is_empty() || self.text.ends_with('\n');
        let between = if ends_with_line { "" } else { end };
        format!("{}{between}{{}}{end}", self.text)
    }

    /// Appends the entry `name`, with nested objects under the names in `below`.
    fn append(&self, object: &Node, name: &str, below: &[&str], value: JsonText<'_>) -> String {
        let end = self.end(object);
        if self.is_open(object) {
            let outer = indent(self.text, object.span.start);
            let (indent, step) = self.indentation(object);
            let inside = Indentation {
                indent: &indent,
                step: Some(&step),
            };
            let value = format_nested(below, value, inside);
            let entry = format!("\n{indent}{}: {value}", Value::from(name));
            self.append_line(&end, &entry, outer)
        } else {
            let value = format_nested(below, value, Indentation::ONE_LINE);
            let space = if end.is_first { "" } else { " " };
            let entry = format!("{space}{}: {value}", Value::from(name));
            self.append_in_line(&end, &entry)
        }
    }

    fn append_in_line(&self, end: &ObjectEnd, entry: &str) -> String {
        let entry = format!("{}{entry}{}", end.comma(), end.end_comma());
        splice(self.text, end.at..end.at, &entry)
    }

    fn append_line(&self, end: &ObjectEnd, entry: &str, outer: &str) -> String {
        // If the object closes on the line of its last entry, the closing brace moves to its own
        // line.
        let closes_below = self.text[end.at..end.close].contains('\n');
        let (until, after) = if closes_below {
            (end.at, String::new())
        } else {
            (end.close, format!("\n{outer}"))
        };
        let entry = format!("{entry}{}{after}", end.end_comma());
        let entry = entry.replace("\r\n", "\n").replace('\n', self.line_end());
        let text = splice(self.text, end.at..until, &entry);
        splice(&text, end.last..end.last, end.comma())
    }

    fn end(&self, object: &Node) -> ObjectEnd {
        let last = object.entries().last();
        self.end_after(object, last.map(|(_, node)| node.span.end))
    }

    /// The end of an object or list whose last member ends at `last`.
    fn end_after(&self, whole: &Node, last: Option<usize>) -> ObjectEnd {
        let close = whole.span.end - 1;
        let is_first = last.is_none();
        let last = last.unwrap_or(whole.span.start + 1);
        ObjectEnd {
            is_first,
            has_comma: self.comma_in(last..close).is_some(),
            last,
            at: last + self.text[last..close].trim_end().len(),
            close,
        }
    }

    /// True if the entries of an object are on lines of their own, or would be.
    fn is_open(&self, object: &Node) -> bool {
        match object.entries() {
            [] => self.text.trim() == "{}" || self.text.trim_end().contains('\n'),
            [(first, _), ..] => self.text[object.span.start..first.span.start].contains('\n'),
        }
    }

    /// Returns the indentation of the entries of an object, and its difference from the object's
    /// own.
    fn indentation(&self, object: &Node) -> (String, String) {
        let outer = indent(self.text, object.span.start);
        let own = self.entry_indent(object);
        let step = own.and_then(|own| own.strip_prefix(outer));
        let step = step.filter(|step| !step.is_empty());
        let step = step.unwrap_or_else(|| self.smallest_indent());
        let inner = own.map_or_else(|| format!("{outer}{step}"), str::to_owned);
        (inner, step.to_owned())
    }

    /// The indentation of the last entry that begins a line.
    fn entry_indent(&self, object: &Node) -> Option<&'a str> {
        let starts = object.entries().iter().map(|(key, _)| key.span.start);
        let mut at_line_start =
            starts.filter(|at| self.text[line_of(self.text, *at)..*at].trim().is_empty());
        at_line_start.next_back().map(|at| indent(self.text, at))
    }

    /// The smallest indentation in the file.
    fn smallest_indent(&self) -> &str {
        let lines = self.text.lines();
        let indents = lines.map(|line| &line[..line.len() - line.trim_start().len()]);
        indents
            .filter(|indent| !indent.is_empty())
            .min_by_key(|indent| indent.len())
            .unwrap_or("  ")
    }

    fn remove(&self, keys: &[&str], name: &str) -> Result<String, FileEditError> {
        let section = self.root.at(keys).ok_or(FileEditError::Entangled)?;
        let mut entries = section.entries().iter();
        let index = entries.position(|(key, _)| key.text == name);
        let index = index.ok_or(FileEditError::Entangled)?;
        let members = section.entries().iter();
        let members = members.map(|(key, node)| key.span.start..node.span.end);
        Ok(self.remove_member(section, &members.collect::<Vec<_>>(), index))
    }

    /// Removes a member with the comma after it, or else with the one before it.
    fn remove_member(&self, whole: &Node, members: &[Range<usize>], index: usize) -> String {
        let member = &members[index];
        let begin = member.start - spaces_before(self.text, member.start);
        let close = whole.span.end - 1;
        let next = members.get(index + 1).map_or(close, |next| next.start);
        if let Some(after) = self.comma_in(member.end..next) {
            return splice(self.text, begin..after.end, "");
        }
        let text = splice(self.text, begin..member.end, "");
        let before = index.checked_sub(1).map(|before| members[before].end);
        match before.and_then(|before| self.comma_in(before..member.start)) {
            Some(comma) => splice(&text, comma.clone(), ""),
            None => text,
        }
    }

    fn comma_in(&self, range: Range<usize>) -> Option<&Range<usize>> {
        let mut commas = self.commas.iter();
        commas.find(|comma| comma.start >= range.start && comma.end <= range.end)
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }
}

/// The positions around the end of an object, where an entry is added.
struct ObjectEnd {
    is_first: bool,
    /// The last entry is followed by a comma.
    has_comma: bool,
    /// The end of the last entry.
    last: usize,
    /// The end of the last entry, its comma and its comments.
    at: usize,
    /// The closing brace.
    close: usize,
}

impl ObjectEnd {
    /// The comma that the last entry now needs.
    fn comma(&self) -> &'static str {
        if self.is_first || self.has_comma {
            ""
        } else {
            ","
        }
    }

    /// The comma after the new entry, if the file writes trailing commas.
    fn end_comma(&self) -> &'static str {
        if self.has_comma { "," } else { "" }
    }
}

impl Indentation<'_> {
    const ONE_LINE: Self = Self {
        indent: "",
        step: None,
    };
}

fn commas(text: &str) -> Vec<Range<usize>> {
    let collect = CollectOptions {
        tokens: true,
        ..CollectOptions::default()
    };
    let parsed = parse_to_ast(text, &collect, &tree::options());
    let tokens = parsed.ok().and_then(|parsed| parsed.tokens);
    let commas = tokens
        .into_iter()
        .flatten()
        .filter(|token| matches!(token.token, Token::Comma));
    commas.map(|comma| comma.start()..comma.end()).collect()
}

fn format_nested(below: &[&str], value: JsonText<'_>, indentation: Indentation<'_>) -> String {
    match (below.split_first(), value) {
        (Some((name, rest)), _) => object([*name].into_iter(), indentation, |_, inner| {
            format_nested(rest, value, inner)
        }),
        (None, JsonText::Theirs(text)) => text.to_owned(),
        (None, JsonText::Ours(value)) => format_value(value, indentation),
    }
}

fn format_value(value: &Value, indentation: Indentation<'_>) -> String {
    match value {
        Value::Object(entries) => object(
            entries.keys().map(String::as_str),
            indentation,
            |name, inner| format_value(&entries[name], inner),
        ),
        Value::Array(items) => {
            let items = items.iter();
            let items = items.map(|item| format_value(item, Indentation::ONE_LINE));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn object<'n>(
    names: impl Iterator<Item = &'n str>,
    indentation: Indentation<'_>,
    value: impl Fn(&str, Indentation<'_>) -> String,
) -> String {
    let Indentation {
        indent: outer,
        step,
    } = indentation;
    let indent = step.map_or_else(String::new, |step| format!("{outer}{step}"));
    let inner = Indentation {
        indent: &indent,
        step,
    };
    let entries: Vec<_> = names
        .map(|name| format!("{indent}{}: {}", Value::from(name), value(name, inner)))
        .collect();
    match step {
        Some(_) => format!("{{\n{}\n{outer}}}", entries.join(",\n")),
        None => format!("{{{}}}", entries.join(", ")),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_of(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn spaces_before(text: &str, at: usize) -> usize {
    at - text[..at].trim_end().len()
}
