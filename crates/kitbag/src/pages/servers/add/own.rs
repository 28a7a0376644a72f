//! A server that the person describes: a program or a URL.

use anyhow::{anyhow, bail};
use axum::Form;
use axum::extract::State;
use axum::response::Response;
use kitbag_clients::{HiddenText, holds_secret, secrets_in_argument};
use kitbag_config::edit::Reach;
use kitbag_domain::ServerName;
use maud::{Markup, html};
use serde::Deserialize;

use super::ADD;
use super::command_line::split_command_line;
use crate::cli::servers::add::{AddedServer, ServerToAdd, write_server};
use crate::import::staged_secrets::StagedSecrets;
use crate::pages::Pages;
use crate::pages::elements::hidden_csrf;
use crate::pages::servers::change::LOADED_WITHIN;
use crate::pages::servers::server_path;
use crate::pages::visitor::Visitor;

#[derive(Deserialize)]
pub(super) struct OwnServer {
    name: String,
    /// A command line or a URL.
    target: String,
    /// Lines of `KEY=VALUE`: environment variables of a program, headers for a URL.
    #[serde(default)]
    values: String,
    #[serde(default)]
    cwd: String,
    /// `sse` for a URL that speaks only the old transport.
    #[serde(default)]
    transport: String,
    /// Present if values that look like secrets are to be stored encrypted.
    store_secrets: Option<String>,
}

pub(super) fn render_form(visitor: &Visitor) -> Markup {
    html! {
        form.stack method="post" action=(ADD) {
            (hidden_csrf(visitor))
            label { "Name" input name="name" required autocomplete="off" autocapitalize="off" placeholder="time"; }
            label { "Command line or URL" input name="target" required autocomplete="off" spellcheck="false" placeholder="uvx mcp-server-time"; }
            label { "Environment variables of a program or headers for a URL, one KEY=VALUE per line"
                textarea name="values" autocomplete="off" spellcheck="false" placeholder="TOKEN=${MY_TOKEN}" {}
            }
            details {
                summary { "More" }
                label { "Working directory of a program" input name="cwd" autocomplete="off" spellcheck="false"; }
                label { "Transport of a URL" select name="transport" {
                    option value="" { "streamable HTTP" }
                    option value="sse" { "HTTP+SSE, the old one" }
                } }
            }
            label.check { input type="checkbox" name="store_secrets" value="yes" checked;
                "Store values that look like secrets encrypted, and refer to them" }
            p { button.primary { "Add server" } }
        }
        p.muted { code { "${VARIABLE}" } " is expanded when the server is started. Tools appear as " code { "NAME__tool" } "." }
    }
}

pub(super) async fn add(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(form): Form<OwnServer>,
) -> Response {
    match add_server(&pages, &visitor, form).await {
        Ok((name, done)) => visitor.redirect(&server_path(&name), Ok(done)),
        Err(error) => visitor.redirect(ADD, Err(error)),
    }
}

async fn add_server(
    pages: &Pages,
    visitor: &Visitor,
    form: OwnServer,
) -> anyhow::Result<(ServerName, String)> {
    let name: ServerName = form.name.trim().parse()?;
    let mut secrets = StagedSecrets::load(&pages.source.load()?).await?;
    let before = secrets.checkpoint();
    let reach = form.into_reach()?;
    let reach = match reach {
        (reach, true) => stage_secrets(&name, reach, &mut secrets),
        (reach, false) => reach,
    };
    let stored = secrets.staged_since(before);
    let server = ServerToAdd {
        name: name.clone(),
        reach,
        secrets,
        origin: None,
    };
    let added = write_server(server, true, false, &pages.source, "kitbag ui").await?;
    visitor.record_edits().await?;
    Ok((name.clone(), describe_added(&name, &added, &stored)))
}

pub(super) fn describe_added(name: &ServerName, added: &AddedServer, stored: &[String]) -> String {
    let mut done = format!(
        "Added `{name}` to {}. {LOADED_WITHIN}",
        added.config.display()
    );
    if !stored.is_empty() {
        done += &format!(" Stored encrypted: {}.", stored.join(", "));
    }
    if added.readable {
        done += " The file contains what looks like a secret in plain text; to encrypt it, use `kitbag secret set NAME` and ${secret:NAME}.";
    }
    done
}

