//! Allow and deny lists, compiled from the operator's patterns.

use std::cell::OnceCell;

use kitbag_domain::{Capability, Kind, ServerName};

use crate::pattern::{Pattern, PatternError, tool_path};
use crate::reach::{matches_all_of_server, may_match_some_of_server};
use crate::spelling::{Evasion, Readings};

/// The rules as written in the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleText {
    pub allow_servers: Vec<String>,
    pub deny_servers: Vec<String>,
    pub allow_tools: Vec<String>,
    pub deny_tools: Vec<String>,
    pub code_writes: Option<CodeWrites>,
}

/// The rule for programs written by models, when they call a tool that may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CodeWrites {
    Deny,
    /// Asks the user, or denies the call if the client cannot ask.
    #[default]
    Ask,
    Allow,
}

impl CodeWrites {
    pub const ALL: [(&str, Self); 3] = [
        ("deny", Self::Deny),
        ("ask", Self::Ask),
        ("allow", Self::Allow),
    ];
}

/// Deny takes precedence over allow; an empty allow list allows everything.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    servers: AllowDenyLists,
    tools: AllowDenyLists,
    pub(crate) code_writes: Option<CodeWrites>,
}

impl Rules {
    pub fn compile(text: &RuleText) -> Result<Self, PatternError> {
        Ok(Self {
            servers: AllowDenyLists {
                allow: compile_patterns(&text.allow_servers, Pattern::for_names)?,
                deny: compile_patterns(&text.deny_servers, Pattern::for_names)?,
            },
            tools: AllowDenyLists {
                allow: compile_patterns(&text.allow_tools, Pattern::for_tools)?,
                deny: compile_patterns(&text.deny_tools, Pattern::for_tools)?,
            },
            code_writes: text.code_writes,
        })
    }

    /// Returns the reason why these rules do not permit the subject, or `None` if they do. Deny
    /// lists come first.
    pub(crate) fn find_denial(&self, subject: &RuleSubject<'_>) -> Option<RuleDenial<'_>> {
        self.servers
            .find_denial(subject.server)
            .or_else(|| self.tools.find_denial(subject.path.as_deref()?))
            .or_else(|| self.tools.find_denied_reading(subject))
            .or_else(|| {
                self.servers
                    .find_missing_allowance(|pattern| pattern.matches(subject.server))
            })
            .or_else(|| {
                let path = subject.path.as_deref()?;
                self.tools
                    .find_missing_allowance(|pattern| subject.is_allowed(path, pattern))
            })
    }

    pub(crate) fn has_tool_rules(&self) -> bool {
        !(self.tools.allow.is_empty() && self.tools.deny.is_empty())
    }

    pub(crate) fn may_reach(&self, server: &ServerName) -> bool {
        let AllowDenyLists { allow, deny } = &self.tools;
        !deny
            .iter()
            .any(|pattern| matches_all_of_server(pattern, server))
            && (allow.is_empty()
                || allow
                    .iter()
                    .any(|pattern| may_match_some_of_server(pattern, server)))
    }
}

/// The subject of a decision: a server, or one of its tools, prompts or resources.
pub(crate) struct RuleSubject<'a> {
    server: &'a str,
    path: Option<String>,
    /// The name, if it has several spellings.
    spelt: Option<&'a str>,
    readings: OnceCell<Readings>,
}

impl<'a> RuleSubject<'a> {
    pub(crate) fn server(server: &'a ServerName) -> Self {
        Self {
            server: server.as_str(),
            path: None,
            spelt: None,
            readings: OnceCell::new(),
        }
    }

    pub(crate) fn capability(capability: &'a Capability) -> Self {
        let name = capability.name.as_str();
        let spelt = (capability.kind == Kind::Resource || is_request(name)).then_some(name);
        Self {
            path: Some(tool_path(capability)),
            spelt,
            ..Self::server(&capability.server)
        }
    }

    /// A name in an unusual spelling must be allowed in one of its readings, too.
    fn is_allowed(&self, path: &str, pattern: &Pattern) -> bool {
        pattern.matches(path)
            && self
                .readings()
                .is_none_or(|it| it.is_plain || self.is_read_as(it, pattern))
    }

    fn is_read_as(&self, readings: &Readings, pattern: &Pattern) -> bool {
        readings
            .forms
            .iter()
            .any(|form| pattern.matches_reading(&reading(self.server, form)))
    }

    fn readings(&self) -> Option<&Readings> {
        let name = self.spelt?;
        Some(self.readings.get_or_init(|| Readings::from_name(name)))
    }
}

