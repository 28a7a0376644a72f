//! Says which tools of different servers do the same, so that they share one place of an answer.
//!
//! The limits were chosen by reading pairs among the 5,352 tools of 192 real servers: of the pairs above
//! `SAME_MEANING` all do the same, if at times to things of different products; somewhat below it some
//! pairs are a tool that reads and one that writes.

use std::collections::HashSet;

use kitbag_domain::WriteClass;

use crate::dense::similarity;
use crate::index::{Document, Index};
use crate::terms::terms;

/// Tools with this cosine do the same, whatever their names are.
const SAME_MEANING: f32 = 0.85;
/// The cosine that is enough for tools of the same name.
const SAME_MEANING_AND_NAME: f32 = 0.75;

/// Compares tools for one intent.
pub(crate) struct SameTask {
    /// The words of the intent.
    asked: HashSet<String>,
}

impl SameTask {
    pub(crate) fn new(intent: &str) -> Self {
        Self {
            asked: terms(intent).into_iter().collect(),
        }
    }

    /// True if two copies of one tool share a place.
    pub(crate) fn shared_by_copies(&self, one: &Document, other: &Document) -> bool {
        are_copies(one, other) && !self.tells_apart(one, other)
    }

    /// True if two tools share a place because they do the same, though they are no copies.
    pub(crate) fn shared_by_equals(&self, one: &Document, other: &Document) -> bool {
        do_the_same(one, other) && !self.tells_apart(one, other)
    }

    /// True if the intent names the server of one and not that of the other.
    fn tells_apart(&self, one: &Document, other: &Document) -> bool {
        let (one, other) = (provider_words(one), provider_words(other));
        let mut own = one.symmetric_difference(&other);
        own.any(|word| self.asked.contains(word))
    }
}

/// Returns the positions of the tools that do the same as this one, and its own.
pub fn equals(index: &Index, tool_name: &str) -> Vec<usize> {
    let Some(own) = index.get(tool_name) else {
        return Vec::new();
    };
    let is_equal = |other: &Document| {
        other.entry.tool_name == tool_name || are_copies(own, other) || do_the_same(own, other)
    };
    let documents = index.documents.iter();
    let equal = documents.enumerate().filter(|(_, it)| is_equal(it));
    equal.map(|(position, _)| position).collect()
}

fn are_copies(one: &Document, other: &Document) -> bool {
    one.twin.is_some() && one.twin == other.twin
}

fn do_the_same(one: &Document, other: &Document) -> bool {
    if one.entry.provider == other.entry.provider || have_other_effects(one, other) {
        return false;
    }
    let (Some(vector), Some(others)) = (&one.vector, &other.vector) else {
        return false;
    };
    match similarity(vector, others) {
        cosine if cosine >= SAME_MEANING => true,
        cosine if cosine >= SAME_MEANING_AND_NAME => own_name(one) == own_name(other),
        _ => false,
    }
}

/// True if it is known that only one of the two reads, writes or destroys.
fn have_other_effects(one: &Document, other: &Document) -> bool {
    let classes = [one.entry.write_class, other.entry.write_class];
    !classes.contains(&WriteClass::Unknown) && classes[0] != classes[1]
}

/// The words of a tool's name, without those of its server.
fn own_name(document: &Document) -> HashSet<String> {
    let provider = provider_words(document);
    let words = terms(&document.name).into_iter();
    words.filter(|word| !provider.contains(word)).collect()
}

fn provider_words(document: &Document) -> HashSet<String> {
    terms(&document.entry.provider).into_iter().collect()
}
