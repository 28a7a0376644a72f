//! The clients that run a command when a user submits a prompt: their input to the command, and the
//! answers they accept. docs/clients.md names the sources of the table.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Client, codex_home};
use crate::directories::ClientDirectories;

/// A client's hook for submitted prompts.
#[derive(Debug)]
pub struct PromptHook {
    pub client: Client,
    /// The event, which is the key of the hooks in the client's file.
    pub(crate) event: &'static str,
    /// The field of the input that holds the prompt.
    prompt: &'static str,
    /// True if the client passes a text from the hook on to the model.
    takes_context: bool,
    /// The answer that lets the prompt pass unchanged.
    neutral: &'static str,
    entry: HookEntry,
    /// Advice for a user who must still trust the hook in the client.
    pub trust: Option<&'static str>,
}

/// The form of a hook in the client's file.
#[derive(Debug, Clone, Copy)]
enum HookEntry {
    /// A group of commands with a type, and the client's timeout in its own unit.
    Group { timeout: u32 },
    /// A single command, in a file that has a version.
    Command,
}

/// The unit differs: Gemini CLI counts milliseconds. The hook ends long before; five seconds allow
/// for a stalled machine.
const HOOKS: [PromptHook; 4] = [
    PromptHook {
        client: Client::ClaudeCode,
        event: "UserPromptSubmit",
        prompt: "prompt",
        takes_context: true,
        neutral: "",
        entry: HookEntry::Group { timeout: 5 },
        trust: None,
    },
    PromptHook {
        client: Client::Codex,
        event: "UserPromptSubmit",
        prompt: "prompt",
        takes_context: true,
        neutral: "",
        entry: HookEntry::Group { timeout: 5 },
        trust: Some("Codex runs it once you trust it there: type /hooks"),
    },
    PromptHook {
        client: Client::Gemini,
        event: "BeforeAgent",
        prompt: "prompt",
        takes_context: true,
        neutral: "{}",
        entry: HookEntry::Group { timeout: 5_000 },
        trust: None,
    },
    PromptHook {
        client: Client::Cursor,
        event: "beforeSubmitPrompt",
        prompt: "prompt",
        takes_context: false,
        neutral: r#"{"continue":true}"#,
        entry: HookEntry::Command,
        trust: None,
    },
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{client} has no known prompt hook; clients with one: {}", clients_with_prompt_hook().join(", "))]
pub struct NoPromptHook {
    pub client: Client,
}

impl Client {
    pub fn prompt_hook(self) -> Result<&'static PromptHook, NoPromptHook> {
        let mut hooks = HOOKS.iter();
        hooks
            .find(|hook| hook.client == self)
            .ok_or(NoPromptHook { client: self })
    }
}

/// The names of the clients that have such a hook.
pub fn clients_with_prompt_hook() -> Vec<&'static str> {
    HOOKS.iter().map(|hook| hook.client.name()).collect()
}

impl PromptHook {
    /// The prompt, from the client's input to the hook.
    pub fn prompt_text(&self, input: &Value) -> Option<String> {
        let text = input.get(self.prompt)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The answer with a text for the model, if the client accepts one.
    pub fn answer(&self, context: Option<&str>) -> String {
        match context.filter(|_| self.takes_context) {
            Some(context) => json!({ "hookSpecificOutput": {
                "hookEventName": self.event, "additionalContext": context,
            } })
            .to_string(),
            None => self.neutral.to_owned(),
        }
    }

    /// The user's file in which the client looks for hooks.
    pub fn path(&self, directories: &ClientDirectories) -> PathBuf {
        let home = &directories.home;
        match self.client {
            Client::Codex => codex_home(directories).join("hooks.json"),
            Client::Cursor => home.join(".cursor/hooks.json"),
            Client::Gemini => home.join(".gemini/settings.json"),
            _ => home.join(".claude/settings.json"),
        }
    }

    pub(crate) fn entry(&self, command: &str) -> Value {
        match self.entry {
            HookEntry::Group { timeout } => json!({ "hooks": [
                { "type": "command", "command": command, "timeout": timeout },
            ] }),
            HookEntry::Command => json!({ "command": command }),
        }
    }

    /// The version that the client expects in the file.
    pub(crate) const fn version(&self) -> Option<u32> {
        match self.entry {
            HookEntry::Group { .. } => None,
            HookEntry::Command => Some(1),
        }
    }

    /// True for a command that an installation has written.
    pub(crate) fn is_ours(&self, command: &str) -> bool {
        let verb = format!(" hook {}", self.client.name());
        command.contains("kitbag") && command.contains(&verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(event: &str) -> String {
        let output = json!({ "hookEventName": event, "additionalContext": "tools" });
        json!({ "hookSpecificOutput": output }).to_string()
    }

    #[test]
    fn each_client_is_understood_and_answered_in_its_own_form() {
        let submitted = context("UserPromptSubmit");
        for (client, answer, silent) in [
            (Client::ClaudeCode, submitted.as_str(), ""),
            (Client::Codex, submitted.as_str(), ""),
            (Client::Gemini, &context("BeforeAgent"), "{}"),
            (
                Client::Cursor,
                r#"{"continue":true}"#,
                r#"{"continue":true}"#,
            ),
        ] {
            let hook = client.prompt_hook().unwrap();
            assert_eq!(hook.answer(Some("tools")), answer, "{client}");
            assert_eq!(hook.answer(None), silent, "{client}");
            let input = json!({ "cwd": "/shop", "prompt": " list tickets\n" });
            assert_eq!(hook.prompt_text(&input).as_deref(), Some("list tickets"));
            for without in [
                json!({}),
                json!([1]),
                json!({ "prompt": 7 }),
                json!({ "prompt": " " }),
            ] {
                assert_eq!(hook.prompt_text(&without), None, "{client}");
            }
        }
        let none = Client::Zed.prompt_hook().unwrap_err().to_string();
        assert!(
            none.ends_with("claude-code, codex, gemini, cursor"),
            "{none}"
        );
    }
}
