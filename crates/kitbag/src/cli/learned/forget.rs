//! Deletes selected lessons, from the command line and from the web page.

use anyhow::anyhow;
use clap::Args;
use kitbag_domain::{Event, KeyId, Tenant, Timestamp};
use kitbag_gateway::telemetry::audit::filters::parse_time;
use kitbag_store::{LessonFilter, Store};

use crate::cli::failure::Advise as _;
use crate::trail;

#[derive(Debug, Default, Args)]
pub(crate) struct LessonSelection {
    /// Only this lesson, by its number; repeatable.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["tenant", "tool", "key", "before", "all"])]
    pub(crate) lesson: Vec<i64>,
    /// Only lessons of this tenant.
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<Tenant>,
    /// Only lessons about this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only lessons from this key, by its ID.
    #[arg(long, value_name = "ID")]
    pub(crate) key: Option<String>,
    /// Only lessons before this time: `30d` ago, or a date.
    #[arg(long, value_name = "WHEN", value_parser = parse_time)]
    pub(crate) before: Option<Timestamp>,
    /// All lessons of all tenants.
    #[arg(long, conflicts_with_all = ["tenant", "tool", "key", "before"])]
    pub(crate) all: bool,
}

/// Deletes the selected lessons, and returns their number. `event_of` makes the audit event from
/// the description of the selection.
pub(crate) async fn forget_lessons(
    store: &Store,
    selection: &LessonSelection,
    event_of: impl FnOnce(&str) -> Event,
) -> anyhow::Result<u64> {
    let subject = selection.describe()?;
    let forgotten = match selection.lesson.as_slice() {
        [] => store.delete_lessons(&selection.to_filter()).await?,
        ids => store.delete_lessons_by_id(ids).await?,
    };
    let event = event_of(&subject);
    let tenant = selection.tenant.clone();
    trail::record_event(store, Event { tenant, ..event }).await?;
    Ok(forgotten)
}

impl LessonSelection {
    /// Describes the selection for the audit log; an error if it selects nothing.
    fn describe(&self) -> anyhow::Result<String> {
        let lessons = self.lesson.iter().map(|id| format!("lesson {id}"));
        let tenant = self.tenant.as_ref().map(|it| format!("tenant {it}"));
        let tool = self.tool.as_ref().map(|it| format!("tool {it}"));
        let key = self.key.as_ref().map(|it| format!("key {it}"));
        let before = self.before.map(|_| "old ones".to_owned());
        let all = self.all.then(|| "all".to_owned());
        let parts: Vec<String> = lessons
            .chain([tenant, tool, key, before, all].into_iter().flatten())
            .collect();
        if parts.is_empty() {
            return Err(anyhow!("no lessons selected")).advise(|| {
                "select lessons by --tool, --tenant, --key, --before or --lesson, or pass --all"
                    .to_owned()
            });
        }
        Ok(parts.join(", "))
    }

    fn to_filter(&self) -> LessonFilter {
        LessonFilter {
            tenant: self.tenant.clone(),
            tool: self.tool.clone(),
            credential: self.key.clone().map(KeyId),
            before: self.before,
            ..LessonFilter::default()
        }
    }
}
