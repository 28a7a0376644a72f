//! `kitbag eval agents`: gives models prompts and tasks, and measures tool choice and task success.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use kitbag_budget::count;
use kitbag_eval::page::render_page;
use kitbag_eval::rehearsal::play_scenarios;
use kitbag_eval::report::ReportContext;
use kitbag_eval::{
    EvalCandidate, EvalError, EvalJournal, EvalProgress, EvalReport, EvalResults, EvalRun,
    EvalSurface, ModelEndpoint, ShownSurface, Suite, ToolObstacles,
};
use serde_json::{Map, Value};

use super::candidates::Models;
use super::environments::{AttemptFolders, GatewayEnvironments};
use super::figures;
use super::plan::EvalPlanner;
use super::server::{EvalGateway, ServerChoice};
use super::surfaces::SurfaceChoice;
use crate::cli::failure::with_advice;
use crate::cli::output::Output;
use crate::cli::{Invocation, to_exit_code};

/// Measure how models choose among tools and which tasks they complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Suite file: prompts with expected calls, and tasks with their success conditions.
    #[arg(long, value_name = "FILE")]
    suite: PathBuf,
    /// Number of runs of each prompt per model.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Use only the first N prompts and tasks.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Number of concurrent prompts.
    #[arg(long, value_name = "N", default_value_t = 4)]
    concurrency: usize,
    /// Store answers in this file, and resume from it.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Also write an HTML report with charts.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// JSON that a model would read without tools, as a baseline: files or folders.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    baseline: Vec<PathBuf>,
    /// Show what would be sent without sending it, and check the suite against the server.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    surfaces: SurfaceChoice,
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    which: ServerChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval agents --suite suite.json --dry-run
  kitbag eval agents --suite suite.json --model anthropic:claude-sonnet-4-5
  kitbag eval agents --suite suite.json --resume done.jsonl --html report.html \\
    --model openai:gpt-5 --model 'http://localhost:11434/v1#qwen3'
  kitbag eval agents --suite suite.json --key-env KEY --key-header api-key \\
    --model 'https://ME.openai.azure.com/openai/deployments/D?api-version=V#D'
  kitbag eval agents --suite suite.json --model openai:gpt-5 -- my-server --io
  kitbag eval agents --suite suite.json --model openai:m --surface all,search
  kitbag eval agents --suite evals/tasks/suite.json --all --model openai:m \\
    --config evals/tasks/kitbag.toml --surface search,adaptive,code,all

MODEL is given in one of four forms:
  anthropic:MODEL      Anthropic, with the key in ANTHROPIC_API_KEY
  openai:MODEL         OpenAI, with the key in OPENAI_API_KEY
  URL#MODEL            any service with the Chat Completions API: Ollama, vLLM,
                       OpenRouter, Azure, Bedrock, Gemini; the key is in the
                       variable that --key-env names
  anthropic:URL#MODEL  any service with Anthropic's Messages API

The exit code is 1 if a prompt was not answered; with --dry-run, if an expected
call, a scenario or the solution of a task fails.";

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let mut suite = Suite::load(&arguments.suite)?;
    arguments.surfaces.check_suite(&suite)?;
    let limit = arguments.limit.unwrap_or(usize::MAX);
    suite.prompts.truncate(limit);
    suite.tasks.truncate(limit);
    let baseline = count_baseline(&arguments.baseline)?;
    // Report missing options before a server is started.
    let candidates = match arguments.dry_run {
        true => Vec::new(),
        false => arguments.models.open_candidates(invocation.output)?,
    };
    let config = arguments.which.config(invocation)?;
    let folders = AttemptFolders::new(config.clone())?;
    let config = match suite.tasks.is_empty() {
        true => config,
        false => folders.config_for(&folders.take_folder()?),
    };
    let gateway = arguments.which.open_gateway(&config, invocation).await?;
    let eval = AgentEval {
        arguments,
        gateway: &gateway,
        environments: GatewayEnvironments {
            folders: &folders,
            gateway: &gateway,
        },
        candidates: &candidates,
        baseline,
        invocation,
    };
    let ended = Box::pin(eval.run_suite(suite)).await;
    gateway.close().await;
    ended
}

/// An eval without its suite.
struct AgentEval<'a> {
    arguments: &'a Arguments,
    gateway: &'a EvalGateway,
    environments: GatewayEnvironments<'a>,
    candidates: &'a [EvalCandidate],
    baseline: Option<usize>,
    invocation: &'a Invocation,
}

