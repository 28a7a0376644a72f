//! Decides whether a caller may use a capability.
//!
//! Pure: no I/O, no clock, no mutable state, so that every decision can be replayed.
//!
//! # Layout
//! - [`address`]: the addresses to which a request may be sent
//! - [`rules`]: allow and deny lists; [`pattern`]: the patterns in them
//! - `reach`: whether a server could have a tool for a caller
//! - `spelling`: the different spellings of a name
//! - this file: the effective rules of a caller, and the message for a denial

pub mod address;
pub mod pattern;
mod reach;
pub mod rules;
mod spelling;

use std::collections::BTreeMap;

use kitbag_domain::{Caller, Capability, Decision, ServerName, Tenant};

pub use address::{AddressDenial, AddressRules, Network, NetworkError};
pub use pattern::{Pattern, PatternError};
pub use rules::{CodeWrites, RuleText, Rules};
use rules::{RuleDenial, RuleSubject};
use spelling::Evasion;

/// The default rules and each tenant's rules. Both must permit.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    default: Rules,
    tenants: BTreeMap<Tenant, Rules>,
    unknown: UnknownTenants,
}

/// The rule for keys of a tenant that is not in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownTenants {
    /// Such a tenant may use nothing: a typo in a tenant's name must not grant access.
    #[default]
    Deny,
    /// Such a tenant has only the default rules.
    Allow,
}

impl UnknownTenants {
    pub const ALL: [(&str, Self); 2] = [("deny", Self::Deny), ("allow", Self::Allow)];
}

impl Policy {
    pub fn new(default: Rules, tenants: BTreeMap<Tenant, Rules>, unknown: UnknownTenants) -> Self {
        Self {
            default,
            tenants,
            unknown,
        }
    }

    /// True if keys of this tenant may be used at all. The local user's tenant needs no table.
    pub fn is_known_tenant(&self, tenant: &Tenant) -> bool {
        self.unknown == UnknownTenants::Allow
            || *tenant == Tenant::local()
            || self.tenants.contains_key(tenant)
    }

    /// Returns the reason why this caller may use nothing, if its tenant is not in the
    /// configuration.
    pub fn unknown_tenant_reason(&self, caller: &Caller) -> Option<String> {
        let tenant = &caller.tenant;
        (!caller.is_local() && !self.is_known_tenant(tenant)).then(|| {
            format!(
                "tenant `{tenant}` has no rules, so it may use nothing: add a table [tenants.{tenant}], which may \
                 be empty, to the gateway's configuration, or set `unknown = \"allow\"` under [tenants]"
            )
        })
    }

    pub fn decide(&self, caller: &Caller, capability: &Capability) -> Decision {
        if let Some(reason) = self.unknown_tenant_reason(caller) {
            return Decision::Deny(reason);
        }
        match self.find_denial(caller, &RuleSubject::capability(capability)) {
            None => Decision::Allow,
            Some((owner, denial)) => {
                Decision::Deny(explain_denial(caller, capability, owner, &denial))
            }
        }
    }

    pub fn is_visible(&self, caller: &Caller, capability: &Capability) -> bool {
        self.unknown_tenant_reason(caller).is_none()
            && self
                .find_denial(caller, &RuleSubject::capability(capability))
                .is_none()
    }

    /// True if the caller may know of the server at all. [`is_visible`](Self::is_visible) decides
    /// about each of its tools.
    pub fn is_server_visible(&self, caller: &Caller, server: &ServerName) -> bool {
        self.unknown_tenant_reason(caller).is_none()
            && self
                .find_denial(caller, &RuleSubject::server(server))
                .is_none()
    }

    /// Returns the rule for writing calls by this caller's programs: the stricter one, if both
    /// `[policy]` and the tenant have one.
    pub fn writes_from_code(&self, caller: &Caller) -> CodeWrites {
        let rules = self.rules_for(caller);
        rules
            .filter_map(|rules| rules.code_writes)
            .min()
            .unwrap_or_default()
    }

    /// Returns the default rules and those for this caller's tenant.
    pub(crate) fn rules_for(&self, caller: &Caller) -> impl Iterator<Item = &Rules> {
        std::iter::once(&self.default).chain(self.tenants.get(&caller.tenant))
    }

    fn find_denial(
        &self,
        caller: &Caller,
        subject: &RuleSubject<'_>,
    ) -> Option<(RuleOwner, RuleDenial<'_>)> {
        if let Some(denial) = self.default.find_denial(subject) {
            return Some((RuleOwner::Default, denial));
        }
        let denial = self.tenants.get(&caller.tenant)?.find_denial(subject)?;
        Some((RuleOwner::Tenant, denial))
    }
}

