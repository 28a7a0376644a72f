//! One server, from how its client spells it to how we say it.

use std::path::Path;

use url::Url;

use super::entry::Entry;
use crate::client::Client;
use crate::found::{FoundServer, Launch, Note, Source, Transport, Variable, Wrong};
use crate::secret;
use crate::tree::Node;
use crate::value::{Part, Value};
use crate::variables::{Speech, variable, wanted};

pub(super) fn read(name: &str, node: &Node, speech: &Speech<'_>) -> Result<FoundServer, Wrong> {
    let entry = Entry::new(name, node)?;
    let mut writer = Writer {
        speech,
        variables: Vec::new(),
        notes: Vec::new(),
    };
    let launch = match kind(name, &entry)? {
        Kind::Stdio => stdio(&entry, &mut writer)?,
        Kind::Remote(transport) => remote(name, &entry, transport, &mut writer)?,
    };
    let disabled =
        entry.bool("disabled")?.unwrap_or(false) || entry.bool("enabled")? == Some(false);
    for ignored in [
        "name",
        "description",
        "source",
        "display_name",
        "bundled",
        "alwaysLoad",
        "version",
        "gallery",
    ] {
        entry.get(ignored);
    }
    let Writer {
        variables,
        mut notes,
        ..
    } = writer;
    if let Some(project) = speech.project.filter(|_| speech.fixed.take()) {
        notes.push(Note::FixedTo {
            folder: project.display().to_string(),
        });
    }
    let keys = entry.left();
    if !keys.is_empty() {
        notes.push(Note::NotCarried { keys });
    }
    if speech.is_literal() && !variables.is_empty() {
        notes.push(Note::FillsIn);
    }
    Ok(FoundServer {
        name: name.to_owned(),
        launch,
        disabled,
        variables,
        notes,
    })
}

/// Whether this is the gateway itself, as we install it or as a person would.
pub(super) fn is_kitbag(server: &FoundServer) -> bool {
    match &server.launch {
        Launch::Stdio { command, args, .. } => {
            let command = command.masked();
            let program = Path::new(&command)
                .file_stem()
                .is_some_and(|stem| stem == "kitbag");
            program && args.iter().any(|word| word.masked() == "serve")
        }
        Launch::Http { url, .. } => {
            let url = Url::parse(&url.masked()).ok();
            let local = url.is_some_and(|it| {
                matches!(it.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
            });
            server.name == "kitbag" && local
        }
    }
}

enum Kind {
    Stdio,
    Remote(Option<Transport>),
}

const COMMANDS: [&str; 2] = ["command", "cmd"];
const ADDRESSES: [&str; 4] = ["httpUrl", "url", "serverUrl", "uri"];

fn kind(name: &str, entry: &Entry<'_>) -> Result<Kind, Wrong> {
    let server = || name.to_owned();
    let has_command = entry.first(&COMMANDS).is_some();
    let has_address = entry.first(&ADDRESSES).is_some();
    let kind = match entry.text(&["type", "transport", "transportType"])? {
        Some("stdio" | "local") => Kind::Stdio,
        Some("sse") => Kind::Remote(Some(Transport::Sse)),
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote") => {
            Kind::Remote(Some(Transport::Http))
        }
        Some("builtin" | "platform" | "frontend" | "inline_python") => {
            return Err(Wrong::PartOfClient { server: server() });
        }
        Some(other) => {
            return Err(Wrong::Transport {
                server: server(),
                found: other.to_owned(),
            });
        }
        None if has_command => Kind::Stdio,
        None => Kind::Remote(None),
    };
    let reachable = if matches!(kind, Kind::Stdio) {
        has_command
    } else {
        has_address
    };
    if reachable {
        return Ok(kind);
    }
    let from_extension = entry.get("source").and_then(Node::text) == Some("extension");
    if from_extension || entry.get("settings").is_some() {
        return Err(Wrong::PartOfClient { server: server() });
    }
    Err(Wrong::Nowhere { server: server() })
}

