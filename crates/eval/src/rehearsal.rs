//! Tests the suite on the server, without a model: the expected calls and their paraphrases must
//! have the expected results, and the scenarios must end as the suite says.

use serde::Serialize;

use crate::dialect::GivenArguments;
use crate::end_state;
use crate::environment::{TaskEnvironment, TaskEnvironments};
use crate::judge::{ChoiceOutcome, judge, truncate_text};
use crate::matching::contains;
use crate::suite::{CallArguments, Expected, Prompt, Scenario, ScenarioStep, Suite, SuiteTask};
use crate::surface::EvalSurface;
use crate::tool_result::ToolResult;

/// The result of a suite without a model.
#[derive(Debug, Clone, Serialize)]
pub struct Rehearsal {
    /// The expected calls as the suite writes them.
    pub expected: RehearsalShare,
    /// The paraphrased calls.
    pub paraphrases: RehearsalShare,
    /// The faults that were found.
    pub misses: Vec<String>,
    pub scenarios: Vec<ScenarioResult>,
    /// The tasks whose solution works, out of the tasks with a solution.
    pub tasks: RehearsalShare,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct RehearsalShare {
    pub right: usize,
    pub total: usize,
}

/// The result of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioResult {
    pub id: String,
    pub title: String,
    pub calls: usize,
    pub max_calls: usize,
    /// The first fault of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

pub async fn rehearse_suite(
    suite: &Suite,
    server: &impl AsyncFn(String, CallArguments) -> ToolResult,
) -> Rehearsal {
    let (mut expected, mut paraphrases) = (RehearsalShare::default(), RehearsalShare::default());
    let mut misses = Vec::new();
    for prompt in &suite.prompts {
        let fault = try_call(prompt, &prompt.expect.arguments, server).await;
        expected.record_result(fault, &mut misses);
        for words in &prompt.paraphrases {
            let fault = try_call(prompt, words, server).await;
            paraphrases.record_result(fault, &mut misses);
        }
    }
    Rehearsal {
        expected,
        paraphrases,
        misses,
        scenarios: play_scenarios(suite, server).await,
        tasks: RehearsalShare::default(),
    }
}

impl Rehearsal {
    /// Tests the solutions of the tasks. A task that is done before any call says nothing about a
    /// model.
    pub async fn try_solutions(&mut self, suite: &Suite, environments: &impl TaskEnvironments) {
        for task in &suite.tasks {
            let fault = try_solution(task, environments).await.err();
            let fault = fault.map(|why| format!("{}: {why}", task.id));
            self.tasks.record_result(fault, &mut self.misses);
        }
    }
}

async fn try_solution(
    task: &SuiteTask,
    environments: &impl TaskEnvironments,
) -> Result<(), String> {
    let environment = environments.open(EvalSurface::All).await?;
    let task = task.in_folder(environment.folder());
    let result = play_task(&task, &environment).await;
    environment.close().await;
    result
}

async fn play_task(task: &SuiteTask, environment: &impl TaskEnvironment) -> Result<(), String> {
    end_state::prepare_servers(task, environment).await?;
    if end_state::find_faults(task, environment, "")
        .await
        .is_empty()
    {
        return Err("it is done before any call was made".to_owned());
    }
    let Some(solution) = &task.solution else {
        return Ok(());
    };
    for Expected { tool, arguments } in &solution.calls {
        let called = environment
            .call_solution_tool(tool.clone(), arguments.clone())
            .await;
        if called.failed {
            return Err(format!(
                "{tool} of its solution failed: {}",
                truncate_text(&called.text)
            ));
        }
    }
    let faults = end_state::find_faults(task, environment, &solution.answer).await;
    match faults.first() {
        None => Ok(()),
        Some(fault) => Err(format!("its solution fails: {fault}")),
    }
}

pub async fn play_scenarios(
    suite: &Suite,
    server: &impl AsyncFn(String, CallArguments) -> ToolResult,
) -> Vec<ScenarioResult> {
    let mut results = Vec::with_capacity(suite.scenarios.len());
    for scenario in &suite.scenarios {
        results.push(play_scenario(scenario, server).await);
    }
    results
}

/// Returns the fault of the call, if there is one.
async fn try_call(
    prompt: &Prompt,
    arguments: &CallArguments,
    server: &impl AsyncFn(String, CallArguments) -> ToolResult,
) -> Option<String> {
    let tool = &prompt.expect.tool;
    let called = server(tool.clone(), arguments.clone()).await;
    let given = GivenArguments::Arguments(arguments.clone());
    let verdict = judge(prompt, tool, &given, &called);
    let came_to = match verdict.outcome {
        ChoiceOutcome::Right => return None,
        ChoiceOutcome::Failed => "failed",
        _ => "had another result",
    };
    let (id, why) = (&prompt.id, verdict.why.unwrap_or_default());
    Some(format!("{id}: {tool} {given} {came_to}: {why}"))
}

async fn play_scenario(
    scenario: &Scenario,
    server: &impl AsyncFn(String, CallArguments) -> ToolResult,
) -> ScenarioResult {
    let mut problem = None;
    let mut calls = 0;
    for step in &scenario.steps {
        calls += 1;
        let Expected { tool, arguments } = &step.call;
        let called = server(tool.clone(), arguments.clone()).await;
        problem = check_step(step, &called).map(|what| format!("call {calls}, {tool}: {what}"));
        if problem.is_some() {
            break;
        }
    }
    ScenarioResult {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        calls,
        max_calls: scenario.max_calls,
        problem: problem.or_else(|| too_many(calls, scenario.max_calls)),
    }
}

fn too_many(calls: usize, most: usize) -> Option<String> {
    (calls > most).then(|| format!("{calls} calls, at most {most} allowed"))
}

fn check_step(step: &ScenarioStep, called: &ToolResult) -> Option<String> {
    if called.failed {
        return Some(format!("failed: {}", truncate_text(&called.text)));
    }
    let mut expected = step.expect.iter();
    let (pointer, expected) =
        expected.find(|(pointer, value)| !contains(called.structured.pointer(pointer), value))?;
    let found = called.structured.pointer(pointer).map(ToString::to_string);
    let found = truncate_text(found.as_deref().unwrap_or("nothing"));
    Some(format!("{pointer} is {found}, expected {expected}"))
}

impl RehearsalShare {
    fn record_result(&mut self, fault: Option<String>, misses: &mut Vec<String>) {
        self.total += 1;
        self.right += usize::from(fault.is_none());
        misses.extend(fault);
    }
}