impl OwnServer {
    /// Returns how the server is reached, and whether its secrets are to be stored.
    fn into_reach(self) -> anyhow::Result<(Reach, bool)> {
        let target = self.target.trim();
        let optional = |text: String| Some(text.trim().to_owned()).filter(|it| !it.is_empty());
        let pairs = self
            .values
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(parse_pair);
        let pairs = pairs.collect::<anyhow::Result<Vec<_>>>()?;
        let reach = if target.contains("://") && !target.contains(char::is_whitespace) {
            Reach::Remote {
                url: target.to_owned(),
                transport: optional(self.transport),
                headers: pairs,
            }
        } else {
            let mut words = split_command_line(target)?.into_iter();
            let Some(command) = words.next() else {
                bail!("a server needs either a program to launch or a URL");
            };
            Reach::Launch {
                command,
                args: words.collect(),
                env: pairs,
                cwd: optional(self.cwd),
            }
        };
        Ok((reach, self.store_secrets.is_some()))
    }
}

fn parse_pair(line: &str) -> anyhow::Result<(String, String)> {
    let pair = line.split_once(['=', ':']);
    // The line is not quoted, because it may be a secret.
    let (key, value) = pair.ok_or_else(|| anyhow!("expected KEY=VALUE in each line"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Replaces texts that look like secrets by references to the store.
fn stage_secrets(name: &ServerName, reach: Reach, secrets: &mut StagedSecrets) -> Reach {
    let mut stage = |key: &str, value: &str| secrets.stage(name, key, value);
    let mut stage_pairs = |pairs: Vec<(String, String)>| -> Vec<(String, String)> {
        let pairs = pairs.into_iter().map(|(key, value)| {
            let is_secret = !value.contains("${") && holds_secret(&key, &value);
            let value = if is_secret {
                stage(&key, &value)
            } else {
                value
            };
            (key, value)
        });
        pairs.collect()
    };
    match reach {
        Reach::Remote {
            url,
            transport,
            headers,
        } => Reach::Remote {
            headers: stage_pairs(headers),
            url,
            transport,
        },
        Reach::Launch {
            command,
            args,
            env,
            cwd,
        } => {
            let env = stage_pairs(env);
            let mut before: Option<&str> = None;
            let mut replaced = Vec::new();
            for word in &args {
                let text = if word.contains("${") {
                    word.clone()
                } else {
                    secrets_in_argument(before, word).template(|hidden| match hidden {
                        HiddenText::Typed(secret) => secrets.stage(name, "argument", secret),
                        HiddenText::Wanted(wanted) => wanted.to_owned(),
                    })
                };
                replaced.push(text);
                before = Some(word);
            }
            Reach::Launch {
                command,
                args: replaced,
                env,
                cwd,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_look_like_secrets_become_references() {
        let (name, mut secrets) = ("git".parse().unwrap(), StagedSecrets::default());
        let form = OwnServer {
            name: "git".to_owned(),
            target: "git-mcp --mode fast".to_owned(),
            values: "API_TOKEN=ghp_0123456789abcdefghij0123456789abcdef\nOTHER=${OTHER}\n\nMODE: x"
                .to_owned(),
            cwd: " ".to_owned(),
            transport: String::new(),
            store_secrets: Some("yes".to_owned()),
        };
        let (reach, _) = form.into_reach().unwrap();
        let Reach::Launch { args, env, cwd, .. } = stage_secrets(&name, reach, &mut secrets) else {
            panic!("a program");
        };
        assert_eq!(
            (args, cwd),
            (vec!["--mode".to_owned(), "fast".to_owned()], None)
        );
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            env,
            [
                pair("API_TOKEN", "${secret:git.API_TOKEN}"),
                pair("OTHER", "${OTHER}"),
                pair("MODE", "x")
            ]
        );
        assert_eq!(secrets.staged_since(0), ["git.API_TOKEN"]);
    }
}
