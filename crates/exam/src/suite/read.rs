//! Reads a suite from its JSON, field by field, so that an error can name the place of a fault.

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Expected, Prompt, Scenario, ScenarioStep, Suite, SuiteFault, SuiteProblem};

/// Reads a suite. A suite without a name gets the name in `unnamed`.
pub(super) fn suite(value: Value, unnamed: &str) -> Result<Suite, SuiteFault> {
    let mut suite = SuiteEntry::open("the suite".to_owned(), value)?;
    match suite.may("version")? {
        None | Some(1) => {}
        Some(found) => return Err(suite.fault("version", SuiteProblem::Version { found })),
    }
    let name: Option<String> = suite.may("name")?;
    let name = name.unwrap_or_else(|| unnamed.to_owned());
    let mut prompts: Vec<Value> = suite.need("prompts")?;
    if prompts.is_empty() {
        return Err(suite.fault("prompts", SuiteProblem::Empty));
    }
    let scenarios: Vec<Value> = suite.may("scenarios")?;
    suite.end(&["version", "name", "prompts", "scenarios"])?;
    prompts
        .iter_mut()
        .enumerate()
        .for_each(|(number, prompt)| identify(prompt, number));
    let prompts = each(prompts, "prompts", prompt)?;
    let scenarios = each(scenarios, "scenarios", scenario)?;
    unique("prompts", prompts.iter().map(|it| it.id.as_str()))?;
    unique("scenarios", scenarios.iter().map(|it| it.id.as_str()))?;
    Ok(Suite {
        name,
        prompts,
        scenarios,
    })
}

/// Gives a prompt without an id one that is made from its number, such as `p01`.
fn identify(prompt: &mut Value, number: usize) {
    if let Value::Object(fields) = prompt {
        fields
            .entry("id")
            .or_insert_with(|| format!("p{:02}", number + 1).into());
    }
}

fn prompt(mut entry: SuiteEntry) -> Result<Prompt, SuiteFault> {
    let prompt = Prompt {
        id: entry.need_text("id")?,
        prompt: entry.need_text("input")?,
        category: entry.may("category")?,
        expect: Expected {
            tool: entry.need_text("expectedTool")?,
            arguments: entry.need("expectedArgs")?,
        },
        accept: entry.list("accept", expected)?,
        paraphrases: entry.may("paraphrases")?,
        resolves: entry.may("resolves")?,
    };
    entry.end(&PROMPT)?;
    Ok(prompt)
}

const PROMPT: [&str; 8] = [
    "id",
    "input",
    "category",
    "expectedTool",
    "expectedArgs",
    "accept",
    "paraphrases",
    "resolves",
];

fn expected(mut entry: SuiteEntry) -> Result<Expected, SuiteFault> {
    let expected = Expected {
        tool: entry.need_text("tool")?,
        arguments: entry.need("args")?,
    };
    entry.end(&["tool", "args"])?;
    Ok(expected)
}

fn scenario(mut entry: SuiteEntry) -> Result<Scenario, SuiteFault> {
    let scenario = Scenario {
        id: entry.need_text("id")?,
        title: entry.need_text("title")?,
        max_calls: entry.need("maxCalls")?,
        steps: entry.list("steps", step)?,
    };
    if scenario.steps.is_empty() {
        return Err(entry.fault("steps", SuiteProblem::Empty));
    }
    entry.end(&["id", "title", "maxCalls", "steps"])?;
    Ok(scenario)
}

fn step(mut entry: SuiteEntry) -> Result<ScenarioStep, SuiteFault> {
    let call = Expected {
        tool: entry.need_text("tool")?,
        arguments: entry.need("args")?,
    };
    let expect: Map<String, Value> = entry.may("expect")?;
    if let Some(text) = expect
        .keys()
        .find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
    {
        return Err(entry.fault("expect", SuiteProblem::Pointer { text: text.clone() }));
    }
    entry.end(&["tool", "args", "expect"])?;
    Ok(ScenarioStep {
        call,
        expect: expect.into_iter().collect(),
    })
}

fn each<T>(
    values: Vec<Value>,
    list: &str,
    read: impl Fn(SuiteEntry) -> Result<T, SuiteFault>,
) -> Result<Vec<T>, SuiteFault> {
    let numbered = values.into_iter().enumerate();
    numbered
        .map(|(number, value)| read(SuiteEntry::open(place(list, number, &value), value)?))
        .collect()
}

/// Names an entry by its number and, if it has one, by its id: `prompts[3] (p04)`.
fn place(list: &str, number: usize, value: &Value) -> String {
    match value.get("id").and_then(Value::as_str) {
        Some(id) => format!("{list}[{number}] ({id})"),
        None => format!("{list}[{number}]"),
    }
}

fn unique<'a>(list: &str, ids: impl Iterator<Item = &'a str>) -> Result<(), SuiteFault> {
    let mut seen = HashSet::new();
    let twice = ids.enumerate().find(|(_, id)| !seen.insert(*id));
    twice.map_or(Ok(()), |(number, id)| {
        let problem = SuiteProblem::Twice {
            value: id.to_owned(),
        };
        Err(SuiteFault {
            entry: format!("{list}[{number}]"),
            field: "id".to_owned(),
            problem,
        })
    })
}

/// An object whose fields are taken out one by one. Every field that is left at the end is unknown.
struct SuiteEntry {
    place: String,
    fields: Map<String, Value>,
}

impl SuiteEntry {
    fn open(place: String, value: Value) -> Result<Self, SuiteFault> {
        match value {
            Value::Object(fields) => Ok(Self { place, fields }),
            other => {
                let problem = SuiteProblem::WrongType {
                    reason: format!("expected an object, not {other}"),
                };
                Err(SuiteFault {
                    entry: place,
                    field: String::new(),
                    problem,
                })
            }
        }
    }

