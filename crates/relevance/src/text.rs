//! The text that stands for a tool, which the embedder reads.
//!
//! `{tool_name} | {description} | scopes: {scopes} | tags: {tags}`, bounded in length. Declared
//! scopes and tags are used as they are; without them they are derived from the provider, the
//! name and the parameters, so that the text has the words that a request is likely to mention.
//! The model was trained on exactly this text, so `training/document.py` writes the same.

use std::collections::HashSet;

use crate::terms::words;

// These are the limits of the texts that the model was trained on; a change of one needs a new
// training. 448 bytes are about the 128 tokens that the model reads.
const TEXT_BYTES: usize = 448;
const NAME_BYTES: usize = 96;
const SCOPES_BYTES: usize = 64;
const TAGS_BYTES: usize = 128;
const MAX_PARAMETERS: usize = 8;
const MAX_PROVIDER_WORDS: usize = 6;

/// The parts of a tool's definition that go into its text.
#[derive(Debug, Clone, Default)]
pub struct ToolText<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub provider: &'a str,
    pub group: &'a str,
    /// Required ones first.
    pub parameters: &'a [String],
    /// As declared; empty if the definition declares none.
    pub scopes: &'a [String],
    pub tags: &'a [String],
}

impl ToolText<'_> {
    /// Returns the declared scopes. Without any, they are the provider, the group and the kind of
    /// action, each once.
    pub fn scopes(&self) -> Vec<String> {
        if !self.scopes.is_empty() {
            return self.scopes.to_vec();
        }
        let provider = provider_words(self.provider).join(" ");
        let group = words(self.group).collect::<Vec<_>>().join(" ");
        let action = self.action().unwrap_or_default().to_owned();
        let mut scopes = vec![provider, group, action];
        let mut seen = HashSet::new();
        scopes.retain(|scope| !scope.is_empty() && seen.insert(scope.clone()));
        scopes
    }

    /// Returns the declared tags. Without any, they are the name as words and the parameters that
    /// add a word to it.
    pub fn tags(&self) -> Vec<String> {
        if !self.tags.is_empty() {
            return self.tags.to_vec();
        }
        let name: Vec<_> = words(self.name).collect();
        let mut tags = vec![name.join(" ")];
        tags.extend(self.new_parameters(name));
        tags.retain(|tag| !tag.is_empty());
        tags
    }

    /// Returns the first parameters as words, without those that add no word to the ones seen.
    fn new_parameters(&self, seen: Vec<String>) -> impl Iterator<Item = String> {
        let mut seen: HashSet<String> = seen.into_iter().collect();
        let parameters = self.parameters.iter().take(MAX_PARAMETERS);
        parameters.filter_map(move |parameter| {
            let words: Vec<_> = words(parameter).collect();
            let is_new = words.iter().any(|word| !seen.contains(word));
            let tag = words.join(" ");
            seen.extend(words);
            is_new.then_some(tag)
        })
    }

    /// Returns the text that is embedded. The description gets the room that the rest leaves.
    pub fn document(&self) -> String {
        let name = cut(&collapse(self.name), NAME_BYTES);
        let scopes = joined(&self.scopes(), SCOPES_BYTES);
        let tags = joined(&self.tags(), TAGS_BYTES);
        let tail = format!(" | scopes: {scopes} | tags: {tags}");
        let room = TEXT_BYTES.saturating_sub(name.len() + " | ".len() + tail.len());
        format!("{name} | {}{tail}", cut(&collapse(self.description), room))
    }

    /// Returns the kind of action that the first verb of the name says, or else the first word of
    /// the description (`Lists` is list).
    fn action(&self) -> Option<&'static str> {
        words(self.name)
            .find_map(|word| action_of(&word))
            .or_else(|| self.described_action())
    }

    fn described_action(&self) -> Option<&'static str> {
        let first = words(self.description.split_whitespace().next()?).next()?;
        action_of(&first).or_else(|| action_of(first.strip_suffix('s')?))
    }
}

/// Returns the words that tell a provider from others: of `@acme/weather-mcp-server`, `weather`.
fn provider_words(provider: &str) -> Vec<String> {
    let last = provider.rsplit('/').next().unwrap_or_default();
    let choices = [
        meaningful_words(last),
        meaningful_words(provider),
        words(provider).collect(),
    ];
    let mut seen = HashSet::new();
    choices
        .into_iter()
        .find(|words| !words.is_empty())
        .into_iter()
        .flatten()
        .filter(|word| seen.insert(word.clone()))
        .take(MAX_PROVIDER_WORDS)
        .collect()
}

fn meaningful_words(text: &str) -> Vec<String> {
    words(text).filter(|word| !is_noise(word)).collect()
}

/// Every provider is a server, and the number of one says nothing.
fn is_noise(word: &str) -> bool {
    matches!(word, "mcp" | "server" | "servers") || word.chars().all(char::is_numeric)
}

/// True if a word says that something is to be done.
pub(crate) fn is_action(word: &str) -> bool {
    action_of(word).is_some()
}

fn action_of(verb: &str) -> Option<&'static str> {
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

/// Joins as many whole items as fit; the first one is cut if it alone is too long.
fn joined(items: &[String], limit: usize) -> String {
    let mut text = String::new();
    for item in items {
        let item = collapse(item);
        let longer = if text.is_empty() {
            cut(&item, limit)
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

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text, or its longest run of whole words within `limit` bytes (of whole characters,
/// if the first word alone is longer).
fn cut(text: &str, limit: usize) -> String {
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
            provider: "@acme/github-mcp-server",
            parameters: &parameters,
            ..ToolText::default()
        };
        assert_eq!(
            tool.document(),
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
            provider: "shop",
            ..ToolText::default()
        };
        let text = tool.document();
        assert!(text.len() <= TEXT_BYTES);
        assert!(
            text.ends_with("words | scopes: shop, read | tags: list things"),
            "{text}"
        );
    }

    #[test]
    fn nothing_but_a_name_is_enough() {
        assert_eq!(
            ToolText {
                name: "ping",
                ..ToolText::default()
            }
            .document(),
            "ping |  | scopes:  | tags: ping"
        );
    }
}
