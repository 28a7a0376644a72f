//! Audit events for changes made from the command line, with the user who made them.

use std::fs;

use anyhow::Context as _;
use kitbag_config::Edit;
use kitbag_domain::{Action, Event, KeyId, ShortText, Tenant};
use kitbag_store::Store;

use kitbag_gateway::state::clock::now;

/// A change by the local user through a verb such as `kitbag key create`.
pub(crate) fn change_event(verb: &str, action: Action, subject: &str) -> Event {
    Event {
        actor: Some(current_user()),
        client: Some(ShortText::truncate(verb)),
        ..Event::new(now(), action, subject)
    }
}

pub(crate) fn key_event(verb: &str, action: Action, key: &KeyId, tenant: Option<Tenant>) -> Event {
    Event {
        key: Some(key.clone()),
        tenant,
        ..change_event(verb, action, &key.0)
    }
}

pub(crate) fn edit_event(verb: &str, edit: &Edit) -> Event {
    let path = edit.path.display().to_string();
    let detail = (!edit.changes.is_empty()).then(|| ShortText::truncate(&edit.changes.join(", ")));
    Event {
        detail,
        ..change_event(verb, Action::ConfigurationEdited, &path)
    }
}

/// Records the event. If that fails, the error says that the change was made.
pub(crate) async fn record_event(store: &Store, event: Event) -> anyhow::Result<()> {
    let recorded = store.record_all(&[event.into()]).await;
    recorded.context("the change was made but could not be recorded in the audit log")
}

/// Returns the verb of the command line without its arguments, which may be secrets.
pub(crate) fn typed_verb() -> String {
    let verbs = std::env::args()
        .skip(1)
        .skip_while(|word| word.starts_with('-'))
        .take(2)
        .take_while(|word| is_verb(word));
    std::iter::once("kitbag".to_owned())
        .chain(verbs)
        .collect::<Vec<_>>()
        .join(" ")
}

fn is_verb(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
}

/// Returns the name of the user that runs this process, or the uid if there is no name.
fn current_user() -> ShortText {
    let number = rustix::process::getuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    });
    name.map_or_else(
        || ShortText::truncate(&format!("uid {number}")),
        ShortText::truncate,
    )
}
