//! Judges by its name, description and parameters whether a tool without declared effects only
//! reads.
//!
//! The judgement is cautious. A read-only tool that it misses is denied to programs until the
//! operator declares it; a writing tool that it mistook for a read-only one would write without
//! asking.

use crate::capability::split_name;

/// The parts of a tool's definition that indicate its effect.
#[derive(Debug, Clone, Copy)]
pub struct DescribedTool<'a> {
    pub server: &'a str,
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a [&'a str],
}

/// Verbs that a reading tool's name begins with. `fetch`, `query` and `check` are not included:
/// they reach elsewhere, run statements, or check something out.
const READING_VERBS: &[&str] = &[
    "browse", "compare", "count", "describe", "explain", "find", "get", "inspect", "list",
    "lookup", "peek", "preview", "read", "retrieve", "search", "show", "view",
];

/// First words of a reading tool's description, if the name has no verb.
const READING_FIRST_WORDS: &[&str] = &[
    "count",
    "counts",
    "describes",
    "displays",
    "find",
    "finds",
    "get",
    "gets",
    "list",
    "lists",
    "read",
    "reads",
    "retrieve",
    "retrieves",
    "return",
    "returns",
    "search",
    "searches",
    "show",
    "shows",
];

/// Verbs that are rarely nouns. One of them in a name, or in a description as an action, is enough
/// for doubt.
const WRITING_VERBS: &[&str] = &[
    "acknowledge",
    "add",
    "append",
    "consume",
    "create",
    "delete",
    "deploy",
    "destroy",
    "drop",
    "edit",
    "empty",
    "erase",
    "insert",
    "install",
    "kill",
    "mark",
    "modify",
    "move",
    "overwrite",
    "publish",
    "purge",
    "remove",
    "rename",
    "replace",
    "save",
    "send",
    "submit",
    "terminate",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "wipe",
    "write",
];

/// Verbs that are often nouns: `get_commit` reads and `commit` writes. They count only where a name
/// has its verb.
const ACTING_VERBS: &[&str] = &[
    "ack",
    "apply",
    "approve",
    "archive",
    "assign",
    "book",
    "build",
    "buy",
    "call",
    "cancel",
    "capture",
    "change",
    "charge",
    "check",
    "checkout",
    "clear",
    "click",
    "close",
    "commit",
    "connect",
    "copy",
    "disable",
    "download",
    "enable",
    "eval",
    "exec",
    "execute",
    "export",
    "fetch",
    "fill",
    "generate",
    "git",
    "grant",
    "import",
    "init",
    "invite",
    "invoke",
    "launch",
    "lock",
    "log",
    "login",
    "logout",
    "make",
    "merge",
    "navigate",
    "open",
    "order",
    "patch",
    "pay",
    "pop",
    "post",
    "press",
    "pull",
    "push",
    "put",
    "query",
    "rebase",
    "refund",
    "register",
    "reject",
    "render",
    "reset",
    "restart",
    "restore",
    "revert",
    "revoke",
    "rotate",
    "run",
    "schedule",
    "select",
    "set",
    "start",
    "stash",
    "stop",
    "store",
    "subscribe",
    "sync",
    "tag",
    "take",
    "toggle",
    "transfer",
    "trigger",
    "type",
    "unlock",
    "unsubscribe",
    "upgrade",
    "use",
];

/// Parameters that take a program, a statement or an address, with which a call can do anything or
/// exfiltrate data.
const POWERFUL_PARAMETERS: &[&str] = &[
    "code",
    "cmd",
    "command",
    "commands",
    "cypher",
    "endpoint",
    "expression",
    "href",
    "mutation",
    "script",
    "sql",
    "statement",
    "uri",
    "url",
    "urls",
];

/// Returns true if the tool clearly only reads.
pub fn only_reads(tool: &DescribedTool<'_>) -> bool {
    let words = words_without_server(tool);
    let powerful = |name: &&str| POWERFUL_PARAMETERS.contains(&name.to_lowercase().as_str());
    if words
        .iter()
        .any(|word| WRITING_VERBS.contains(&word.as_str()))
        || tool.parameters.iter().any(powerful)
        || describes_writing(tool.description)
    {
        return false;
    }
    begins_with_reading_verb(&words, tool.description) && has_only_one_verb(&words)
}

/// Returns true if the name says that the tool changes something.
pub fn name_implies_change(server: &str, name: &str) -> bool {
    let words = words_without_server(&DescribedTool {
        server,
        name,
        description: "",
        parameters: &[],
    });
    let acting = words.first().is_some_and(|word| is_acting_verb(word));
    acting
        || words
            .iter()
            .any(|word| WRITING_VERBS.contains(&word.as_str()))
}

/// Returns the words of the name, without a leading server name.
fn words_without_server(tool: &DescribedTool<'_>) -> Vec<String> {
    let (server, mut words) = (split_name(tool.server), split_name(tool.name));
    if words.starts_with(&server) && words.len() > server.len() {
        words.drain(..server.len());
    }
    if words.len() > 1 && words[0] == "api" {
        words.remove(0);
    }
    words
}

