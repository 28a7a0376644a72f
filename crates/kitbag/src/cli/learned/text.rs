//! Formats lessons for people and programs.

use std::collections::BTreeMap;

use kitbag_domain::{Tenant, Timestamp};
use kitbag_relevance::learning::Signal;
use kitbag_store::{LessonCount, LessonInfo};
use serde::Serialize;

use crate::cli::moment::format_relative;
use crate::cli::output::format_date;

/// Lesson counts of a tool and tenant.
#[derive(Debug, Serialize)]
pub(crate) struct ToolLessons {
    pub(crate) tool: String,
    pub(crate) tenant: Tenant,
    pub(crate) lessons: u64,
    pub(crate) used: u64,
    pub(crate) failed: u64,
    pub(crate) passed_over: u64,
    pub(crate) marked_right: u64,
    pub(crate) marked_wrong: u64,
    last: String,
    #[serde(skip)]
    pub(crate) last_at: Timestamp,
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

/// Adds the counts of each tool and tenant, most lessons first.
pub(crate) fn group_by_tool(counts: &[LessonCount]) -> Vec<ToolLessons> {
    let mut tools: BTreeMap<(&str, &Tenant), Vec<&LessonCount>> = BTreeMap::new();
    for count in counts {
        let key = (count.tool.as_str(), &count.tenant);
        tools.entry(key).or_default().push(count);
    }
    let mut rows: Vec<ToolLessons> = tools
        .into_iter()
        .map(|((tool, tenant), counts)| ToolLessons::new(tool, tenant, &counts))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.lessons));
    rows
}

impl ToolLessons {
    fn new(tool: &str, tenant: &Tenant, counts: &[&LessonCount]) -> Self {
        let last = counts.iter().map(|it| it.last).max();
        let last = last.unwrap_or_default();
        let add = |wanted: &dyn Fn(Signal) -> bool| {
            let found = counts
                .iter()
                .filter(|it| Signal::parse(&it.signal).is_some_and(wanted));
            found.map(|it| it.lessons).sum()
        };
        Self {
            tool: tool.to_owned(),
            tenant: tenant.clone(),
            lessons: counts.iter().map(|it| it.lessons).sum(),
            used: add(&Signal::is_use),
            failed: add(&|it| matches!(it, Signal::Failed | Signal::Abandoned)),
            passed_over: add(&|it| it == Signal::Bypassed),
            marked_right: add(&|it| it == Signal::MarkedRight),
            marked_wrong: add(&|it| it == Signal::MarkedWrong),
            last: format_date(last),
            last_at: last,
        }
    }
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

pub(super) fn to_row(lesson: &LessonInfo) -> ShownLesson {
    ShownLesson {
        lesson: lesson.id,
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
