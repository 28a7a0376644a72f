//! From the last words of a server to the cause.
//!
//! The order matters: what names its cause plainly comes before what merely hints at one.

mod around;
mod installed;
mod settings;
#[cfg(test)]
mod tests;

use around::{forbidden, missing_file, no_network, port_taken, service_down, untrusted};
use installed::{
    missing_module, new_mcp_library, new_pydantic, no_such_package, not_a_program, not_found,
    old_engine, old_node, retired,
};
use settings::{bad_credentials, missing_variable, own_login, serves_http, usage, wrong_arguments};

use crate::cause::Cause;

impl Cause {
    /// The cause, if the text names one we have met before.
    pub fn recognise(text: &str) -> Option<Self> {
        let said = Said {
            text,
            lower: text.to_lowercase(),
        };
        SIGNS.iter().find_map(|sign| sign(&said))
    }
}

const SIGNS: [fn(&Said<'_>) -> Option<Cause>; 21] = [
    new_mcp_library,
    new_pydantic,
    old_node,
    port_taken,
    no_such_package,
    not_a_program,
    untrusted,
    wrong_arguments,
    missing_variable,
    no_network,
    service_down,
    not_found,
    missing_file,
    missing_module,
    forbidden,
    bad_credentials,
    own_login,
    serves_http,
    usage,
    old_engine,
    retired,
];

struct Said<'a> {
    text: &'a str,
    lower: String,
}

impl<'a> Said<'a> {
    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.lower.contains(word))
    }

    /// Whether a code of the system stands there as a word: `ENOTFOUND` is also a part of
    /// `ModuleNotFoundError`.
    fn has_code(&self, codes: &[&str]) -> bool {
        let mut words = self
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| codes.contains(&word))
    }

    /// The lines that have one of these words.
    fn lines(&self, words: &'a [&'a str]) -> impl DoubleEndedIterator<Item = &'a str> {
        let has = move |line: &&str| {
            let line = line.to_lowercase();
            words.iter().any(|word| line.contains(word))
        };
        self.text
            .lines()
            .map(|line| line.strip_prefix("[stdout] ").unwrap_or(line))
            .filter(has)
    }

    /// What follows these words up to one of the ends.
    fn after(&self, words: &str, ends: &[char]) -> Option<String> {
        // Lower case may be longer in bytes; where it is, the offsets do not fit.
        let begin = self.lower.find(words)? + words.len();
        let rest = self
            .text
            .get(begin..)
            .filter(|_| self.lower.len() == self.text.len())?;
        let found = rest.split(ends).next()?.trim();
        (!found.is_empty()).then(|| found.to_owned())
    }
}
