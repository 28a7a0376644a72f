//! Starts servers for real, lists them, and tells why some cannot be used.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use kitbag_config::{Config, OnDrift, nearest};
use kitbag_domain::text::visible_line;
use kitbag_domain::{ExposedName, MissingVariable, Reach, Remedy as _, ServerName};
use kitbag_upstream::{CallError, Cause, Diagnosis, ServerKind, ServerSpec};

use super::finding::{Area, Finding};
use super::store::StoreState;
use crate::cli::output::{Output, count, duration, offers};
use crate::cli::progress::ProgressDisplay;
use kitbag_gateway::admin::app::{App, ServerReport};
use kitbag_gateway::admin::offers::ToolRow;
use kitbag_gateway::catalog::inside;

const AREA: Area = Area::Servers;
/// The number of servers started at once. Launchers fill every core for seconds; all at once, each
/// would look slow.
const AT_ONCE: usize = 8;

pub(super) async fn check(
    config: &Config,
    state: &StoreState,
    offline: bool,
    whole: bool,
    output: Output,
) -> Vec<Finding> {
    let (mut findings, mut able) = (Vec::new(), Vec::new());
    if whole && config.servers.is_empty() {
        let advice =
            "take over what your clients have with `kitbag import`, or run `kitbag servers add`";
        findings.push(AREA.note("none", "no server is configured").mend(advice));
    }
    let Some(lookup) = &state.lookup else {
        findings.push(AREA.note("all", "were not started, because the store cannot be used"));
        return findings;
    };
    for spec in config.running_servers() {
        let missing = spec.missing_variables(lookup);
        findings.extend(missing.iter().map(|source| lacks(spec, source)));
        if missing.is_empty() {
            able.push(spec);
        }
    }
    if offline {
        findings.extend(able.iter().map(|spec| on_this_machine(spec, config)));
    } else if !able.is_empty() {
        findings.extend(ask(config, &able, whole, output).await);
    }
    findings.sort_by(|a, b| a.subject.cmp(&b.subject));
    findings
}

fn lacks(spec: &ServerSpec, missing: &MissingVariable) -> Finding {
    let what = format!("was not started: {missing}");
    let finding = AREA.problem(spec.name.as_str(), what);
    Finding {
        cause: Some(Cause::MissingVariable {
            variable: missing.variable.clone(),
        }),
        ..finding.mend(missing.remedy().unwrap_or_default())
    }
}

/// Checks the server without starting it.
fn on_this_machine(spec: &ServerSpec, config: &Config) -> Finding {
    let subject = spec.name.as_str();
    match &spec.kind {
        ServerKind::External(Reach::Command(launch)) => match Cause::before_launch(launch) {
            Some(cause) => diagnosed(
                AREA.problem(subject, "cannot be launched"),
                &Diagnosis::of(cause, spec),
            ),
            None => AREA.note(subject, "was not started; its program is there"),
        },
        ServerKind::External(Reach::Remote(_)) => AREA.note(subject, "was not reached"),
        ServerKind::BuiltIn { .. } => {
            let directory = config
                .agents
                .as_ref()
                .and_then(|agents| agents.directory.as_deref());
            match inside::library(directory) {
                Ok(library) => AREA.note(
                    subject,
                    format!(
                        "is built in; knows {}",
                        count(library.agents.len(), "agent")
                    ),
                ),
                Err(error) => AREA.error(subject, error),
            }
        }
    }
}

async fn ask(config: &Config, able: &[&ServerSpec], whole: bool, output: Output) -> Vec<Finding> {
    let app = match App::open(config).await {
        Ok(app) => app,
        Err(error) => return vec![AREA.error("all", error)],
    };
    let progress = output.progress(&format!("Asking {}", count(able.len(), "server")));
    let mut waiting: BTreeSet<&ServerName> = able.iter().map(|spec| &spec.name).collect();
    let mut asked = futures::stream::iter(
        able.iter()
            .map(|spec| async { (*spec, app.listing(&spec.name, true).await) }),
    )
    .buffer_unordered(AT_ONCE);
    let (mut findings, mut listed) = (Vec::new(), BTreeSet::new());
    while let Some((spec, outcome)) = asked.next().await {
        waiting.remove(&spec.name);
        if !waiting.is_empty() {
            still_waiting(&progress, &waiting);
        }
        match outcome {
            Ok(report) => {
                listed.insert(spec.name.clone());
                findings.extend(works(spec, &report));
            }
            Err(error) => findings.push(fails(spec, &error)),
        }
    }
    drop(asked);
    findings.extend(drift(config, &app));
    if whole {
        findings.extend(unknown_tools(config, &listed, &app));
    }
    app.close().await;
    findings
}

fn still_waiting(progress: &ProgressDisplay, waiting: &BTreeSet<&ServerName>) {
    let names: Vec<&str> = waiting.iter().map(|name| name.as_str()).collect();
    progress.update(&format!("Waiting for {}", names.join(", ")));
}

