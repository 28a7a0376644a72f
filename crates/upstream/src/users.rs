//! Which clients have used a connection, and so whom a message concerns that names no request.
//!
//! A server may go on working for a client after it has answered its call, so a client that has
//! used the connection counts until the connection ends, whether it has a call running or not.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::exchange::Identity;
use crate::router::Pending;

/// Everybody who has used a connection since it began.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum Users {
    #[default]
    None,
    Client(Identity),
    /// Several clients of one party.
    Party(Arc<str>),
    /// Clients of several parties.
    Several,
}

impl Users {
    pub(crate) fn note(&mut self, identity: &Identity) {
        let next = match self {
            Self::None => Self::Client(identity.clone()),
            Self::Client(known) if known == identity => return,
            Self::Client(Identity { principal, .. }) | Self::Party(principal)
                if *principal == identity.principal =>
            {
                Self::Party(principal.clone())
            }
            _ => Self::Several,
        };
        *self = next;
    }

    /// Whether no client but this one has ever used the connection.
    pub(crate) fn is_only(&self, identity: &Identity) -> bool {
        matches!(self, Self::Client(known) if known == identity)
    }

    /// The request a message without an address is about: the newest of the only client it can
    /// concern, or none if there is any doubt.
    ///
    /// Of one party's calls, those whose client has yet to come back with an answer are not the
    /// ones that ask next.
    pub(crate) fn addressee(&self, pending: &HashMap<i64, Pending>) -> Option<i64> {
        if matches!(self, Self::None | Self::Several) {
            return None;
        }
        let running: Vec<_> = pending
            .iter()
            .filter_map(|(id, it)| Some((*id, it, it.identity.as_ref()?)))
            .collect();
        let followed = |it: &Pending| !it.progressing.aside.load(Ordering::Relaxed);
        let mut eligible: Vec<_> = running.iter().filter(|(_, it, _)| followed(it)).collect();
        if eligible.is_empty() {
            eligible = running.iter().collect();
        }
        let client = &eligible.first()?.2.client;
        if eligible
            .iter()
            .any(|(_, _, identity)| identity.client != *client)
        {
            return None;
        }
        eligible.iter().map(|(id, ..)| *id).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_until_the_connection_ends() {
        let client = |principal: &str, client: &str| Identity {
            principal: principal.into(),
            client: client.into(),
            account: principal.into(),
            is_owner: false,
        };
        let after = |users: &[(&str, &str)]| {
            let mut noted = Users::default();
            for (principal, name) in users {
                noted.note(&client(principal, name));
            }
            noted
        };
        assert_eq!(after(&[]), Users::None);
        assert_eq!(
            after(&[("ann", "1"), ("ann", "1")]),
            Users::Client(client("ann", "1"))
        );
        assert_eq!(
            after(&[("ann", "1"), ("ann", "2"), ("ann", "1")]),
            Users::Party("ann".into())
        );
        assert_eq!(after(&[("ann", "1"), ("bob", "1")]), Users::Several);
        assert_eq!(
            after(&[("ann", "1"), ("ann", "2"), ("bob", "1"), ("bob", "1")]),
            Users::Several
        );
        assert!(after(&[("ann", "1")]).is_only(&client("ann", "1")));
        assert!(!after(&[("ann", "1"), ("ann", "2")]).is_only(&client("ann", "1")));
    }
}
