//! What must be known to connect to a server: how to reach it, and within which limits.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::ServerName;
use kitbag_wire::Era;
use url::Url;

use crate::oauth;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub name: ServerName,
    pub transport: Transport,
    /// Set when a person knows better than the probe.
    pub era: Option<Era>,
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio(Launch),
    /// Streamable HTTP; a server that turns out to speak only HTTP+SSE is spoken to that way.
    Http(Endpoint),
    /// The HTTP+SSE transport of 2024-11-05, asked for by name.
    Sse(Endpoint),
    Inside(Inside),
}

/// A server that runs in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// Another one when what it offers may be another.
    pub edition: String,
}

/// How a stdio server is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub command: String,
    pub args: Vec<Template>,
    pub env: BTreeMap<String, Template>,
    pub cwd: Option<PathBuf>,
}

/// Where a remote server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub url: Url,
    pub headers: BTreeMap<String, Template>,
    pub oauth: oauth::Settings,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From launch to a usable connection.
    pub start_timeout: Duration,
    /// Silence after which a call is given up; progress starts the clock again.
    pub call_timeout: Duration,
    /// The most a call may take, progress or not.
    pub call_deadline: Duration,
    /// Without a call for this long, the connection is closed and the child stopped.
    pub idle_timeout: Duration,
    pub max_concurrent: usize,
    /// Calls that may wait for a free place; the next one is refused at once.
    pub max_queued: usize,
    pub max_message_bytes: usize,
}

/// Text with `${VARIABLE}`, `${VARIABLE:-default}` or `${secret:NAME}` in it, filled in at launch.
///
/// It may also hold a secret somebody typed into the configuration, so it never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Template(String);

/// Where the values of variables come from: the environment, or the store for `secret:NAME`.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.told())]
pub struct Unresolved {
    pub variable: String,
}

impl Unresolved {
    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self.secret() {
            Some(secret) => format!("set it: kitbag secret set {secret}"),
            None if self.is_foreign() => {
                format!("replace ${{{}}} in the configuration", self.variable)
            }
            None => format!("set it: export {}=…", self.variable),
        }
    }

    fn told(&self) -> String {
        match self.secret() {
            Some(secret) => format!("there is no secret `{secret}` in the store"),
            None if self.is_foreign() => format!("Kitbag cannot fill in `{}`", self.variable),
            None => format!("the environment variable `{}` is not set", self.variable),
        }
    }

    /// Such as `config:editor.theme`, which only the client knows that it was imported from.
    fn is_foreign(&self) -> bool {
        self.variable.contains(':')
    }

    fn secret(&self) -> Option<&str> {
        self.variable.strip_prefix(Template::SECRET)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(120),
            call_deadline: Duration::from_secs(3600),
            idle_timeout: Duration::from_secs(600),
            max_concurrent: 64,
            max_queued: 256,
            max_message_bytes: 16 * 1024 * 1024,
        }
    }
}

impl ServerSpec {
    /// Changes whenever something changes that could change what the server offers.
    pub fn fingerprint(&self) -> String {
        let text = match &self.transport {
            Transport::Stdio(launch) => {
                let args: Vec<_> = launch.args.iter().map(Template::source).collect();
                let env: Vec<_> = launch
                    .env
                    .iter()
                    .map(|(key, value)| (key, value.source()))
                    .collect();
                format!(
                    "stdio {:?} {args:?} {env:?} {:?}",
                    launch.command, launch.cwd
                )
            }
            Transport::Http(endpoint) => endpoint.fingerprint("http"),
            Transport::Sse(endpoint) => endpoint.fingerprint("sse"),
            Transport::Inside(inside) => format!("inside {}", inside.edition),
        };
        blake3::hash(format!("{text} {:?}", self.era).as_bytes()).to_hex()[..32].to_owned()
    }

    /// Whether it runs in this process.
    pub fn is_inside(&self) -> bool {
        matches!(self.transport, Transport::Inside(_))
    }

