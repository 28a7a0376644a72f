//! The name of a Kitbag tool in a client's request.
//!
//! A client with several servers adds the server's name as a prefix of a tool's name, each client
//! in its own form.

/// Returns Kitbag's name of a tool. `server` is the name of Kitbag in the clients' files, and
/// `is_ours` recognizes the names of Kitbag's tools.
pub fn strip_client_prefix<'a>(
    written: &'a str,
    server: &str,
    is_ours: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let bare = std::iter::once(written);
    bare.chain(PREFIXES.iter().filter_map(|it| it.strip(written, server)))
        .find(|name| is_ours(name))
}

/// The prefix that a client adds to a tool's name: a word, the server's name, and a separator.
struct NamePrefix {
    word: &'static str,
    separator: &'static str,
}

/// Claude Code and Codex use the first; Gemini, Cursor and VS Code the second; Goose the third;
/// opencode the fourth; the others are from agent frameworks. Longer separators come first.
const PREFIXES: [NamePrefix; 7] = [
    NamePrefix::new("mcp__", "__"),
    NamePrefix::new("mcp_", "_"),
    NamePrefix::new("", "__"),
    NamePrefix::new("", "_"),
    NamePrefix::new("", "-"),
    NamePrefix::new("", "."),
    NamePrefix::new("mcp-", "-"),
];

impl NamePrefix {
    const fn new(word: &'static str, separator: &'static str) -> Self {
        Self { word, separator }
    }

    fn strip<'a>(&self, written: &'a str, server: &str) -> Option<&'a str> {
        let rest = written.strip_prefix(self.word)?.strip_prefix(server)?;
        rest.strip_prefix(self.separator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expect: Option<&str>) {
        let is_ours = |name: &str| matches!(name, "git__log" | "call_api" | "kitbag__x");
        assert_eq!(
            strip_client_prefix(written, "kitbag", is_ours),
            expect,
            "{written}"
        );
    }

    #[test]
    fn own_tools_are_recognized_by_the_names_of_clients() {
        for written in [
            "git__log",
            "mcp__kitbag__git__log",
            "mcp_kitbag_git__log",
            "kitbag__git__log",
            "kitbag_git__log",
            "kitbag-git__log",
        ] {
            check(written, Some("git__log"));
        }
        check("mcp__kitbag__call_api", Some("call_api"));
        check("kitbag__x", Some("kitbag__x"));
        check("mcp__git__log", None);
        check("log", None);
        check("mcp__kitbag__", None);
    }
}
