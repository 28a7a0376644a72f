//! Adds Kitbag's command to the hooks in a client's file and removes it, preserving every other
//! byte.

use serde_json::{Value, json};

use super::{FileEditError, Uninstalled, json, parse, without_mark};
use crate::prompt_hook::PromptHook;
use crate::tree::{FileFormat, Node};

/// The key of all hooks, in every client's file.
const HOOKS: &str = "hooks";

/// Returns the text with the command in it, replacing the command of an earlier installation.
pub(crate) fn install_hook(
    hook: &PromptHook,
    text: &str,
    command: &str,
) -> Result<String, FileEditError> {
    let clean = uninstall_hook(hook, text, None)?.into_clean_text(Some(text.to_owned()));
    add(hook, &clean.unwrap_or_default(), command)
}

/// Removes the command. `before` is the text before it was added, if known.
pub(crate) fn uninstall_hook(
    hook: &PromptHook,
    text: &str,
    before: Option<&str>,
) -> Result<Uninstalled, FileEditError> {
    let Some(found) = FoundHook::in_text(hook, text)? else {
        return Ok(Uninstalled::NotInstalled);
    };
    // If adding it again gives this exact text, nothing else has changed since.
    let again = add(hook, before.unwrap_or_default(), &found.command);
    match (again, before) {
        (Ok(again), Some(before)) if again == text => Ok(Uninstalled::Restored(before.to_owned())),
        (Ok(again), None) if again == text => Ok(Uninstalled::Empty),
        _ => remove(hook, text, found.index).map(Uninstalled::Removed),
    }
}

/// True if the text has a Kitbag command for this hook.
pub(crate) fn has_hook(hook: &PromptHook, text: &str) -> Result<bool, FileEditError> {
    Ok(FoundHook::in_text(hook, text)?.is_some())
}

/// Kitbag's entry among the hooks for the event.
struct FoundHook {
    index: usize,
    command: String,
}

impl FoundHook {
    fn in_text(hook: &PromptHook, text: &str) -> Result<Option<Self>, FileEditError> {
        let (_, text) = without_mark(text);
        let root = parse(FileFormat::Json, text)?;
        let Some(list) = root.at(&[HOOKS, hook.event]) else {
            return Ok(None);
        };
        let entries = list.list().ok_or_else(|| not_hooks(hook))?.iter();
        let found = entries.enumerate().filter_map(|(index, entry)| {
            let (own, others) = commands(entry).partition::<Vec<_>, _>(|it| hook.is_ours(it));
            let command = (*own.first()?).to_owned();
            Some((Self { index, command }, others.is_empty()))
        });
        match found.collect::<Vec<_>>().pop() {
            Some((found, true)) => Ok(Some(found)),
            // The user has added another command to Kitbag's group.
            Some((_, false)) => Err(FileEditError::Entangled),
            None => Ok(None),
        }
    }
}

/// The commands of an entry: a single one, or a group.
fn commands(entry: &Node) -> impl Iterator<Item = &str> {
    let group = entry.get(HOOKS).and_then(Node::list).unwrap_or_default();
    let all = group.iter().chain([entry]);
    all.filter_map(|it| it.get("command")?.text())
}

fn add(hook: &PromptHook, text: &str, command: &str) -> Result<String, FileEditError> {
    let (mark, text) = without_mark(text);
    let before = parse(FileFormat::Json, text)?.value();
    let entry = hook.entry(command);
    let expected = add_hook_entry(hook, before, &entry).ok_or_else(|| not_hooks(hook))?;
    let text = with_version(hook, text)?;
    let new = json::add_item(&text, &[HOOKS], hook.event, &entry)?;
    if parse(FileFormat::Json, &new)?.value() != expected {
        return Err(FileEditError::Entangled);
    }
    Ok(format!("{mark}{new}"))
}

/// Returns the file's content with the entry added, or `None` if the value under the hooks' key is
/// not a list of hooks.
fn add_hook_entry(hook: &PromptHook, mut file: Value, entry: &Value) -> Option<Value> {
    let root = file.as_object_mut()?;
    if let Some(version) = hook.version() {
        root.entry("version").or_insert_with(|| version.into());
    }
    let hooks = root.entry(HOOKS).or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut()?;
    let event = hooks.entry(hook.event).or_insert_with(|| json!([]));
    event.as_array_mut()?.push(entry.clone());
    Some(file)
}

