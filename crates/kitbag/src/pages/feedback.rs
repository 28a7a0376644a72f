//! The feedback: what agents reported as missing or broken, and how it was resolved.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use http::StatusCode;
use kitbag_domain::Action;
use kitbag_platform::feedback::FeedbackKind;
use kitbag_platform::feedback::reports::parse_query;
use kitbag_store::{FeedbackQuery, StoredFeedback};
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::elements::{
    Tone, block_text, code_text, empty_state, hidden_csrf, link, live, pager, pill, table, text,
    time,
};
use super::layout::{Section, error_page, page};
use super::notice::Notice;
use super::visitor::Visitor;
use crate::cli::feedback::{find_report, resolve_report};

const PATH: &str = "/ui/feedback";
const ROWS: u32 = 50;
const HEADS: [&str; 6] = ["#Report", "When", "Kind", "Tool", "Summary", "Who"];

type QueryParameters = Vec<(String, String)>;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show_list))
        .route("/ui/feedback/{id}", get(show_report))
        .route("/ui/feedback/{id}/resolve", post(resolve))
}

/// The state, the kind, the tenant and the cursor of a list.
struct ReportFilter(QueryParameters);

async fn show_list(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(parameters): Query<QueryParameters>,
) -> Response {
    let filter = ReportFilter::new(parameters);
    let (status, list) = match filter.to_query() {
        Ok(query) => match pages.gateway().services.store.list_feedback(&query).await {
            Ok(found) => (StatusCode::OK, render_list(&filter, &found)),
            Err(error) => failed(StatusCode::SERVICE_UNAVAILABLE, &error.into()),
        },
        Err(reason) => failed(StatusCode::BAD_REQUEST, &anyhow::Error::msg(reason)),
    };
    let body = html! { (filter.render()) (list) };
    (status, page(&visitor, Section::Feedback, "Feedback", &body)).into_response()
}

fn failed(status: StatusCode, error: &anyhow::Error) -> (StatusCode, Markup) {
    (status, Notice::failed(error).render())
}

fn render_list(filter: &ReportFilter, found: &[StoredFeedback]) -> Markup {
    let list = html! {
        @if found.is_empty() { (nothing(filter)) }
        @else { (table("Reports, newest first", &HEADS, &html! { @for report in found { (row(report)) } })) }
    };
    let next = found.last().filter(|_| found.len() == ROWS as usize);
    let next = next.map(|last| filter.link_to_page(&last.id.to_string()));
    let is_later = !filter.value("cursor").is_empty();
    let first = is_later.then(|| filter.link_to_page(""));
    html! {
        // An agent reports with a call.
        @if is_later { (list) } @else { (live("reports", "calls", &list)) }
        (pager(first.as_deref(), next.as_deref()))
    }
}

fn nothing(filter: &ReportFilter) -> Markup {
    if filter.is_default() {
        let next = html! { "Agents report what is missing or broken with the tool "
        code { "submit_feedback" } ". " a href="/ui/feedback?status=all" { "Show resolved reports" } "." };
        empty_state("No open reports", &next)
    } else {
        empty_state(
            "No matching reports",
            &html! { a href=(PATH) { "Show open reports" } },
        )
    }
}

fn row(stored: &StoredFeedback) -> Markup {
    let report = &stored.feedback;
    html! {
        tr {
            td.number { (stored.id) }
            td { (time(report.at)) }
            td { (kind_words(&report.kind)) " " (severity(report.severity.as_deref())) " " (state(stored)) }
            td { @if let Some(tool) = &report.tool { (code_text(tool)) } }
            th scope="row" { a href=(link_to_report(stored.id)) { (text(&report.summary)) } }
            td.wide {
                (text(report.tenant.as_str())) " "
                @if let Some(client) = &report.client { small { (text(client)) } }
            }
        }
    }
}

fn link_to_report(id: i64) -> String {
    format!("{PATH}/{id}")
}

fn kind_words(kind: &str) -> Markup {
    text(&kind.replace('_', " "))
}

fn severity(severity: Option<&str>) -> Markup {
    let tone = match severity {
        Some("critical" | "blocker" | "high") => Tone::Bad,
        Some("medium") => Tone::Warn,
        _ => Tone::Neutral,
    };
    html! { @if let Some(severity) = severity { (pill(tone, text(severity))) } }
}

fn state(stored: &StoredFeedback) -> Markup {
    html! { @if stored.resolved.is_some() { (pill(Tone::Good, "resolved")) } }
}

