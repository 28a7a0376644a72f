//! How a client reaches a server: a command line or an address.

use kitbag_domain::RemoteTransport;

use super::settings::ServerSettings;
use super::translator::{Pairs, TextTranslator};
use crate::client::Client;
use crate::config::{ClientLaunch, FileFault};
use crate::secret;
use crate::sensitive_text::SensitiveText;
use crate::tree::{Node, NodeData};

pub(super) enum ReachKind {
    Stdio,
    Remote(Option<RemoteTransport>),
}

const COMMANDS: [&str; 2] = ["command", "cmd"];
const ADDRESSES: [&str; 4] = ["httpUrl", "url", "serverUrl", "uri"];

pub(super) fn reach_kind(
    name: &str,
    settings: &ServerSettings<'_>,
) -> Result<ReachKind, FileFault> {
    let has_command = settings.first(&COMMANDS).is_some();
    let has_address = settings.first(&ADDRESSES).is_some();
    let declared = settings.text(&["type", "transport", "transportType"])?;
    let kind = match declared {
        Some(declared) => declared_kind(name, declared)?,
        None if has_command => ReachKind::Stdio,
        None => ReachKind::Remote(None),
    };
    let is_reachable = match kind {
        ReachKind::Stdio => has_command,
        ReachKind::Remote(_) => has_address,
    };
    if is_reachable {
        return Ok(kind);
    }
    Err(unreachable(name, settings))
}

fn declared_kind(name: &str, declared: &str) -> Result<ReachKind, FileFault> {
    Ok(match declared {
        "stdio" | "local" => ReachKind::Stdio,
        "sse" => ReachKind::Remote(Some(RemoteTransport::Sse)),
        "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote" => {
            ReachKind::Remote(Some(RemoteTransport::Http))
        }
        "builtin" | "platform" | "frontend" | "inline_python" => return Err(part_of_client(name)),
        other => {
            return Err(FileFault::UnknownTransport {
                server: name.to_owned(),
                found: other.to_owned(),
            });
        }
    })
}

fn unreachable(name: &str, settings: &ServerSettings<'_>) -> FileFault {
    let source = settings.get("source").and_then(Node::text);
    if source == Some("extension") || settings.get("settings").is_some() {
        return part_of_client(name);
    }
    settings.no_command_nor_address()
}

fn part_of_client(name: &str) -> FileFault {
    FileFault::PartOfClient {
        server: name.to_owned(),
    }
}

pub(super) fn stdio(
    settings: &ServerSettings<'_>,
    translator: &mut TextTranslator<'_>,
) -> Result<ClientLaunch, FileFault> {
    let (words, env) = command_line(settings)?;
    let command = translator.plain(&words[0]);
    let args = arguments(&words[1..], translator);
    let mut env = translator.pairs(env);
    env.extend(translator.passed_on_variables(settings)?);
    translator.read_env_file(settings, &mut env)?;
    let cwd = settings.text(&["cwd"])?;
    let cwd = cwd.map(|cwd| translator.plain_folder(cwd));
    let cwd = translator.folder(cwd, &words);
    Ok(ClientLaunch::Stdio {
        command,
        args,
        env,
        cwd,
    })
}

fn arguments(words: &[String], translator: &mut TextTranslator<'_>) -> Vec<SensitiveText> {
    let mut before = None;
    let mut arguments = Vec::new();
    for word in words {
        let argument = translator.text(word, |text| secret::split_argument(before, text));
        arguments.push(argument);
        before = Some(word);
    }
    arguments
}

/// Returns the command line's words, at least one, and the program's variables.
fn command_line(settings: &ServerSettings<'_>) -> Result<(Vec<String>, Pairs), FileFault> {
    let (key, node) = settings.first(&COMMANDS).unwrap_or(("command", NOTHING));
    let mut env = settings.pairs(&["env", "envs", "environment"])?;
    let mut words = if node.is_map() {
        let (words, variables) = nested_command(key, node)?;
        env.extend(variables);
        words
    } else if node.list().is_some() {
        // In opencode, it is a list of words.
        settings.words(&[key])?
    } else {
        let program = node.text();
        let program = program.ok_or_else(|| settings.fault(key, node, "text"))?;
        vec![program.to_owned()]
    };
    words.extend(settings.words(&["args"])?);
    match words.first() {
        Some(program) if !program.trim().is_empty() => Ok((words, env)),
        _ => Err(settings.no_command_nor_address()),
    }
}

/// Older versions of Zed have the words and the variables under `command`.
fn nested_command(key: &str, node: &Node) -> Result<(Vec<String>, Pairs), FileFault> {
    let inner = ServerSettings::new(key, node)?;
    let program = inner.text(&["path"])?.map(str::to_owned);
    let words = program.into_iter().chain(inner.words(&["args"])?);
    Ok((words.collect(), inner.pairs(&["env"])?))
}

const NOTHING: &Node = &Node {
    data: NodeData::Null,
    span: 0..0,
};

pub(super) fn remote(
    name: &str,
    settings: &ServerSettings<'_>,
    transport: Option<RemoteTransport>,
    translator: &mut TextTranslator<'_>,
) -> Result<ClientLaunch, FileFault> {
    let (key, _) = settings.first(&ADDRESSES).unwrap_or(("url", NOTHING));
    let text = settings.text(&[key])?.unwrap_or_default();
    let url = translator.address(name, text.trim())?;
    // In Gemini, a plain `url` means the older transport.
    let is_older = translator.dialect.client == Client::Gemini && key == "url";
    let usual = if is_older {
        RemoteTransport::Sse
    } else {
        RemoteTransport::Http
    };
    Ok(ClientLaunch::Http {
        url,
        transport: transport.unwrap_or(usual),
        headers: headers(name, settings, translator)?,
    })
}

fn headers(
    name: &str,
    settings: &ServerSettings<'_>,
    translator: &mut TextTranslator<'_>,
) -> Result<Vec<(String, SensitiveText)>, FileFault> {
    let mut headers = settings.pairs(&["headers", "http_headers"])?;
    if let Some(options) = settings.get("requestOptions").filter(|node| node.is_map()) {
        headers.extend(ServerSettings::new(name, options)?.pairs(&["headers"])?);
    }
    let mut headers = translator.pairs(headers);
    for (header, variable) in settings.pairs(&["env_http_headers"])? {
        headers.push((header, translator.variable(&variable, "")));
    }
    headers.extend(authorization(settings, translator)?);
    Ok(headers)
}

/// The keys that hold only a token in Codex and Continue.
fn authorization(
    settings: &ServerSettings<'_>,
    translator: &mut TextTranslator<'_>,
) -> Result<Vec<(String, SensitiveText)>, FileFault> {
    let mut tokens = Vec::new();
    if let Some(variable) = settings.text(&["bearer_token_env_var"])? {
        tokens.push(translator.variable(variable, "Bearer "));
    }
    if let Some(key) = settings.text(&["apiKey"])? {
        let bearer = format!("Bearer {key}");
        tokens.push(translator.text(&bearer, |text| secret::split("", text)));
    }
    let tokens = tokens.into_iter();
    Ok(tokens
        .map(|token| ("Authorization".to_owned(), token))
        .collect())
}
