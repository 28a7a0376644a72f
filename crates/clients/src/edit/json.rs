//! Edits of JSON that leave comments, commas and indentation as they are.

use std::ops::Range;

use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::Value;

use super::{EditError, splice};
use crate::tree::{self, Format, Node};

pub(super) fn add(
    text: &str,
    keys: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, EditError> {
    Page::of(text)?.insert(keys, name, Letters::Ours(value))
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Result<String, EditError> {
    Page::of(text)?.remove(keys, name)
}

pub(super) fn switch(
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    value: bool,
) -> Result<String, EditError> {
    let page = Page::of(text)?;
    let server = page
        .root
        .at(keys)
        .and_then(|section| section.get(name))
        .ok_or(EditError::Entangled)?;
    match server.get(key) {
        Some(there) => Ok(splice(text, there.span.clone(), &value.to_string())),
        None => page.insert(
            &[keys, &[name]].concat(),
            key,
            Letters::Ours(&Value::Bool(value)),
        ),
    }
}

/// Moves a server beside the others, under a key no client knows.
pub(super) fn put_aside(text: &str, keys: &[&str], name: &str) -> Result<String, EditError> {
    carry(text, keys, &aside(keys), name)
}

/// Moves all of them back, and the key goes.
pub(super) fn bring_back(text: &str, keys: &[&str]) -> Result<String, EditError> {
    let aside = aside(keys);
    let mut text = text.to_owned();
    loop {
        let page = Page::of(&text)?;
        let Some(parked) = page.root.at(&aside) else {
            return Ok(text);
        };
        let Some((name, _)) = parked.entries().first() else {
            let (last, around) = aside.split_last().ok_or(EditError::Entangled)?;
            return page.remove(around, last);
        };
        let name = name.text.clone();
        text = carry(&text, &aside, keys, &name)?;
    }
}

/// Takes a server from one object to another, letter for letter.
fn carry(text: &str, from: &[&str], to: &[&str], name: &str) -> Result<String, EditError> {
    let page = Page::of(text)?;
    let server = page
        .root
        .at(from)
        .and_then(|section| section.get(name))
        .ok_or(EditError::Entangled)?;
    let letters = Letters::Theirs(&text[server.span.clone()]);
    Page::of(&page.remove(from, name)?)?.insert(to, name, letters)
}

fn aside<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let mut aside = keys.to_vec();
    if let Some(last) = aside.last_mut() {
        *last = match *last {
            "servers" => "serversBehindKitbag",
            _ => "mcpServersBehindKitbag",
        };
    }
    aside
}

/// A text with its tree and the places of its commas.
struct Page<'a> {
    text: &'a str,
    root: Node,
    commas: Vec<Range<usize>>,
}

/// What to write as a value.
#[derive(Clone, Copy)]
enum Letters<'a> {
    Ours(&'a Value),
    /// As somebody else has written it.
    Theirs(&'a str),
}

/// Where a value begins, and by how much what is inside goes further to the right; without a
/// step, everything stays in one line.
#[derive(Clone, Copy)]
struct Margin<'a> {
    indent: &'a str,
    step: Option<&'a str>,
}

impl<'a> Page<'a> {
    fn of(text: &'a str) -> Result<Self, EditError> {
        let root = tree::parse(Format::Json, text).map_err(|wrong| EditError::Misspelt {
            line: tree::line(text, wrong.at),
            message: wrong.message,
        })?;
        let collect = CollectOptions {
            tokens: true,
            ..CollectOptions::default()
        };
        let tokens = parse_to_ast(text, &collect, &tree::options())
            .ok()
            .and_then(|parsed| parsed.tokens);
        let commas = tokens
            .into_iter()
            .flatten()
            .filter(|it| matches!(it.token, Token::Comma));
        let commas = commas.map(|it| it.start()..it.end()).collect();
        Ok(Self { text, root, commas })
    }

    /// One more entry at the end of an object; the objects on the way there are made.
    fn insert(&self, keys: &[&str], name: &str, letters: Letters<'_>) -> Result<String, EditError> {
        if !self.text[self.root.span.start..].starts_with('{') {
            // Nothing but comments so far.
            let between = if self.text.is_empty() || self.text.ends_with('\n') {
                ""
            } else {
                self.line_end()
            };
            let text = format!("{}{between}{{}}{}", self.text, self.line_end());
            return Page::of(&text)?.insert(keys, name, letters);
        }
        let path = [keys, &[name]].concat();
        let mut object = &self.root;
        for (depth, key) in keys.iter().enumerate() {
            match object.get(key) {
                Some(inner) if inner.is_map() => object = inner,
                Some(_) => {
                    return Err(EditError::NotATable {
                        key: keys.join("."),
                    });
                }
                None => return Ok(self.append(object, key, &path[depth + 1..], letters)),
            }
        }
        Ok(self.append(object, name, &[], letters))
    }

