//! Turns one `[servers.NAME]` table into the values that upstream needs to connect.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderName;
use kitbag_domain::{Launch, Reach, RemoteEndpoint, RemoteTransport, ServerName, Template};
use kitbag_upstream::oauth::Settings;
use kitbag_upstream::{ServerKind, ServerLimits, ServerSpec};
use kitbag_wire::Era;
use toml::Spanned;
use url::Url;

use super::oauth;
use crate::build::Section;
use crate::error::{Fault, Problem};
use crate::load::Ground;
use crate::nearest;
use crate::raw::{Named, RawDuration, RawServer};

pub(crate) fn build(
    name: ServerName,
    mut raw: RawServer,
    section: &Section,
    ground: &Ground,
) -> Result<ServerSpec, Fault> {
    let era = choose(section, "era", raw.era.take(), ERAS)?.flatten();
    let limits = limits(&mut raw, section)?;
    let (reach, oauth) = match (raw.command.take(), raw.url.take()) {
        (Some(_), Some(_)) => return Err(section.wrong(Problem::CommandAndUrl)),
        (None, None) => return Err(section.wrong(Problem::NeitherCommandNorUrl)),
        (Some(command), None) => {
            let launch = launch(&command, raw, section, ground)?;
            (Reach::Command(launch), Settings::default())
        }
        (None, Some(url)) => remote(&url, raw, section)?,
    };
    Ok(ServerSpec {
        name,
        kind: ServerKind::External(reach),
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

fn launch(
    command: &Spanned<String>,
    raw: RawServer,
    section: &Section,
    ground: &Ground,
) -> Result<Launch<Template>, Fault> {
    section.refuse("command", "headers", raw.headers.as_ref())?;
    section.refuse("command", "transport", raw.transport.as_ref())?;
    section.refuse("command", "oauth", raw.oauth.as_ref())?;
    if command.get_ref().trim().is_empty() {
        return Err(section.wrong_at("command", command, Problem::EmptyCommand));
    }
    Ok(Launch {
        command: Template::new(command.get_ref()),
        args: raw
            .args
            .map(Spanned::into_inner)
            .unwrap_or_default()
            .into_iter()
            .map(Template::new)
            .collect(),
        env: templates(raw.env, |name| variable_name(section, name))?
            .into_iter()
            .collect(),
        cwd: raw.cwd.map(|path| ground.path(path.get_ref())),
    })
}

fn remote(
    url: &Spanned<String>,
    raw: RawServer,
    section: &Section,
) -> Result<(Reach<Template>, Settings), Fault> {
    section.refuse("url", "args", raw.args.as_ref())?;
    section.refuse("url", "env", raw.env.as_ref())?;
    section.refuse("url", "cwd", raw.cwd.as_ref())?;
    let transport = choose(section, "transport", raw.transport, TRANSPORTS)?.unwrap_or_default();
    let headers = templates(raw.headers, |name| header_name(section, name))?
        .into_iter()
        .collect();
    let url = parse_url(url.get_ref()).map_err(|problem| section.wrong_at("url", url, problem))?;
    let endpoint = RemoteEndpoint {
        transport,
        url: Template::of_url(url.as_str()),
        headers,
    };
    let oauth = match raw.oauth {
        Some(raw) if endpoint.sets_header("authorization") => {
            return Err(section.wrong_at("oauth", &raw, Problem::BearerTwice));
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

fn limits(raw: &mut RawServer, section: &Section) -> Result<ServerLimits, Fault> {
    let default = ServerLimits::default();
    Ok(ServerLimits {
        start_timeout: section.duration(
            "start_timeout",
            raw.start_timeout.take(),
            default.start_timeout,
        )?,
        call_timeout: section.duration(
            "call_timeout",
            raw.call_timeout.take(),
            default.call_timeout,
        )?,
        call_deadline: section.duration(
            "call_deadline",
            raw.call_deadline.take(),
            default.call_deadline,
        )?,
        idle_timeout: section.duration(
            "idle_timeout",
            raw.idle_timeout.take(),
            default.idle_timeout,
        )?,
        max_concurrent: section.number(
            "max_concurrent",
            raw.max_concurrent.take(),
            1,
            default.max_concurrent,
        )?,
        max_queued: section.number("max_queued", raw.max_queued.take(), 0, default.max_queued)?,
        max_message_bytes: section.number(
            "max_message_bytes",
            raw.max_message_bytes.take(),
            1024,
            default.max_message_bytes,
        )?,
    })
}

pub(crate) fn choose<T: Copy>(
    section: &Section,
    key: &str,
    text: Option<Spanned<String>>,
    choices: &[(&'static str, T)],
) -> Result<Option<T>, Fault> {
    let Some(text) = text else { return Ok(None) };
    let found = text.get_ref();
    match choices.iter().find(|(choice, _)| choice == found) {
        Some((_, value)) => Ok(Some(*value)),
        None => {
            let choices: Vec<_> = choices.iter().map(|(choice, _)| *choice).collect();
            let nearest = nearest(found, choices.iter().copied());
            Err(section.wrong_at(
                key,
                &text,
                Problem::NotOneOf {
                    found: found.clone(),
                    choices,
                    nearest,
                },
            ))
        }
    }
}

pub(crate) fn templates(
    raw: Option<Spanned<Named<String>>>,
    check: impl Fn(&Spanned<String>) -> Result<(), Fault>,
) -> Result<BTreeMap<String, Template>, Fault> {
    raw.map(Spanned::into_inner)
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| check(&name).map(|()| (name.into_inner(), Template::new(value))))
        .collect()
}

pub(crate) fn header_name(section: &Section, name: &Spanned<String>) -> Result<(), Fault> {
    let problem = || Problem::HeaderName {
        name: name.get_ref().clone(),
    };
    HeaderName::try_from(name.get_ref())
        .map(|_| ())
        .map_err(|_| section.wrong_at("headers", name, problem()))
}

fn variable_name(section: &Section, name: &Spanned<String>) -> Result<(), Fault> {
    let text = name.get_ref();
    if text.is_empty() || text.contains(['=', '\0']) {
        return Err(section.wrong_at("env", name, Problem::VariableName { name: text.clone() }));
    }
    Ok(())
}

impl Section {
    fn refuse<T>(
        &self,
        kind: &'static str,
        key: &'static str,
        value: Option<&Spanned<T>>,
    ) -> Result<(), Fault> {
        match value {
            Some(value) => Err(Fault::new(
                value.span(),
                &self.key,
                Problem::Foreign { key, kind },
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn duration(
        &self,
        key: &str,
        value: Option<Spanned<RawDuration>>,
        default: Duration,
    ) -> Result<Duration, Fault> {
        let Some(value) = value else {
            return Ok(default);
        };
        parse_duration(value.get_ref()).map_err(|problem| self.wrong_at(key, &value, problem))
    }
}

fn parse_duration(raw: &RawDuration) -> Result<Duration, Problem> {
    let (parsed, found) = match raw {
        RawDuration::Seconds(seconds) => (
            u64::try_from(*seconds).ok().map(Duration::from_secs),
            seconds.to_string(),
        ),
        RawDuration::Text(text) => {
            let signed: Option<jiff::SignedDuration> = text.parse().ok();
            (
                signed.and_then(|signed| Duration::try_from(signed).ok()),
                text.clone(),
            )
        }
    };
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or(Problem::Duration { found })
}