/// The owner of the rule that denied, so that the operator knows which part of the configuration to
/// read.
#[derive(Clone, Copy)]
enum RuleOwner {
    Default,
    Tenant,
}

fn explain_denial(
    caller: &Caller,
    capability: &Capability,
    owner: RuleOwner,
    denial: &RuleDenial<'_>,
) -> String {
    let tenant = &caller.tenant;
    let kind = capability.kind.as_str();
    let Capability { server, name, .. } = capability;
    let whose = match owner {
        RuleOwner::Default => "the rules for every tenant",
        RuleOwner::Tenant => "the rules of this tenant",
    };
    let why = denial_reason(denial);
    format!("tenant `{tenant}` may not use the {kind} `{server}/{name}`: {whose} {why}")
}

/// Returns the end of a sentence that begins with the owner of the rule.
fn denial_reason(denial: &RuleDenial<'_>) -> String {
    match denial {
        RuleDenial::Denied { pattern } => format!("deny `{pattern}`"),
        RuleDenial::NotAllowed { patterns } => format!("allow only {}", quote_list(patterns)),
        RuleDenial::Evasive(Evasion::DotSegments) => "permit no `.` or `..` segments".to_owned(),
        RuleDenial::Evasive(Evasion::RepeatedEncoding) => {
            "permit no repeatedly encoded names".to_owned()
        }
        RuleDenial::Evasive(Evasion::TooLong) => "permit no names of that length".to_owned(),
    }
}

