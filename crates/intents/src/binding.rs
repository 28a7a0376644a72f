//! The servers behind the names in a template, for one caller.
//!
//! A template says `sentry.list_issues`; the caller's server may be called `sentry-eu`.

use std::collections::{BTreeMap, BTreeSet};

use kitbag_domain::{Remedy, ServerName};

use crate::template::ToolUse;

/// A server that the caller can reach, with the tools that the caller may use.
#[derive(Debug, Clone)]
pub struct ServerOffer<'a> {
    pub server: &'a ServerName,
    pub tools: BTreeSet<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    #[error("no server offers {} for `{alias}`", tools.join(" and "))]
    NoServer {
        alias: ServerName,
        tools: Vec<String>,
    },
    #[error("`{alias}` could be {}", servers.join(" or "))]
    Several {
        alias: ServerName,
        servers: Vec<String>,
    },
}

/// Finds a server for each alias: the one of that name, or else the only one that offers all tools
/// used under the alias.
pub fn bind(
    uses: &[ToolUse],
    offers: &[ServerOffer<'_>],
) -> Result<BTreeMap<ServerName, ServerName>, BindError> {
    let mut aliases: BTreeMap<&ServerName, Vec<&str>> = BTreeMap::new();
    for used in uses {
        aliases.entry(&used.alias).or_default().push(&used.tool);
    }
    let bound = aliases
        .into_iter()
        .map(|(alias, tools)| Ok((alias.clone(), server_for(alias, &tools, offers)?)));
    bound.collect()
}

fn server_for(
    alias: &ServerName,
    tools: &[&str],
    offers: &[ServerOffer<'_>],
) -> Result<ServerName, BindError> {
    let able: Vec<&ServerName> = offers
        .iter()
        .filter(|offer| tools.iter().all(|tool| offer.tools.contains(tool)))
        .map(|offer| offer.server)
        .collect();
    match able.as_slice() {
        _ if able.contains(&alias) => Ok(alias.clone()),
        [only] => Ok((*only).clone()),
        [] => Err(BindError::NoServer {
            alias: alias.clone(),
            tools: tools.iter().map(|tool| format!("`{tool}`")).collect(),
        }),
        several => Err(BindError::Several {
            alias: alias.clone(),
            servers: several.iter().map(|server| format!("`{server}`")).collect(),
        }),
    }
}

impl Remedy for BindError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NoServer { alias, .. } => {
                format!("add a server with these tools, best under the name `{alias}`")
            }
            Self::Several { alias, .. } => format!("call one of them `{alias}`"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_the_server_of_that_name_or_the_only_one_with_all_tools() {
        for (uses, offers, expected) in [
            (&["s.a", "s.b"][..], &["s: a b", "t: a b"][..], "s=s"),
            (&["s.a", "s.b"], &["s: a", "t: a b c"], "s=t"),
            (&["s.a", "g.x"], &["eu: a", "git: x"], "g=git s=eu"),
            (&["s.a"], &["t: a", "u: a"], "`s` could be `t` or `u`"),
            (
                &["s.a", "s.b"],
                &["t: a", "u: b"],
                "no server offers `a` and `b` for `s`",
            ),
            (&[], &[], ""),
        ] {
            let uses: Vec<ToolUse> = uses.iter().map(|it| it.parse().unwrap()).collect();
            let names: Vec<(ServerName, &str)> = offers
                .iter()
                .map(|offer| offer.split_once(": ").unwrap())
                .map(|(server, tools)| (server.parse().unwrap(), tools))
                .collect();
            let offers: Vec<ServerOffer<'_>> = names
                .iter()
                .map(|(server, tools)| ServerOffer {
                    server,
                    tools: tools.split(' ').collect(),
                })
                .collect();
            let outcome = match bind(&uses, &offers) {
                Ok(bound) => {
                    let pairs = bound
                        .iter()
                        .map(|(alias, server)| format!("{alias}={server}"));
                    pairs.collect::<Vec<_>>().join(" ")
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(outcome, expected);
        }
    }
}
