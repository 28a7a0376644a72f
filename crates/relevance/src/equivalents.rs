//! Finds tools of different servers that do the same, so that they share one slot of the answer.
//!
//! The thresholds were chosen by reading pairs of the 5,352 tools of 192 real servers. All pairs
//! above `SAME_MEANING` do the same, some of them for different products. A little below it, some
//! pairs combine a tool that reads with one that writes.

use std::collections::HashSet;

use kitbag_domain::WriteClass;

use crate::dense::similarity;
use crate::index::{Document, Index};
use crate::terms::split_terms;

/// Tools with at least this cosine do the same, whatever their names are.
const SAME_MEANING: f32 = 0.85;
/// The cosine that is enough for tools with the same name.
const SAME_MEANING_AND_NAME: f32 = 0.75;

/// Compares tools in the context of one query.
pub(crate) struct EquivalenceCheck {
    query_terms: HashSet<String>,
}

impl EquivalenceCheck {
    pub(crate) fn new(query: &str) -> Self {
        Self {
            query_terms: split_terms(query).into_iter().collect(),
        }
    }

    /// True if two copies of one tool share a slot.
    pub(crate) fn merges_copies(&self, one: &Document, other: &Document) -> bool {
        are_copies(one, other) && !self.distinguishes(one, other)
    }

    /// True if two tools that are not copies share a slot because they do the same.
    pub(crate) fn merges_equivalents(&self, one: &Document, other: &Document) -> bool {
        are_equivalent(one, other) && !self.distinguishes(one, other)
    }

    /// True if the query names the server of one tool but not of the other.
    fn distinguishes(&self, one: &Document, other: &Document) -> bool {
        let (one, other) = (server_terms(one), server_terms(other));
        let mut own = one.symmetric_difference(&other);
        own.any(|word| self.query_terms.contains(word))
    }
}

/// Returns the positions of the tool and of all tools that do the same.
pub fn find_equivalents(index: &Index, tool_name: &str) -> Vec<usize> {
    let Some(own) = index.get(tool_name) else {
        return Vec::new();
    };
    let is_equal = |other: &Document| {
        other.entry.tool_name == tool_name || are_copies(own, other) || are_equivalent(own, other)
    };
    let documents = index.documents.iter();
    let equal = documents.enumerate().filter(|(_, it)| is_equal(it));
    equal.map(|(position, _)| position).collect()
}

fn are_copies(one: &Document, other: &Document) -> bool {
    one.twin.is_some() && one.twin == other.twin
}

fn are_equivalent(one: &Document, other: &Document) -> bool {
    if one.entry.server == other.entry.server || differ_in_effect(one, other) {
        return false;
    }
    let (Some(vector), Some(others)) = (&one.vector, &other.vector) else {
        return false;
    };
    match similarity(vector, others) {
        cosine if cosine >= SAME_MEANING => true,
        cosine if cosine >= SAME_MEANING_AND_NAME => {
            name_without_server(one) == name_without_server(other)
        }
        _ => false,
    }
}

/// True if the two are known to differ in whether they read, write or destroy.
fn differ_in_effect(one: &Document, other: &Document) -> bool {
    let classes = [one.entry.write_class, other.entry.write_class];
    !classes.contains(&WriteClass::Unknown) && classes[0] != classes[1]
}

/// The terms of a tool's name without its server's.
fn name_without_server(document: &Document) -> HashSet<String> {
    let server = server_terms(document);
    let words = split_terms(&document.name).into_iter();
    words.filter(|word| !server.contains(word)).collect()
}

fn server_terms(document: &Document) -> HashSet<String> {
    split_terms(&document.entry.server).into_iter().collect()
}
