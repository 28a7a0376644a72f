//! The context plane: facts with their sources, for one tenant or all.
//!
//! - [`fact`]: a fact, parsed and as JSON; [`tier`]: how far a source is trusted
//! - [`import`]: imports facts from a file
//! - `question`: `context-query`; `ranking`: ranks facts for a question
//! - `explanation`: `context-explain`; `claim`: weighs the facts about a claim

mod claim;
mod explanation;
pub mod fact;
pub mod import;
mod question;
mod ranking;
pub mod tier;

pub(crate) use explanation::explain_claim;
pub(crate) use question::query_facts;

use kitbag_domain::Timestamp;
use kitbag_store::NewFact;

use crate::{PlatformError, PlatformServices};

/// The most facts of a holder. Each is compared with a question, so more would need an index.
pub const MOST_FACTS: i64 = 20_000;

fn check_enabled(services: &PlatformServices) -> Result<(), PlatformError> {
    match services.context {
        true => Ok(()),
        false => Err(PlatformError::NoContextPlane),
    }
}

/// Normalizes case and blanks, so that names compare equal.
pub fn comparison_key(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// True if the fact is no longer valid.
fn has_ended(fact: &NewFact, now: Timestamp) -> bool {
    fact.valid_until.is_some_and(|end| end <= now)
}