fn stdio(entry: &Entry<'_>, writer: &mut Writer<'_>) -> Result<Launch, Wrong> {
    let (mut words, env) = command(entry)?;
    let program = words.remove(0);
    let command = writer.plain(&program);
    let arguments: Vec<Value> = words
        .iter()
        .enumerate()
        .map(|(index, word)| {
            let before = index.checked_sub(1).and_then(|before| words.get(before));
            writer.text(word, |text| {
                secret::split_argument(before.map(String::as_str), text)
            })
        })
        .collect();
    let mut env = writer.pairs(env);
    env.extend(writer.handed_on(entry)?);
    writer.read_env_file(entry, &mut env)?;
    // What stays open in it is not carried over, so nobody need supply it.
    let mut unneeded = Vec::new();
    let cwd = entry.text(&["cwd"])?;
    let cwd = cwd.map(|cwd| writer.speech.translate(cwd, &mut unneeded, plain).masked());
    let cwd = writer.folder(cwd, words.iter().chain([&program]));
    Ok(Launch::Stdio {
        command,
        args: arguments,
        env,
        cwd,
    })
}

/// The words of the command line and the variables of the program; the older Zed has all of them
/// under `command`, opencode has the words there.
fn command(entry: &Entry<'_>) -> Result<(Vec<String>, Pairs), Wrong> {
    let (key, node) = entry.first(&COMMANDS).unwrap_or(("command", NOTHING));
    let mut env = entry.pairs(&["env", "envs", "environment"])?;
    let mut words = if node.is_map() {
        let inner = Entry::new(key, node)?;
        env.extend(inner.pairs(&["env"])?);
        let program = inner.text(&["path"])?.map(str::to_owned);
        program.into_iter().chain(inner.words(&["args"])?).collect()
    } else if node.list().is_some() {
        entry.words(&[key])?
    } else {
        vec![
            node.text()
                .ok_or_else(|| entry.wrong(key, node, "text"))?
                .to_owned(),
        ]
    };
    words.extend(entry.words(&["args"])?);
    if words
        .first()
        .is_none_or(|program| program.trim().is_empty())
    {
        return Err(entry.nowhere());
    }
    Ok((words, env))
}

type Pairs = Vec<(String, String)>;

const NOTHING: &Node = &Node {
    data: crate::tree::Data::Null,
    span: 0..0,
};

fn remote(
    name: &str,
    entry: &Entry<'_>,
    transport: Option<Transport>,
    writer: &mut Writer<'_>,
) -> Result<Launch, Wrong> {
    let (key, _) = entry.first(&ADDRESSES).unwrap_or(("url", NOTHING));
    let text = entry.text(&[key])?.unwrap_or_default();
    let url = writer.address(name, text.trim())?;
    // For Gemini a plain `url` means the older transport.
    let older = writer.speech.client == Client::Gemini && key == "url";
    let transport = transport.unwrap_or(if older {
        Transport::Sse
    } else {
        Transport::Http
    });
    let mut headers = entry.pairs(&["headers", "http_headers"])?;
    if let Some(options) = entry.get("requestOptions").filter(|node| node.is_map()) {
        headers.extend(Entry::new(name, options)?.pairs(&["headers"])?);
    }
    let mut headers = writer.pairs(headers);
    for (header, variable) in entry.pairs(&["env_http_headers"])? {
        headers.push((header, writer.variable(&variable, "")));
    }
    if let Some(variable) = entry.text(&["bearer_token_env_var"])? {
        let value = writer.variable(variable, "Bearer ");
        headers.push(("Authorization".to_owned(), value));
    }
    if let Some(key) = entry.text(&["apiKey"])? {
        let bearer = format!("Bearer {key}");
        headers.push((
            "Authorization".to_owned(),
            writer.text(&bearer, |text| secret::split("", text)),
        ));
    }
    Ok(Launch::Http {
        url,
        transport,
        headers,
    })
}

/// Puts texts into our words, and remembers what came up on the way.
struct Writer<'a> {
    speech: &'a Speech<'a>,
    variables: Vec<Variable>,
    notes: Vec<Note>,
}

