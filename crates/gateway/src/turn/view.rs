//! The part of the gateway that a client is shown, and the endpoint that decides it.

use kitbag_config::Surfaces;
use kitbag_domain::{Caller, KeyId, ServerName, Surface};

/// The part of the gateway that a client is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// Every server, names prefixed, as much of it as the surface shows.
    Merged(Surface),
    /// One server, names untouched.
    One(ServerName),
}

impl View {
    /// True if the list of tools changes when a server's list changes. Besides, the list of each frugal
    /// surface has a guide to the servers in it, which changes more rarely.
    pub(crate) fn tools_change(&self) -> bool {
        !matches!(self, Self::Merged(Surface::Search | Surface::Code))
    }

    /// True if text from servers is cleaned before a client sees it.
    pub(crate) fn is_frugal(&self) -> bool {
        matches!(self, Self::Merged(surface) if surface.is_frugal())
    }
}

/// The endpoint that a client uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum McpEndpoint {
    /// The main endpoint, where the configuration decides what is shown.
    Main,
    Surface(Surface),
    Server(ServerName),
}

impl McpEndpoint {
    /// Returns the view that this client gets at its endpoint. A key says more about what the
    /// caller needs than the name that a program gives itself.
    pub(crate) fn view(&self, surfaces: &Surfaces, caller: &Caller, client: Option<&str>) -> View {
        match self {
            Self::Server(server) => View::One(server.clone()),
            Self::Surface(surface) => View::Merged(*surface),
            Self::Main => {
                let by_key = caller.key.as_ref().and_then(|key| of_key(surfaces, key));
                let by_name = client.and_then(|name| of_client(surfaces, name));
                View::Merged(by_key.or(by_name).unwrap_or(surfaces.default))
            }
        }
    }
}

fn of_key(surfaces: &Surfaces, key: &KeyId) -> Option<Surface> {
    let mut keys = surfaces.keys.iter();
    keys.find(|(id, _)| *id == key.0)
        .map(|(_, surface)| *surface)
}

fn of_client(surfaces: &Surfaces, name: &str) -> Option<Surface> {
    let mut clients = surfaces.clients.iter();
    clients
        .find(|(pattern, _)| pattern.matches(name))
        .map(|(_, surface)| *surface)
}

#[cfg(test)]
mod tests {
    use kitbag_policy::Pattern;

    use super::*;

    #[track_caller]
    fn check(door: &McpEndpoint, key: Option<&str>, client: Option<&str>, expect: &View) {
        let surfaces = Surfaces {
            keys: vec![("k1".to_owned(), Surface::Adaptive)],
            clients: vec![(Pattern::any("claude*").unwrap(), Surface::All)],
            ..Surfaces::default()
        };
        let caller = Caller {
            key: key.map(|id| KeyId(id.to_owned())),
            ..Caller::local()
        };
        assert_eq!(door.view(&surfaces, &caller, client), *expect);
    }

    #[test]
    fn the_door_decides_then_the_key_then_the_name_of_the_client() {
        let server: ServerName = "git".parse().unwrap();
        check(
            &McpEndpoint::Server(server.clone()),
            Some("k1"),
            Some("claude-code"),
            &View::One(server),
        );
        check(
            &McpEndpoint::Surface(Surface::Code),
            Some("k1"),
            Some("claude-code"),
            &View::Merged(Surface::Code),
        );
        check(
            &McpEndpoint::Main,
            Some("k1"),
            Some("claude-code"),
            &View::Merged(Surface::Adaptive),
        );
        check(
            &McpEndpoint::Main,
            Some("k2"),
            Some("claude-code"),
            &View::Merged(Surface::All),
        );
        check(
            &McpEndpoint::Main,
            None,
            Some("zed"),
            &View::Merged(Surface::Search),
        );
        check(
            &McpEndpoint::Main,
            None,
            None,
            &View::Merged(Surface::Search),
        );
    }
}
