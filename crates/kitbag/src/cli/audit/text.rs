//! Formats audit rows as a table or as lines.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::tz::TimeZone;
use kitbag_domain::{Outcome, Timestamp};
use kitbag_store::{AuditRow, AuditRowContent};

use crate::cli::output::{format_table, strip_controls, to_one_line};

pub(super) fn format_table_of(rows: &[AuditRow]) -> String {
    format_table(
        ["WHEN", "WHAT", "OUTCOME", "TOOK", "TOKENS", "WHO", "FROM"],
        rows.iter().map(cells),
    )
}

fn cells(row: &AuditRow) -> [String; 7] {
    [
        format_time(row.at),
        describe_subject(row),
        describe_outcome(row),
        format_latency(row),
        row.cost.tokens.map(|it| it.to_string()).unwrap_or_default(),
        describe_actor(row),
        row.address.clone().unwrap_or_default(),
    ]
}

pub(super) fn format_line(row: &AuditRow) -> String {
    const DIM: Style = Style::new().dimmed();
    let style = match row.outcome {
        Outcome::Ok | Outcome::InputRequired | Outcome::Unfinished | Outcome::Cancelled => {
            Style::new()
        }
        _ => AnsiColor::Red.on_default(),
    };
    let from = row
        .address
        .as_deref()
        .map(|address| format!(" from {address}"))
        .unwrap_or_default();
    let took = Some(format_latency(row))
        .filter(|it| !it.is_empty())
        .map(|it| format!(" in {it}"))
        .unwrap_or_default();
    let (when, what, how, who) = (
        format_time(row.at),
        to_one_line(&strip_controls(&describe_subject(row))),
        describe_outcome(row),
        to_one_line(&strip_controls(&describe_actor(row))),
    );
    format!("{DIM}{when}{DIM:#} {what} {style}{how}{style:#}{took} {DIM}{who}{from}{DIM:#}")
}

pub(super) fn format_time(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    moment
        .to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}

/// Formats the called capability as clients see it, or the change and its subject.
fn describe_subject(row: &AuditRow) -> String {
    match &row.content {
        AuditRowContent::Call { capability, .. } => {
            format!("{}/{}", capability.server, capability.name)
        }
        AuditRowContent::Inquiry {
            kind,
            subject,
            detail,
            ..
        } => describe_event(kind.as_str(), subject, detail.as_deref()),
        AuditRowContent::Event {
            action,
            subject,
            detail,
        } => describe_event(action.as_str(), subject, detail.as_deref()),
    }
}

fn describe_event(what: &str, subject: &str, detail: Option<&str>) -> String {
    let detail = detail.map(|it| format!(" ({it})")).unwrap_or_default();
    format!("{}: {subject}{detail}", to_words(what))
}

fn describe_outcome(row: &AuditRow) -> String {
    to_words(row.outcome.as_str())
}

fn format_latency(row: &AuditRow) -> String {
    match &row.content {
        AuditRowContent::Call { latency, .. } | AuditRowContent::Inquiry { latency, .. }
            if row.outcome != Outcome::Unfinished =>
        {
            format_seconds(*latency)
        }
        _ => String::new(),
    }
}

/// Formats the tenant with its key, the user of this machine, and the program.
fn describe_actor(row: &AuditRow) -> String {
    let key = row
        .key
        .as_ref()
        .map(|key| format!(" key {key}"))
        .unwrap_or_default();
    let tenant = row.tenant.as_ref().map(|tenant| format!("{tenant}{key}"));
    let client = row.client.as_deref().map(|client| format!("({client})"));
    let parts = [row.actor.clone(), tenant, client];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn to_words(name: &str) -> String {
    name.replace('_', " ")
}

/// `0.4 ms`, `12 ms`, `3.2 s`.
pub(super) fn format_seconds(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match seconds {
        ..0.010 => format!("{:.1} ms", seconds * 1e3),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}
