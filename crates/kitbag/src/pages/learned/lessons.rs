//! Lessons in tables: by tool, or one by one.

use kitbag_domain::Tenant;
use kitbag_relevance::learning::Signal;
use kitbag_store::{LessonFilter, LessonInfo};
use maud::{Markup, html};
use serde::Deserialize;

use super::PATH;
use crate::cli::learned::text::{ToolLessons, group_by_tool};
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, action_button, code_text, confirmed_button, empty_state, link, live, number, pager, pill,
    table, text, time,
};
use crate::pages::tools::tool_path;
use crate::pages::visitor::Visitor;

const ROWS: usize = 50;
/// The lessons on the page of a tool.
const FEW: usize = 10;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LessonQuery {
    tool: String,
    tenant: String,
    signal: String,
    words: String,
    /// `lessons` shows single lessons without another filter.
    list: String,
    older_than: Option<i64>,
    page: usize,
}

impl LessonQuery {
    /// True if single lessons are shown.
    pub(super) fn is_about_lessons(&self) -> bool {
        let filters = [&self.tool, &self.signal, &self.words, &self.list];
        filters.iter().any(|it| !it.is_empty())
    }

    fn filter(&self) -> anyhow::Result<LessonFilter> {
        let given = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        Ok(LessonFilter {
            tenant: given(&self.tenant).map(|it| it.parse()).transpose()?,
            tool: given(&self.tool),
            signal: given(&self.signal),
            words: given(&self.words),
            ..LessonFilter::default()
        })
    }

    fn link(&self, older_than: Option<i64>, page: usize) -> String {
        let older_than = older_than.map(|id| id.to_string()).unwrap_or_default();
        let page = if page == 0 {
            String::new()
        } else {
            page.to_string()
        };
        let fields = [
            ("tool", self.tool.as_str()),
            ("tenant", &self.tenant),
            ("signal", &self.signal),
            ("words", &self.words),
            ("list", &self.list),
            ("older_than", &older_than),
            ("page", &page),
        ];
        link(PATH, &fields)
    }
}

/// Returns the path of all lessons about a tool.
pub(in crate::pages) fn lessons_path(tool: &str) -> String {
    link(PATH, &[("tool", tool)])
}

pub(super) async fn section(
    pages: &Pages,
    visitor: &Visitor,
    query: &LessonQuery,
) -> anyhow::Result<Markup> {
    let shown = match query.is_about_lessons() {
        true => single_lessons(pages, visitor, query).await?,
        false => by_tool(pages, visitor, query).await?,
    };
    Ok(html! {
        section aria-labelledby="lessons-title" {
            h2 #lessons-title { @if query.is_about_lessons() { "Lessons" } @else { "Lessons by tool" } }
            (filter_form(query))
            (live("lessons", "learned", &shown))
        }
    })
}

fn filter_form(query: &LessonQuery) -> Markup {
    html! {
        form.filter method="get" action=(PATH) data-filter {
            label.wide { "Tool" input type="search" name="tool" value=(query.tool); }
            label { "Request contains" input name="words" value=(query.words); }
            label { "Tenant" input name="tenant" value=(query.tenant); }
            label { "Signal" select name="signal" {
                option value="" { "All" }
                @for signal in Signal::ALL {
                    option value=(signal.as_str()) selected[signal.as_str() == query.signal] { (signal_label(signal)) }
                }
            } }
            button { "Show" }
            @if query.is_about_lessons() || !query.tenant.is_empty() { a.button href=(PATH) { "By tool" } }
            @else { a.button href=(link(PATH, &[("list", "lessons")])) { "One by one" } }
        }
    }
}

async fn by_tool(pages: &Pages, visitor: &Visitor, query: &LessonQuery) -> anyhow::Result<Markup> {
    let store = &pages.gateway().services.store;
    let rows = group_by_tool(&store.lesson_counts(&query.filter()?).await?);
    if rows.is_empty() {
        let next = html! { "Lessons come from searches and calls by clients. You can also mark results as right or wrong on the page "
        a href="/ui/search" { "Search" } "." };
        return Ok(empty_state("Nothing learned yet", &next));
    }
    let all: u64 = rows.iter().map(|row| row.lessons).sum();
    let first = query.page.saturating_mul(ROWS);
    let before = (query.page > 0).then(|| query.link(None, 0));
    let next = (first.saturating_add(ROWS) < rows.len()).then(|| query.link(None, query.page + 1));
    Ok(html! {
        p.muted { (number(all)) " lessons." }
        (tool_table(visitor, rows.iter().skip(first).take(ROWS)))
        (pager(before.as_deref(), next.as_deref()))
        (confirmed_button(visitor, "/ui/learned/forget", "Forget all",
            "Forget all lessons of all tenants? Searches then rank by descriptions and priors only. This cannot be undone.",
            &[("all", "yes")]))
    })
}

fn tool_table<'a>(visitor: &Visitor, rows: impl Iterator<Item = &'a ToolLessons>) -> Markup {
    let rows = html! {
        @for row in rows { tr {
            th scope="row" { a href=(tool_path(&row.tool)) { (code_text(&row.tool)) } }
            td { (text(row.tenant.as_str())) }
            td.number { a href=(link(PATH, &[("tool", &row.tool), ("tenant", row.tenant.as_str())])) { (number(row.lessons)) } }
            td.number { (number(row.used)) }
            td.number { (number(row.failed)) }
            td.number { (number(row.passed_over)) }
            td.number { (number(row.marked_right)) " / " (number(row.marked_wrong)) }
            td { (time(row.last_at)) }
            td { (forget_tool(visitor, &row.tool, Some(&row.tenant))) }
        } }
    };
    let heads = [
        "Tool",
        "Tenant",
        "#Lessons",
        "#Used",
        "#Failed",
        "#Passed over",
        "#Marked right / wrong",
        "Last",
        "",
    ];
    table("Lessons by tool", &heads, &rows)
}

