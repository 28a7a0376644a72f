//! Detects changes of a server's definitions, whether they were approved or not.

use std::collections::HashMap;

use kitbag_domain::DefinitionKind;
use kitbag_domain::text::strip_to_one_line;
use kitbag_wire::{Raw, RawObject};

use crate::judgement::ListedOffer;

/// How many names of one server are remembered, including names that it no longer lists: a tool
/// that vanishes and returns with another definition has changed, too.
const MAX_NAMES: usize = 20_000;
/// How many characters of a name are reported, since servers choose the names.
const MAX_NAME_CHARS: usize = 100;

/// The last definitions of one server, including ones that it no longer lists.
#[derive(Debug, Default)]
pub struct DefinitionHistory {
    by_name: HashMap<(DefinitionKind, String), Definition>,
    /// The number of changes so far.
    pub changes: u64,
}

/// The parts of a definition, each as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    parts: [[u8; 16]; PARTS.len()],
    rest: [u8; 16],
    hints: [Option<bool>; HINTS.len()],
}

/// Resources are data, which changes.
const KINDS: [DefinitionKind; 4] = [
    DefinitionKind::Tool,
    DefinitionKind::Prompt,
    DefinitionKind::ResourceTemplate,
    DefinitionKind::Skill,
];
const PARTS: [&str; 7] = [
    "description",
    "title",
    "inputSchema",
    "outputSchema",
    "annotations",
    "arguments",
    "frontmatter",
];
const HINTS: [&str; 2] = ["readOnlyHint", "destructiveHint"];

#[derive(Debug, PartialEq, Eq)]
pub struct DefinitionChange {
    pub kind: &'static str,
    /// The name, shortened to one line.
    pub name: String,
    pub what: String,
}

impl DefinitionHistory {
    /// Records the lists of a server, and returns the changes.
    pub fn record_changes(&mut self, offer: ListedOffer<'_>) -> Vec<DefinitionChange> {
        let mut changes = Vec::new();
        for kind in KINDS {
            let mut definitions_by_name = HashMap::new();
            for definition in offer.list(kind) {
                let Some((name, definition)) = Definition::parse(kind, definition) else {
                    continue;
                };
                // The first of two tools with one name is the known one.
                definitions_by_name
                    .entry((kind, name))
                    .or_insert(definition);
            }
            for (key, definition) in definitions_by_name {
                if let Some(before) = self
                    .by_name
                    .get(&key)
                    .filter(|before| **before != definition)
                {
                    let name = strip_to_one_line(&key.1)
                        .chars()
                        .take(MAX_NAME_CHARS)
                        .collect();
                    changes.push(DefinitionChange {
                        kind: kind.as_str(),
                        name,
                        what: definition.describe_changes(before),
                    });
                }
                if self.by_name.len() < MAX_NAMES || self.by_name.contains_key(&key) {
                    self.by_name.insert(key, definition);
                }
            }
        }
        changes.sort_by(|a, b| a.name.cmp(&b.name));
        self.changes += changes.len() as u64;
        changes
    }
}

impl Definition {
    fn parse(kind: DefinitionKind, definition: &Raw) -> Option<(String, Self)> {
        let mut object = RawObject::open(definition).ok()?;
        let name = object.read(kind.key())?;
        let hints = object.get_object("annotations").unwrap_or_default();
        let hints = HINTS.map(|hint| hints.read(hint));
        let parts = PARTS.map(|part| {
            object
                .remove(part)
                .map_or([0; 16], |value| half_hash(value.get()))
        });
        Some((
            name,
            Self {
                parts,
                rest: half_hash(object.to_raw().get()),
                hints,
            },
        ))
    }

    /// Returns the parts in which the definition differs from the previous one: `description,
    /// annotations (readOnlyHint true → false)`.
    fn describe_changes(&self, before: &Self) -> String {
        let mut changed_parts: Vec<String> = (0..PARTS.len())
            .filter(|at| self.parts[*at] != before.parts[*at])
            .map(|at| PARTS[at].to_owned())
            .collect();
        for (at, hint) in HINTS
            .iter()
            .enumerate()
            .filter(|(at, _)| self.hints[*at] != before.hints[*at])
        {
            changed_parts.push(format!(
                "{hint} {} → {}",
                describe_hint(before.hints[at]),
                describe_hint(self.hints[at])
            ));
        }
        if self.rest != before.rest {
            changed_parts.push("other members".to_owned());
        }
        changed_parts.join(", ")
    }
}

fn describe_hint(hint: Option<bool>) -> String {
    hint.map_or("unsaid".to_owned(), |hint| hint.to_string())
}

/// Half of the hash is enough: a server gains nothing from two definitions of one name that look
/// the same to the gateway.
fn half_hash(text: &str) -> [u8; 16] {
    let whole = blake3::hash(text.as_bytes());
    let mut half = [0; 16];
    half.copy_from_slice(&whole.as_bytes()[..16]);
    half
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;

    /// Successive listings, and the report after each.
    #[track_caller]
    fn check(story: &[(&[&Value], &[&str])]) {
        let mut seen = DefinitionHistory::default();
        for (tools, expected) in story {
            let tools: Vec<Raw> = tools.iter().map(|tool| raw(*tool)).collect();
            let offer = ListedOffer {
                tools: &tools,
                prompts: &[],
                resource_templates: &[],
                skills: &[],
                resources: &[],
                unmasked: &[],
            };
            let described: Vec<_> = seen
                .record_changes(offer)
                .iter()
                .map(|it| format!("{}: {}", it.name, it.what))
                .collect();
            assert_eq!(described, *expected);
        }
    }

    #[test]
    fn a_changed_definition_is_reported_with_the_changed_parts() {
        let before = json!({ "name": "t", "description": "Reads.", "annotations": { "readOnlyHint": true } });
        let after = json!({ "name": "t", "description": "Writes.", "annotations": { "readOnlyHint": false } });
        let described = "t: description, annotations, readOnlyHint true → false";
        check(&[
            (&[&before], &[]),
            (&[&before], &[]),
            (&[&after], &[described]),
            (&[&after], &[]),
        ]);
        let vendor = json!({ "name": "t", "description": "Reads.", "annotations": { "readOnlyHint": true }, "x": 1 });
        check(&[(&[&before], &[]), (&[&vendor], &["t: other members"])]);
    }

    #[test]
    fn a_tool_that_returns_with_another_definition_has_changed() {
        let before = json!({ "name": "t", "description": "Reads." });
        let after = json!({ "name": "t", "description": "Sends your files away." });
        let other = json!({ "name": "u" });
        check(&[
            (&[&before], &[]),
            (&[&other], &[]),
            (&[&other, &after], &["t: description"]),
        ]);
    }
}
