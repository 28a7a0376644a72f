//! The text that is embedded for a tool.
//!
//! `{tool_name} | {description} | scopes: {scopes} | tags: {tags}`, limited in length. Scopes and
//! tags are used as declared, else derived from the server, the name and the parameters, so that
//! the text has the words that requests mention. The model was trained on exactly this text, so
//! `training/document.py` must produce the same.

use std::collections::HashSet;

use crate::terms::split_words;

// The limits of the texts that the model was trained on; changing them requires training again. 448
// bytes are about the 128 tokens that the model reads.
const TEXT_BYTES: usize = 448;
const NAME_BYTES: usize = 96;
const SCOPES_BYTES: usize = 64;
const TAGS_BYTES: usize = 128;
const MAX_PARAMETERS: usize = 8;
const MAX_SERVER_WORDS: usize = 6;

/// The parts of a definition that go into the text.
#[derive(Debug, Clone, Default)]
pub struct ToolText<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub server: &'a str,
    pub group: &'a str,
    /// Required ones first.
    pub parameters: &'a [String],
    /// As declared; may be empty.
    pub scopes: &'a [String],
    pub tags: &'a [String],
}

impl ToolText<'_> {
    /// Returns the declared scopes, or else the server, the group and the kind of action.
    pub fn scopes(&self) -> Vec<String> {
        if !self.scopes.is_empty() {
            return self.scopes.to_vec();
        }
        let server = server_words(self.server).join(" ");
        let group = split_words(self.group).collect::<Vec<_>>().join(" ");
        let action = self.find_action().unwrap_or_default().to_owned();
        let mut scopes = vec![server, group, action];
        let mut seen = HashSet::new();
        scopes.retain(|scope| !scope.is_empty() && seen.insert(scope.clone()));
        scopes
    }

    /// Returns the declared tags, or else the name as words and the parameters that add a word to
    /// it.
    pub fn tags(&self) -> Vec<String> {
        if !self.tags.is_empty() {
            return self.tags.to_vec();
        }
        let name: Vec<_> = split_words(self.name).collect();
        let mut tags = vec![name.join(" ")];
        tags.extend(self.new_parameters(name));
        tags.retain(|tag| !tag.is_empty());
        tags
    }

    /// Returns the first parameters as words, skipping those that add no new word.
    fn new_parameters(&self, seen: Vec<String>) -> impl Iterator<Item = String> {
        let mut seen: HashSet<String> = seen.into_iter().collect();
        let parameters = self.parameters.iter().take(MAX_PARAMETERS);
        parameters.filter_map(move |parameter| {
            let words: Vec<_> = split_words(parameter).collect();
            let is_new = words.iter().any(|word| !seen.contains(word));
            let tag = words.join(" ");
            seen.extend(words);
            is_new.then_some(tag)
        })
    }

    /// Returns the text to embed. The description gets the remaining space.
    pub fn to_embedded_text(&self) -> String {
        let name = truncate_at_word(&collapse_whitespace(self.name), NAME_BYTES);
        let scopes = join_within(&self.scopes(), SCOPES_BYTES);
        let tags = join_within(&self.tags(), TAGS_BYTES);
        let tail = format!(" | scopes: {scopes} | tags: {tags}");
        let room = TEXT_BYTES.saturating_sub(name.len() + " | ".len() + tail.len());
        format!(
            "{name} | {}{tail}",
            truncate_at_word(&collapse_whitespace(self.description), room)
        )
    }

    /// Returns the action of the first verb in the name, or else of the description's first word
    /// (`Lists` is list).
    fn find_action(&self) -> Option<&'static str> {
        split_words(self.name)
            .find_map(|word| action_for_verb(&word))
            .or_else(|| self.find_action_in_description())
    }

    fn find_action_in_description(&self) -> Option<&'static str> {
        let first = split_words(self.description.split_whitespace().next()?).next()?;
        action_for_verb(&first).or_else(|| action_for_verb(first.strip_suffix('s')?))
    }
}