async fn single_lessons(
    pages: &Pages,
    visitor: &Visitor,
    query: &LessonQuery,
) -> anyhow::Result<Markup> {
    let (filter, store) = (query.filter()?, &pages.gateway().services.store);
    let mut lessons = store
        .newest_lessons(&filter, query.older_than, ROWS as u32 + 1)
        .await?;
    let has_more = lessons.len() > ROWS;
    lessons.truncate(ROWS);
    if lessons.is_empty() {
        return Ok(empty_state(
            "No lesson matches",
            &html! { a href=(PATH) { "Show all" } },
        ));
    }
    let first = query.older_than.map(|_| query.link(None, 0));
    let last = lessons.last().filter(|_| has_more);
    let next = last.map(|lesson| query.link(Some(lesson.id), 0));
    Ok(html! {
        (lesson_table(visitor, &lessons, &query.link(query.older_than, 0)))
        (pager(first.as_deref(), next.as_deref()))
        @if !query.tool.is_empty() {
            (forget_tool(visitor, &query.tool, filter.tenant.as_ref()))
        }
    })
}

/// Renders the newest lessons about a tool, for the page of the tool.
pub(in crate::pages) async fn tool_lessons(
    pages: &Pages,
    visitor: &Visitor,
    tool: &str,
) -> anyhow::Result<Markup> {
    let filter = LessonFilter {
        tool: Some(tool.to_owned()),
        ..LessonFilter::default()
    };
    let store = &pages.gateway().services.store;
    let lessons = store.newest_lessons(&filter, None, FEW as u32).await?;
    if lessons.is_empty() {
        return Ok(
            html! { p.muted { "None yet. A request is learned when an agent finds this tool for it and calls it." } },
        );
    }
    Ok(html! {
        (lesson_table(visitor, &lessons, &tool_path(tool)))
        @if lessons.len() == FEW { p { a href=(lessons_path(tool)) { "All lessons about this tool" } } }
        (forget_tool(visitor, tool, None))
    })
}

fn lesson_table(visitor: &Visitor, lessons: &[LessonInfo], back: &str) -> Markup {
    let rows = html! {
        @for lesson in lessons { tr {
            th scope="row" { @match &lesson.words {
                Some(words) => (text(words)),
                None => span.muted { "not stored" },
            } }
            td { a href=(tool_path(&lesson.tool)) { (code_text(&lesson.tool)) } }
            td { (signal_text(&lesson.signal)) }
            td { (text(lesson.tenant.as_str())) }
            td { (time(lesson.at)) }
            td.number { (lesson.id) }
            td { (action_button(visitor, "/ui/learned/forget", "Forget",
                &[("lesson", &lesson.id.to_string()), ("back", back)])) }
        } }
    };
    html! {
        (table("Lessons", &["Request", "Tool", "Signal", "Tenant", "When", "#Lesson", ""], &rows))
        @if lessons.iter().any(|lesson| lesson.words.is_none()) {
            p.muted { small { "Requests are stored as text only with " code { "keep_words = true" } " under " code { "[learning]" } "." } }
        }
    }
}

fn forget_tool(visitor: &Visitor, tool: &str, tenant: Option<&Tenant>) -> Markup {
    let question = match tenant {
        Some(tenant) => {
            format!("Forget all lessons of {tenant} about {tool}? This cannot be undone.")
        }
        None => format!("Forget all lessons of all tenants about {tool}? This cannot be undone."),
    };
    let values = [
        ("tool", tool),
        ("tenant", tenant.map_or("", |it| it.as_str())),
    ];
    confirmed_button(
        visitor,
        "/ui/learned/forget",
        "Forget its lessons",
        &question,
        &values,
    )
}

/// Renders a signal in words; one of a later version by its name.
pub(in crate::pages) fn signal_text(signal: &str) -> Markup {
    match Signal::parse(signal) {
        Some(known) => pill(signal_tone(known), signal_label(known)),
        None => text(signal),
    }
}

fn signal_label(signal: Signal) -> &'static str {
    match signal {
        Signal::FoundThenUsed => "found, then used",
        Signal::SaidThenUsed => "asked for, then used",
        Signal::Used => "used later",
        Signal::UsedWithoutWords => "used without a request",
        Signal::Bypassed => "passed over",
        Signal::Failed => "failed",
        Signal::Abandoned => "abandoned",
        Signal::MarkedRight => "marked right",
        Signal::MarkedWrong => "marked wrong",
    }
}

fn signal_tone(signal: Signal) -> Tone {
    match signal {
        Signal::FoundThenUsed | Signal::SaidThenUsed | Signal::MarkedRight => Tone::Good,
        Signal::Failed | Signal::MarkedWrong => Tone::Bad,
        Signal::Bypassed | Signal::Abandoned => Tone::Warn,
        Signal::Used | Signal::UsedWithoutWords => Tone::Neutral,
    }
}
