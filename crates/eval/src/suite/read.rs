//! Parses a suite from its JSON, field by field, so that an error can locate a fault.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::entry::{SuiteEntry, read_entries};
use super::read_task;
use super::{Expected, Prompt, Scenario, ScenarioStep, Suite, SuiteFault, SuiteProblem};

/// Parses a suite. A suite without a name gets the name in `unnamed`.
pub(super) fn parse_suite(value: Value, unnamed: &str) -> Result<Suite, SuiteFault> {
    let mut suite = SuiteEntry::from_value("the suite".to_owned(), value)?;
    match suite.take_optional("version")? {
        None | Some(1) => {}
        Some(found) => return Err(suite.field_fault("version", SuiteProblem::Version { found })),
    }
    let name: Option<String> = suite.take_optional("name")?;
    let tasks: Vec<Value> = suite.take_optional("tasks")?;
    let prompts: Vec<Value> = match tasks.is_empty() {
        true => suite.take_required("prompts")?,
        false => suite.take_optional("prompts")?,
    };
    if prompts.is_empty() && tasks.is_empty() {
        return Err(suite.field_fault("prompts", SuiteProblem::Empty));
    }
    let scenarios: Vec<Value> = suite.take_optional("scenarios")?;
    suite.reject_unknown_fields(&["version", "name", "prompts", "tasks", "scenarios"])?;
    Ok(Suite {
        name: name.unwrap_or_else(|| unnamed.to_owned()),
        prompts: read_prompts(prompts)?,
        tasks: read_task::read_tasks(tasks)?,
        scenarios: read_scenarios(scenarios)?,
    })
}

fn read_prompts(mut values: Vec<Value>) -> Result<Vec<Prompt>, SuiteFault> {
    for (number, value) in values.iter_mut().enumerate() {
        add_missing_id(value, number);
    }
    let prompts = read_entries(values, "prompts", read_prompt)?;
    check_unique_ids("prompts", prompts.iter().map(|it| it.id.as_str()))?;
    Ok(prompts)
}

fn read_scenarios(values: Vec<Value>) -> Result<Vec<Scenario>, SuiteFault> {
    let scenarios = read_entries(values, "scenarios", read_scenario)?;
    check_unique_ids("scenarios", scenarios.iter().map(|it| it.id.as_str()))?;
    Ok(scenarios)
}

/// Gives a prompt without an id one with its number, such as `p01`.
fn add_missing_id(prompt: &mut Value, number: usize) {
    if let Value::Object(fields) = prompt {
        fields
            .entry("id")
            .or_insert_with(|| format!("p{:02}", number + 1).into());
    }
}

fn read_prompt(mut entry: SuiteEntry) -> Result<Prompt, SuiteFault> {
    let prompt = Prompt {
        id: entry.take_required_text("id")?,
        prompt: entry.take_required_text("input")?,
        category: entry.take_optional("category")?,
        expect: Expected {
            tool: entry.take_required_text("expectedTool")?,
            arguments: entry.take_required("expectedArgs")?,
        },
        accept: entry.take_list("accept", read_call)?,
        paraphrases: entry.take_optional("paraphrases")?,
        resolves: entry.take_optional("resolves")?,
    };
    entry.reject_unknown_fields(&PROMPT)?;
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

fn read_call(mut entry: SuiteEntry) -> Result<Expected, SuiteFault> {
    let expected = Expected {
        tool: entry.take_required_text("tool")?,
        arguments: entry.take_required("args")?,
    };
    entry.reject_unknown_fields(&["tool", "args"])?;
    Ok(expected)
}

fn read_scenario(mut entry: SuiteEntry) -> Result<Scenario, SuiteFault> {
    let scenario = Scenario {
        id: entry.take_required_text("id")?,
        title: entry.take_required_text("title")?,
        max_calls: entry.take_required("maxCalls")?,
        steps: entry.take_list("steps", read_step)?,
    };
    if scenario.steps.is_empty() {
        return Err(entry.field_fault("steps", SuiteProblem::Empty));
    }
    entry.reject_unknown_fields(&["id", "title", "maxCalls", "steps"])?;
    Ok(scenario)
}

fn read_step(mut entry: SuiteEntry) -> Result<ScenarioStep, SuiteFault> {
    let call = Expected {
        tool: entry.take_required_text("tool")?,
        arguments: entry.take_required("args")?,
    };
    let expect: Map<String, Value> = entry.take_optional("expect")?;
    if let Some(text) = expect.keys().find(|text| !is_pointer(text)) {
        return Err(entry.field_fault("expect", SuiteProblem::Pointer { text: text.clone() }));
    }
    entry.reject_unknown_fields(&["tool", "args", "expect"])?;
    Ok(ScenarioStep {
        call,
        expect: expect.into_iter().collect(),
    })
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

pub(super) fn check_unique_ids<'a>(
    list: &str,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), SuiteFault> {
    let mut seen = HashSet::new();
    let mut numbered = ids.enumerate();
    match numbered.find(|(_, id)| !seen.insert(*id)) {
        None => Ok(()),
        Some((number, id)) => Err(SuiteFault {
            entry: format!("{list}[{number}]"),
            field: "id".to_owned(),
            problem: SuiteProblem::Twice {
                value: id.to_owned(),
            },
        }),
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
    fn check(pointer: &str, value: Value, error: &str) {
        let mut broken = good();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = broken.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value == json!("gone") {
            parent.remove(field);
        } else {
            parent.insert(field.to_owned(), value);
        }
        assert_eq!(parse_suite(broken, "s").unwrap_err().to_string(), error);
    }

    #[test]
    fn a_good_suite_is_read_whole() {
        let suite = parse_suite(good(), "s").unwrap();
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
    fn a_fault_is_located_by_entry_and_field() {
        check(
            "/version",
            json!(2),
            "the suite, field `version`: unsupported version 2; expected 1",
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
            "prompts[0] (p1), field `resolvs`: unknown field; known fields: id, input, category, \
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
            "scenarios[0] (s1), steps[0], field `expect`: `word` is not a JSON pointer; it must start with `/`",
        );
    }

    #[test]
    fn a_list_of_prompts_is_a_suite() {
        let bare =
            json!({ "prompts": [{ "input": "Hi?", "expectedTool": "echo", "expectedArgs": {} }] });
        let suite = parse_suite(bare, "hello").unwrap();
        assert_eq!(
            (suite.name.as_str(), suite.prompts[0].id.as_str()),
            ("hello", "p01")
        );
    }

    #[test]
    fn two_prompts_with_one_id_are_rejected() {
        let mut twice = good();
        let prompt = twice["prompts"][0].clone();
        twice["prompts"].as_array_mut().unwrap().push(prompt);
        let error = parse_suite(twice, "s").unwrap_err().to_string();
        assert_eq!(error, "prompts[1], field `id`: duplicate id `p1`");
    }
}
