//! A thousand clients ask for the errors of a project at the same moment: with intents, and by
//! listing every tool and calling the right one.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use super::answers::ServiceAnswers;
use super::dialogue::{CountedDialogue, Dialogue, ToolTurn, format_call};
use super::figures::{Goal, PartReport};
use super::tasks::definitions;
use crate::catalog::{self, Tool, Upstreams};
use crate::http::{Session, text};
use crate::peer::wait_until_embedded;
use crate::tokens::count;

pub(super) fn measure(repository: &Repository) -> anyhow::Result<PartReport> {
    let mut report = PartReport::new("a thousand clients that ask for errors at the same moment");
    for takes_ms in [0, SERVICE_MS] {
        let scene = ErrorTracker::open(repository, takes_ms)?;
        report.add(format!("{takes_ms} ms, tools"), scene.tools as f64, "");
        let mut crowds = Vec::new();
        for way in AskingWay::ALL {
            let label = format!("{takes_ms} ms, {}", way.name());
            eprintln!("{label}");
            let crowd = scene.ask_at_once(way)?;
            add(&mut report, &label, &crowd);
            crowds.push((label, crowd));
        }
        compare(&mut report, repository, &crowds)?;
    }
    Ok(report)
}

/// The network latency of a service.
const SERVICE_MS: u64 = 100;
const CLIENTS: usize = 1000;
/// So small that a thousand threads need no more memory than a desktop program.
const STACK: usize = 256 * 1024;
const REQUEST: &str = "List the errors of";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskingWay {
    /// The baseline: every definition is listed, then the tool is called.
    Plain,
    /// Each client asks for another project, so that no result is reused.
    Intent,
    /// All ask for the same project.
    SameIntent,
}

impl AskingWay {
    const ALL: [Self; 3] = [Self::Plain, Self::Intent, Self::SameIntent];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "list every tool, then call one",
            Self::Intent => "intents, each for another project",
            Self::SameIntent => "intents, all the same",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Plain => "/mcp/all",
            Self::Intent | Self::SameIntent => "/mcp/code",
        }
    }

    fn project(self, client: usize) -> String {
        match self {
            Self::Plain | Self::Intent => format!("project-{client}"),
            Self::SameIntent => "web".to_owned(),
        }
    }

    /// The tool and arguments that a model would use.
    fn call(self, client: usize) -> (&'static str, Value) {
        let project = self.project(client);
        match self {
            Self::Plain => {
                let arguments =
                    json!({ "query": "is:unresolved", "limit": 25, "project": project });
                ("sentry__list_issues", arguments)
            }
            Self::Intent | Self::SameIntent => {
                let arguments =
                    json!({ "intent": "list errors", "params": { "project": project } });
                ("run_intent", arguments)
            }
        }
    }
}

/// A server in the shape of Sentry among everyday tools, behind a gateway.
struct ErrorTracker {
    gateway: Gateway,
    tools: usize,
    _upstreams: Upstreams,
}

/// All clients of one way, at the same moment.
struct CrowdResult {
    wall: Duration,
    errors: usize,
    first_error: Option<String>,
    /// One successful client.
    example: Option<Exchange>,
}

/// The definitions that one client loaded, and its call.
struct Exchange {
    definitions: Vec<Value>,
    dialogue: Dialogue,
}

impl ErrorTracker {
    fn open(repository: &Repository, takes_ms: u64) -> anyhow::Result<Self> {
        let folder = repository.scratch("bench-code-intents")?;
        let evals = repository.evals();
        let mut tools = catalog::read(&[evals.join("p0")])?;
        tools.extend(sentry(repository, takes_ms)?);
        let upstreams = Upstreams::start(repository, &folder, &tools)?;
        // All clients may wait for the server; usually the gateway rejects so many.
        let patient = format!("[servers.sentry]\nmax_queued = {CLIENTS}\n");
        let servers = upstreams.sections().replace("[servers.sentry]\n", &patient);
        let sections = format!("[agents]\nenabled = false\n\n{servers}");
        let gateway =
            Gateway::start_with_sections(repository, Profile::Release, &folder, &sections)?;
        wait_until_embedded(&gateway.origin, tools.len())?;
        Ok(Self {
            gateway,
            tools: tools.len(),
            _upstreams: upstreams,
        })
    }

    /// Sessions are opened before the clock starts.
    fn ask_at_once(&self, way: AskingWay) -> anyhow::Result<CrowdResult> {
        let (origin, ready) = (self.gateway.origin.as_str(), Barrier::new(CLIENTS + 1));
        let ready = &ready;
        thread::scope(|scope| {
            let mut clients = Vec::new();
            for number in 0..CLIENTS {
                let builder = thread::Builder::new().stack_size(STACK);
                let client =
                    builder.spawn_scoped(scope, move || time_client(origin, way, number, ready));
                clients.push(client.context("starting a thread")?);
            }
            ready.wait();
            let ends = clients.into_iter().map(|client| match client.join() {
                Ok(end) => Ok(end),
                Err(_) => bail!("a client ended early"),
            });
            let ends: anyhow::Result<Vec<ClientEnd>> = ends.collect();
            Ok(CrowdResult::new(ends?))
        })
    }
}