impl Writer<'_> {
    fn text(&mut self, text: &str, literal: impl FnOnce(&str) -> Vec<Part>) -> Value {
        self.speech.translate(text, &mut self.variables, literal)
    }

    /// Something that never is a secret.
    fn plain(&mut self, text: &str) -> Value {
        self.text(text, plain)
    }

    fn pairs(&mut self, pairs: Pairs) -> Vec<(String, Value)> {
        let value = |(name, text): (String, String)| {
            let value = self.text(&text, |text| secret::split(&name, text));
            (name, value)
        };
        pairs.into_iter().map(value).collect()
    }

    /// A variable of the environment behind some letters.
    fn variable(&mut self, name: &str, before: &str) -> Value {
        let variable = variable(name, Source::Environment, None, &mut self.variables);
        Value::of([Part::Literal(before.to_owned()), variable])
    }

    /// Variables that are named without a value: Codex hands on its own, Goose keeps them locked.
    fn handed_on(&mut self, entry: &Entry<'_>) -> Result<Vec<(String, Value)>, Wrong> {
        let listed = entry
            .get("env_vars")
            .and_then(Node::list)
            .unwrap_or_default();
        let name = |item: &Node| {
            item.text()
                .or(item.get("name").and_then(Node::text))
                .map(str::to_owned)
        };
        let mut all = Vec::new();
        for name in listed.iter().filter_map(name) {
            let value = self.variable(&name, "");
            all.push((name, value));
        }
        for name in entry.words(&["env_keys"])? {
            let value = Value::of([wanted(&name, Source::Keyring, &mut self.variables)]);
            all.push((name, value));
        }
        Ok(all)
    }

    /// Lines of `NAME=value`, under what the client says itself.
    fn read_env_file(
        &mut self,
        entry: &Entry<'_>,
        env: &mut Vec<(String, Value)>,
    ) -> Result<(), Wrong> {
        let Some(path) = entry.text(&["envFile"])? else {
            return Ok(());
        };
        let path = self.speech.path(&self.plain(path).masked());
        let Some(text) = (self.speech.files)(&path) else {
            self.notes.push(Note::NotCarried {
                keys: vec!["envFile".to_owned()],
            });
            return Ok(());
        };
        for line in text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
        {
            let Some((name, value)) = line.trim_start_matches("export ").split_once('=') else {
                continue;
            };
            if !env.iter().any(|(known, _)| known == name.trim()) {
                let value = value.trim().trim_matches(['"', '\'']);
                env.push((
                    name.trim().to_owned(),
                    Value::of([Part::Secret(value.to_owned())]),
                ));
            }
        }
        self.notes.push(Note::EnvFile { path });
        Ok(())
    }

    /// A server of a project that names files there must be launched there.
    fn folder<'w>(
        &mut self,
        cwd: Option<String>,
        mut words: impl Iterator<Item = &'w String>,
    ) -> Option<String> {
        match cwd {
            // A folder is no template; what is still open here could never be filled in.
            Some(cwd) if cwd.contains("${") => self.without_cwd(),
            Some(cwd) if Path::new(&cwd).is_absolute() || cwd.starts_with('~') => Some(cwd),
            // Only a project says where a path begins.
            Some(cwd) => match self.speech.project {
                Some(project) => Some(project.join(&cwd).display().to_string()),
                None => self.without_cwd(),
            },
            None => {
                let project = self
                    .speech
                    .project
                    .filter(|_| words.any(|word| names_a_file(word)))?;
                let folder = project.display().to_string();
                self.notes.push(Note::LaunchedIn {
                    folder: folder.clone(),
                });
                Some(folder)
            }
        }
    }

    fn without_cwd(&mut self) -> Option<String> {
        self.notes.push(Note::NotCarried {
            keys: vec!["cwd".to_owned()],
        });
        None
    }

    fn address(&mut self, server: &str, text: &str) -> Result<Value, Wrong> {
        let wrong = |reason: &str| Wrong::Address {
            server: server.to_owned(),
            reason: reason.to_owned(),
        };
        let text = self
            .with_a_fixed_host(text)
            .ok_or_else(|| wrong("it begins with a variable"))?;
        let value = self.text(&text, secret::address);
        // The parser quotes nothing, but what it is given need not hold a secret either.
        let url = Url::parse(&value.masked()).map_err(|error| wrong(&error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(value),
            other => Err(wrong(&format!("it is reached by `{other}:`"))),
        }
    }

    /// The default of a variable in the place of the variable, up to where the path begins.
    fn with_a_fixed_host(&mut self, text: &str) -> Option<String> {
        let Some(inside) = text
            .strip_prefix("${")
            .and_then(|rest| rest.split_once('}'))
        else {
            return Some(text.to_owned());
        };
        let (_, default) = inside.0.split_once(":-")?;
        self.notes.push(Note::TookDefault);
        Some(format!("{default}{}", inside.1))
    }
}

fn plain(text: &str) -> Vec<Part> {
    vec![Part::Literal(text.to_owned())]
}

/// `.`, `./server.js`, `src/server.py`: means something only where the project is.
fn names_a_file(word: &str) -> bool {
    let script = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh"]
        .iter()
        .any(|end| word.ends_with(end));
    let loose = !word.starts_with(['/', '~', '-', '$', '@'])
        && !word.contains("://")
        && !word.contains(':');
    word == "." || word.starts_with("./") || word.starts_with("../") || (script && loose)
}
