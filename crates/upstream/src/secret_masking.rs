//! Masks a server's secrets in its definitions: some servers write them into a description or a
//! URL, and a caller who may see the definition must not read them there.

use kitbag_domain::{DefinitionKind, UnmaskedHash};
use kitbag_fetch::Secrets;
use kitbag_wire::{Raw, RawObject, replace_strings};
use serde_json::value::RawValue;

use crate::listing::{Listing, ListingProblem};
use crate::listing_limits::ListKind;

/// Returns the hash by which the lock file identifies a definition.
pub type HashDefinition = fn(DefinitionKind, &Raw) -> Option<String>;

/// Returns the JSON with a mask in place of each secret. Only strings are changed.
pub fn mask_json(json: &Raw, secrets: &Secrets) -> Option<Raw> {
    let text = json.get();
    // A secret may also be spelt with escapes.
    if secrets.is_empty() || !(secrets.are_in(text) || text.contains('\\')) {
        return None;
    }
    let masked = replace_strings(text, |string| {
        let plain: String = serde_json::from_str(string.literal).ok()?;
        let is_secret = secrets.are_in(&plain);
        is_secret.then(|| serde_json::Value::from(secrets.mask_text(&plain)).to_string())
    });
    match masked {
        std::borrow::Cow::Owned(masked) => RawValue::from_string(masked).ok(),
        std::borrow::Cow::Borrowed(_) => None,
    }
}

impl Listing {
    /// Masks the secrets in everything that the server sent.
    pub(crate) fn mask_secrets(&mut self, secrets: &Secrets, hash: HashDefinition) {
        if secrets.is_empty() {
            return;
        }
        self.mask_list(ListKind::TOOLS, secrets, hash);
        self.mask_list(ListKind::PROMPTS, secrets, hash);
        self.mask_list(ListKind::RESOURCES, secrets, hash);
        self.mask_list(ListKind::TEMPLATES, secrets, hash);
        self.mask_list(ListKind::SKILLS, secrets, hash);
        for json in self.server_info.iter_mut().chain([&mut self.capabilities]) {
            if let Some(masked) = mask_json(json, secrets) {
                *json = masked;
            }
        }
        let problems = self.problems.iter_mut();
        let texts = problems.flat_map(|it| [&mut it.about, &mut it.what]);
        for text in texts.chain(&mut self.instructions) {
            *text = secrets.mask_text(text).into_owned();
        }
    }

    fn mask_list(&mut self, list: ListKind, secrets: &Secrets, hash: HashDefinition) {
        let definitions = std::mem::take(list.list_mut(self));
        let mut shown = Vec::with_capacity(definitions.len());
        for definition in definitions {
            let Some(masked) = mask_json(&definition, secrets) else {
                shown.push(definition);
                continue;
            };
            match read_key(&definition, list).filter(|key| !secrets.are_in(key)) {
                Some(name) => {
                    self.unmasked.extend(hash_unmasked(list, name, &definition, hash));
                    shown.push(masked);
                }
                None => self.problems.push(ListingProblem {
                    about: list.method.to_owned(),
                    what: format!(
                        "an entry was skipped because its `{}` contains one of the server's secrets",
                        list.key()
                    ),
                    incomplete: true,
                }),
            }
        }
        *list.list_mut(self) = shown;
    }
}

fn read_key(definition: &Raw, list: ListKind) -> Option<String> {
    RawObject::open(definition).ok()?.read(list.key())
}

fn hash_unmasked(
    list: ListKind,
    name: String,
    definition: &Raw,
    hash: HashDefinition,
) -> Option<UnmaskedHash> {
    let kind = list.kind;
    let hash = hash(kind, definition)?;
    Some(UnmaskedHash { kind, name, hash })
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Timestamp;
    use kitbag_wire::{Era, raw};
    use serde_json::json;

    use super::*;

    const SECRET: &str = "s3cret/token-1";

    fn listing() -> Listing {
        let tool = |name: &str, said: &str| raw(&json!({ "name": name, "description": said }));
        Listing {
            listed_at: Timestamp(1),
            era: Era::Legacy,
            version: String::new(),
            capabilities: raw(&json!({ "experimental": { SECRET: {} } })),
            server_info: Some(raw(&json!({ "name": "x", "title": SECRET }))),
            instructions: Some(format!("Send {SECRET}.")),
            tools: vec![
                tool("plain", "Reads."),
                tool("told", &format!("Sends {SECRET} along.")),
                tool(SECRET, "Reads."),
                serde_json::from_str(r#"{"name":"escaped","n":1.00,"x":"\u00733cret\/token-1"}"#)
                    .unwrap(),
            ],
            prompts: vec![tool("encoded", "czNjcmV0L3Rva2VuLTE= or s3cret%2Ftoken-1")],
            resources: vec![raw(&json!({ "uri": format!("x://{SECRET}") }))],
            templates: vec![raw(&json!({ "uriTemplate": "x://{id}", "name": SECRET }))],
            skills: Vec::new(),
            problems: Vec::new(),
            unmasked: Vec::new(),
        }
    }

    #[test]
    fn no_list_shows_a_secret_and_entries_named_by_it_are_skipped() {
        let mut shown = listing();
        let hash: HashDefinition = |_, definition| Some(definition.get().len().to_string());
        shown.mask_secrets(&Secrets::from_values([SECRET]), hash);
        let text = serde_json::to_string(&shown).unwrap();
        for form in [SECRET, "s3cret", "czNjcmV0L3", "token-1"] {
            assert!(!text.contains(form), "{form}: {text}");
        }
        let tools: Vec<_> = shown.tools.iter().map(|it| it.get()).collect();
        let expected = [
            r#"{"name":"plain","description":"Reads."}"#,
            r#"{"name":"told","description":"Sends ••• along."}"#,
            r#"{"name":"escaped","n":1.00,"x":"•••"}"#,
        ];
        assert_eq!(tools, expected);
        let names: Vec<_> = shown
            .unmasked
            .iter()
            .map(|it| (it.kind, it.name.as_str()))
            .collect();
        let expected = [
            (DefinitionKind::Tool, "told"),
            (DefinitionKind::Tool, "escaped"),
            (DefinitionKind::Prompt, "encoded"),
            (DefinitionKind::ResourceTemplate, "x://{id}"),
        ];
        assert_eq!(names, expected);
        assert_eq!((shown.resources.len(), shown.templates.len()), (0, 1));
        let left_out = shown.problems.iter().filter(|it| it.incomplete).count();
        assert_eq!(left_out, 2);
    }

    #[test]
    fn lists_without_a_secret_stay_unchanged() {
        let mut shown = listing();
        shown.mask_secrets(&Secrets::from_values(["another-one"]), |_, _| None);
        let (before, after) = (listing(), shown);
        assert_eq!(
            serde_json::to_string(&before).unwrap(),
            serde_json::to_string(&after).unwrap()
        );
    }
}