fn with_version(hook: &PromptHook, text: &str) -> Result<String, FileEditError> {
    match hook.version() {
        Some(version) if parse(FileFormat::Json, text)?.get("version").is_none() => {
            json::add(text, &[], "version", &version.into())
        }
        _ => Ok(text.to_owned()),
    }
}

/// Removes an entry, and the list and table around it if they become empty.
fn remove(hook: &PromptHook, text: &str, index: usize) -> Result<String, FileEditError> {
    let (mark, text) = without_mark(text);
    let mut new = json::remove_item(text, &[HOOKS, hook.event], index)?;
    let root = parse(FileFormat::Json, &new)?;
    let list = root.at(&[HOOKS, hook.event]).and_then(Node::list);
    if list.is_some_and(<[Node]>::is_empty) {
        new = json::remove(&new, &[HOOKS], hook.event)?;
    }
    let root = parse(FileFormat::Json, &new)?;
    if root
        .get(HOOKS)
        .is_some_and(|hooks| hooks.entries().is_empty())
    {
        new = json::remove(&new, &[], HOOKS)?;
    }
    Ok(format!("{mark}{new}"))
}

fn not_hooks(hook: &PromptHook) -> FileEditError {
    FileEditError::NotHooks {
        key: format!("{HOOKS}.{}", hook.event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;

    const COMMAND: &str = "/bin/kitbag hook claude-code";

    fn hook() -> &'static PromptHook {
        Client::ClaudeCode.prompt_hook().unwrap()
    }

    #[track_caller]
    fn added(before: &str) -> String {
        let text = install_hook(hook(), before, COMMAND).unwrap();
        let restored = uninstall_hook(hook(), &text, Some(before)).unwrap();
        assert_eq!(restored, Uninstalled::Restored(before.to_owned()));
        text
    }

    #[track_caller]
    fn removed(text: &str) -> String {
        match uninstall_hook(hook(), text, None).unwrap() {
            Uninstalled::Removed(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_is_added_next_to_existing_hooks_and_removed_again() {
        for before in [
            "{ \"model\": \"m\" } // mine\n",
            "{\n  // mine\n  \"hooks\": {\n    \"Stop\": [],\n    \"UserPromptSubmit\": [\n      { \"hooks\": [] }, // a\n    ]\n  }\n}",
            "\u{feff}{\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"command\":\"date\"}]}]},\"a\":1}",
            "{\r\n\t\"hooks\": {\r\n\t\t\"UserPromptSubmit\": [\r\n\t\t\t{\"hooks\": []}\r\n\t\t]\r\n\t}\r\n}\r\n",
        ] {
            let text = added(before);
            assert_eq!(install_hook(hook(), &text, COMMAND).unwrap(), text);
            assert_eq!(removed(&text), before);
        }
        // Empty hook lists are only restored if the text before is known.
        for before in [
            "{}",
            "{\n  \"hooks\": {}\n}\n",
            "{ \"hooks\": { \"UserPromptSubmit\": [] } }",
        ] {
            added(before);
        }
    }

    #[test]
    fn a_new_file_has_the_clients_format_and_is_deleted_on_removal() {
        let cursor = Client::Cursor.prompt_hook().unwrap();
        let text = install_hook(cursor, "", "kitbag hook cursor").unwrap();
        let expected = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"beforeSubmitPrompt\": [{\"command\": \"kitbag hook cursor\"}]\n  }\n}\n";
        assert_eq!(text, expected);
        let gone = uninstall_hook(cursor, &text, None).unwrap();
        assert_eq!(gone, Uninstalled::Empty);
    }

    #[test]
    fn a_file_whose_hooks_are_not_a_list_is_rejected() {
        for (text, expected) in [
            (
                "{ \"hooks\": [] }",
                "`hooks.UserPromptSubmit` is not a list of hooks",
            ),
            (
                "{ \"hooks\": { \"UserPromptSubmit\": 1 } }",
                "`hooks.UserPromptSubmit` is not a list of hooks",
            ),
            ("{ \"hooks\": ", "syntax error in line 1"),
            (
                "{ \"hooks\": { \"UserPromptSubmit\": [{ \"hooks\": [{ \"command\": \"date\" }, { \"command\": \"kitbag hook claude-code\" }] }] } }",
                "its layout cannot be edited",
            ),
        ] {
            let refused = install_hook(hook(), text, COMMAND).unwrap_err().to_string();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
