//! Tries the suite on the server, without a model. It checks that the expected calls and their
//! paraphrases have the expected results, and that the scenarios end as the suite says.

use serde::Serialize;

use crate::called::Called;
use crate::dialect::GivenArguments;
use crate::end_state;
use crate::judge::{ChoiceOutcome, brief, judge};
use crate::matching::contains;
use crate::suite::{CallArguments, ExamTask, Expected, Prompt, Scenario, ScenarioStep, Suite};
use crate::surface::ExamSurface;
use crate::workplace::{Workplace, Workplaces};

/// The result of a suite without a model.
#[derive(Debug, Clone, Serialize)]
pub struct Rehearsal {
    /// The expected calls as the suite writes them.
    pub expected: RehearsalShare,
    /// The expected calls in other words.
    pub paraphrases: RehearsalShare,
    /// The faults that were found, in words.
    pub misses: Vec<String>,
    pub scenarios: Vec<Played>,
    /// The tasks whose solution does them, of those that have one, and that nothing else has done.
    pub tasks: RehearsalShare,
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
        let miss = try_out(prompt, &prompt.expect.arguments, server).await;
        expected.note(miss, &mut misses);
        for words in &prompt.paraphrases {
            let miss = try_out(prompt, words, server).await;
            paraphrases.note(miss, &mut misses);
        }
    }
    Rehearsal {
        expected,
        paraphrases,
        misses,
        scenarios: play_all(suite, server).await,
        tasks: RehearsalShare::default(),
    }
}

impl Rehearsal {
    /// Plays the solutions of the tasks. A task that is done before anything was done for it says
    /// nothing about a model.
    pub async fn solve(&mut self, suite: &Suite, places: &impl Workplaces) {
        for task in &suite.tasks {
            let miss = solved(task, places).await.err();
            let miss = miss.map(|why| format!("{}: {why}", task.id));
            self.tasks.note(miss, &mut self.misses);
        }
    }
}

async fn solved(task: &ExamTask, places: &impl Workplaces) -> Result<(), String> {
    let place = places.open(ExamSurface::All).await?;
    let task = task.in_folder(place.folder());
    let played = play_task(&task, &place).await;
    place.close().await;
    played
}

async fn play_task(task: &ExamTask, place: &impl Workplace) -> Result<(), String> {
    end_state::prepare(task, place).await?;
    if end_state::faults(task, place, "").await.is_empty() {
        return Err("it is done before anything was done for it".to_owned());
    }
    let Some(solution) = &task.solution else {
        return Ok(());
    };
    for Expected { tool, arguments } in &solution.calls {
        let called = place.play(tool.clone(), arguments.clone()).await;
        if called.failed {
            return Err(format!(
                "{tool} of its solution failed: {}",
                brief(&called.text)
            ));
        }
    }
    let faults = end_state::faults(task, place, &solution.answer).await;
    match faults.first() {
        None => Ok(()),
        Some(fault) => Err(format!("its solution does not do it: {fault}")),
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
    let given = GivenArguments::Arguments(arguments.clone());
    let verdict = judge(prompt, tool, &given, &called);
    let came_to = match verdict.outcome {
        ChoiceOutcome::Right => return None,
        ChoiceOutcome::Failed => "failed",
        _ => "came to something else",
    };
    let (id, why) = (&prompt.id, verdict.why.unwrap_or_default());
    Some(format!("{id}: {tool} {given} {came_to}: {why}"))
}

async fn play(
    scenario: &Scenario,
    server: &impl AsyncFn(String, CallArguments) -> Called,
) -> Played {
    let mut problem = None;
    let mut calls = 0;
    for step in &scenario.steps {
        calls += 1;
        let Expected { tool, arguments } = &step.call;
        let called = server(tool.clone(), arguments.clone()).await;
        problem = wrong(step, &called).map(|what| format!("call {calls}, {tool}: {what}"));
        if problem.is_some() {
            break;
        }
    }
    Played {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        calls,
        max_calls: scenario.max_calls,
        problem: problem.or_else(|| too_many(calls, scenario.max_calls)),
    }
}

fn too_many(calls: usize, most: usize) -> Option<String> {
    (calls > most).then(|| format!("{calls} calls, where {most} are allowed"))
}

fn wrong(step: &ScenarioStep, called: &Called) -> Option<String> {
    if called.failed {
        return Some(format!("failed: {}", brief(&called.text)));
    }
    let mut expected = step.expect.iter();
    let (pointer, expected) =
        expected.find(|(pointer, value)| !contains(called.structured.pointer(pointer), value))?;
    let found = called.structured.pointer(pointer).map(ToString::to_string);
    let found = brief(found.as_deref().unwrap_or("nothing"));
    Some(format!("at {pointer} there is {found}, not {expected}"))
}

impl RehearsalShare {
    fn note(&mut self, miss: Option<String>, misses: &mut Vec<String>) {
        self.total += 1;
        self.right += usize::from(miss.is_none());
        misses.extend(miss);
    }
}
