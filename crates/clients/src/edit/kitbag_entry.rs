//! Kitbag's entry in a file, in the client's format.

use serde_json::{Map, Value, json};

use super::{FileEditError, NAME};
use crate::client::Client;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KitbagEntry {
    /// The client launches Kitbag.
    Stdio { command: String, args: Vec<String> },
    /// Kitbag is running already.
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl KitbagEntry {
    pub(super) fn value(&self, client: Client) -> Result<Value, FileEditError> {
        match self {
            Self::Stdio { command, args } => Ok(stdio(client, command, args)),
            Self::Http { .. } if client == Client::ClaudeDesktop => {
                Err(FileEditError::NoAddress { client })
            }
            Self::Http { url, headers } => {
                let headers = headers.iter().cloned();
                let headers = headers.map(|(name, text)| (name, Value::String(text)));
                Ok(http(client, url, headers.collect()))
            }
        }
    }
}

/// Seconds, the value that Goose itself writes for a new extension.
const GOOSE_TIMEOUT: u32 = 300;

fn stdio(client: Client, command: &str, args: &[String]) -> Value {
    match client {
        // Kitbag's tools find all others. If the client loaded them late, the model would not know
        // that there is anything to find.
        Client::ClaudeCode => {
            json!({ "type": "stdio", "command": command, "args": args, "alwaysLoad": true })
        }
        Client::VsCode => json!({ "type": "stdio", "command": command, "args": args }),
        Client::Continue => {
            json!({ "name": NAME, "type": "stdio", "command": command, "args": args })
        }
        Client::Goose => json!({
            "enabled": true, "type": "stdio", "name": NAME, "cmd": command, "args": args,
            "timeout": GOOSE_TIMEOUT,
        }),
        Client::Opencode => {
            let words = [&[command.to_owned()], args].concat();
            json!({ "type": "local", "command": words, "enabled": true })
        }
        _ => json!({ "command": command, "args": args }),
    }
}

fn http(client: Client, url: &str, headers: Map<String, Value>) -> Value {
    let mut value = address(client, url);
    if !headers.is_empty() {
        match client {
            Client::Codex => value["http_headers"] = headers.into(),
            Client::Continue => value["requestOptions"] = json!({ "headers": headers }),
            _ => value["headers"] = headers.into(),
        }
    }
    value
}

fn address(client: Client, url: &str) -> Value {
    match client {
        Client::ClaudeCode => json!({ "type": "http", "url": url, "alwaysLoad": true }),
        Client::VsCode => json!({ "type": "http", "url": url }),
        Client::Windsurf => json!({ "serverUrl": url }),
        Client::Gemini => json!({ "httpUrl": url }),
        Client::Cline => json!({ "type": "streamableHttp", "url": url }),
        Client::Roo | Client::Kilo => json!({ "type": "streamable-http", "url": url }),
        Client::Continue => json!({ "name": NAME, "type": "streamable-http", "url": url }),
        Client::Goose => json!({
            "enabled": true, "type": "streamable_http", "name": NAME, "uri": url,
            "timeout": GOOSE_TIMEOUT,
        }),
        Client::Opencode => json!({ "type": "remote", "url": url, "enabled": true }),
        Client::ClaudeDesktop | Client::Cursor | Client::Zed | Client::Codex | Client::LmStudio => {
            json!({ "url": url })
        }
    }
}
