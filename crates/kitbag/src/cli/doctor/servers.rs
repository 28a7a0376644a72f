//! Starts and lists the servers, and diagnoses those that fail.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use kitbag_config::{Config, OnDrift};
use kitbag_domain::text::strip_to_one_line;
use kitbag_domain::{ExposedName, MissingVariable, Reach, Remedy as _, ServerName};
use kitbag_upstream::{CallError, Cause, Diagnosis, ServerKind, ServerSpec};

use super::finding::{Area, Finding};
use super::store::StoreState;
use crate::cli::failure::suggest_name;
use crate::cli::output::{Output, describe_offers, format_duration, pluralize};
use kitbag_gateway::admin::app::{App, ServerReport};
use kitbag_gateway::admin::offers::ToolRow;
use kitbag_gateway::catalog::built_in_servers;

const AREA: Area = Area::Servers;
/// The number of servers to start at once. Launchers such as `npx` keep every core busy for seconds,
/// so starting all servers at once would make each look slow.
const MAX_STARTS: usize = 8;

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
            "import the servers of your clients with `kitbag import`, or run `kitbag servers add`";
        findings.push(
            AREA.note("none", "no servers configured")
                .with_advice(advice),
        );
    }
    let Some(lookup) = &state.lookup else {
        findings.push(AREA.note("all", "not started, because the store cannot be used"));
        return findings;
    };
    for spec in config.running_servers() {
        let missing = spec.missing_variables(lookup);
        findings.extend(
            missing
                .iter()
                .map(|source| missing_variable_finding(spec, source)),
        );
        if missing.is_empty() {
            able.push(spec);
        }
    }
    if offline {
        findings.extend(able.iter().map(|spec| check_offline(spec, config)));
    } else if !able.is_empty() {
        findings.extend(list_servers(config, &able, whole, output).await);
    }
    findings.sort_by(|a, b| a.subject.cmp(&b.subject));
    findings
}

fn missing_variable_finding(spec: &ServerSpec, missing: &MissingVariable) -> Finding {
    let what = format!("not started: {missing}");
    let finding = AREA.problem(spec.name.as_str(), what);
    Finding {
        cause: Some(Cause::MissingVariable {
            variable: missing.variable.clone(),
        }),
        ..finding.with_advice(missing.remedy().unwrap_or_default())
    }
}

/// Checks the server without starting it.
fn check_offline(spec: &ServerSpec, config: &Config) -> Finding {
    let subject = spec.name.as_str();
    match &spec.kind {
        ServerKind::External(Reach::Command(launch)) => match Cause::before_launch(launch) {
            Some(cause) => with_diagnosis(
                AREA.problem(subject, "cannot be launched"),
                &Diagnosis::new(cause, spec),
            ),
            None => AREA.note(subject, "not started; its program exists"),
        },
        ServerKind::External(Reach::Remote(_)) => AREA.note(subject, "not contacted"),
        ServerKind::BuiltIn { .. } => {
            let directory = config
                .agents
                .as_ref()
                .and_then(|agents| agents.directory.as_deref());
            match built_in_servers::open_library(directory) {
                Ok(library) => AREA.note(
                    subject,
                    format!(
                        "is built in; knows {}",
                        pluralize(library.agents.len(), "agent")
                    ),
                ),
                Err(error) => AREA.error(subject, error),
            }
        }
    }
}

async fn list_servers(
    config: &Config,
    able: &[&ServerSpec],
    whole: bool,
    output: Output,
) -> Vec<Finding> {
    let app = match App::open(config).await {
        Ok(app) => app,
        Err(error) => return vec![AREA.error("all", error)],
    };
    let progress = output.progress(&format!("Asking {}", pluralize(able.len(), "server")));
    let mut waiting: BTreeSet<&ServerName> = able.iter().map(|spec| &spec.name).collect();
    let mut reports = futures::stream::iter(
        able.iter()
            .map(|spec| async { (*spec, app.server_report(&spec.name, true).await) }),
    )
    .buffer_unordered(MAX_STARTS);
    let (mut findings, mut listed) = (Vec::new(), BTreeSet::new());
    while let Some((spec, outcome)) = reports.next().await {
        waiting.remove(&spec.name);
        if !waiting.is_empty() {
            let names: Vec<&str> = waiting.iter().map(|name| name.as_str()).collect();
            progress.update(&format!("Waiting for {}", names.join(", ")));
        }
        match outcome {
            Ok(report) => {
                listed.insert(spec.name.clone());
                findings.extend(check_report(spec, &report));
            }
            Err(error) => findings.push(failure_finding(spec, &error)),
        }
    }
    drop(reports);
    findings.extend(find_drift(config, &app));
    if whole {
        findings.extend(unknown_tools(config, &listed, &app));
    }
    app.close().await;
    findings
}

