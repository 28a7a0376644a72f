//! Decides whether a caller could use anything of a server whose tools are not known yet.

use kitbag_domain::{Caller, ServerName};

use crate::Policy;
use crate::pattern::Pattern;
use crate::rules::Rules;

impl Policy {
    /// True if any rule for this caller concerns single tools, prompts or resources.
    pub fn has_tool_rules(&self, caller: &Caller) -> bool {
        self.rules_for(caller).any(Rules::has_tool_rules)
    }

    /// True if the rules may permit something that the server could offer. In doubt returns true,
    /// because only the tools themselves decide.
    pub fn may_reach(&self, caller: &Caller, server: &ServerName) -> bool {
        self.is_server_visible(caller, server)
            && self.rules_for(caller).all(|rules| rules.may_reach(server))
    }
}

/// True if a deny pattern matches everything of a server. The matched text begins with the server's
/// name and a slash, and a star at the pattern's end matches any rest.
pub(crate) fn matches_all_of_server(pattern: &Pattern, server: &ServerName) -> bool {
    pattern.as_str().ends_with('*') && pattern.matches(&format!("{server}/"))
}

/// True if an allow pattern can match anything of a server.
pub(crate) fn may_match_some_of_server(pattern: &Pattern, server: &ServerName) -> bool {
    let text = pattern.as_str();
    let literal = text
        .find(['*', '?', '[', '{', '\\', '/'])
        .unwrap_or(text.len());
    let (head, rest) = text.split_at(literal);
    if rest.starts_with('/') {
        server.as_str() == head
    } else {
        server.as_str().starts_with(head)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{RuleText, UnknownTenants};

    #[track_caller]
    fn check(allow: &[&str], deny: &[&str], reached: &[&str]) {
        let text = RuleText {
            allow_tools: allow.iter().map(ToString::to_string).collect(),
            deny_tools: deny.iter().map(ToString::to_string).collect(),
            ..RuleText::default()
        };
        let rules = Rules::compile(&text).unwrap();
        let policy = Policy::new(rules, BTreeMap::new(), UnknownTenants::Deny);
        let found: Vec<_> = ["git", "github", "mail"]
            .into_iter()
            .filter(|server| policy.may_reach(&Caller::local(), &server.parse().unwrap()))
            .collect();
        assert_eq!(found, reached, "allow {allow:?}, deny {deny:?}");
        assert_eq!(
            policy.has_tool_rules(&Caller::local()),
            !(allow.is_empty() && deny.is_empty())
        );
    }

    #[test]
    fn a_server_is_reachable_unless_all_its_tools_are_denied() {
        check(&[], &[], &["git", "github", "mail"]);
        check(&["git/*"], &[], &["git"]);
        check(&["git*/log"], &[], &["git", "github"]);
        check(&["{git,mail}/x"], &[], &["git", "github", "mail"]);
        check(&["*/x"], &["mail/*"], &["git", "github"]);
        check(&["*send"], &[], &["git", "github", "mail"]);
        check(&[], &["*"], &[]);
        check(&[], &["*/*"], &[]);
        check(&[], &["git/delete_*"], &["git", "github", "mail"]);
        check(&["mail/send"], &["mail/s*"], &["mail"]);
    }
}
