//! Tries the suite on the server, without a model. It checks that the expected calls and their
//! paraphrases have the expected results, and that the scenarios end as the suite says.

use serde::Serialize;

use crate::dialect::GivenArguments;
use crate::judge::{ChoiceOutcome, brief, contains, judge};
use crate::suite::{CallArguments, Prompt, Scenario, ScenarioStep, Suite};
use crate::tools::Called;

#[derive(Debug, Clone, Serialize)]
pub struct Rehearsal {
    /// The expected calls as the suite writes them.
    pub expected: RehearsalShare,
    /// The expected calls in other words.
    pub paraphrases: RehearsalShare,
    /// The faults that were found, in words.
    pub misses: Vec<String>,
    pub scenarios: Vec<Played>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct RehearsalShare {
    pub right: usize,
    pub total: usize,
}

/// The result of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    pub id: String,
    pub title: String,
    pub calls: usize,
    pub max_calls: usize,
    /// The first fault of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

pub async fn rehearse(
    suite: &Suite,
    server: &impl AsyncFn(String, CallArguments) -> Called,
) -> Rehearsal {
    let (mut expected, mut paraphrases) = (RehearsalShare::default(), RehearsalShare::default());
    let mut misses = Vec::new();
    for prompt in &suite.prompts {
        expected.note(
            try_out(prompt, &prompt.expect.arguments, server).await,
            &mut misses,
        );
        for words in &prompt.paraphrases {
            paraphrases.note(try_out(prompt, words, server).await, &mut misses);
        }
    }
    Rehearsal {
        expected,
        paraphrases,
        misses,
        scenarios: play_all(suite, server).await,
    }
}

pub async fn play_all(
    suite: &Suite,
    server: &impl AsyncFn(String, CallArguments) -> Called,
) -> Vec<Played> {
    let mut played = Vec::with_capacity(suite.scenarios.len());
    for scenario in &suite.scenarios {
        played.push(play(scenario, server).await);
    }
    played
}

/// Returns the fault of the call, if there is one.
async fn try_out(
    prompt: &Prompt,
    arguments: &CallArguments,
    server: &impl AsyncFn(String, CallArguments) -> Called,
) -> Option<String> {
    let tool = &prompt.expect.tool;
    let called = server(tool.clone(), arguments.clone()).await;
    let shown = serde_json::to_string(arguments).expect("arguments are JSON");
    let verdict = judge(
        prompt,
        tool,
        &GivenArguments::Arguments(arguments.clone()),
        &called,
    );
    let why = verdict.why.unwrap_or_default();
    match verdict.outcome {
        ChoiceOutcome::Right => None,
        ChoiceOutcome::Failed => Some(format!("{}: {tool} {shown} failed: {why}", prompt.id)),
        _ => Some(format!(
            "{}: {tool} {shown} came to something else: {why}",
            prompt.id
        )),
    }
}

async fn play(
    scenario: &Scenario,
    server: &impl AsyncFn(String, CallArguments) -> Called,
) -> Played {
    let mut problem = None;
    let mut calls = 0;
    for step in &scenario.steps {
        calls += 1;
        let called = server(step.call.tool.clone(), step.call.arguments.clone()).await;
        problem =
            wrong(step, &called).map(|what| format!("call {calls}, {}: {what}", step.call.tool));
        if problem.is_some() {
            break;
        }
    }
    let too_many = || format!("{calls} calls, where {} are allowed", scenario.max_calls);
    let problem = problem.or_else(|| (calls > scenario.max_calls).then(too_many));
    let (id, title) = (scenario.id.clone(), scenario.title.clone());
    Played {
        id,
        title,
        calls,
        max_calls: scenario.max_calls,
        problem,
    }
}

fn wrong(step: &ScenarioStep, called: &Called) -> Option<String> {
    if called.failed {
        return Some(format!("failed: {}", brief(&called.text)));
    }
    let missed =
        |(pointer, value): &&(String, _)| !contains(called.structured.pointer(pointer), value);
    let (pointer, expected) = step.expect.iter().find(missed)?;
    let found = called
        .structured
        .pointer(pointer)
        .map_or_else(|| "nothing".to_owned(), ToString::to_string);
    Some(format!(
        "at {pointer} there is {}, not {expected}",
        brief(&found)
    ))
}

impl RehearsalShare {
    fn note(&mut self, miss: Option<String>, misses: &mut Vec<String>) {
        self.total += 1;
        self.right += usize::from(miss.is_none());
        misses.extend(miss);
    }
}