fn quote_list(patterns: &[&str]) -> String {
    patterns
        .iter()
        .map(|pattern| format!("`{pattern}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{KeyId, Kind};

    use super::*;

    /// `default | acme`, each side with words such as `+tool:github/*` and `-server:mail`.
    fn policy(text: &str) -> Policy {
        let (default, acme) = text.split_once('|').unwrap();
        let tenants = BTreeMap::from([("acme".parse().unwrap(), rules(acme))]);
        Policy::new(rules(default), tenants, UnknownTenants::Deny)
    }

    fn rules(text: &str) -> Rules {
        let mut raw = RuleText::default();
        for word in text.split_whitespace() {
            let (list, pattern) = word.split_once(':').unwrap();
            let list = match list {
                "+server" => &mut raw.allow_servers,
                "-server" => &mut raw.deny_servers,
                "+tool" => &mut raw.allow_tools,
                "-tool" => &mut raw.deny_tools,
                other => panic!("unknown list {other}"),
            };
            list.push(pattern.to_owned());
        }
        Rules::compile(&raw).unwrap()
    }

    fn caller(tenant: &str) -> Caller {
        Caller {
            tenant: tenant.parse().unwrap(),
            ..Caller::local()
        }
    }

    fn capability(text: &str) -> Capability {
        let (server, name) = text.split_once('/').unwrap();
        let kind = if name.contains("://") {
            Kind::Resource
        } else {
            Kind::Tool
        };
        Capability {
            server: server.parse().unwrap(),
            kind,
            name: name.to_owned(),
        }
    }

    /// Compares the capabilities of `WORLD` that the tenant may use with the expected ones.
    #[track_caller]
    fn check(text: &str, tenant: &str, expected: &str) {
        const WORLD: [&str; 6] = [
            "github/list_issues",
            "github/delete_repo",
            "mail/send",
            "mail/delete_all",
            "files/file:///etc/passwd",
            "files/file:///home/notes.txt",
        ];
        let policy = policy(text);
        let caller = caller(tenant);
        let mut permitted = Vec::new();
        for item in WORLD {
            let decision = policy.decide(&caller, &capability(item));
            assert_eq!(
                policy.is_visible(&caller, &capability(item)),
                decision == Decision::Allow,
                "{item}"
            );
            if decision == Decision::Allow {
                permitted.push(item);
            }
        }
        assert_eq!(permitted.join(" "), expected, "{text} for {tenant}");
    }

    const ALL: &str = "github/list_issues github/delete_repo mail/send mail/delete_all \
                       files/file:///etc/passwd files/file:///home/notes.txt";

    #[test]
    fn without_rules_everything_is_allowed() {
        check("|", "acme", ALL);
        check("|", "local", ALL);
    }

    #[test]
    fn an_allow_list_excludes_the_tools_it_does_not_name() {
        check(
            "+tool:github/* |",
            "acme",
            "github/list_issues github/delete_repo",
        );
        check("+server:mail |", "acme", "mail/send mail/delete_all");
        check("+server:mail +tool:*/delete_* |", "acme", "mail/delete_all");
    }

    #[test]
    fn deny_beats_allow() {
        check(
            "+tool:github/* -tool:github/delete_* |",
            "acme",
            "github/list_issues",
        );
        check("+tool:github/delete_repo -tool:*/delete_* |", "acme", "");
        check("+tool:mail/send -server:mail |", "acme", "");
        check("-tool:*/* |", "acme", "");
    }

    #[test]
    fn the_rules_of_a_tenant_narrow_the_default_and_never_widen_it() {
        check(
            "-tool:*/delete_* | +tool:github/*",
            "acme",
            "github/list_issues",
        );
        check("-tool:*/delete_* | +tool:*/delete_*", "acme", "");
        check("+server:mail | +server:github", "acme", "");
    }

    #[test]
    fn the_rules_of_one_tenant_do_not_apply_to_another() {
        check("| -server:*", "acme", "");
        check("| -server:*", "globex", ALL);
    }

    #[test]
    fn a_star_matches_the_slashes_of_a_resource() {
        check(
            "+tool:files/file:///etc/* |",
            "acme",
            "files/file:///etc/passwd",
        );
        check(
            "+tool:*.txt +tool:*/send |",
            "acme",
            "mail/send files/file:///home/notes.txt",
        );
        check(
            "+tool:files/* |",
            "acme",
            "files/file:///etc/passwd files/file:///home/notes.txt",
        );
    }

    #[test]
    fn patterns_are_case_sensitive_and_match_the_whole_name() {
        check(
            "+tool:github/LIST_issues +tool:github/list +server:git |",
            "acme",
            "",
        );
    }

    #[test]
    fn a_server_is_hidden_by_server_rules_only() {
        let policy = policy("-server:mail -tool:github/* | +server:git*");
        let sees = |tenant: &str, server: &str| {
            policy.is_server_visible(&caller(tenant), &server.parse().unwrap())
        };
        assert!(sees("acme", "github") && !sees("acme", "mail") && !sees("acme", "files"));
        assert!(sees("globex", "github") && !sees("globex", "mail") && sees("globex", "files"));
    }

    #[test]
    fn a_key_of_a_tenant_without_a_table_may_use_nothing() {
        let of = |tenant: &str| Caller::user(tenant.parse().unwrap(), KeyId("3f9c1a20".to_owned()));
        let mail = capability("mail/send");
        let check = |policy: &Policy, caller: &Caller, expected: bool| {
            assert_eq!(policy.is_visible(caller, &mail), expected, "{caller:?}");
            assert_eq!(
                policy.is_server_visible(caller, &mail.server),
                expected,
                "{caller:?}"
            );
            assert_eq!(
                policy.decide(caller, &mail) == Decision::Allow,
                expected,
                "{caller:?}"
            );
            assert_eq!(
                policy.unknown_tenant_reason(caller).is_none(),
                expected,
                "{caller:?}"
            );
        };
        let denying = policy("|");
        check(&denying, &of("acme"), true);
        check(&denying, &of("ghost"), false);
        check(&denying, &of("local"), true);
        check(&denying, &Caller::local(), true);
        let Some(reason) = denying.unknown_tenant_reason(&of("ghost")) else {
            panic!("the tenant is denied")
        };
        assert!(
            reason.contains("`ghost` has no rules") && reason.contains("[tenants.ghost]"),
            "{reason}"
        );
        let allowing = Policy::new(rules(""), BTreeMap::new(), UnknownTenants::Allow);
        check(&allowing, &of("ghost"), true);
    }

    #[track_caller]
    fn check_reason(text: &str, item: &str, expected: &str) {
        let decision = policy(text).decide(&caller("acme"), &capability(item));
        assert_eq!(decision, Decision::Deny(expected.to_owned()));
    }

    #[test]
    fn a_denial_names_the_tenant_the_capability_and_the_pattern() {
        check_reason(
            "-tool:*/send -tool:*/delete_* |",
            "github/delete_repo",
            "tenant `acme` may not use the tool `github/delete_repo`: the rules for every tenant deny `*/delete_*`",
        );
        check_reason(
            "| -server:files",
            "files/file:///etc/passwd",
            "tenant `acme` may not use the resource `files/file:///etc/passwd`: the rules of this tenant deny `files`",
        );
        check_reason(
            "| +tool:github/* +tool:files/*",
            "mail/send",
            "tenant `acme` may not use the tool `mail/send`: the rules of this tenant allow only `github/*`, `files/*`",
        );
    }
}