impl AgentEval<'_> {
    async fn run_suite(&self, suite: Suite) -> anyhow::Result<ExitCode> {
        let (arguments, output) = (self.arguments, self.invocation.output);
        if arguments.surfaces.has_search() && !arguments.dry_run {
            let indexing = self.gateway.index_tools();
            output.with_progress("Indexing tools", indexing).await?;
        }
        let endpoints = &arguments.models.endpoints_with_limits();
        let listed = arguments.surfaces.list_surfaces(self.gateway).await?;
        let surfaces = arguments.surfaces.shown_surfaces(&listed);
        warn_of_obstacles(endpoints, &surfaces, output);
        let resolved = self.gateway.tools.resolve_names(suite);
        let suite = &resolved
            .with_context(|| format!("{} does not match the server", arguments.suite.display()))?;
        if arguments.dry_run {
            let planning = EvalPlanner {
                suite,
                gateway: self.gateway,
                environments: &self.environments,
                surfaces: &surfaces,
                endpoints,
                runs: arguments.runs,
            };
            return planning.rehearse(output).await;
        }
        self.ask_models(suite, &surfaces).await
    }

    async fn ask_models(
        &self,
        suite: &Suite,
        surfaces: &[ShownSurface<'_>],
    ) -> anyhow::Result<ExitCode> {
        let parameters = self.arguments.models.parameters();
        let eval_run = EvalRun {
            suite,
            tools: &self.gateway.tools,
            surfaces,
            candidates: self.candidates,
            parameters: &parameters,
            runs: self.arguments.runs,
            concurrency: self.arguments.concurrency,
            count,
        };
        let resume = self.arguments.resume.as_deref();
        let journal = resume.map_or_else(|| Ok(EvalJournal::in_memory()), EvalJournal::open)?;
        let scenarios = play_scenarios(suite, &self.gateway.tool_caller()).await;
        let results = self.run_models(&eval_run, journal).await;
        let results = results.map_err(|stopped| explain_error(stopped, resume))?;
        let setting = ReportContext {
            at: jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string(),
            counted_with: TOKENIZER,
            baseline_tokens: self.baseline,
            scenarios,
        };
        self.report_results(&EvalReport::new(&eval_run, &results, setting), &results)?;
        Ok(to_exit_code(results.unanswered.is_empty()))
    }

    async fn run_models(
        &self,
        eval_run: &EvalRun<'_>,
        mut journal: EvalJournal,
    ) -> Result<EvalResults, EvalError> {
        let line = self.invocation.output.progress("Asking models");
        eval_run
            .run(
                &async |on: EvalSurface, tool: String, given: Map<String, Value>| {
                    self.gateway.call_on_surface(on, tool, given).await
                },
                &self.environments,
                &mut journal,
                |standing| line.update(&describe_progress(standing)),
            )
            .await
    }

    fn report_results(&self, report: &EvalReport, results: &EvalResults) -> anyhow::Result<()> {
        let output = self.invocation.output;
        if let Some(path) = &self.arguments.html {
            fs::write(path, render_page(report))
                .with_context(|| format!("cannot write {}", path.display()))?;
            output.note(&format!("Report written to {}", path.display()));
        }
        output.show(report, figures::format_report)?;
        for warning in figures::warnings(report) {
            output.warn(&warning);
        }
        for missing in &results.unanswered {
            let model = report.long_name(&missing.model, missing.surface);
            let (prompt, why) = (&missing.prompt, &missing.why);
            output.warn(&format!("{model}, {prompt}: no answer: {why}"));
        }
        Ok(())
    }
}

/// A vendor rejects the whole request if it names too many tools, so report before any request is
/// paid for which tools a model will not see.
fn warn_of_obstacles(endpoints: &[ModelEndpoint], surfaces: &[ShownSurface<'_>], output: Output) {
    let pairs = endpoints
        .iter()
        .flat_map(|endpoint| surfaces.iter().map(move |shown| (endpoint, shown)));
    for (endpoint, shown) in pairs {
        let ToolObstacles { most, unfit } = endpoint.find_obstacles(shown.tools);
        if let Some(most) = most {
            let (surface, tools) = (shown.surface, shown.tools.len());
            output.warn(&format!(
                "{endpoint} accepts at most {most} tools per request; on surface {surface} it sees the first {most} of {tools}"
            ));
        }
        for (tool, why) in unfit {
            output.warn(&format!("{endpoint} does not see `{tool}`: {why}"));
        }
    }
}

pub(super) const TOKENIZER: &str = "o200k";

fn describe_progress(standing: EvalProgress) -> String {
    let EvalProgress {
        total,
        done,
        unanswered,
        cost_usd,
    } = standing;
    let mut progress = format!("Asking models: {done} of {total} answered");
    if unanswered > 0 {
        progress += &format!(", {unanswered} failed");
    }
    // Without prices, any cost would be a guess.
    if let Some(cost) = cost_usd.filter(|cost| *cost > 0.0) {
        progress += &format!(", {cost:.4} USD so far");
    }
    progress
}

fn explain_error(stopped: EvalError, resume: Option<&Path>) -> anyhow::Error {
    let remedy = match &stopped {
        EvalError::Endpoint { source, .. } => source.remedy(),
        EvalError::Journal(_) => "choose another file with --resume",
    };
    let after = match resume {
        Some(path) => format!("; then the same command resumes from {}", path.display()),
        None => "; with --resume FILE, answers are stored for the next run".to_owned(),
    };
    with_advice(stopped, format!("{remedy}{after}"))
}

/// Counts the tokens of the JSON files.
fn count_baseline(paths: &[PathBuf]) -> anyhow::Result<Option<usize>> {
    let mut tokens = None;
    for path in paths {
        *tokens.get_or_insert(0) += tokens_below(path)?;
    }
    Ok(tokens)
}

fn tokens_below(path: &Path) -> anyhow::Result<usize> {
    if !path.is_dir() {
        let text = fs::read_to_string(path).with_context(|| unreadable_message(path))?;
        return Ok(count(&text));
    }
    let mut tokens = 0;
    for entry in fs::read_dir(path).with_context(|| unreadable_message(path))? {
        let path = entry.with_context(|| unreadable_message(path))?.path();
        if path.is_dir() || path.extension().is_some_and(|it| it == "json") {
            tokens += tokens_below(&path)?;
        }
    }
    Ok(tokens)
}

fn unreadable_message(path: &Path) -> String {
    format!("cannot read {}", path.display())
}