fn works(spec: &ServerSpec, report: &ServerReport) -> Vec<Finding> {
    let subject = spec.name.as_str();
    let offer = offers(report.tools, report.prompts, report.resources);
    let limit = spec.limits.start_timeout;
    let mut findings = vec![match report.tools + report.prompts + report.resources {
        0 if report.problems.is_empty() => AREA
            .warning(subject, "starts, and offers nothing")
            .mend(look_into_log(spec)),
        0 => AREA.problem(subject, "starts, and gives none of its lists"),
        _ => AREA.ok(
            subject,
            format!("offers {offer}, after {}", duration(report.took)),
        ),
    }];
    findings.extend(report.problems.iter().map(|problem| {
        let finding = AREA.warning(
            subject,
            format!("something is wrong with what it lists: {problem}"),
        );
        match Diagnosis::from_words(problem, spec) {
            Some(diagnosis) => diagnosed(finding, &diagnosis),
            None => finding
                .mend("nothing has to be done: the rest of what it offers works; tell its makers"),
        }
    }));
    findings.extend(unannotated(subject, report));
    if report.took > limit / 2 {
        let (took, limit) = (duration(report.took), duration(limit));
        let what = format!("took {took} to start and list, and is given up after {limit}");
        let advice = format!("raise `start_timeout` of [servers.{subject}]");
        findings.push(AREA.warning(subject, what).mend(advice));
    }
    findings
}

/// Notes tools without a read-only hint: programs may call such a tool only if its name shows that it reads.
fn unannotated(subject: &str, report: &ServerReport) -> Option<Finding> {
    let read = report.taken_to_read;
    (report.unannotated > read).then(|| {
        let what = format!(
            "{} of {} have no read-only hint; {read} of these are taken to read, by their names",
            report.unannotated,
            count(report.tools, "tool"),
        );
        let advice = "programs ask before they call the others, unless `write_class` in [tools] says what they do";
        AREA.note(subject, what).mend(advice)
    })
}

fn fails(spec: &ServerSpec, error: &CallError) -> Finding {
    let mut finding = AREA.error(spec.name.as_str(), error.clone());
    // The subject already names the server.
    if let Some(what) = finding.what.strip_prefix(&format!("`{}` ", spec.name)) {
        finding.what = what.to_owned();
    }
    let advice = finding.advice.clone();
    match error.cause() {
        Some(cause) => {
            let remedy = advice.unwrap_or_else(|| cause.advice_for(spec));
            diagnosed(finding, &Diagnosis { cause, remedy })
        }
        None => finding.mend(advice.unwrap_or_else(|| look_into_log(spec))),
    }
}

fn look_into_log(spec: &ServerSpec) -> String {
    format!("see what it says: `kitbag logs {}`", spec.name)
}

fn diagnosed(finding: Finding, diagnosis: &Diagnosis) -> Finding {
    let Diagnosis { cause, remedy } = diagnosis;
    Finding {
        cause: Some(cause.clone()),
        ..finding.because(cause.to_string()).mend(remedy)
    }
}

/// Returns a finding for each server that lists something else than was approved.
fn drift(config: &Config, app: &App) -> Vec<Finding> {
    let drifted = app.drifted().into_iter();
    drifted
        .map(|(server, drifted)| {
            let definitions = count(drifted.len(), "definition");
            let mut names: Vec<_> = drifted
                .iter()
                .map(|it| format!("{} ({})", visible_line(&it.name), it.drift.as_str()))
                .collect();
            let more = names.len().saturating_sub(MOST_NAMED);
            names.truncate(MOST_NAMED);
            if more > 0 {
                names.push(format!("{more} more"));
            }
            let follows = match config.lock.on_drift {
                OnDrift::Hold => " and held back",
                OnDrift::Report => "",
            };
            let what = format!(
                "{definitions} not as approved{follows}: {}",
                names.join(", ")
            );
            let advice = format!(
                "look with `kitbag lock diff {server}`, then `kitbag lock approve {server}`"
            );
            AREA.warning(server.as_str(), what).mend(advice)
        })
        .collect()
}

/// Definitions of one server that are named; of an updated server all may have changed.
const MOST_NAMED: usize = 5;

/// Returns a finding for each tool that the configuration names and no server has.
fn unknown_tools(config: &Config, listed: &BTreeSet<ServerName>, app: &App) -> Vec<Finding> {
    let tools = app.tools();
    let unknown = config
        .tools
        .keys()
        .filter(|name| could_be_known(name, config, listed) && !app.knows(name));
    let unknown = unknown.map(|name| unknown_tool(name, &tools));
    unknown
        .chain(app.misfits().into_iter().map(misfit))
        .collect()
}

fn misfit((tool, problem): (String, String)) -> Finding {
    Area::Configuration
        .warning(format!("[tools.\"{tool}\"]"), problem)
        .mend(format!("see what it takes with `kitbag describe {tool}`"))
}

/// True unless the server of the tool gave no list: then it may well have the tool.
fn could_be_known(name: &str, config: &Config, listed: &BTreeSet<ServerName>) -> bool {
    match ExposedName::server_in(name) {
        Some(server) => config.find_server(&server).is_none() || listed.contains(&server),
        None => true,
    }
}

fn unknown_tool(name: &str, tools: &[ToolRow]) -> Finding {
    let advice = match nearest(name, tools.iter().map(|tool| tool.name.as_str())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "remove it, or find the right name with `kitbag tools`".to_owned(),
    };
    let subject = format!("[tools.\"{name}\"]");
    Area::Configuration
        .warning(subject, "no server has such a tool")
        .mend(advice)
}