/// True for a request to an HTTP API, such as `GET /items/3`, as opposed to the name of a tool.
fn is_request(name: &str) -> bool {
    let Some((method, path)) = name.split_once(' ') else {
        return false;
    };
    path.starts_with('/')
        && !method.is_empty()
        && method.bytes().all(|byte| byte.is_ascii_uppercase())
}

pub(crate) enum RuleDenial<'a> {
    Denied { pattern: &'a str },
    NotAllowed { patterns: Vec<&'a str> },
    Evasive(Evasion),
}

#[derive(Debug, Clone, Default)]
struct AllowDenyLists {
    allow: Vec<Pattern>,
    deny: Vec<Pattern>,
}

impl AllowDenyLists {
    fn find_denial(&self, subject: &str) -> Option<RuleDenial<'_>> {
        let hit = self.deny.iter().find(|pattern| pattern.matches(subject))?;
        Some(RuleDenial::Denied {
            pattern: hit.as_str(),
        })
    }

    /// Compares the deny rules with every reading of a name. A name without usable readings is
    /// denied if there are rules about its server.
    fn find_denied_reading(&self, subject: &RuleSubject<'_>) -> Option<RuleDenial<'_>> {
        let mut rules = self.deny.iter().chain(&self.allow);
        rules.find(|pattern| pattern.may_match_server(subject.server))?;
        let readings = subject.readings()?;
        let hit = self
            .deny
            .iter()
            .find(|pattern| subject.is_read_as(readings, pattern))
            .map(|hit| RuleDenial::Denied {
                pattern: hit.as_str(),
            });
        hit.or_else(|| readings.evasion.map(RuleDenial::Evasive))
    }

    fn find_missing_allowance(&self, allows: impl Fn(&Pattern) -> bool) -> Option<RuleDenial<'_>> {
        if self.allow.is_empty() || self.allow.iter().any(allows) {
            return None;
        }
        Some(RuleDenial::NotAllowed {
            patterns: self.allow.iter().map(Pattern::as_str).collect(),
        })
    }
}

fn reading(server: &str, form: &str) -> String {
    format!("{server}/{}", form.trim_start_matches('/'))
}

fn compile_patterns(
    texts: &[String],
    compile: fn(&str) -> Result<Pattern, PatternError>,
) -> Result<Vec<Pattern>, PatternError> {
    texts.iter().map(|text| compile(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(servers: &str, tools: &str, expected: &str) {
        let text = RuleText {
            deny_servers: servers.split_whitespace().map(str::to_owned).collect(),
            allow_tools: tools.split_whitespace().map(str::to_owned).collect(),
            ..RuleText::default()
        };
        let found =
            Rules::compile(&text).map_or_else(|error| error.to_string(), |_| "fine".to_owned());
        assert_eq!(found, expected);
    }

    #[test]
    fn an_invalid_pattern_is_reported_with_the_reason() {
        check(
            "",
            "git/ok git/[a",
            "`git/[a` is not a pattern: unclosed character class; missing ']'",
        );
        check(
            "{a,b",
            "",
            "`{a,b` is not a pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        );
        check("{a,b}", "*/x **/y * *delete* git/[a-c]?", "fine");
    }

    #[test]
    fn a_pattern_that_can_never_match_is_rejected() {
        check(
            "",
            "delete_*",
            "`delete_*` is not a pattern: a tool is named `<server>/<tool>`; for every server, write `*/delete_*`",
        );
        check(
            "git/x",
            "",
            "`git/x` is not a pattern: a server has no `/` in its name; to choose tools, use a tool list",
        );
    }

    #[test]
    fn an_empty_pattern_is_rejected() {
        let text = RuleText {
            deny_tools: vec![String::new()],
            ..RuleText::default()
        };
        assert_eq!(
            Rules::compile(&text).unwrap_err().to_string(),
            "`` is not a pattern: it is empty"
        );
    }

    #[test]
    fn no_spelling_of_a_name_escapes_a_pattern_that_covers_it() {
        let text = RuleText {
            deny_tools: vec!["a/*.".to_owned(), "b/*".to_owned()],
            ..RuleText::default()
        };
        let rules = Rules::compile(&text).unwrap();
        for (server, name) in [
            ("a", "x/.."),
            ("a", "."),
            ("b", ""),
            ("b", "x\ny"),
            ("b", "é"),
            ("b", "../c/x"),
        ] {
            let capability = Capability::tool(server.parse().unwrap(), name);
            assert!(
                rules
                    .find_denial(&RuleSubject::capability(&capability))
                    .is_some(),
                "{server}/{name}"
            );
        }
    }
}