    /// The entry `name`, with objects inside each other under the names in `below`.
    fn append(&self, object: &Node, name: &str, below: &[&str], letters: Letters<'_>) -> String {
        let close = object.span.end - 1;
        let is_empty = object.entries().is_empty();
        let last = object
            .entries()
            .last()
            .map_or(object.span.start + 1, |(_, node)| node.span.end);
        let has_comma = self
            .commas
            .iter()
            .any(|comma| comma.start >= last && comma.end <= close);
        let comma = if is_empty || has_comma { "" } else { "," };
        let end_comma = if has_comma { "," } else { "" };
        let name = Value::from(name);
        let gap = &self.text[last..close];
        let at = last + gap.trim_end().len();
        if !self.is_open(object) {
            let space = if is_empty { "" } else { " " };
            let value = spelt(
                below,
                letters,
                Margin {
                    indent: "",
                    step: None,
                },
            );
            return splice(
                self.text,
                at..at,
                &format!("{comma}{space}{name}: {value}{end_comma}"),
            );
        }
        let (indent, step, outer) = self.indentation(object);
        let value = spelt(
            below,
            letters,
            Margin {
                indent: &indent,
                step: Some(&step),
            },
        );
        // An object that closes on the line of its last entry does so on a line of its own now.
        let closes_below = gap[at - last..].contains('\n');
        let (until, after) = if closes_below {
            (at, String::new())
        } else {
            (close, format!("\n{outer}"))
        };
        let entry = format!("\n{indent}{name}: {value}{end_comma}{after}");
        let entry = entry.replace("\r\n", "\n").replace('\n', self.line_end());
        splice(&splice(self.text, at..until, &entry), last..last, comma)
    }

    /// Whether the entries of an object stand in lines of their own, or would.
    fn is_open(&self, object: &Node) -> bool {
        let new = object.entries().is_empty() && self.text.trim() == "{}";
        new || match object.entries() {
            [] => self.text.trim_end().contains('\n'),
            [(first, _), ..] => self.text[object.span.start..first.span.start].contains('\n'),
        }
    }

    /// How far its entries are indented, the step that is made of, and how far the object is.
    fn indentation(&self, object: &Node) -> (String, String, String) {
        let outer = indent(self.text, object.span.start);
        let own = object.entries().iter().map(|(key, _)| key.span.start);
        let mut own = own.filter(|at| self.text[line_of(self.text, *at)..*at].trim().is_empty());
        let own = own.next_back().map(|at| indent(self.text, at));
        let step = own
            .and_then(|own| own.strip_prefix(outer))
            .filter(|step| !step.is_empty());
        let unit = step.unwrap_or_else(|| self.usual_step()).to_owned();
        let inner = own.map_or_else(|| format!("{outer}{unit}"), str::to_owned);
        (inner, unit, outer.to_owned())
    }

    /// The indentation of the first line that has one.
    fn usual_step(&self) -> &str {
        let indents = self
            .text
            .lines()
            .map(|line| &line[..line.len() - line.trim_start().len()]);
        indents
            .filter(|indent| !indent.is_empty())
            .min_by_key(|indent| indent.len())
            .unwrap_or("  ")
    }

    fn remove(&self, keys: &[&str], name: &str) -> Result<String, EditError> {
        let section = self.root.at(keys).ok_or(EditError::Entangled)?;
        let entries = section.entries();
        let index = entries
            .iter()
            .position(|(key, _)| key.text == name)
            .ok_or(EditError::Entangled)?;
        let (key, node) = &entries[index];
        let next = entries
            .get(index + 1)
            .map_or(section.span.end - 1, |(key, _)| key.span.start);
        let comma_in = |range: Range<usize>| {
            self.commas
                .iter()
                .find(|comma| comma.start >= range.start && comma.end <= range.end)
        };
        let begin = key.span.start - spaces_before(self.text, key.span.start);
        if let Some(after) = comma_in(node.span.end..next) {
            return Ok(splice(self.text, begin..after.end, ""));
        }
        let text = splice(self.text, begin..node.span.end, "");
        let before = index
            .checked_sub(1)
            .map(|before| entries[before].1.span.end);
        let comma = before.and_then(|before| comma_in(before..key.span.start));
        Ok(comma.map_or(text.clone(), |comma| splice(&text, comma.clone(), "")))
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }
}

fn spelt(below: &[&str], letters: Letters<'_>, margin: Margin<'_>) -> String {
    match (below.split_first(), letters) {
        (Some((name, rest)), _) => object([*name].into_iter(), margin, |_, margin| {
            spelt(rest, letters, margin)
        }),
        (None, Letters::Theirs(text)) => text.to_owned(),
        (None, Letters::Ours(Value::Object(entries))) => object(
            entries.keys().map(String::as_str),
            margin,
            |name, margin| spelt(&[], Letters::Ours(&entries[name]), margin),
        ),
        (None, Letters::Ours(Value::Array(items))) => {
            let closed = Margin {
                indent: "",
                step: None,
            };
            let items: Vec<_> = items
                .iter()
                .map(|item| spelt(&[], Letters::Ours(item), closed))
                .collect();
            format!("[{}]", items.join(", "))
        }
        (None, Letters::Ours(other)) => other.to_string(),
    }
}

fn object<'n>(
    names: impl Iterator<Item = &'n str>,
    margin: Margin<'_>,
    value: impl Fn(&str, Margin<'_>) -> String,
) -> String {
    let indent = margin
        .step
        .map(|step| format!("{}{step}", margin.indent))
        .unwrap_or_default();
    let inner = Margin {
        indent: &indent,
        ..margin
    };
    let entries: Vec<_> = names
        .map(|name| format!("{indent}{}: {}", Value::from(name), value(name, inner)))
        .collect();
    match margin.step {
        Some(_) => format!("{{\n{}\n{}}}", entries.join(",\n"), margin.indent),
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
