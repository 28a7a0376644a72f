//! Allow and deny lists, compiled from the patterns people write.
//!
//! A server pattern is matched against the server's name, a tool pattern against
//! `<server>/<name>` of a tool, prompt or resource. `*` reaches across `/`, because the name
//! of a resource is a URI.

use globset::{GlobBuilder, GlobMatcher};
use kitbag_domain::{Capability, ServerName};

/// The four lists as they stand in the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleText {
    pub allow_servers: Vec<String>,
    pub deny_servers: Vec<String>,
    pub allow_tools: Vec<String>,
    pub deny_tools: Vec<String>,
}

/// Deny beats allow; an empty allow list allows everything.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    servers: Lists,
    tools: Lists,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern: {reason}")]
pub struct PatternError {
    pub pattern: String,
    pub reason: String,
}

impl Rules {
    pub fn compile(text: &RuleText) -> Result<Self, PatternError> {
        Ok(Self {
            servers: Lists {
                allow: patterns(&text.allow_servers, server_pattern)?,
                deny: patterns(&text.deny_servers, server_pattern)?,
            },
            tools: Lists {
                allow: patterns(&text.allow_tools, tool_pattern)?,
                deny: patterns(&text.deny_tools, tool_pattern)?,
            },
        })
    }

    /// Why these rules do not permit the subject, or nothing if they do.
    pub(crate) fn refuse(&self, subject: &Subject<'_>) -> Option<Refusal<'_>> {
        let path = subject.path.as_deref();
        let denied = self.servers.deny(subject.server).or_else(|| self.tools.deny(path?));
        denied.or_else(|| self.servers.miss(subject.server)).or_else(|| self.tools.miss(path?))
    }
}

/// What is asked about: a server, or one thing it offers.
pub(crate) struct Subject<'a> {
    server: &'a str,
    path: Option<String>,
}

impl<'a> Subject<'a> {
    pub(crate) fn server(server: &'a ServerName) -> Self {
        Self { server: server.as_str(), path: None }
    }

    pub(crate) fn capability(capability: &'a Capability) -> Self {
        let Capability { server, name, .. } = capability;
        Self { server: server.as_str(), path: Some(format!("{server}/{name}")) }
    }
}

pub(crate) enum Refusal<'a> {
    Denied { pattern: &'a str },
    NotAllowed { patterns: Vec<&'a str> },
}

// Each pattern is matched on its own rather than as a `GlobSet`: the set takes shortcuts made
// for file paths, in which a name that ends in `/..` escapes patterns that should match it.
#[derive(Debug, Clone, Default)]
struct Lists {
    allow: Vec<GlobMatcher>,
    deny: Vec<GlobMatcher>,
}

impl Lists {
    fn deny(&self, subject: &str) -> Option<Refusal<'_>> {
        let hit = self.deny.iter().find(|pattern| pattern.is_match(subject))?;
        Some(Refusal::Denied { pattern: hit.glob().glob() })
    }

    fn miss(&self, subject: &str) -> Option<Refusal<'_>> {
        if self.allow.is_empty() || self.allow.iter().any(|pattern| pattern.is_match(subject)) {
            return None;
        }
        Some(Refusal::NotAllowed { patterns: self.allow.iter().map(|it| it.glob().glob()).collect() })
    }
}

fn patterns(
    texts: &[String],
    compile: fn(&str) -> Result<GlobMatcher, String>,
) -> Result<Vec<GlobMatcher>, PatternError> {
    let one = |text: &String| compile(text).map_err(|reason| PatternError { pattern: text.clone(), reason });
    texts.iter().map(one).collect()
}

fn server_pattern(text: &str) -> Result<GlobMatcher, String> {
    // Such a pattern can never match, and a deny rule that never matches protects nothing.
    if text.contains('/') {
        return Err("a server has no `/` in its name; to choose tools, use a tool list".to_owned());
    }
    glob(text)
}

fn tool_pattern(text: &str) -> Result<GlobMatcher, String> {
    // `delete_*` would mean "servers whose name begins with delete_", which nobody means.
    let anchored = text.contains('/') || text.starts_with('*');
    if !anchored && !text.is_empty() {
        return Err(format!("a tool is named `<server>/<tool>`; for every server, write `*/{text}`"));
    }
    glob(text)
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let glob = GlobBuilder::new(text).literal_separator(false).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(servers: &str, tools: &str, expected: &str) {
        let listed = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let text =
            RuleText { deny_servers: listed(servers), allow_tools: listed(tools), ..RuleText::default() };
        let found = Rules::compile(&text).map_or_else(|error| error.to_string(), |_| "fine".to_owned());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named_with_the_reason() {
        check("", "git/ok git/[a", "`git/[a` is not a pattern: unclosed character class; missing ']'");
        check(
            "{a,b",
            "",
            "`{a,b` is not a pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        );
        check("{a,b}", "*/x **/y * *delete* git/[a-c]?", "fine");
    }

    #[test]
    fn a_pattern_that_could_never_match_is_refused() {
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
    fn an_empty_pattern_is_refused() {
        let text = RuleText { deny_tools: vec![String::new()], ..RuleText::default() };
        assert_eq!(Rules::compile(&text).unwrap_err().to_string(), "`` is not a pattern: it is empty");
    }

    #[test]
    fn no_spelling_of_a_name_escapes_a_pattern_that_covers_it() {
        let text = RuleText { deny_tools: vec!["a/*.".to_owned(), "b/*".to_owned()], ..RuleText::default() };
        let rules = Rules::compile(&text).unwrap();
        for (server, name) in
            [("a", "x/.."), ("a", "."), ("b", ""), ("b", "x\ny"), ("b", "é"), ("b", "../c/x")]
        {
            let capability = Capability::tool(server.parse().unwrap(), name);
            assert!(rules.refuse(&Subject::capability(&capability)).is_some(), "{server}/{name}");
        }
    }
}
