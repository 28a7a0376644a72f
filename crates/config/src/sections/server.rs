//! Turns one `[servers.NAME]` table into the values needed to connect.

use kitbag_domain::{Launch, Reach, RemoteEndpoint, RemoteTransport, ServerName, Template};
use kitbag_upstream::oauth::Settings;
use kitbag_upstream::{ServerKind, ServerLimits, ServerSpec};
use kitbag_wire::Era;
use toml::Spanned;
use url::Url;

use super::oauth::{self, RawOauth};
use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::raw::{ByName, RawDuration};
use crate::rows::{Alternative, KeyRow, KeyTable, Secrecy, SectionRow, TableLayout, ValueType};
use crate::values::{Section, parse_templates};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "servers",
    layout: TableLayout::Each(&TABLE),
    // A reload reports each added, changed and removed server.
    fingerprint: None,
};

const TABLE: KeyTable = KeyTable {
    path: "servers.NAME",
    alternatives: &[
        Alternative {
            key: "command",
            description: "a server with a `command`",
        },
        Alternative {
            key: "url",
            description: "a server with a `url`",
        },
    ],
    rows: &[
        KeyRow {
            name: "command",
            fills_variables: true,
            only_with: Some("command"),
            meaning: "The program to launch; it speaks MCP on stdin and stdout.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "args",
            secrecy: Secrecy::Words,
            fills_variables: true,
            only_with: Some("command"),
            meaning: "The arguments of the program.",
            ..KeyRow::texts(Vec::new)
        },
        KeyRow {
            name: "env",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            only_with: Some("command"),
            meaning: "Environment variables for it. It inherits only a few harmless ones, such as `PATH`, `HOME` and \
                      `LANG`.",
            ..KeyRow::PAIRS
        },
        KeyRow {
            name: "cwd",
            only_with: Some("command"),
            meaning: "The directory to launch it in; for a server of a [project](#a-projects-file), the folder of \
                      the project.",
            ..KeyRow::unset("your home directory")
        },
        KeyRow {
            name: "url",
            secrecy: Secrecy::Address,
            fills_variables: true,
            only_with: Some("url"),
            meaning: "The URL of a running server, `http` or `https`.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "headers",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            only_with: Some("url"),
            meaning: "HTTP headers for every request to the server.",
            ..KeyRow::PAIRS
        },
        KeyRow {
            name: "transport",
            only_with: Some("url"),
            meaning: "`\"http\"` is streamable HTTP, falling back to HTTP+SSE; `\"sse\"` is HTTP+SSE only.",
            ..KeyRow::text(|| "http".to_owned())
        },
        KeyRow {
            name: "oauth",
            value: ValueType::Table(&oauth::TABLE),
            only_with: Some("url"),
            meaning: "Changes to the usual login; see [below](#serversnameoauth).",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "description",
            meaning: "What the server is for, in a few words. Models read it when they \
                      [search](surfaces.md#what-the-search-says-about-your-servers).",
            ..KeyRow::unset("the server's own text, or the names of its tools")
        },
        KeyRow {
            name: "enabled",
            meaning: "`false` disables the server and keeps its table.",
            ..KeyRow::flag(|| true)
        },
        KeyRow {
            name: "era",
            meaning: "`\"auto\"` probes once and remembers; `\"legacy\"` starts with `initialize`; \
                      `\"modern\"` probes at every start.",
            ..KeyRow::text(|| "auto".to_owned())
        },
        KeyRow {
            name: "start_timeout",
            meaning: "The timeout from launch to a usable connection.",
            ..KeyRow::duration(|| ServerLimits::default().start_timeout)
        },
        KeyRow {
            name: "call_timeout",
            meaning: "The timeout of a call without progress; progress restarts it.",
            ..KeyRow::duration(|| ServerLimits::default().call_timeout)
        },
        KeyRow {
            name: "call_deadline",
            meaning: "The timeout of a whole call, with or without progress.",
            ..KeyRow::duration(|| ServerLimits::default().call_deadline)
        },
        KeyRow {
            name: "idle_timeout",
            meaning: "The server is stopped after this time without a call.",
            ..KeyRow::duration(|| ServerLimits::default().idle_timeout)
        },
        KeyRow {
            name: "max_concurrent",
            meaning: "Concurrent calls to the server. One slot in eight is not available to callers with a key that \
                      already have a running call, so that the next caller does not wait.",
            ..KeyRow::number(|| ServerLimits::default().max_concurrent)
        },
        KeyRow {
            name: "max_queued",
            meaning: "Calls that may wait for a free slot; further calls are rejected. The caller with the fewest \
                      running calls is served first, and a caller with a key may occupy at most three quarters of the \
                      queue.",
            ..KeyRow::number(|| ServerLimits::default().max_queued)
        },
        KeyRow {
            name: "max_message_bytes",
            meaning: "The largest message the server may send.",
            ..KeyRow::number(|| ServerLimits::default().max_message_bytes)
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawServer {
    command: Option<Spanned<String>>,
    args: Vec<String>,
    env: Option<Spanned<ByName<String>>>,
    cwd: Option<String>,
    url: Option<Spanned<String>>,
    headers: Option<Spanned<ByName<String>>>,
    transport: Option<Spanned<String>>,
    oauth: Option<Spanned<RawOauth>>,
    description: Option<String>,
    pub(crate) enabled: Option<bool>,
    era: Option<Spanned<String>>,
    start_timeout: Option<Spanned<RawDuration>>,
    call_timeout: Option<Spanned<RawDuration>>,
    call_deadline: Option<Spanned<RawDuration>>,
    idle_timeout: Option<Spanned<RawDuration>>,
    max_concurrent: Option<Spanned<i64>>,
    max_queued: Option<Spanned<i64>>,
    max_message_bytes: Option<Spanned<i64>>,
}

pub(crate) fn build(
    name: ServerName,
    mut raw: RawServer,
    section: &Section,
    base_dirs: &BaseDirs,
) -> Result<ServerSpec, Fault> {
    let era = section.parse_choice("era", raw.era.take(), ERAS)?.flatten();
    let limits = build_limits(&mut raw, section)?;
    let description = raw.description.take();
    let (reach, oauth) = match (raw.command.take(), raw.url.take()) {
        (Some(_), Some(_)) => return Err(section.fault(Problem::CommandAndUrl)),
        (None, None) => return Err(section.fault(Problem::NeitherCommandNorUrl)),
        (Some(command), None) => {
            let launch = build_launch(&command, raw, section, base_dirs)?;
            (Reach::Command(launch), Settings::default())
        }
        (None, Some(url)) => build_remote(&url, raw, section)?,
    };
    Ok(ServerSpec {
        name,
        kind: ServerKind::External(reach),
        description,
        oauth,
        era,
        limits,
    })
}

const ERAS: &[(&str, Option<Era>)] = &[
    ("auto", None),
    ("legacy", Some(Era::Legacy)),
    ("modern", Some(Era::Modern)),
];
const TRANSPORTS: &[(&str, RemoteTransport)] = &[
    ("http", RemoteTransport::Http),
    ("sse", RemoteTransport::Sse),
];

fn build_launch(
    command: &Spanned<String>,
    raw: RawServer,
    section: &Section,
    base_dirs: &BaseDirs,
) -> Result<Launch<Template>, Fault> {
    if command.get_ref().trim().is_empty() {
        return Err(section.fault_at("command", command, Problem::EmptyCommand));
    }
    Ok(Launch {
        command: Template::new(command.get_ref()),
        args: raw.args.into_iter().map(Template::new).collect(),
        env: parse_templates(raw.env, |name| check_variable_name(section, name))?
            .into_iter()
            .collect(),
        cwd: raw.cwd.map(|path| base_dirs.resolve_path(&path)),
    })
}

fn build_remote(
    url: &Spanned<String>,
    raw: RawServer,
    section: &Section,
) -> Result<(Reach<Template>, Settings), Fault> {
    let transport = section
        .parse_choice("transport", raw.transport, TRANSPORTS)?
        .unwrap_or_default();
    let headers = parse_templates(raw.headers, |name| section.check_header_name(name))?
        .into_iter()
        .collect();
    let url = parse_url(url.get_ref()).map_err(|problem| section.fault_at("url", url, problem))?;
    let endpoint = RemoteEndpoint {
        transport,
        url: Template::from_url(url.as_str()),
        headers,
    };
    let oauth = match raw.oauth {
        Some(raw) if endpoint.sets_header("authorization") => {
            return Err(section.fault_at("oauth", &raw, Problem::BearerTwice));
        }
        Some(raw) => oauth::build(raw, section)?,
        None => Settings::default(),
    };
    Ok((Reach::Remote(endpoint), oauth))
}

fn parse_url(text: &str) -> Result<Url, Problem> {
    let url = Url::parse(text).map_err(|error| Problem::Url {
        reason: error.to_string(),
    })?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(Problem::Scheme {
            scheme: other.to_owned(),
        }),
    }
}

fn build_limits(raw: &mut RawServer, section: &Section) -> Result<ServerLimits, Fault> {
    let default = ServerLimits::default();
    Ok(ServerLimits {
        start_timeout: section.parse_duration(
            "start_timeout",
            raw.start_timeout.take(),
            default.start_timeout,
        )?,
        call_timeout: section.parse_duration(
            "call_timeout",
            raw.call_timeout.take(),
            default.call_timeout,
        )?,
        call_deadline: section.parse_duration(
            "call_deadline",
            raw.call_deadline.take(),
            default.call_deadline,
        )?,
        idle_timeout: section.parse_duration(
            "idle_timeout",
            raw.idle_timeout.take(),
            default.idle_timeout,
        )?,
        max_concurrent: section.parse_number(
            "max_concurrent",
            raw.max_concurrent.take(),
            1,
            default.max_concurrent,
        )?,
        max_queued: section.parse_number(
            "max_queued",
            raw.max_queued.take(),
            0,
            default.max_queued,
        )?,
        max_message_bytes: section.parse_number(
            "max_message_bytes",
            raw.max_message_bytes.take(),
            1024,
            default.max_message_bytes,
        )?,
    })
}

fn check_variable_name(section: &Section, name: &Spanned<String>) -> Result<(), Fault> {
    let text = name.get_ref();
    if text.is_empty() || text.contains(['=', '\0']) {
        return Err(section.fault_at("env", name, Problem::VariableName { name: text.clone() }));
    }
    Ok(())
}
