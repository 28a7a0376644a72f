//! One action of a tool as an HTTP request.

use std::collections::BTreeSet;

use http::{HeaderName, Method};
use serde_json::{Map, Value};

use crate::answer::{AnswerRule, PageRule};
use crate::effects::ActionWrites;
use crate::fill::{CredentialFields, FillValues};
use crate::json_pattern::JsonPattern;
use crate::names::ActionName;
use crate::path_pattern::PathPattern;
use crate::placeholder::Placeholder;
use crate::text_pattern::TextPattern;

#[derive(Debug, Clone, PartialEq)]
pub struct ActionSpec {
    pub name: ActionName,
    pub writes: ActionWrites,
    /// True if the request may be retried after a failure. Never true for [`ActionWrites::Send`].
    pub repeatable: bool,
    pub method: Method,
    pub path: PathPattern,
    /// A value keeps its own type here, because a list becomes several parameters.
    pub query: Vec<(String, TextPattern)>,
    pub headers: Vec<(HeaderName, TextPattern)>,
    pub body: Option<BodyPattern>,
    /// The `default` of each property of the input that has one.
    pub defaults: Map<String, Value>,
    pub pages: Option<PageRule>,
    pub answer: AnswerRule,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BodyPattern {
    Json(JsonPattern),
    /// An object, sent as `name=value&…`.
    Form(JsonPattern),
    /// An object whose members become parts. A member that is an object with `base64` or `text` is
    /// a file, with its `filename` and `type`.
    Multipart(JsonPattern),
    /// Bytes, given in base64.
    Bytes(TextPattern),
    Text(TextPattern),
}

impl ActionSpec {
    /// Returns the values that fill the patterns of this action. The arguments are the action's
    /// own, without the action's name.
    pub fn fill_values<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        credential: CredentialFields<'a>,
    ) -> FillValues<'a> {
        FillValues::new(
            arguments,
            &self.defaults,
            self.named_arguments(),
            credential,
        )
    }

    /// Returns the query parameters that have a value.
    pub fn query(&self, values: &FillValues<'_>) -> Vec<(String, String)> {
        let filled = self
            .query
            .iter()
            .filter_map(|(name, pattern)| Some((name, pattern.fill_value(values)?)));
        filled
            .flat_map(|(name, value)| crate::fields::to_fields(name, &value))
            .collect()
    }

    /// Returns all placeholders of the action.
    pub fn placeholders(&self) -> Vec<&Placeholder> {
        let headers = self.headers.iter().map(|(_, pattern)| pattern);
        let texts = self.query.iter().map(|(_, pattern)| pattern).chain(headers);
        let body = self.body.iter().flat_map(BodyPattern::placeholders);
        texts
            .flat_map(TextPattern::placeholders)
            .chain(self.path.placeholders())
            .chain(body)
            .collect()
    }

    /// Returns the arguments with a placeholder of their own, which `{*}` therefore leaves out.
    pub fn named_arguments(&self) -> BTreeSet<&str> {
        let words = self.placeholders().into_iter();
        let pages = self.pages.as_ref().map(|_| PageRule::ARGUMENT);
        words
            .filter_map(Placeholder::argument_name)
            .chain(pages)
            .collect()
    }

    pub fn takes_rest(&self) -> bool {
        self.body.as_ref().is_some_and(BodyPattern::takes_rest)
    }
}

impl BodyPattern {
    pub fn placeholders(&self) -> Vec<&Placeholder> {
        match self {
            Self::Json(body) | Self::Form(body) | Self::Multipart(body) => body.placeholders(),
            Self::Bytes(text) | Self::Text(text) => text.placeholders().collect(),
        }
    }

    pub fn takes_rest(&self) -> bool {
        match self {
            Self::Json(body) | Self::Form(body) | Self::Multipart(body) => body.takes_rest(),
            Self::Bytes(_) | Self::Text(_) => false,
        }
    }
}
