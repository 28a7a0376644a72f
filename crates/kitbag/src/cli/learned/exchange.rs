//! Exports and imports lessons as JSON Lines.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use kitbag_domain::{Action, Event, KeyId, Tenant, Timestamp};
use kitbag_relevance::learning::Signal;
use kitbag_store::{ContextVector, NewLesson, Store, StoredLesson};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::new_file::write_new;
use crate::cli::output::pluralize;
use crate::trail;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LessonLine {
    tenant: Tenant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    session: i64,
    /// In milliseconds since 1970.
    at: i64,
    tool: String,
    signal: Signal,
    /// The embedding model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    vector: Vec<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<String>,
}

pub(super) fn export(
    lessons: &[StoredLesson],
    output: Option<&Path>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let mut text = String::new();
    for stored in lessons {
        let Some(line) = LessonLine::from_lesson(&stored.lesson) else {
            continue;
        };
        text.push_str(&serde_json::to_string(&line)?);
        text.push('\n');
    }
    let Some(path) = output else {
        return invocation.output.print(&text);
    };
    write_new(path, &text)?;
    let report = json!({ "lessons": lessons.len(), "file": path });
    invocation.show(&report, |_| {
        let lessons = pluralize(lessons.len(), "lesson");
        format!("Wrote {lessons} to {}", path.display())
    })
}

/// Imports all lessons of a file, or none if a line is invalid.
pub(super) async fn import(
    store: &Store,
    path: &Path,
    tenant: Option<&Tenant>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .advise(|| "pass a file written by `kitbag learned export`".to_owned())?;
    let lessons = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            let (number, path) = (number + 1, path.display());
            let line: LessonLine = serde_json::from_str(line)
                .with_context(|| format!("line {number} of {path} is not a lesson"))
                .advise(|| "nothing was imported; remove the line, or export again".to_owned())?;
            Ok(line.into_lesson(tenant))
        })
        .collect::<anyhow::Result<Vec<NewLesson>>>()?;
    store.add_lessons(&lessons).await?;
    let subject = path.display().to_string();
    let event = trail::change_event("kitbag learned import", Action::LessonsImported, &subject);
    let tenant = tenant.cloned();
    trail::record_event(store, Event { tenant, ..event }).await?;
    let report = json!({ "lessons": lessons.len() });
    invocation.show(&report, |_| {
        format!("Imported {}", pluralize(lessons.len(), "lesson"))
    })
}

impl LessonLine {
    /// Returns `None` for a signal of a later version.
    fn from_lesson(lesson: &NewLesson) -> Option<Self> {
        let context = lesson.context.clone();
        let (model, vector) = context.map_or((None, Vec::new()), |it| (Some(it.model), it.vector));
        Some(Self {
            tenant: lesson.tenant.clone(),
            key: lesson.credential.as_ref().map(|key| key.0.clone()),
            session: lesson.session,
            at: lesson.at.0,
            tool: lesson.tool.clone(),
            signal: Signal::parse(&lesson.signal)?,
            model,
            vector,
            words: lesson.words.clone(),
        })
    }

    fn into_lesson(self, tenant: Option<&Tenant>) -> NewLesson {
        let vector = self.vector;
        let context = self.model.map(|model| ContextVector { model, vector });
        NewLesson {
            tenant: tenant.cloned().unwrap_or(self.tenant),
            credential: self.key.map(KeyId),
            session: self.session,
            at: Timestamp(self.at),
            tool: self.tool,
            signal: self.signal.as_str().to_owned(),
            context,
            words: self.words,
        }
    }
}