async fn show_report(
    State(pages): State<Pages>,
    visitor: Visitor,
    Path(id): Path<i64>,
) -> Response {
    match find_report(&pages.gateway().services.store, id).await {
        Ok(stored) => {
            let body = render_report(&visitor, &stored);
            page(&visitor, Section::Feedback, &format!("Report {id}"), &body).into_response()
        }
        Err(error) => error_page(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

fn render_report(visitor: &Visitor, stored: &StoredFeedback) -> Markup {
    let report = &stored.feedback;
    html! {
        p { strong { (text(&report.summary)) } }
        dl.facts {
            dt { "Kind" } dd { (kind_words(&report.kind)) " " (severity(report.severity.as_deref())) }
            dt { "Reported" } dd { (time(report.at)) }
            @if let Some(tool) = &report.tool { dt { "Tool" } dd { (code_text(tool)) } }
            dt { "Tenant" } dd { (text(report.tenant.as_str())) }
            @if let Some(key) = &report.key { dt { "Key" } dd { (text(&key.0)) } }
            @if let Some(client) = &report.client { dt { "Client" } dd { (text(client)) } }
            @if let Some(resolved) = &stored.resolved {
                dt { "Resolved" } dd { (time(resolved.at)) }
                @if let Some(note) = &resolved.note { dt { "Note" } dd { (text(note)) } }
            }
        }
        @if let Some(details) = &report.details { h2 { "Details" } (block_text(details)) }
        @if stored.resolved.is_none() && visitor.is_admin() { (resolve_form(visitor, stored.id)) }
        p { a href=(PATH) { "All reports" } }
    }
}

fn resolve_form(visitor: &Visitor, id: i64) -> Markup {
    html! {
        h2 { "Resolve" }
        form.stack method="post" action={ (link_to_report(id)) "/resolve" } {
            (hidden_csrf(visitor))
            label { "How it was resolved (optional)" input type="text" name="note" maxlength="1000"; }
            div { button.primary { "Mark as resolved" } }
        }
    }
}

#[derive(Deserialize)]
struct Resolution {
    #[serde(default)]
    note: String,
}

async fn resolve(
    State(pages): State<Pages>,
    visitor: Visitor,
    Path(id): Path<i64>,
    Form(Resolution { note }): Form<Resolution>,
) -> Response {
    let note = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
    let event = |subject: &str| visitor.change_event(Action::FeedbackResolved, subject, None);
    let resolved = resolve_report(&pages.gateway().services.store, id, note, event).await;
    let outcome = resolved.map(|is_new| match is_new {
        true => format!("Resolved report {id}."),
        false => format!("Report {id} was resolved before."),
    });
    visitor.redirect(&link_to_report(id), outcome)
}

impl ReportFilter {
    fn new(parameters: QueryParameters) -> Self {
        let given = parameters
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty());
        Self(given.collect())
    }

    /// As for the verb, open reports are the default and `all` are all.
    fn to_query(&self) -> Result<FeedbackQuery, String> {
        let mut parameters = self.0.clone();
        parameters.retain(|(name, value)| name != "status" || value != "all");
        if self.value("status").is_empty() {
            parameters.push(("status".to_owned(), "open".to_owned()));
        }
        let query = parse_query(&parameters)?;
        Ok(FeedbackQuery {
            limit: ROWS,
            ..query
        })
    }

    fn is_default(&self) -> bool {
        let mut given = self.0.iter();
        given.all(|(name, value)| name == "status" && value == "open")
    }

    fn value(&self, name: &str) -> &str {
        let named = self.0.iter().find(|(given, _)| given == name);
        named.map_or("", |(_, value)| value)
    }

    fn link_to_page(&self, cursor: &str) -> String {
        let [status, kind, tenant] = ["status", "kind", "tenant"].map(|it| (it, self.value(it)));
        link(PATH, &[status, kind, tenant, ("cursor", cursor)])
    }

    fn render(&self) -> Markup {
        let (status, kind) = (self.value("status"), self.value("kind"));
        html! {
            form.filter data-filter method="get" action=(PATH) {
                label { "State"
                    select name="status" {
                        @for (value, label) in [("open", "open"), ("resolved", "resolved"), ("all", "all")] {
                            option value=(value) selected[value == status] { (label) }
                        }
                    }
                }
                label { "Kind"
                    select name="kind" {
                        option value="" { "Any" }
                        @for known in FeedbackKind::ALL {
                            option value=(known.as_str()) selected[known.as_str() == kind] { (kind_words(known.as_str())) }
                        }
                    }
                }
                label { "Tenant" input type="text" name="tenant" value=(self.value("tenant")) autocomplete="off"; }
                button.primary { "Filter" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> FeedbackQuery {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ReportFilter::new(pairs.collect()).to_query().unwrap()
    }

    #[test]
    fn open_reports_are_shown_unless_asked_otherwise() {
        assert_eq!(query(&[("kind", "")]).open, Some(true));
        assert_eq!(query(&[("status", "resolved")]).open, Some(false));
        let all = query(&[("status", "all"), ("cursor", "7")]);
        assert_eq!((all.open, all.before_id, all.limit), (None, Some(7), ROWS));
    }
}
