//! Reads a tool's arguments from a request in words, using the tool's schema.
//!
//! A request is only carried out if it contains every required argument, everything specific in it
//! (a path, a number, a quoted text, a name) goes into an argument, and its other words are words
//! of the tool. Anything left over asks for something that the call would not do.
//!
//! # Layout
//! - this file: binding a tool to a request
//! - [`request_parts`]: the parts of a request; [`role`]: the meaning of a parameter
//! - [`values`]: the value of a parameter; [`positions`]: the positions of values in a request
//! - [`agreement`]: whether the words are about the tool; [`known_words`]: words of any request;
//!   [`file_kinds`]: whether the tool can read the files; [`zones`]: names of time zones

mod agreement;
mod file_kinds;
mod known_words;
mod positions;
mod request_parts;
mod role;
#[cfg(test)]
mod tests;
mod values;
pub mod zones;

use kitbag_domain::WriteClass;
use serde_json::{Map, Value};

use self::request_parts::RequestParts;
use self::role::Parameter;
use self::values::Reader;
use self::zones::ZoneNames;
use crate::words::FoldedRequest;

/// A tool as its server describes it.
#[derive(Debug, Clone, Copy)]
pub struct DescribedTool<'a> {
    pub server: &'a str,
    pub name: &'a str,
    pub description: &'a str,
    pub class: WriteClass,
    pub schema: &'a Value,
}

/// The relation of a tool to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Binding {
    /// The request has everything that the tool needs, and nothing that the tool would ignore.
    Complete(BoundCall),
    /// The words are about the tool, but lack these required parameters.
    Incomplete(Vec<String>),
    /// The request asks for something else, or for more.
    Unrelated,
}

/// True if the words have one about the tool, beyond verbs and words of any request.
pub(crate) fn names_subject(words: &str, tool: &DescribedTool<'_>) -> bool {
    agreement::names_subject(&RequestParts::read(words), tool)
}

#[derive(Debug, Clone, PartialEq)]
pub struct BoundCall {
    pub arguments: Map<String, Value>,
    /// The request's words that are in the tool's name.
    pub named: usize,
    /// The request's words that nothing in the tool explains.
    pub unexplained: usize,
}

/// Binds a tool to a request. Given arguments take precedence over values in the words.
pub fn bind(
    words: &str,
    given: &Map<String, Value>,
    tool: &DescribedTool<'_>,
    zones: &ZoneNames,
) -> Binding {
    if words.len() > FoldedRequest::MAX_BYTES {
        return Binding::Unrelated;
    }
    let request = RequestParts::read(words);
    let parameters = Parameter::from_tool(tool);
    let known = given
        .keys()
        .all(|name| parameters.iter().any(|it| it.name == name));
    if !known
        || !agreement::verbs_agree(&request, tool)
        || file_kinds::has_foreign_file(&request, tool)
    {
        return Binding::Unrelated;
    }
    let mut reader = Reader::new(&request, tool, zones);
    let mut arguments = given.clone();
    let mut missing = Vec::new();
    for parameter in &parameters {
        if arguments.contains_key(parameter.name) {
            continue;
        }
        match reader.value(parameter, &parameters) {
            Some(value) => drop(arguments.insert(parameter.name.to_owned(), value)),
            None if parameter.required => missing.push(parameter.name.to_owned()),
            None => {}
        }
    }
    let explained = agreement::count_explained_words(&request, tool, &reader.used);
    if !missing.is_empty() {
        return match explained.named > 0 {
            true => Binding::Incomplete(missing),
            false => Binding::Unrelated,
        };
    }
    if explained.ignored_particulars > 0 {
        return Binding::Unrelated;
    }
    Binding::Complete(BoundCall {
        arguments,
        named: explained.named,
        unexplained: explained.unexplained,
    })
}
