//! What a client is shown, and the tools that stand in for all the others.
//!
//! # Layout
//! - this file: the doors, and which surface a client gets behind one
//! - `tools`: the tools that are always there, as a model reads them
//! - `call`: a call on a surface, to the one of them that answers it
//! - `own`: how the arguments of these tools are read
//! - `search`, `discover`, `request` (for `call_api`), `batch`, `groups`: one file each
//! - `reach`: a call on a surface, and the tool it led to, for the exam of models
//! - `shown`: what the adaptive surface lists beside them
//! - `kept`: what was cut off a long result, for whoever reads on

pub(crate) mod answer;
mod batch;
pub(crate) mod call;
mod discover;
mod groups;
pub(crate) mod kept;
mod own;
pub(crate) mod reach;
mod request;
mod search;
pub(crate) mod shown;
pub(crate) mod tools;

use kitbag_config::Surfaces;
use kitbag_domain::{Caller, ServerName, Surface};

pub(crate) use kept::Kept;
pub(crate) use shown::Contexts;

use crate::turn::View;

/// Where a client came in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Door {
    /// The main one, where configuration decides what is shown.
    Main,
    Surface(Surface),
    Server(ServerName),
}

impl Door {
    /// What this client sees behind the door it came through. A key says more about what the
    /// caller needs than the name a program gives itself.
    pub(crate) fn view(&self, surfaces: &Surfaces, caller: &Caller, client: Option<&str>) -> View {
        match self {
            Self::Server(server) => View::One(server.clone()),
            Self::Surface(surface) => View::Merged(*surface),
            Self::Main => {
                let by_key = caller.key.as_ref().and_then(|key| {
                    surfaces
                        .keys
                        .iter()
                        .find(|(id, _)| *id == key.0)
                        .map(|(_, surface)| *surface)
                });
                let by_name = || {
                    let name = client?;
                    surfaces
                        .clients
                        .iter()
                        .find(|(it, _)| it.matches(name))
                        .map(|(_, surface)| *surface)
                };
                View::Merged(by_key.or_else(by_name).unwrap_or(surfaces.default))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::KeyId;
    use kitbag_policy::Pattern;

    use super::*;

    #[track_caller]
    fn check(door: &Door, key: Option<&str>, client: Option<&str>, expect: &View) {
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
            &Door::Server(server.clone()),
            Some("k1"),
            Some("claude-code"),
            &View::One(server),
        );
        check(
            &Door::Surface(Surface::Code),
            Some("k1"),
            Some("claude-code"),
            &View::Merged(Surface::Code),
        );
        check(
            &Door::Main,
            Some("k1"),
            Some("claude-code"),
            &View::Merged(Surface::Adaptive),
        );
        check(
            &Door::Main,
            Some("k2"),
            Some("claude-code"),
            &View::Merged(Surface::All),
        );
        check(
            &Door::Main,
            None,
            Some("zed"),
            &View::Merged(Surface::Search),
        );
        check(&Door::Main, None, None, &View::Merged(Surface::Search));
    }
}
