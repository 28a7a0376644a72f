//! Notices when a server changes what it said of a tool or prompt: people agreed to the definition
//! they saw, and a server may replace it afterwards.

use std::collections::HashMap;
use std::sync::Mutex;

use kitbag_domain::ServerName;
use kitbag_domain::text::visible_line;
use kitbag_upstream::Listing;
use kitbag_wire::{Raw, RawObject};

use kitbag_domain::sync::lock;

/// Names remembered of one server, those included that it lists no longer: one that vanishes and
/// comes back as another has changed, too.
const MOST_NAMES: usize = 20_000;
/// Changes told one by one; a server that was updated may change all it has.
const MOST_TOLD: usize = 20;
/// The most characters that are told of a name, since servers choose the names.
const LONGEST_NAME: usize = 100;

/// The definitions that servers gave last, and the number of times that each server changed them.
#[derive(Default)]
pub(crate) struct Definitions {
    seen: Mutex<HashMap<ServerName, SeenDefinitions>>,
}

#[derive(Default)]
struct SeenDefinitions {
    by_name: HashMap<(&'static str, String), Definition>,
    changes: u64,
}

/// The parts of a definition, each as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    parts: [[u8; 16]; PARTS.len()],
    rest: [u8; 16],
    hints: [Option<bool>; HINTS.len()],
}

const PARTS: [&str; 6] = [
    "description",
    "title",
    "inputSchema",
    "outputSchema",
    "annotations",
    "arguments",
];
const HINTS: [&str; 2] = ["readOnlyHint", "destructiveHint"];

impl Definitions {
    /// Takes in a listing, and tells the log what is no longer as it was.
    pub(crate) fn learn(&self, server: &ServerName, listing: &Listing) {
        let changes = lock(&self.seen)
            .entry(server.clone())
            .or_default()
            .learn(listing);
        for DefinitionChange { kind, name, what } in changes.iter().take(MOST_TOLD) {
            tracing::warn!(%server, "the {kind} `{name}` is no longer defined as it was: {what}");
        }
        if changes.len() > MOST_TOLD {
            let more = changes.len() - MOST_TOLD;
            tracing::warn!(%server, more, "further definitions are no longer as they were");
        }
    }

    /// Returns the number of definitions that each server has changed.
    pub(crate) fn changes(&self) -> Vec<(ServerName, u64)> {
        let seen = lock(&self.seen);
        let mut changes: Vec<_> = seen
            .iter()
            .map(|(server, seen)| (server.clone(), seen.changes))
            .collect();
        changes.sort();
        changes
    }
}

#[derive(Debug, PartialEq, Eq)]
struct DefinitionChange {
    kind: &'static str,
    name: String,
    what: String,
}

impl SeenDefinitions {
    fn learn(&mut self, listing: &Listing) -> Vec<DefinitionChange> {
        let mut changes = Vec::new();
        for (kind, definitions) in [("tool", &listing.tools), ("prompt", &listing.prompts)] {
            let mut told = HashMap::new();
            for definition in definitions {
                let Some((name, definition)) = Definition::read(definition) else {
                    continue;
                };
                // Of a name listed twice, the first is what is known under it.
                told.entry((kind, name)).or_insert(definition);
            }
            for (key, definition) in told {
                if let Some(before) = self
                    .by_name
                    .get(&key)
                    .filter(|before| **before != definition)
                {
                    let name = visible_line(&key.1).chars().take(LONGEST_NAME).collect();
                    changes.push(DefinitionChange {
                        kind,
                        name,
                        what: definition.different(before),
                    });
                }
                if self.by_name.len() < MOST_NAMES || self.by_name.contains_key(&key) {
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
    fn read(definition: &Raw) -> Option<(String, Self)> {
        let mut object = RawObject::open(definition).ok()?;
        let name = object.read("name")?;
        let hints = object.object("annotations").unwrap_or_default();
        let hints = HINTS.map(|hint| hints.read(hint));
        let parts = PARTS.map(|part| {
            object
                .remove(part)
                .map_or([0; 16], |value| hash(value.get()))
        });
        Some((
            name,
            Self {
                parts,
                rest: hash(object.to_raw().get()),
                hints,
            },
        ))
    }

    /// Returns the parts in which the definition differs from the one before: `description,
    /// annotations (readOnlyHint true → false)`.
    fn different(&self, before: &Self) -> String {
        let mut told: Vec<String> = (0..PARTS.len())
            .filter(|at| self.parts[*at] != before.parts[*at])
            .map(|at| PARTS[at].to_owned())
            .collect();
        for (at, hint) in HINTS
            .iter()
            .enumerate()
            .filter(|(at, _)| self.hints[*at] != before.hints[*at])
        {
            told.push(format!(
                "{hint} {} → {}",
                said(before.hints[at]),
                said(self.hints[at])
            ));
        }
        if self.rest != before.rest {
            told.push("other members".to_owned());
        }
        told.join(", ")
    }
}

fn said(hint: Option<bool>) -> String {
    hint.map_or("unsaid".to_owned(), |hint| hint.to_string())
}

/// Half of the hash is enough: no server gains by two definitions of one name that look the same to
/// the gateway.
fn hash(text: &str) -> [u8; 16] {
    let whole = blake3::hash(text.as_bytes());
    let mut half = [0; 16];
    half.copy_from_slice(&whole.as_bytes()[..16]);
    half
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Timestamp;
    use kitbag_wire::{Era, raw};
    use serde_json::{Value, json};

    use super::*;

    fn listing(tools: &[Value]) -> Listing {
        Listing {
            listed_at: Timestamp::default(),
            era: Era::Legacy,
            version: "2025-11-25".to_owned(),
            capabilities: raw(&json!({})),
            server_info: None,
            instructions: None,
            tools: tools.iter().map(raw).collect(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The listings one after the other, and what is told after each.
    #[track_caller]
    fn check(story: &[(&[&Value], &[&str])]) {
        let mut seen = SeenDefinitions::default();
        for (tools, expected) in story {
            let tools: Vec<Value> = tools.iter().map(|tool| (*tool).clone()).collect();
            let told: Vec<_> = seen
                .learn(&listing(&tools))
                .iter()
                .map(|it| format!("{}: {}", it.name, it.what))
                .collect();
            assert_eq!(told, *expected);
        }
    }

    #[test]
    fn a_changed_definition_is_told_with_what_changed() {
        let before = json!({ "name": "t", "description": "Reads.", "annotations": { "readOnlyHint": true } });
        let after = json!({ "name": "t", "description": "Writes.", "annotations": { "readOnlyHint": false } });
        let told = "t: description, annotations, readOnlyHint true → false";
        check(&[
            (&[&before], &[]),
            (&[&before], &[]),
            (&[&after], &[told]),
            (&[&after], &[]),
        ]);
        let vendor = json!({ "name": "t", "description": "Reads.", "annotations": { "readOnlyHint": true }, "x": 1 });
        check(&[(&[&before], &[]), (&[&vendor], &["t: other members"])]);
    }

    #[test]
    fn a_tool_that_vanishes_and_comes_back_as_another_has_changed() {
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
