//! The answers of absent services: short templates, expanded to the size of real answers.
//!
//! The form of a template is described in `evals/code/README.md`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

/// The answer of each tool, by server and tool.
#[derive(Debug, Default)]
pub(super) struct ServiceAnswers(HashMap<(String, String), Value>);

impl ServiceAnswers {
    /// Reads `SERVER.json` for every server, each with its tools and their templates.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut answers = Self::default();
        let entries =
            fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            answers.add(&entry?.path())?;
        }
        Ok(answers)
    }

    pub(super) fn get(&self, server: &str, tool: &str) -> Option<&Value> {
        self.0.get(&(server.to_owned(), tool.to_owned()))
    }

    fn add(&mut self, file: &Path) -> anyhow::Result<()> {
        let server = file.file_stem().unwrap_or_default().to_string_lossy();
        let text =
            fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let templates: Map<String, Value> = serde_json::from_str(&text)
            .with_context(|| format!("{} is not an object", file.display()))?;
        for (tool, template) in templates {
            let answer = Growth::default().expand_template(&template, None);
            self.0.insert((server.to_string(), tool), answer);
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Growth {
    /// The generated ids, so that no two are the same.
    ids: u64,
}

impl Growth {
    /// Within an item, `number` is its number; outside, texts stay unchanged.
    fn expand_template(&mut self, template: &Value, number: Option<usize>) -> Value {
        match (template, number) {
            (Value::String(text), Some(number)) => self.text(text, number),
            (Value::Array(items), _) => {
                let grown = items.iter().flat_map(|item| self.items(item, number));
                Value::Array(grown.collect())
            }
            (Value::Object(members), _) => Value::Object(self.members(members, number)),
            _ => template.clone(),
        }
    }

    fn items(&mut self, item: &Value, number: Option<usize>) -> Vec<Value> {
        match item.get(TIMES).and_then(Value::as_u64) {
            Some(times) => (1..=times as usize)
                .map(|number| self.expand_template(item, Some(number)))
                .collect(),
            None => vec![self.expand_template(item, number)],
        }
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        number: Option<usize>,
    ) -> Map<String, Value> {
        members
            .iter()
            .filter(|(key, _)| *key != TIMES)
            .map(|(key, value)| (key.clone(), self.expand_template(value, number)))
            .collect()
    }

    fn text(&mut self, template: &str, number: usize) -> Value {
        let (mut text, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            text.push_str(&self.placeholder(name, number));
            rest = after;
        }
        text.push_str(rest);
        match text.strip_prefix('=').map(serde_json::from_str) {
            Some(Ok(written)) => written,
            _ => Value::String(text),
        }
    }

    fn placeholder(&mut self, name: &str, number: usize) -> String {
        match name {
            "n" => number.to_string(),
            "d" => format!("{:02}", 1 + number % 28),
            "h" => format!("{:02}", 8 + number % 10),
            "x" => self.id(),
            choices => {
                let choices: Vec<&str> = choices.split('|').collect();
                choices[(number - 1) % choices.len()].to_owned()
            }
        }
    }

    /// Returns 32 digits that do not compress well, like real ids.
    fn id(&mut self) -> String {
        /// An odd number with well-mixed bits, so that successive ids share no digits.
        const MIX: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        self.ids += 1;
        format!("{:032x}", MIX.wrapping_mul(u128::from(self.ids)))
    }
}

const TIMES: &str = "$times";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn item(id: &str, size: u32, kind: &str, day: &str) -> Value {
        json!({ "id": id, "size": size, "kind": kind, "day": day })
    }

    #[test]
    fn a_template_grows_into_its_items() {
        let template = json!({ "kept": "{n}", "items": [
            { "$times": 3, "id": "no {n}", "size": "=1{n}", "kind": "{a|b}", "day": "{d}" },
        ]});
        assert_eq!(
            Growth::default().expand_template(&template, None),
            json!({ "kept": "{n}", "items": [
                item("no 1", 11, "a", "02"), item("no 2", 12, "b", "03"), item("no 3", 13, "a", "04"),
            ]})
        );
    }
}