    /// The variables without which it cannot be reached.
    pub fn unresolved(&self, lookup: &Lookup) -> Vec<Unresolved> {
        let mut missing = Vec::new();
        for template in self.templates() {
            if let Err(unresolved) = template.resolve(|name| lookup(name))
                && !missing.contains(&unresolved)
            {
                missing.push(unresolved);
            }
        }
        missing
    }

    /// Every text that has to be filled in before it can be reached.
    pub fn templates(&self) -> impl Iterator<Item = Cow<'_, Template>> {
        let (first, others): (_, Vec<_>) = match &self.transport {
            Transport::Stdio(launch) => (
                Some(Template::new(&launch.command)),
                launch.args.iter().chain(launch.env.values()).collect(),
            ),
            Transport::Http(endpoint) | Transport::Sse(endpoint) => (
                Some(endpoint.address()),
                endpoint.headers.values().collect(),
            ),
            Transport::Inside(_) => (None, Vec::new()),
        };
        first
            .map(Cow::Owned)
            .into_iter()
            .chain(others.into_iter().map(Cow::Borrowed))
    }

    /// The names of everything that is filled in for it, `secret:` before those of secrets.
    pub fn variables(&self) -> BTreeSet<String> {
        let names = |template: Cow<'_, Template>| -> Vec<String> {
            template.variables().map(str::to_owned).collect()
        };
        self.templates_and_login().flat_map(names).collect()
    }

    /// Every text in which a variable may stand: also the secret that is needed for a login alone.
    pub fn templates_and_login(&self) -> impl Iterator<Item = Cow<'_, Template>> {
        let client_secret = match &self.transport {
            Transport::Http(endpoint) | Transport::Sse(endpoint) => {
                endpoint.oauth.client_secret.as_ref()
            }
            Transport::Stdio(_) | Transport::Inside(_) => None,
        };
        self.templates().chain(client_secret.map(Cow::Borrowed))
    }
}

impl Launch {
    /// The package or script that a runner such as `npx` is told to run. Of all arguments
    /// this is the one that never is a secret.
    pub fn package(&self) -> Option<&str> {
        const RUNNERS: [&str; 8] = [
            "npx", "bunx", "pnpx", "uvx", "node", "bun", "python", "python3",
        ];
        const BEFORE_IT: [&str; 3] = ["-y", "--yes", "-m"];
        let runner = self.command.rsplit('/').next().unwrap_or_default();
        let first = self
            .args
            .iter()
            .map(Template::source)
            .find(|word| !BEFORE_IT.contains(word))?;
        (RUNNERS.contains(&runner) && !first.starts_with('-')).then_some(first)
    }
}

impl Endpoint {
    /// The URL with the variables in its path, query or password as they were written; a URL
    /// keeps their braces only encoded.
    pub fn address(&self) -> Template {
        let mut text = String::new();
        let mut rest = self.url.as_str();
        while let Some((before, (inside, after))) = rest
            .split_once("$%7B")
            .and_then(|(before, after)| Some((before, after.split_once("%7D")?)))
        {
            text.extend([before, "${", inside, "}"]);
            rest = after;
        }
        Template(text + rest)
    }

    fn fingerprint(&self, kind: &str) -> String {
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(key, value)| (key, value.source()))
            .collect();
        let client = self.oauth.client_id.as_deref().unwrap_or_default();
        format!("{kind} {} {headers:?}{client}", self.url)
    }
}

impl Template {
    /// Before the name of a variable whose value is in the store.
    pub const SECRET: &str = "secret:";

    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as written, variables unfilled. Not for showing: it may hold a secret.
    pub fn source(&self) -> &str {
        &self.0
    }

