//! The view of a client, and the endpoint that determines it.

use kitbag_config::Surfaces;
use kitbag_domain::{Caller, KeyId, ServerName, Surface};

/// The part of the gateway that a client sees.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// All servers with prefixed names, as the surface shows them.
    Merged(Surface),
    /// One server with unchanged names.
    Server(ServerName),
}

impl View {
    /// True if the list of tools changes with the lists of servers. The guide in the list of a
    /// small surface changes as well, but rarely, and is checked separately.
    pub(crate) fn has_changing_tools(&self) -> bool {
        !matches!(self, Self::Merged(Surface::Search | Surface::Code))
    }

    /// True if text from servers is cleaned before a client sees it.
    pub(crate) fn is_small_surface(&self) -> bool {
        matches!(self, Self::Merged(surface) if surface.truncates_answers())
    }
}

/// The endpoint that a client uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum McpEndpoint {
    /// The main endpoint; the configuration determines its surface.
    Main,
    Surface(Surface),
    Server(ServerName),
}

impl McpEndpoint {
    /// Returns the client's view. At the main endpoint a surface configured for the key takes
    /// precedence over one for the client's name.
    pub(crate) fn resolve_view(
        &self,
        surfaces: &Surfaces,
        caller: &Caller,
        client: Option<&str>,
    ) -> View {
        match self {
            Self::Server(server) => View::Server(server.clone()),
            Self::Surface(surface) => View::Merged(*surface),
            Self::Main => {
                let by_key = caller
                    .key
                    .as_ref()
                    .and_then(|key| surface_for_key(surfaces, key));
                let by_name = client.and_then(|name| surface_for_client(surfaces, name));
                View::Merged(by_key.or(by_name).unwrap_or(surfaces.default))
            }
        }
    }
}

fn surface_for_key(surfaces: &Surfaces, key: &KeyId) -> Option<Surface> {
    let mut keys = surfaces.keys.iter();
    keys.find(|(id, _)| *id == key.0)
        .map(|(_, surface)| *surface)
}

fn surface_for_client(surfaces: &Surfaces, name: &str) -> Option<Surface> {
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
    fn check(endpoint: &McpEndpoint, key: Option<&str>, client: Option<&str>, expect: &View) {
        let surfaces = Surfaces {
            keys: vec![("k1".to_owned(), Surface::Adaptive)],
            clients: vec![(Pattern::for_any_text("claude*").unwrap(), Surface::All)],
            ..Surfaces::default()
        };
        let caller = Caller {
            key: key.map(|id| KeyId(id.to_owned())),
            ..Caller::local()
        };
        assert_eq!(endpoint.resolve_view(&surfaces, &caller, client), *expect);
    }

    #[test]
    fn the_endpoint_decides_then_the_key_then_the_clients_name() {
        let server: ServerName = "git".parse().unwrap();
        check(
            &McpEndpoint::Server(server.clone()),
            Some("k1"),
            Some("claude-code"),
            &View::Server(server),
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
