//! Asking the index from the command line: searching it, and proving that it is whole.

use kitbag_domain::Caller;
use kitbag_relevance::dense::is_sound;
use kitbag_relevance::{Options, Parts};
use serde::Serialize;

use crate::rooms::Rooms;

/// A tool that was found, and why.
#[derive(Debug, Serialize)]
pub struct Found {
    pub tool_name: String,
    pub score: f32,
    pub parts: Parts,
    pub cosine: Option<f32>,
    pub description: String,
    pub write_class: &'static str,
}

/// What is wrong with one capability in the index.
#[derive(Debug, Serialize)]
pub struct Flaw {
    pub tool_name: String,
    pub problem: String,
}

#[derive(Debug, Serialize)]
pub struct Verdict {
    pub tools: usize,
    pub embedded: usize,
    /// Tools that come back in the top three when asked for with their own description.
    pub found_by_description: usize,
    pub flaws: Vec<Flaw>,
}

/// How far down a tool may be found when it is asked for with its own words.
const OWN_WORDS_TOP: usize = 3;

pub(crate) fn search(rooms: &Rooms, text: &str, options: &Options) -> Vec<Found> {
    let caller = Caller::local();
    let allowed = |capability: &_| rooms.policy.visible(&caller, capability);
    let found = rooms.index.search(text, options, allowed).into_iter();
    found
        .map(|it| Found {
            tool_name: it.entry.tool_name.clone(),
            score: it.score,
            parts: it.parts,
            cosine: it.cosine,
            description: it.entry.description.clone(),
            write_class: it.entry.write_class.as_str(),
        })
        .collect()
}

/// Checks that every tool of the catalog is indexed, has a sound vector, and is found by its
/// own description.
pub(crate) fn verify(rooms: &Rooms) -> Verdict {
    let (catalog, snapshot) = (rooms.catalog(), rooms.index.snapshot());
    let mut flaws = Vec::new();
    let mut found_by_description = 0;
    for entry in &catalog.tools {
        let flaw = |problem: &str| Flaw { tool_name: entry.exposed.clone(), problem: problem.to_owned() };
        let Some(document) = snapshot.index.get(&entry.exposed) else {
            flaws.push(flaw("it is not in the index"));
            continue;
        };
        match &document.vector {
            None => flaws.push(flaw("it has no vector")),
            Some(vector) if !is_sound(vector) => flaws.push(flaw("its vector is empty or not finite")),
            Some(_) => {}
        }
        let description = document.entry.description.trim();
        let own_words = if description.is_empty() { document.name.as_str() } else { description };
        let options = Options { top_k: OWN_WORDS_TOP, ..Options::default() };
        // Two tools with the same words cannot be told apart; either will do.
        let found = rooms
            .index
            .search(own_words, &options, |_| true)
            .iter()
            .any(|it| it.entry.tool_name == entry.exposed || it.entry.description.trim() == description);
        if found {
            found_by_description += 1;
        } else {
            flaws.push(flaw("asking with its own description does not find it"));
        }
    }
    let embedded = snapshot.index.embedded();
    Verdict { tools: catalog.tools.len(), embedded, found_by_description, flaws }
}