    fn need<T: DeserializeOwned>(&mut self, field: &str) -> Result<T, SuiteFault> {
        let value = self
            .fields
            .remove(field)
            .ok_or_else(|| self.fault(field, SuiteProblem::Missing))?;
        self.typed(field, value)
    }

    fn need_text(&mut self, field: &str) -> Result<String, SuiteFault> {
        let text: String = self.need(field)?;
        if text.trim().is_empty() {
            Err(self.fault(field, SuiteProblem::Empty))
        } else {
            Ok(text)
        }
    }

    fn may<T: DeserializeOwned + Default>(&mut self, field: &str) -> Result<T, SuiteFault> {
        let value = self.fields.remove(field);
        value.map_or_else(|| Ok(T::default()), |value| self.typed(field, value))
    }

    fn list<T>(
        &mut self,
        field: &str,
        read: impl Fn(Self) -> Result<T, SuiteFault>,
    ) -> Result<Vec<T>, SuiteFault> {
        let values: Vec<Value> = self.may(field)?;
        each(values, &format!("{}, {field}", self.place), read)
    }

    fn end(self, known: &[&str]) -> Result<(), SuiteFault> {
        let problem = || SuiteProblem::Unknown {
            known: known.join(", "),
        };
        self.fields
            .keys()
            .next()
            .map_or(Ok(()), |field| Err(self.fault(field, problem())))
    }

    fn typed<T: DeserializeOwned>(&self, field: &str, value: Value) -> Result<T, SuiteFault> {
        let wrong = |error: serde_json::Error| SuiteProblem::WrongType {
            reason: error.to_string(),
        };
        serde_json::from_value(value).map_err(|error| self.fault(field, wrong(error)))
    }

    fn fault(&self, field: &str, problem: SuiteProblem) -> SuiteFault {
        SuiteFault {
            entry: self.place.clone(),
            field: field.to_owned(),
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "version": 1,
            "name": "little",
            "prompts": [{
                "id": "p1",
                "input": "Say hi",
                "category": "greetings",
                "expectedTool": "echo",
                "expectedArgs": { "word": "hi" },
                "accept": [{ "tool": "shout", "args": {} }],
                "paraphrases": [{ "word": "hello" }],
                "resolves": { "word": "hi" },
            }],
            "scenarios": [{
                "id": "s1",
                "title": "Twice",
                "maxCalls": 2,
                "steps": [{ "tool": "echo", "args": {}, "expect": { "/word": "hi" } }],
            }],
        })
    }

    /// Puts a value into a good suite, and checks the error that results.
    #[track_caller]
    fn check(pointer: &str, value: Value, told: &str) {
        let mut broken = good();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = broken.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value == json!("gone") {
            parent.remove(field);
        } else {
            parent.insert(field.to_owned(), value);
        }
        assert_eq!(suite(broken, "s").unwrap_err().to_string(), told);
    }

    #[test]
    fn a_good_suite_is_read_whole() {
        let suite = suite(good(), "s").unwrap();
        let prompt = &suite.prompts[0];
        assert_eq!((prompt.accept.len(), prompt.paraphrases.len()), (1, 1));
        assert_eq!(prompt.category.as_deref(), Some("greetings"));
        assert_eq!(prompt.resolves.as_ref().unwrap()["word"], "hi");
        assert_eq!(
            suite.scenarios[0].steps[0].expect,
            [("/word".to_owned(), json!("hi"))]
        );
    }

    #[test]
    fn a_fault_is_named_by_entry_and_field() {
        check(
            "/version",
            json!(2),
            "the suite, field `version`: this program knows version 1 only, not 2",
        );
        check(
            "/prompts",
            json!([]),
            "the suite, field `prompts`: it must not be empty",
        );
        check(
            "/prompts/0/input",
            json!("gone"),
            "prompts[0] (p1), field `input`: it is missing",
        );
        check(
            "/prompts/0/id",
            json!(" "),
            "prompts[0] ( ), field `id`: it must not be empty",
        );
        check(
            "/prompts/0/expectedTool",
            json!(7),
            "prompts[0] (p1), field `expectedTool`: invalid type: integer `7`, expected a string",
        );
        check(
            "/prompts/0/resolvs",
            json!({}),
            "prompts[0] (p1), field `resolvs`: there is no such field; there are id, input, category, \
             expectedTool, expectedArgs, accept, paraphrases, resolves",
        );
        check(
            "/prompts/0/accept",
            json!([{ "tool": "x" }]),
            "prompts[0] (p1), accept[0], field `args`: it is missing",
        );
        check(
            "/scenarios/0/steps",
            json!([{ "tool": "x", "args": {}, "expect": { "word": 1 } }]),
            "scenarios[0] (s1), steps[0], field `expect`: `word` is no JSON pointer; one begins with `/`",
        );
    }

    #[test]
    fn a_list_of_prompts_is_a_suite() {
        let bare =
            json!({ "prompts": [{ "input": "Hi?", "expectedTool": "echo", "expectedArgs": {} }] });
        let suite = suite(bare, "hello").unwrap();
        assert_eq!(
            (suite.name.as_str(), suite.prompts[0].id.as_str()),
            ("hello", "p01")
        );
    }

    #[test]
    fn two_prompts_of_one_id_could_not_be_told_apart() {
        let mut twice = good();
        let prompt = twice["prompts"][0].clone();
        twice["prompts"].as_array_mut().unwrap().push(prompt);
        let told = suite(twice, "s").unwrap_err().to_string();
        assert_eq!(
            told,
            "prompts[1], field `id`: `p1` is the id of an earlier entry, too"
        );
    }
}
