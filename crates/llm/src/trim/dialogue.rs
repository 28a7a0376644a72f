//! The part of a conversation that decides which tools a model needs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::trim::dialect::Utterance;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dialogue<'a> {
    /// A hash of the beginning of the conversation, equal for all its requests. `None` if the
    /// vendor stores the beginning.
    pub conversation: Option<u64>,
    /// The user's latest text. Results of tools do not count.
    pub words: String,
    /// The names of all called tools, in order.
    pub calls: Vec<String>,
    /// The number of calls before the user's latest text.
    calls_before_user_text: usize,
    /// Everything from the model and from tools, as JSON.
    pub texts: Vec<&'a str>,
}

impl<'a> Dialogue<'a> {
    /// `stored_by_vendor` is the conversation's id, if the vendor stores it.
    pub(crate) fn from_utterances(
        said: Vec<Utterance<'a>>,
        stored_by_vendor: &VendorMemory,
    ) -> Self {
        let mut dialogue = Self::default();
        let mut opening = DefaultHasher::new();
        let mut is_open = true;
        for utterance in said {
            match utterance {
                Utterance::System(text) if is_open => text.hash(&mut opening),
                Utterance::System(_) => {}
                Utterance::User(text) => {
                    if std::mem::take(&mut is_open) {
                        text.hash(&mut opening);
                    }
                    dialogue.calls_before_user_text = dialogue.calls.len();
                    dialogue.words = text;
                }
                Utterance::Call(name) => dialogue.calls.push(name),
                Utterance::Assistant(text) | Utterance::Result(text) => dialogue.texts.push(text),
            }
        }
        dialogue.conversation = match stored_by_vendor {
            VendorMemory::None => Some(opening.finish()),
            VendorMemory::Named(name) => Some(hash_text(name)),
            VendorMemory::Unnamed => None,
        };
        dialogue
    }

    /// The calls that the model made for the user's latest text.
    pub fn calls_for_user_text(&self) -> &[String] {
        &self.calls[self.calls_before_user_text..]
    }
}

/// The part of a conversation that the vendor stores, and that a request does not repeat.
#[derive(Debug)]
pub(crate) enum VendorMemory {
    None,
    Named(String),
    /// The request only names the answer that it continues.
    Unnamed,
}

pub(crate) fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