fn begins_with_reading_verb(words: &[String], description: &str) -> bool {
    let Some(first) = words.first().map(String::as_str) else {
        return false;
    };
    if READING_VERBS.contains(&first)
        || words.len() > 1 && ends_with_reading_verb(words) && !is_acting_verb(first)
    {
        return true;
    }
    // `log` is a verb in `log_event` and a noun in `git_log`; the description decides.
    let lead = first_word(description);
    (!is_acting_verb(first) || first == "log") && READING_FIRST_WORDS.contains(&lead.as_str())
}

/// `issues_list` and `user-get` have their verb at the end.
fn ends_with_reading_verb(words: &[String]) -> bool {
    let last = words.last().map(String::as_str);
    last.is_some_and(|last| matches!(last, "list" | "get" | "search"))
}

fn is_acting_verb(word: &str) -> bool {
    ACTING_VERBS.contains(&word)
}

/// `get_or_set` and `search_and_order` do two things.
fn has_only_one_verb(words: &[String]) -> bool {
    let mut pairs = words.windows(2);
    !pairs.any(|pair| matches!(pair[0].as_str(), "and" | "or" | "then") && is_acting_verb(&pair[1]))
}

fn first_word(text: &str) -> String {
    let letters = text.trim_start().chars();
    let word: String = letters.take_while(|it| it.is_alphabetic()).collect();
    word.to_lowercase()
}

/// Returns true if a sentence says that the tool writes. `Does not delete anything` does not.
fn describes_writing(description: &str) -> bool {
    let mut sentences = description.split(['.', '\n', ';']);
    sentences.any(|sentence| {
        let words: Vec<String> = sentence
            .split(|it: char| !it.is_alphanumeric() && it != '\'')
            .map(str::to_lowercase)
            .collect();
        let denied = words.iter().any(|word| {
            matches!(word.as_str(), "not" | "never" | "without" | "cannot" | "no")
                || word.ends_with("n't")
        });
        !denied && words.iter().any(|word| is_writing_verb(word))
    })
}

/// `delete` and `deletes`; `deleted` and `updates` in a list usually describe something else.
fn is_writing_verb(word: &str) -> bool {
    WRITING_VERBS.iter().any(|verb| {
        word == *verb
            || word.strip_suffix('s') == Some(verb)
            || word.strip_suffix("es") == Some(verb)
            || word.strip_suffix("ies") == verb.strip_suffix('y') && verb.ends_with('y')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: &str, name: &str, description: &str, parameters: &[&str], expected: bool) {
        let tool = DescribedTool {
            server,
            name,
            description,
            parameters,
        };
        assert_eq!(only_reads(&tool), expected, "{name}: {description}");
    }

    #[test]
    fn a_name_with_a_reading_verb_only_reads() {
        for (name, description) in [
            (
                "read_query",
                "Execute a SELECT query on the SQLite database",
            ),
            ("list_tables", "List all tables in the SQLite database"),
            (
                "describe-table",
                "Get the schema information for a specific table",
            ),
            ("getCommit", "Shows one commit"),
            ("API-get-user", "Retrieve a user"),
            ("issues_list", ""),
            (
                "search_nodes",
                "Search for nodes. This does not modify the graph.",
            ),
            ("get_order", "Returns an order with what was updated last"),
        ] {
            check("shop", name, description, &["query", "id"], true);
        }
        check(
            "git",
            "git_log",
            "Shows the commit logs",
            &["repo_path"],
            true,
        );
        check(
            "git",
            "git_status",
            "Shows the working tree status",
            &[],
            true,
        );
    }

    #[test]
    fn a_tool_that_could_write_is_not_classified_as_reading() {
        for (name, description) in [
            ("weigh", "Weighs an order"),
            ("create_issue", "Gets a new issue"),
            ("get_or_create_user", "Gets a user"),
            ("get_and_set", "Gets and sets a value"),
            ("find_and_replace", "Finds and replaces"),
            ("pop_message", "Returns the next message"),
            (
                "get_next_message",
                "Returns the next message and removes it",
            ),
            ("list_inbox", "Lists messages. Marks them as read."),
            ("checkout", "Shows a branch"),
            ("log", "Logs a message"),
            ("fetch", "Fetches a page"),
            ("query", "Returns rows"),
            ("query_database", "Runs SQL"),
            ("select_option", "Returns the option"),
            ("run_report", "Returns a report"),
            ("view_and_delete", ""),
            ("", "Lists"),
        ] {
            check("shop", name, description, &["id"], false);
        }
        for powerful in ["sql", "url", "command", "Code"] {
            check("shop", "get_result", "Returns a result", &[powerful], false);
        }
        check("git", "git_commit", "Records changes", &[], false);
        check("git", "git_init", "Shows what was made", &[], false);
        assert!(
            name_implies_change("db", "write_query") && name_implies_change("git", "git_commit")
        );
        assert!(!name_implies_change("shop", "weigh") && !name_implies_change("git", "get_commit"));
    }
}
