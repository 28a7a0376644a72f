//! Merges the servers of several files: a server that is in several of them becomes one entry, and
//! two servers with the same name get different names.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::path::PathBuf;

use kitbag_domain::ServerName;
use serde::Serialize;

use crate::client::{Client, Scope};
use crate::config::{ClientConfig, ClientLaunch, FoundServer};
use crate::sensitive_text::SensitiveText;

#[derive(Debug, Serialize)]
pub struct MergedServer {
    pub name: ServerName,
    pub server: FoundServer,
    /// Every file in which it was found, in the order found.
    pub from: Vec<ServerOrigin>,
    /// True if Kitbag already has it, under this name.
    pub known: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerOrigin {
    pub client: Client,
    pub path: PathBuf,
    /// The server's name in the client.
    pub name: String,
    /// A file in a project may have been written by a stranger.
    pub scope: Scope,
    /// The folder to which the client limits it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
}

/// Returns one entry for each distinct server, under a name that is not in `taken`. `known` returns
/// Kitbag's equivalent server, if it has one.
pub fn merge(
    mut configs: Vec<ClientConfig>,
    mut taken: BTreeSet<ServerName>,
    known: impl Fn(&ServerName, &FoundServer) -> Option<ServerName>,
) -> Vec<MergedServer> {
    // The user's files come first, so that a project cannot take the name of a server in them.
    configs.sort_by_key(|config| config.scope == Scope::Project);
    let mut merged = Vec::new();
    for (server, from) in distinct_servers(configs) {
        // The last part of a name such as `io.github.acme/weather`, or of an address, as for servers
        // from the registry.
        let last = server.name.rsplit('/').find(|part| !part.is_empty());
        let wish = ServerName::from_any_text(last.unwrap_or(&server.name));
        let existing = known(&wish, &server);
        let known = existing.is_some();
        let client = from.first().map(|origin| origin.client);
        let name = existing.unwrap_or_else(|| free_name(&wish, client, &taken));
        taken.insert(name.clone());
        merged.push(MergedServer {
            name,
            server,
            from,
            known,
        });
    }
    merged
}

type DistinctServer = (FoundServer, Vec<ServerOrigin>);

fn distinct_servers(configs: Vec<ClientConfig>) -> Vec<DistinctServer> {
    let mut distinct: Vec<DistinctServer> = Vec::new();
    for config in configs {
        for server in config.servers {
            let origin = ServerOrigin {
                client: config.client,
                path: config.path.clone(),
                name: server.name.clone(),
                scope: config.scope,
                project: config.project.clone(),
            };
            let mut others = distinct.iter_mut();
            let Some((other, from)) = others.find(|(it, _)| is_same(&it.launch, &server.launch))
            else {
                distinct.push((server, vec![origin]));
                continue;
            };
            // The server is enabled if any client enables it. A project does not decide that for
            // the user.
            let has_own = from.iter().any(|origin| origin.scope != Scope::Project);
            other.disabled &= server.disabled || (has_own && origin.scope == Scope::Project);
            from.push(origin);
        }
    }
    distinct
}

/// True if two launches are equivalent: their words, variables and secrets are equal. The order of
/// variables, the case of headers and a trailing slash make no difference.
fn is_same(one: &ClientLaunch, other: &ClientLaunch) -> bool {
    discriminant(one) == discriminant(other) && comparison_key(one) == comparison_key(other)
}

fn comparison_key(launch: &ClientLaunch) -> (Vec<String>, BTreeSet<(String, String)>) {
    match launch {
        ClientLaunch::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let words = [command].into_iter().chain(args);
            let words = words.map(SensitiveText::reveal_secrets).chain(cwd.clone());
            (words.collect(), pairs(env, str::to_owned))
        }
        ClientLaunch::Http { url, headers, .. } => {
            let url = url.reveal_secrets().trim_end_matches('/').to_owned();
            (vec![url], pairs(headers, str::to_lowercase))
        }
    }
}

fn pairs(
    pairs: &[(String, SensitiveText)],
    name: fn(&str) -> String,
) -> BTreeSet<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| (name(key), value.reveal_secrets()))
        .collect()
}

/// Returns the wish itself, or the wish with the client or a number appended. Names that differ
/// only in case would be confused.
fn free_name(
    wish: &ServerName,
    client: Option<Client>,
    taken: &BTreeSet<ServerName>,
) -> ServerName {
    let with_client = client.and_then(|client| with_suffix(wish, client.name()));
    let numbered = (2_u32..).filter_map(|number| with_suffix(wish, &number.to_string()));
    let first = [Some(wish.clone()), with_client].into_iter().flatten();
    first
        .chain(numbered)
        .find(|name| {
            let mut taken = taken.iter();
            taken.all(|other| !other.as_str().eq_ignore_ascii_case(name.as_str()))
        })
        .expect("there are more numbers than servers")
}

