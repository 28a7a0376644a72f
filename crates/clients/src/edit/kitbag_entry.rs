//! How a client reaches Kitbag, in the words of that client.

use serde_json::{Map, Value, json};

use super::{EditError, NAME};
use crate::client::Client;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// The client launches it.
    Stdio { command: String, args: Vec<String> },
    /// It is running already.
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl Door {
    pub(super) fn value(&self, client: Client) -> Result<Value, EditError> {
        match self {
            Self::Stdio { command, args } => Ok(stdio(client, command, args)),
            Self::Http { .. } if client == Client::ClaudeDesktop => {
                Err(EditError::NoAddress { client })
            }
            Self::Http { url, headers } => {
                let headers: Map<String, Value> = headers
                    .iter()
                    .map(|(name, text)| (name.clone(), json!(text)))
                    .collect();
                Ok(http(client, url, headers))
            }
        }
    }
}

fn stdio(client: Client, command: &str, args: &[String]) -> Value {
    match client {
        // Its tools are the ones that find the others; deferred, they would find nothing.
        Client::ClaudeCode => {
            json!({ "type": "stdio", "command": command, "args": args, "alwaysLoad": true })
        }
        Client::VsCode => json!({ "type": "stdio", "command": command, "args": args }),
        Client::Continue => {
            json!({ "name": NAME, "type": "stdio", "command": command, "args": args })
        }
        Client::Goose => json!({
            "enabled": true, "type": "stdio", "name": NAME, "cmd": command, "args": args, "timeout": 300,
        }),
        Client::Opencode => {
            let words: Vec<&str> = [command]
                .into_iter()
                .chain(args.iter().map(String::as_str))
                .collect();
            json!({ "type": "local", "command": words, "enabled": true })
        }
        _ => json!({ "command": command, "args": args }),
    }
}

fn http(client: Client, url: &str, headers: Map<String, Value>) -> Value {
    let mut value = match client {
        Client::ClaudeCode => json!({ "type": "http", "url": url, "alwaysLoad": true }),
        Client::VsCode => json!({ "type": "http", "url": url }),
        Client::Windsurf => json!({ "serverUrl": url }),
        Client::Gemini => json!({ "httpUrl": url }),
        Client::Cline => json!({ "type": "streamableHttp", "url": url }),
        Client::Roo | Client::Kilo => json!({ "type": "streamable-http", "url": url }),
        Client::Continue => json!({ "name": NAME, "type": "streamable-http", "url": url }),
        Client::Goose => json!({
            "enabled": true, "type": "streamable_http", "name": NAME, "uri": url, "timeout": 300,
        }),
        Client::Opencode => json!({ "type": "remote", "url": url, "enabled": true }),
        Client::ClaudeDesktop | Client::Cursor | Client::Zed | Client::Codex | Client::LmStudio => {
            json!({ "url": url })
        }
    };
    if !headers.is_empty() {
        match client {
            Client::Codex => value["http_headers"] = headers.into(),
            Client::Continue => value["requestOptions"] = json!({ "headers": headers }),
            _ => value["headers"] = headers.into(),
        }
    }
    value
}