/// The result and the time of one client. The clock of the thread that waits for all would start
/// late, because a thousand others wake with it.
struct ClientEnd {
    began: Instant,
    ended: Instant,
    exchange: anyhow::Result<Exchange>,
}

/// Runs one client. All of them wait until every session is open.
fn time_client(origin: &str, way: AskingWay, number: usize, ready: &Barrier) -> ClientEnd {
    let session = Session::open(origin, way.path());
    ready.wait();
    let began = Instant::now();
    let exchange = session.and_then(|session| ask(session, way, number));
    ClientEnd {
        began,
        ended: Instant::now(),
        exchange,
    }
}

fn ask(mut session: Session, way: AskingWay, number: usize) -> anyhow::Result<Exchange> {
    let definitions = session.tools()?;
    let (tool, arguments) = way.call(number);
    let result = session.call(tool, &arguments)?;
    let answer = text(&result)?;
    if result["isError"] == true || !answer.contains("TypeError") {
        bail!("{tool} answered {answer}");
    }
    Ok(Exchange {
        definitions,
        dialogue: Dialogue {
            request: format!("{REQUEST} {}.", way.project(number)),
            turns: vec![ToolTurn {
                call: format_call(tool, &arguments),
                answer,
            }],
            end: String::new(),
        },
    })
}

impl CrowdResult {
    fn new(ends: Vec<ClientEnd>) -> Self {
        let began = ends.iter().map(|end| end.began).min();
        let ended = ends.iter().map(|end| end.ended).max();
        let wall = ended.zip(began).map(|(ended, began)| ended - began);
        let mut result = Self {
            wall: wall.unwrap_or_default(),
            errors: 0,
            first_error: None,
            example: None,
        };
        for end in ends {
            match end.exchange {
                Ok(exchange) => result.example = Some(exchange),
                Err(error) => {
                    result.errors += 1;
                    result.first_error.get_or_insert(format!("{error:#}"));
                }
            }
        }
        result
    }
}

fn sentry(repository: &Repository, takes_ms: u64) -> anyhow::Result<Vec<Tool>> {
    let folder = repository.evals().join("code");
    let answers = ServiceAnswers::read(&folder.join("answers"))?;
    let mut lines = catalog::lines(&folder.join("sentry/tools.jsonl"))?;
    for line in &mut lines {
        let name = line["name"].as_str().unwrap_or_default();
        line["answer"] = json!(answers.get("sentry", name));
        line["takes_ms"] = json!(takes_ms);
    }
    Ok(lines.iter().map(Tool::from_line).collect())
}

fn add(report: &mut PartReport, label: &str, crowd: &CrowdResult) {
    if let Some(error) = &crowd.first_error {
        eprintln!("{label}: {error}");
    }
    let share = crowd.errors as f64 / CLIENTS as f64;
    report.add(format!("{label}: errors"), share * 100.0, "%");
    report.set_goal(Goal::AtMost(1.0));
    report.add(
        format!("{label}: until the last answer"),
        crowd.wall.as_secs_f64(),
        "s",
    );
}

fn compare(
    report: &mut PartReport,
    repository: &Repository,
    crowds: &[(String, CrowdResult)],
) -> anyhow::Result<()> {
    let mut spent = Vec::new();
    for (label, crowd) in crowds {
        let example = crowd.example.as_ref().context("every client failed")?;
        let tokens = tokens(repository, example)?;
        report.add(
            format!("{label}: tokens of a client"),
            tokens as f64,
            "tokens",
        );
        spent.push((label, crowd.wall, tokens));
    }
    let (_, wall, tokens) = spent[0];
    for (label, own_wall, own_tokens) in &spent[1..] {
        let saved = 100.0 * (1.0 - *own_tokens as f64 / tokens as f64);
        report.add(format!("{label}: fewer tokens"), saved, "%");
        report.set_goal(Goal::AtLeast(95.0));
        let faster = wall.as_secs_f64() / own_wall.as_secs_f64();
        report.add(format!("{label}: less wall time"), faster, "times");
        report.set_goal(Goal::AtLeast(10.0));
    }
    Ok(())
}

/// The tokens of a turn that calls and of one that answers.
fn tokens(repository: &Repository, exchange: &Exchange) -> anyhow::Result<usize> {
    let texts: Vec<String> = exchange.dialogue.texts().cloned().collect();
    let counted = CountedDialogue::new(&count(repository, &texts)?)?;
    let loaded = definitions(repository, &exchange.definitions)?;
    Ok(counted.one_by_one(loaded).total())
}
