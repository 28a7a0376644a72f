//! Derives the cause from the last output of a server.
//!
//! The order matters: a clear sign of a cause comes before a mere hint.

mod environment;
mod installation;
mod settings;
#[cfg(test)]
mod tests;

use environment::{
    missing_file, no_network, permission_denied, port_taken, service_down, untrusted_certificate,
};
use installation::{
    missing_module, moved_package, new_mcp_library, new_pydantic, no_such_package, not_a_program,
    not_found, old_engine, old_node,
};
use settings::{
    bad_credentials, missing_variable, own_login, serves_http, usage_message, wrong_arguments,
};

use crate::cause::Cause;

impl Cause {
    /// Returns the cause, if the text contains signs of a known one.
    pub fn recognize(text: &str) -> Option<Self> {
        let output = ServerOutput {
            text,
            lower: text.to_lowercase(),
        };
        SIGNS.iter().find_map(|sign| sign(&output))
    }
}

const SIGNS: [fn(&ServerOutput<'_>) -> Option<Cause>; 21] = [
    new_mcp_library,
    new_pydantic,
    old_node,
    port_taken,
    no_such_package,
    not_a_program,
    untrusted_certificate,
    wrong_arguments,
    missing_variable,
    no_network,
    service_down,
    not_found,
    missing_file,
    missing_module,
    permission_denied,
    bad_credentials,
    own_login,
    serves_http,
    usage_message,
    old_engine,
    moved_package,
];

struct ServerOutput<'a> {
    text: &'a str,
    lower: String,
}

impl<'a> ServerOutput<'a> {
    fn contains_any(&self, words: &[&str]) -> bool {
        has_any(&self.lower, words)
    }

    /// True if a system error code occurs as a word: `ENOTFOUND` is also a part of
    /// `ModuleNotFoundError`.
    fn has_code(&self, codes: &[&str]) -> bool {
        let mut words = self
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| codes.contains(&word))
    }

    /// Returns the lines that contain one of these texts.
    fn lines_with(&self, words: &'a [&'a str]) -> impl DoubleEndedIterator<Item = &'a str> {
        self.text
            .lines()
            .map(|line| line.strip_prefix("[stdout] ").unwrap_or(line))
            .filter(|line| has_any(&line.to_lowercase(), words))
    }

    /// Returns the text that follows, up to one of the ends.
    fn text_after(&self, words: &str, ends: &[char]) -> Option<String> {
        // Lower case may be longer in bytes; then the offsets do not match.
        let begin = self.lower.find(words)? + words.len();
        let rest = self
            .text
            .get(begin..)
            .filter(|_| self.lower.len() == self.text.len())?;
        let found = rest.split(ends).next()?.trim();
        (!found.is_empty()).then(|| found.to_owned())
    }
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}