/// Truncates a name to make room for the suffix. Its part has no dashes at either end.
fn with_suffix(wish: &ServerName, suffix: &str) -> Option<ServerName> {
    let room = ServerName::MAX - suffix.len() - 1;
    let edge = ['_', '-'];
    let name = wish.as_str().trim_matches(edge);
    let name = name[..name.len().min(room)].trim_end_matches(edge);
    format!("{name}-{suffix}").parse().ok()
}

#[cfg(test)]
mod tests {
    use kitbag_domain::RemoteTransport;

    use super::*;

    fn stdio(name: &str, words: &str, env: &[(&str, &str)], disabled: bool) -> FoundServer {
        let mut words = words.split(' ').map(SensitiveText::literal);
        let env = env
            .iter()
            .map(|(key, value)| ((*key).to_owned(), SensitiveText::literal(*value)))
            .collect();
        let command = words.next().unwrap();
        let launch = ClientLaunch::Stdio {
            command,
            args: words.collect(),
            env,
            cwd: None,
        };
        FoundServer {
            name: name.to_owned(),
            launch,
            disabled,
            variables: vec![],
            notes: vec![],
        }
    }

    fn http(name: &str, url: &str) -> FoundServer {
        let launch = ClientLaunch::Http {
            url: SensitiveText::literal(url),
            transport: RemoteTransport::Http,
            headers: vec![],
        };
        FoundServer {
            name: name.to_owned(),
            launch,
            disabled: false,
            variables: vec![],
            notes: vec![],
        }
    }

    fn found(client: Client, servers: Vec<FoundServer>) -> ClientConfig {
        ClientConfig {
            client,
            path: "f".into(),
            project: None,
            scope: Scope::User,
            servers,
            kitbag: None,
            problems: vec![],
        }
    }

    fn names(found: Vec<ClientConfig>, taken: &[&str]) -> Vec<String> {
        let taken = taken.iter().map(|name| name.parse().unwrap()).collect();
        let known = |_: &ServerName, server: &FoundServer| {
            (server.name == "ours").then(|| "known".parse::<ServerName>().unwrap())
        };
        let merged = merge(found, taken, known);
        let show = |it: &MergedServer| {
            let off = if it.server.disabled { " off" } else { "" };
            format!("{} x{}{off}", it.name, it.from.len())
        };
        merged.iter().map(show).collect()
    }

    #[test]
    fn the_same_server_in_several_clients_is_one() {
        let env = [("A", "1"), ("B", "2")];
        let turned = [("B", "2"), ("A", "1")];
        let found = vec![
            found(
                Client::Cursor,
                vec![
                    stdio("git", "uvx git", &env, true),
                    http("docs", "https://d/mcp"),
                ],
            ),
            found(
                Client::Zed,
                vec![
                    stdio("Git!", "uvx git", &turned, false),
                    http("d", "https://d/mcp/"),
                ],
            ),
        ];
        assert_eq!(names(found, &[]), ["git x2", "docs x2"]);
    }

    #[test]
    fn two_servers_with_the_same_name_are_distinguished_by_their_client() {
        let found = vec![
            found(Client::Cursor, vec![stdio("git", "a", &[], true)]),
            found(Client::Zed, vec![stdio("Git", "b", &[], false)]),
            found(
                Client::Zed,
                vec![
                    stdio("git", "c", &[], false),
                    stdio("ours", "d", &[], false),
                ],
            ),
        ];
        assert_eq!(
            names(found, &["files"]),
            ["git x1 off", "Git-zed x1", "git-2 x1", "known x1"]
        );
    }

    #[test]
    fn a_name_that_is_an_address_is_shortened_to_its_last_part() {
        let registered = stdio("io.github.acme/weather", "a", &[], false);
        let address = stdio(
            "github.com/acme/servers/tree/main/src/files/",
            "b",
            &[],
            false,
        );
        let found = vec![found(
            Client::Cline,
            vec![registered, address, stdio("/", "c", &[], false)],
        )];
        assert_eq!(names(found, &[]), ["weather x1", "files x1", "server x1"]);
    }

    #[test]
    fn a_long_name_is_truncated_before_its_distinguishing_suffix() {
        let long = "x".repeat(32);
        let taken = [long.parse().unwrap()].into();
        assert_eq!(
            free_name(
                &ServerName::from_any_text(&long),
                Some(Client::ClaudeDesktop),
                &taken
            )
            .as_str()
            .len(),
            32
        );
    }
}
