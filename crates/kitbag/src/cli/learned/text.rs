//! Formats lessons for people and programs.

use std::collections::BTreeMap;

use kitbag_domain::{Tenant, Timestamp};
use kitbag_relevance::learning::Signal;
use kitbag_store::StoredLesson;
use serde::Serialize;

use crate::cli::moment::format_relative;
use crate::cli::output::format_date;

/// Lesson counts of a tool and tenant.
#[derive(Debug, Serialize)]
pub(super) struct ToolLessons {
    tool: String,
    tenant: Tenant,
    lessons: usize,
    used: usize,
    failed: usize,
    passed_over: usize,
    last: String,
    #[serde(skip)]
    last_at: Timestamp,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownLesson {
    lesson: i64,
    tenant: Tenant,
    at: String,
    signal: String,
    /// Absent if query texts are not stored.
    words: Option<String>,
    #[serde(skip)]
    happened: Timestamp,
}

/// Groups lessons by tool, most lessons first.
pub(super) fn group_by_tool(lessons: &[StoredLesson]) -> Vec<ToolLessons> {
    let mut tools: BTreeMap<(&str, &Tenant), Vec<&StoredLesson>> = BTreeMap::new();
    for stored in lessons {
        let key = (stored.lesson.tool.as_str(), &stored.lesson.tenant);
        tools.entry(key).or_default().push(stored);
    }
    let mut rows: Vec<ToolLessons> = tools
        .into_iter()
        .map(|((tool, tenant), lessons)| count_lessons(tool, tenant, &lessons))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.lessons));
    rows
}

fn count_lessons(tool: &str, tenant: &Tenant, lessons: &[&StoredLesson]) -> ToolLessons {
    let last = lessons.iter().map(|it| it.lesson.at).max();
    let last = last.unwrap_or_default();
    let used = Signal::ALL.into_iter().filter(|it| it.is_use());
    let used: Vec<Signal> = used.collect();
    ToolLessons {
        tool: tool.to_owned(),
        tenant: tenant.clone(),
        lessons: lessons.len(),
        used: count_signals(lessons, &used),
        failed: count_signals(lessons, &[Signal::Failed, Signal::Abandoned]),
        passed_over: count_signals(lessons, &[Signal::Bypassed]),
        last: format_date(last),
        last_at: last,
    }
}

fn count_signals(lessons: &[&StoredLesson], signals: &[Signal]) -> usize {
    let found = lessons
        .iter()
        .filter_map(|it| Signal::parse(&it.lesson.signal));
    found.filter(|signal| signals.contains(signal)).count()
}

pub(super) fn cells(row: &ToolLessons) -> [String; 7] {
    [
        row.tool.clone(),
        row.tenant.to_string(),
        row.lessons.to_string(),
        row.used.to_string(),
        row.failed.to_string(),
        row.passed_over.to_string(),
        format_relative(row.last_at),
    ]
}

pub(super) fn to_row(stored: &StoredLesson) -> ShownLesson {
    let lesson = &stored.lesson;
    ShownLesson {
        lesson: stored.id,
        tenant: lesson.tenant.clone(),
        at: format_date(lesson.at),
        signal: lesson.signal.clone(),
        words: lesson.words.clone(),
        happened: lesson.at,
    }
}

pub(super) fn lesson_cells(row: &ShownLesson) -> [String; 5] {
    let words = row.words.clone();
    [
        row.lesson.to_string(),
        row.tenant.to_string(),
        format_relative(row.happened),
        row.signal.clone(),
        words.unwrap_or_else(|| "(not stored)".to_owned()),
    ]
}