    /// The names of the variables in it, as they are looked up.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self
            .pieces()
            .filter_map(|piece| Some(piece.blank?.variable));
        // `${:-$}` is how a dollar sign is spelt that begins no variable.
        names.filter(|name| !name.is_empty())
    }

    pub fn resolve(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<String, Unresolved> {
        let mut filled = String::with_capacity(self.0.len());
        for Piece { plain, blank } in self.pieces() {
            filled.push_str(plain);
            let Some(Blank { variable, default }) = blank else {
                continue;
            };
            match lookup(variable).or_else(|| default.map(str::to_owned)) {
                Some(value) => filled.push_str(&value),
                None => {
                    return Err(Unresolved {
                        variable: variable.to_owned(),
                    });
                }
            }
        }
        Ok(filled)
    }

    fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = Some(self.0.as_str());
        std::iter::from_fn(move || {
            let text = rest?;
            let found = text
                .split_once("${")
                .and_then(|(plain, after)| Some((plain, after.split_once('}')?)));
            let Some((plain, (inside, tail))) = found else {
                rest = None;
                return Some(Piece {
                    plain: text,
                    blank: None,
                });
            };
            rest = Some(tail);
            let (variable, default) = match inside.split_once(":-") {
                Some((variable, default)) => (variable, Some(default)),
                None => (inside, None),
            };
            Some(Piece {
                plain,
                blank: Some(Blank { variable, default }),
            })
        })
    }
}

/// A stretch of a template's text, and what is to be filled in behind it.
struct Piece<'a> {
    plain: &'a str,
    blank: Option<Blank<'a>>,
}

struct Blank<'a> {
    variable: &'a str,
    default: Option<&'a str>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template(…)")
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expect: Result<&str, &str>) {
        let lookup = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let got = Template::new(template).resolve(lookup);
        assert_eq!(
            got.as_deref().map_err(|missing| missing.variable.as_str()),
            expect
        );
    }

    #[test]
    fn variables_are_filled_in_and_a_missing_one_is_named() {
        check("Bearer ${TOKEN}", Ok("Bearer s3cret"));
        check("${A:-x}-${TOKEN}-${B:-}", Ok("x-s3cret-"));
        check("plain $TOKEN ${unclosed", Ok("plain $TOKEN ${unclosed"));
        check("${MISSING}", Err("MISSING"));
        check("${secret:KEY}", Err("secret:KEY"));
    }

    #[test]
    fn every_variable_that_would_be_looked_up_is_named() {
        for text in [
            "${A}-${B:-x}-${secret:c}",
            "${:-$}{secret:x} ${A",
            "${A${B}",
            "${A:-${B}}",
            "plain",
        ] {
            let asked = std::cell::RefCell::new(BTreeSet::new());
            let template = Template::new(text);
            let filled = template.resolve(|name| {
                asked.borrow_mut().insert(name.to_owned());
                (!name.is_empty()).then(String::new)
            });
            filled.unwrap();
            asked.borrow_mut().remove("");
            assert_eq!(
                template
                    .variables()
                    .map(str::to_owned)
                    .collect::<BTreeSet<_>>(),
                asked.into_inner()
            );
        }
    }

    #[test]
    fn what_is_missing_is_told_with_what_to_do() {
        let told = |variable: &str| {
            let unresolved = Unresolved {
                variable: variable.to_owned(),
            };
            format!("{unresolved} => {}", unresolved.remedy())
        };
        assert_eq!(
            told("KEY"),
            "the environment variable `KEY` is not set => set it: export KEY=…"
        );
        let expected =
            "Kitbag cannot fill in `config:a.b` => replace ${config:a.b} in the configuration";
        assert_eq!(told("config:a.b"), expected);
        let expected = "there is no secret `KEY` in the store => set it: kitbag secret set KEY";
        assert_eq!(told("secret:KEY"), expected);
    }

    #[test]
    fn variables_in_a_url_are_found_wherever_they_stand() {
        for text in [
            "https://a/${X}/mcp?k=${secret:a.b}&y",
            "https://u:${PW}@a/?q=${Q:-1}",
            "https://a/%7Bx%7D",
        ] {
            let url = Url::parse(text).unwrap();
            let endpoint = Endpoint {
                url,
                headers: BTreeMap::new(),
                oauth: oauth::Settings::default(),
            };
            assert_eq!(endpoint.address().source(), text);
        }
    }

    #[test]
    fn a_template_never_shows_its_text() {
        assert!(!format!("{:?}", Template::new("s3cret")).contains("s3cret"));
    }
}
