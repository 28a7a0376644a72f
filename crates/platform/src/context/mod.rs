//! The context plane: facts with their sources, of one tenant or of all.
//!
//! - [`fact`]: a fact as a line of a file, and as models read it; [`tier`]: the tiers by which sources are trusted
//! - [`import`]: takes facts from a file
//! - `question`: `context-query`; `ranking`: finds the facts that answer best
//! - `explanation`: `context-explain`; `claim`: weighs everything that is said of a claim

mod claim;
mod explanation;
pub mod fact;
pub mod import;
mod question;
mod ranking;
pub mod tier;

pub(crate) use explanation::explain;
pub(crate) use question::query;

use kitbag_domain::Timestamp;
use kitbag_store::NewFact;

use crate::{PlatformError, PlatformServices};

/// Facts that a holder may have. A question in plain words is compared with each of them, so that more
/// would need an index.
pub const MOST_FACTS: i64 = 20_000;

fn switched_on(services: &PlatformServices) -> Result<(), PlatformError> {
    match services.context {
        true => Ok(()),
        false => Err(PlatformError::NoContextPlane),
    }
}

/// Returns a name as it is compared with others: without regard to case and to blanks around and
/// between words.
pub fn compared(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Returns true if the source says that the fact no longer holds.
fn has_ended(fact: &NewFact, now: Timestamp) -> bool {
    fact.valid_until.is_some_and(|end| end <= now)
}