fn check_report(spec: &ServerSpec, report: &ServerReport) -> Vec<Finding> {
    let subject = spec.name.as_str();
    let offer = describe_offers(report.tools, report.prompts, report.resources);
    let limit = spec.limits.start_timeout;
    let mut findings = vec![match report.tools + report.prompts + report.resources {
        0 if report.problems.is_empty() => AREA
            .warning(subject, "starts but offers nothing")
            .with_advice(log_advice(spec)),
        0 => AREA.problem(subject, "starts but cannot be listed"),
        _ => AREA.ok(
            subject,
            format!("offers {offer}, after {}", format_duration(report.took)),
        ),
    }];
    findings.extend(report.problems.iter().map(|problem| {
        let finding = AREA.warning(subject, format!("listing problem: {problem}"));
        match Diagnosis::from_output(problem, spec) {
            Some(diagnosis) => with_diagnosis(finding, &diagnosis),
            None => finding.with_advice(
                "no action needed: everything else it offers works; report this to its authors",
            ),
        }
    }));
    findings.extend(check_annotations(subject, report));
    if report.took > limit / 2 {
        let (took, limit) = (format_duration(report.took), format_duration(limit));
        let what = format!("took {took} to start and list; the limit is {limit}");
        let advice = format!("raise `start_timeout` of [servers.{subject}]");
        findings.push(AREA.warning(subject, what).with_advice(advice));
    }
    findings
}

/// Programs may call a tool without a read-only hint only if its name shows that it reads.
fn check_annotations(subject: &str, report: &ServerReport) -> Option<Finding> {
    let read = report.taken_to_read;
    (report.unannotated > read).then(|| {
        let what = format!(
            "{} of {} have no read-only hint; {read} of them only read, judging by their names",
            report.unannotated,
            pluralize(report.tools, "tool"),
        );
        let advice = "programs need permission to call the others; set `write_class` in [tools] to change that";
        AREA.note(subject, what).with_advice(advice)
    })
}

fn failure_finding(spec: &ServerSpec, error: &CallError) -> Finding {
    let mut finding = AREA.error(spec.name.as_str(), error.clone());
    // The subject already names the server.
    if let Some(what) = finding.what.strip_prefix(&format!("`{}` ", spec.name)) {
        finding.what = what.to_owned();
    }
    let advice = finding.advice.clone();
    match error.cause() {
        Some(cause) => {
            let remedy = advice.unwrap_or_else(|| cause.advice_for(spec));
            with_diagnosis(finding, &Diagnosis { cause, remedy })
        }
        None => finding.with_advice(advice.unwrap_or_else(|| log_advice(spec))),
    }
}

fn log_advice(spec: &ServerSpec) -> String {
    format!("see its log: `kitbag logs {}`", spec.name)
}

fn with_diagnosis(finding: Finding, diagnosis: &Diagnosis) -> Finding {
    let Diagnosis { cause, remedy } = diagnosis;
    Finding {
        cause: Some(cause.clone()),
        ..finding.with_reason(cause.to_string()).with_advice(remedy)
    }
}

/// Returns a finding for each server with definitions that differ from the approved ones.
fn find_drift(config: &Config, app: &App) -> Vec<Finding> {
    let drifted = app.drifted_definitions().into_iter();
    drifted
        .map(|(server, drifted)| {
            let definitions = pluralize(drifted.len(), "definition");
            let mut names: Vec<_> = drifted
                .iter()
                .map(|it| format!("{} ({})", strip_to_one_line(&it.name), it.drift.as_str()))
                .collect();
            let more = names.len().saturating_sub(MAX_NAMED);
            names.truncate(MAX_NAMED);
            if more > 0 {
                names.push(format!("{more} more"));
            }
            let consequence = match config.lock.on_drift {
                OnDrift::Hold => " and withheld",
                OnDrift::Report => "",
            };
            let what = format!(
                "{definitions} changed since approval{consequence}: {}",
                names.join(", ")
            );
            let advice = format!(
                "review with `kitbag lock diff {server}`, then `kitbag lock approve {server}`"
            );
            AREA.warning(server.as_str(), what).with_advice(advice)
        })
        .collect()
}

/// An update of a server may change all its definitions.
const MAX_NAMED: usize = 5;

/// Returns a finding for each tool in the configuration that no server has.
fn unknown_tools(config: &Config, listed: &BTreeSet<ServerName>, app: &App) -> Vec<Finding> {
    let tools = app.tool_rows();
    let unknown = config
        .tools
        .keys()
        .filter(|name| is_checkable(name, config, listed) && !app.is_known_tool(name));
    let unknown = unknown.map(|name| unknown_tool_finding(name, &tools));
    let problems = app.override_problems().into_iter();
    let problems = problems.map(|(tool, problem)| {
        let advice = format!("see its parameters with `kitbag tools show {tool}`");
        Area::Configuration
            .warning(format!("[tools.\"{tool}\"]"), problem)
            .with_advice(advice)
    });
    unknown.chain(problems).collect()
}

/// False if the tool's server could not be listed, since it may have the tool.
fn is_checkable(name: &str, config: &Config, listed: &BTreeSet<ServerName>) -> bool {
    match ExposedName::server_in(name) {
        Some(server) => config.find_server(&server).is_none() || listed.contains(&server),
        None => true,
    }
}

fn unknown_tool_finding(name: &str, tools: &[ToolRow]) -> Finding {
    let known = tools.iter().map(|tool| tool.name.as_str());
    let otherwise = "remove it, or look up the name with `kitbag tools`";
    let advice = suggest_name(name, known, otherwise);
    let subject = format!("[tools.\"{name}\"]");
    Area::Configuration
        .warning(subject, "no server has this tool")
        .with_advice(advice)
}
