//! The tools that stay in the requests of a conversation.
//!
//! A vendor's cache only covers the part that equals the previous request, byte for byte. So a
//! chosen set of tools stays, and grows when something new needs a tool.

use std::collections::HashSet;

use crate::trim::Dialogue;
use crate::trim::dialogue::hash_text;

/// The memory of one conversation, from request to request.
#[derive(Debug, Clone, Default)]
pub struct ConversationMemory {
    /// A hash of the user's latest text.
    user_text: Option<u64>,
    /// The number of calls for that text that were processed.
    seen_calls: usize,
    /// The number of texts that were processed.
    seen_texts: usize,
    pub own: SelectedTools,
    /// The tools that are not Kitbag's, if those are trimmed, too.
    pub foreign: SelectedTools,
}

/// The part of a request that the previous request did not have.
#[derive(Debug, PartialEq, Eq)]
pub struct DialogueUpdate<'d> {
    pub are_words_new: bool,
    /// The calls for the user's latest text.
    pub calls: &'d [String],
    /// The texts of the model and the answers of tools.
    pub texts: &'d [&'d str],
}

/// The tools in the previous request, most recently needed first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SelectedTools {
    #[default]
    All,
    Some(Vec<String>),
}

/// The tools that a request needs, by reason. Each list has the most needed tool first.
#[derive(Debug, Default)]
pub struct ToolNeeds<'a> {
    /// The request is not valid without these.
    pub demanded: Vec<&'a str>,
    pub always_on: Vec<&'a str>,
    /// The model called these in this conversation.
    pub used: Vec<&'a str>,
    pub pinned: Vec<&'a str>,
    /// The tools for the user's latest text; `None` if the text is not new or they could not be
    /// found.
    pub relevant: Option<Vec<&'a str>>,
    /// The model or a tool result has mentioned these since the previous request.
    pub mentioned: Vec<&'a str>,
}

impl ConversationMemory {
    /// Records the dialogue, and returns the new part.
    pub fn record_dialogue<'d>(&mut self, dialogue: &'d Dialogue<'_>) -> DialogueUpdate<'d> {
        let words = Some(hash_text(&dialogue.words));
        let are_words_new = std::mem::replace(&mut self.user_text, words) != words;
        if are_words_new {
            self.seen_calls = 0;
        }
        DialogueUpdate {
            are_words_new,
            calls: take_new(dialogue.calls_for_user_text(), &mut self.seen_calls),
            texts: take_new(&dialogue.texts, &mut self.seen_texts),
        }
    }
}

/// Returns the unprocessed part. A client that shortens a conversation starts over.
fn take_new<'d, T>(said: &'d [T], seen: &mut usize) -> &'d [T] {
    let before = std::mem::replace(seen, said.len());
    said.get(before..).unwrap_or(said)
}

impl SelectedTools {
    /// Chooses at most `room` tools, or as many as are demanded, and stores them. As long as the
    /// user's request is unknown, all tools stay. If nothing is new, the same tools stay.
    pub fn choose_tools(
        &mut self,
        needs: &ToolNeeds<'_>,
        room: usize,
        is_offered: impl Fn(&str) -> bool,
    ) {
        let before = match (&*self, &needs.relevant) {
            (Self::All, None) => return,
            (Self::All, Some(_)) => Vec::new(),
            (Self::Some(before), _) => before.clone(),
        };
        let mut chosen = ChosenTools::default();
        chosen.add_names(needs.demanded.iter().copied(), usize::MAX);
        for wanted in [&needs.always_on, &needs.used, &needs.pinned] {
            chosen.add_names(wanted.iter().copied(), room);
        }
        chosen.add_names(needs.relevant.iter().flatten().copied(), room);
        chosen.add_names(needs.mentioned.iter().copied(), room);
        let before = before.iter().map(String::as_str);
        chosen.add_names(before.filter(|name| is_offered(name)), room);
        *self = Self::Some(chosen.names);
    }

    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Some(names) => names.iter().any(|it| it == name),
        }
    }
}

#[derive(Default)]
struct ChosenTools<'a> {
    names: Vec<String>,
    seen: HashSet<&'a str>,
}

impl<'a> ChosenTools<'a> {
    fn add_names(&mut self, wanted: impl Iterator<Item = &'a str>, room: usize) {
        for name in wanted {
            if self.names.len() < room && self.seen.insert(name) {
                self.names.push(name.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[track_caller]
    fn check(kept: &mut SelectedTools, needs: &ToolNeeds<'_>, expect: &str) {
        kept.choose_tools(needs, 4, |_| true);
        let SelectedTools::Some(chosen) = &*kept else {
            panic!("all tools stay")
        };
        assert_eq!(chosen.join(" "), expect);
    }

    #[test]
    fn a_set_stays_until_something_new_needs_a_tool_and_replaces_the_oldest() {
        let mut kept = SelectedTools::default();
        let nothing = ToolNeeds::default();
        kept.choose_tools(&nothing, 4, |_| true);
        assert_eq!(kept, SelectedTools::All);
        let first = ToolNeeds {
            relevant: Some(names("a b")),
            ..ToolNeeds::default()
        };
        check(&mut kept, &first, "a b");
        check(&mut kept, &nothing, "a b");
        let used = ToolNeeds {
            used: names("z"),
            ..ToolNeeds::default()
        };
        check(&mut kept, &used, "z a b");
        let second = ToolNeeds {
            relevant: Some(names("c d")),
            used: names("z"),
            ..ToolNeeds::default()
        };
        check(&mut kept, &second, "z c d a");
        check(&mut kept, &used, "z c d a");
        let mentioned = ToolNeeds {
            mentioned: names("b"),
            used: names("z"),
            ..ToolNeeds::default()
        };
        check(&mut kept, &mentioned, "z b c d");
    }

    #[test]
    fn a_request_stays_valid_in_any_room() {
        let needs = ToolNeeds {
            demanded: names("a b c d e"),
            relevant: Some(names("x")),
            ..ToolNeeds::default()
        };
        check(&mut SelectedTools::default(), &needs, "a b c d e");
    }
}
