//! The same server written down in several clients is one server; two that share a name are two.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kitbag_domain::ServerName;
use serde::Serialize;

use crate::client::{Client, Scope};
use crate::found::{Found, FoundServer, Launch};
use crate::value::Value;

#[derive(Debug, Serialize)]
pub struct Merged {
    pub name: ServerName,
    pub server: FoundServer,
    /// Everywhere it was found, in the order it was found.
    pub from: Vec<Origin>,
    /// There already, under this name.
    pub known: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    pub client: Client,
    pub path: PathBuf,
    /// What the client calls it.
    pub name: String,
    /// One that lies in a project came along with it, and is a stranger's word.
    pub scope: Scope,
    /// Where alone it counts, if not everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
}

/// One entry for each distinct server, under a name that none of `taken` has. `known` says which
/// server of ours does the same, if one does.
pub fn merge(
    mut found: Vec<Found>,
    mut taken: BTreeSet<ServerName>,
    known: impl Fn(&ServerName, &FoundServer) -> Option<ServerName>,
) -> Vec<Merged> {
    let mut distinct: Vec<(FoundServer, Vec<Origin>)> = Vec::new();
    // A project must not take the name of something that is the person's own.
    found.sort_by_key(|found| found.scope == Scope::Project);
    for Found {
        client,
        path,
        servers,
        scope,
        project,
        ..
    } in found
    {
        for server in servers {
            let (path, project) = (path.clone(), project.clone());
            let origin = Origin {
                client,
                path,
                name: server.name.clone(),
                scope,
                project,
            };
            match distinct
                .iter_mut()
                .find(|(other, _)| same(&other.launch, &server.launch))
            {
                Some((other, from)) => {
                    // One client that uses it is enough to want it; a project decides only for itself.
                    let own = from.iter().any(|it| it.scope != Scope::Project);
                    other.disabled &= server.disabled || (own && scope == Scope::Project);
                    from.push(origin);
                }
                None => distinct.push((server, vec![origin])),
            }
        }
    }
    let named = |(server, from): (FoundServer, Vec<Origin>)| {
        let wish = wish(&server.name);
        let ours = known(&wish, &server);
        let known = ours.is_some();
        let name = ours.unwrap_or_else(|| free(&wish, from.first().map(|it| it.client), &taken));
        taken.insert(name.clone());
        Merged {
            name,
            server,
            from,
            known,
        }
    };
    distinct.into_iter().map(named).collect()
}

/// Of `io.github.acme/weather` or a whole address the last part, as for servers of the registry.
fn wish(name: &str) -> ServerName {
    ServerName::nearest(
        name.rsplit('/')
            .find(|part| !part.is_empty())
            .unwrap_or(name),
    )
}

/// Whether two launches do the same. Where the words, variables and secrets are equal, the order
/// of variables, the case of headers and a slash at the end make no difference.
fn same(one: &Launch, other: &Launch) -> bool {
    fn essence(launch: &Launch) -> (Vec<String>, BTreeSet<(String, String)>) {
        let pairs = |pairs: &[(String, Value)], name: fn(&str) -> String| {
            pairs
                .iter()
                .map(|(key, value)| (name(key), value.revealed()))
                .collect()
        };
        match launch {
            Launch::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let words = [command].into_iter().chain(args).map(Value::revealed);
                (
                    words.chain(cwd.clone()).collect(),
                    pairs(env, str::to_owned),
                )
            }
            Launch::Http { url, headers, .. } => {
                let url = url.revealed().trim_end_matches('/').to_owned();
                (vec![url], pairs(headers, str::to_lowercase))
            }
        }
    }
    let kind = |launch: &Launch| matches!(launch, Launch::Stdio { .. });
    kind(one) == kind(other) && essence(one) == essence(other)
}

/// The wish itself, or with the client behind it, or with a number. Names that differ only in
/// case would be taken for each other.
fn free(wish: &ServerName, client: Option<Client>, taken: &BTreeSet<ServerName>) -> ServerName {
    let behind = |suffix: &str| {
        let room = ServerName::MAX - suffix.len() - 1;
        format!("{}-{suffix}", cut(wish.as_str(), room))
            .parse()
            .ok()
    };
    let with_client = client.and_then(|client| behind(client.name()));
    let numbered = (2_u32..).filter_map(|number| behind(&number.to_string()));
    let mut candidates = [Some(wish.clone()), with_client]
        .into_iter()
        .flatten()
        .chain(numbered);
    let is_taken = |name: &ServerName| {
        taken
            .iter()
            .any(|it| it.as_str().eq_ignore_ascii_case(name.as_str()))
    };
    candidates
        .find(|name| !is_taken(name))
        .expect("there are more numbers than servers")
}

/// At most so many characters, and none at either end that a name must not have there.
fn cut(name: &str, most: usize) -> &str {
    let edge = ['_', '-'];
    let name = name.trim_matches(edge);
    name[..name.len().min(most)].trim_end_matches(edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Transport;

    fn stdio(name: &str, words: &str, env: &[(&str, &str)], disabled: bool) -> FoundServer {
        let mut words = words.split(' ').map(Value::literal);
        let env = env
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Value::literal(*value)))
            .collect();
        let command = words.next().unwrap();
        let launch = Launch::Stdio {
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
        let launch = Launch::Http {
            url: Value::literal(url),
            transport: Transport::Http,
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

    fn found(client: Client, servers: Vec<FoundServer>) -> Found {
        Found {
            client,
            path: "f".into(),
            project: None,
            scope: Scope::User,
            servers,
            kitbag: false,
            door: None,
            problems: vec![],
        }
    }

    fn names(found: Vec<Found>, taken: &[&str]) -> Vec<String> {
        let taken = taken.iter().map(|name| name.parse().unwrap()).collect();
        let known = |_: &ServerName, server: &FoundServer| {
            (server.name == "ours").then(|| "known".parse::<ServerName>().unwrap())
        };
        let merged = merge(found, taken, known);
        let show = |it: &Merged| {
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
    fn two_servers_that_share_a_name_are_told_apart_by_their_client() {
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
    fn a_name_that_is_an_address_is_known_by_its_last_part() {
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
    fn a_long_name_makes_room_for_what_tells_it_apart() {
        let long = "x".repeat(32);
        let taken = [long.parse().unwrap()].into();
        assert_eq!(
            free(
                &ServerName::nearest(&long),
                Some(Client::ClaudeDesktop),
                &taken
            )
            .as_str()
            .len(),
            32
        );
    }
}
