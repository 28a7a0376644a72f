//! The clients that have used a connection. They determine which client a message concerns if it
//! names no request.
//!
//! A server may keep working for a client after it has answered its call, so a client that has used
//! the connection counts until the connection ends, whether it has a running call or not.

use std::collections::HashMap;
use std::sync::Arc;

use crate::exchange::ClientIdentity;
use crate::router::Pending;

/// The clients that have used a connection since it was opened.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum ConnectionUsers {
    #[default]
    None,
    Client(ClientIdentity),
    /// Several clients of one party.
    Party(Arc<str>),
    /// Clients of several parties.
    Several,
}

impl ConnectionUsers {
    pub(crate) fn add(&mut self, identity: &ClientIdentity) {
        let next = match self {
            Self::None => Self::Client(identity.clone()),
            Self::Client(known) if known == identity => return,
            Self::Client(ClientIdentity { principal, .. }) | Self::Party(principal)
                if *principal == identity.principal =>
            {
                Self::Party(principal.clone())
            }
            _ => Self::Several,
        };
        *self = next;
    }

    /// True if no other client has ever used the connection.
    pub(crate) fn is_only(&self, identity: &ClientIdentity) -> bool {
        matches!(self, Self::Client(known) if known == identity)
    }

    /// Returns the request that a message without a request id concerns: the newest of the only
    /// client, or `None` if there is any doubt.
    ///
    /// A call that is waiting for its client's answer is not the one that asks next.
    pub(crate) fn infer_request(&self, pending: &HashMap<i64, Pending>) -> Option<i64> {
        if matches!(self, Self::None | Self::Several) {
            return None;
        }
        newest_of_one_client(pending, Pending::is_followed)
            .unwrap_or_else(|| newest_of_one_client(pending, |_| true).flatten())
    }
}

/// Returns the newest eligible request if all are from one client; `None` if none is eligible.
fn newest_of_one_client(
    pending: &HashMap<i64, Pending>,
    is_eligible: impl Fn(&Pending) -> bool,
) -> Option<Option<i64>> {
    let mut eligible = pending
        .iter()
        .filter(|(_, request)| is_eligible(request))
        .filter_map(|(id, request)| Some((*id, &request.identity.as_ref()?.client)));
    let (mut newest, client) = eligible.next()?;
    for (id, other) in eligible {
        if other != client {
            return Some(None);
        }
        newest = newest.max(id);
    }
    Some(Some(newest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_until_the_connection_ends() {
        let client = |principal: &str, client: &str| ClientIdentity {
            principal: principal.into(),
            client: client.into(),
            account: principal.into(),
            is_owner: false,
        };
        let after = |users: &[(&str, &str)]| {
            let mut noted = ConnectionUsers::default();
            for (principal, name) in users {
                noted.add(&client(principal, name));
            }
            noted
        };
        assert_eq!(after(&[]), ConnectionUsers::None);
        assert_eq!(
            after(&[("ann", "1"), ("ann", "1")]),
            ConnectionUsers::Client(client("ann", "1"))
        );
        assert_eq!(
            after(&[("ann", "1"), ("ann", "2"), ("ann", "1")]),
            ConnectionUsers::Party("ann".into())
        );
        assert_eq!(
            after(&[("ann", "1"), ("bob", "1")]),
            ConnectionUsers::Several
        );
        assert_eq!(
            after(&[("ann", "1"), ("ann", "2"), ("bob", "1"), ("bob", "1")]),
            ConnectionUsers::Several
        );
        assert!(after(&[("ann", "1")]).is_only(&client("ann", "1")));
        assert!(!after(&[("ann", "1"), ("ann", "2")]).is_only(&client("ann", "1")));
    }
}
