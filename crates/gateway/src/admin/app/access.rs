//! Whether a caller may use a tool and by which rule, and the load of each caller.

use kitbag_domain::{Caller, Capability, Decision, KeyId, Role, Tenant};
use serde::{Deserialize, Serialize};

use super::App;

/// Whether a caller may use a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessDecision {
    pub tool: String,
    pub outcome: AccessOutcome,
    /// The rule or state that decides; none if the tool is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// False if no server lists the tool: the rules apply to it all the same.
    pub is_listed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessOutcome {
    Allowed,
    /// The caller sees the reason.
    Denied,
    /// To the caller, the tool does not exist.
    Hidden,
    /// Nobody gets the tool until its definition is approved.
    Unapproved,
    /// It belongs to no server, so no rule can name it.
    Unknown,
}

/// The open requests of a caller and its unread answers, with the most it may have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallerLoad {
    pub tenant: Tenant,
    pub key: Option<KeyId>,
    pub requests: usize,
    pub max_requests: usize,
    pub bytes: usize,
    pub max_bytes: usize,
}

impl App {
    /// Decides whether a caller may use a tool. `name` is as clients call it, or `SERVER/TOOL`.
    pub fn explain_access(&self, caller: &Caller, name: &str) -> AccessDecision {
        let gateway = self.host.gateway();
        let catalog = gateway.catalog();
        let unapproved = catalog.unapproved.tool(name);
        let entry = catalog.tool(name).map(|entry| &entry.capability);
        let capability = entry
            .or(unapproved)
            .cloned()
            .or_else(|| parse_capability(name));
        let is_listed = capability.as_ref().is_some_and(|it| {
            catalog.find_tool(it).is_some() || catalog.unapproved.reason(it).is_some()
        });
        let decision = |outcome, reason: Option<String>| AccessDecision {
            tool: name.to_owned(),
            outcome,
            reason,
            is_listed,
        };
        let Some(capability) = capability else {
            let reason = "it has neither the form SERVER__TOOL nor SERVER/TOOL";
            return decision(AccessOutcome::Unknown, Some(reason.to_owned()));
        };
        if caller.role != Role::User {
            let reason = format!(
                "a key with the role `{}` calls no tools",
                caller.role.as_str()
            );
            return decision(AccessOutcome::Denied, Some(reason));
        }
        if let Some(reason) = gateway.policy.unknown_tenant_reason(caller) {
            return decision(AccessOutcome::Denied, Some(reason));
        }
        match gateway.policy.decide(caller, &capability) {
            Decision::Deny(reason) if caller.is_local() => {
                decision(AccessOutcome::Denied, Some(reason))
            }
            Decision::Deny(reason) => decision(AccessOutcome::Hidden, Some(reason)),
            Decision::Allow => match catalog.unapproved.reason(&capability) {
                Some(reason) => decision(AccessOutcome::Unapproved, Some(reason.to_string())),
                None => decision(AccessOutcome::Allowed, None),
            },
        }
    }

    /// Returns the load of each caller that has open requests or unread answers, highest first.
    pub fn caller_loads(&self) -> Vec<CallerLoad> {
        let gateway = self.host.gateway();
        let in_flight = &gateway.services.in_flight;
        let limit = in_flight.caller_limit();
        let loads = in_flight.caller_loads().into_iter();
        let mut loads: Vec<_> = loads
            .map(|(caller, load)| CallerLoad {
                tenant: caller.tenant,
                key: caller.key,
                requests: load.requests,
                max_requests: limit.requests,
                bytes: load.bytes,
                max_bytes: limit.bytes,
            })
            .collect();
        loads.sort_by_key(|it| std::cmp::Reverse((it.bytes, it.requests)));
        loads
    }
}

/// Reads `SERVER/TOOL` or `SERVER__TOOL`, for a tool that no server lists.
fn parse_capability(name: &str) -> Option<Capability> {
    let (server, tool) = name.split_once('/').or_else(|| name.split_once("__"))?;
    Some(Capability::tool(server.parse().ok()?, tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_no_server_lists_is_read_from_its_name() {
        let check = |name: &str, expected: Option<(&str, &str)>| {
            let read = parse_capability(name);
            let read = read
                .as_ref()
                .map(|it| (it.server.as_str(), it.name.as_str()));
            assert_eq!(read, expected, "{name}");
        };
        check("git/log", Some(("git", "log")));
        check("git__log__all", Some(("git", "log__all")));
        check("git", None);
        check("Not A Server/log", None);
    }
}