/// Returns the words that distinguish a server: `weather` for `@acme/weather-mcp-server`.
fn server_words(server: &str) -> Vec<String> {
    let last = server.rsplit('/').next().unwrap_or_default();
    let choices = [
        meaningful_words(last),
        meaningful_words(server),
        split_words(server).collect(),
    ];
    let mut seen = HashSet::new();
    choices
        .into_iter()
        .find(|words| !words.is_empty())
        .into_iter()
        .flatten()
        .filter(|word| seen.insert(word.clone()))
        .take(MAX_SERVER_WORDS)
        .collect()
}

fn meaningful_words(text: &str) -> Vec<String> {
    split_words(text).filter(|word| !is_noise(word)).collect()
}

/// `server` and numbers do not distinguish servers.
fn is_noise(word: &str) -> bool {
    matches!(word, "mcp" | "server" | "servers") || word.chars().all(char::is_numeric)
}

/// True for the verb of an action.
pub(crate) fn is_action(word: &str) -> bool {
    action_for_verb(word).is_some()
}

fn action_for_verb(verb: &str) -> Option<&'static str> {
    ACTIONS
        .iter()
        .find(|(_, verbs)| verbs.contains(&verb))
        .map(|(action, _)| *action)
}

const ACTIONS: [(&str, &[&str]); 7] = [
    (
        "read",
        &[
            "get", "list", "show", "read", "fetch", "view", "describe", "retrieve", "check",
            "count", "inspect", "download", "export", "display",
        ],
    ),
    (
        "search",
        &[
            "search", "find", "query", "lookup", "browse", "discover", "explore",
        ],
    ),
    (
        "create",
        &[
            "create", "add", "insert", "new", "make", "generate", "build", "register", "import",
            "upload", "write", "draft", "start",
        ],
    ),
    (
        "update",
        &[
            "update",
            "edit",
            "set",
            "modify",
            "patch",
            "change",
            "rename",
            "move",
            "assign",
            "configure",
            "enable",
            "disable",
            "replace",
        ],
    ),
    (
        "delete",
        &[
            "delete", "remove", "drop", "clear", "destroy", "cancel", "purge", "revoke",
            "unassign", "stop",
        ],
    ),
    (
        "send",
        &[
            "send", "publish", "reply", "forward", "notify", "share", "invite", "submit",
        ],
    ),
    (
        "run",
        &[
            "run",
            "execute",
            "call",
            "invoke",
            "trigger",
            "deploy",
            "analyze",
            "validate",
            "convert",
            "calculate",
        ],
    ),
];

/// Joins as many whole items as fit. A first item that is too long is truncated.
fn join_within(items: &[String], limit: usize) -> String {
    let mut text = String::new();
    for item in items {
        let item = collapse_whitespace(item);
        let longer = if text.is_empty() {
            truncate_at_word(&item, limit)
        } else {
            format!("{text}, {item}")
        };
        if longer.len() > limit {
            break;
        }
        text = longer;
    }
    text
}

fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text or its longest prefix of whole words within `limit` bytes. If the first word is
/// longer, it is cut at a character.
fn truncate_at_word(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit);
    let kept = &text[..end];
    if text[end..].starts_with(' ') {
        return kept.to_owned();
    }
    kept.rsplit_once(' ')
        .map_or(kept, |(whole, _)| whole)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_becomes_the_text_that_is_embedded() {
        let parameters = ["owner", "repo", "issue_title"].map(str::to_owned);
        let tool = ToolText {
            name: "createIssue",
            description: "Opens an issue\n in a repository.",
            server: "@acme/github-mcp-server",
            parameters: &parameters,
            ..ToolText::default()
        };
        assert_eq!(
            tool.to_embedded_text(),
            "createIssue | Opens an issue in a repository. | scopes: github, create \
             | tags: create issue, owner, repo, issue title"
        );
    }

    #[test]
    fn a_long_description_leaves_room_for_the_rest() {
        let description = "words ".repeat(4_000);
        let tool = ToolText {
            name: "list_things",
            description: &description,
            server: "shop",
            ..ToolText::default()
        };
        let text = tool.to_embedded_text();
        assert!(text.len() <= TEXT_BYTES);
        assert!(
            text.ends_with("words | scopes: shop, read | tags: list things"),
            "{text}"
        );
    }

    #[test]
    fn a_name_is_enough() {
        assert_eq!(
            ToolText {
                name: "ping",
                ..ToolText::default()
            }
            .to_embedded_text(),
            "ping |  | scopes:  | tags: ping"
        );
    }
}
