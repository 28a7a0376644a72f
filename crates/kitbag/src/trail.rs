//! A change that a person makes from the command line leaves a row in the audit, with the user who
//! made it.

use std::fs;

use anyhow::Context as _;
use kitbag_config::Edit;
use kitbag_domain::{Action, Event, KeyId, ShortText, Tenant};
use kitbag_store::Store;

use kitbag_gateway::state::clock::now;

/// A change by the person at this machine, through a verb such as `kitbag key create`.
pub(crate) fn change(verb: &str, action: Action, subject: &str) -> Event {
    Event {
        actor: Some(user()),
        client: Some(ShortText::cut(verb)),
        ..Event::new(now(), action, subject)
    }
}

/// A change of a key.
pub(crate) fn key_change(verb: &str, action: Action, key: &KeyId, tenant: Option<Tenant>) -> Event {
    Event {
        key: Some(key.clone()),
        tenant,
        ..change(verb, action, &key.0)
    }
}

/// A change of the configuration file.
pub(crate) fn edit(verb: &str, edit: &Edit) -> Event {
    let path = edit.path.display().to_string();
    let detail = (!edit.changes.is_empty()).then(|| ShortText::cut(&edit.changes.join(", ")));
    Event {
        detail,
        ..change(verb, Action::ConfigurationEdited, &path)
    }
}

/// Writes the event down. The change stays if that fails, so the error says so.
pub(crate) async fn record(store: &Store, event: Event) -> anyhow::Result<()> {
    let recorded = store.record(&[event.into()]).await;
    recorded.context("the change was made, but the audit could not record it")
}

/// Returns the verb that was typed, without the words behind it, which may be secrets.
pub(crate) fn typed() -> String {
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

/// The user this process runs as: by name if the system knows one, else by number.
fn user() -> ShortText {
    let number = rustix::process::getuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    });
    name.map_or_else(|| ShortText::cut(&format!("uid {number}")), ShortText::cut)
}
