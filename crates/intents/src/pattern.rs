//! An intent as its author writes it: words, with placeholders in braces from which parameters are
//! read.
//!
//! `{project}` matches one word or a text in quotes, `{query...}` one word or more. Directly after
//! a noun, a word only counts as a value if it looks like a name or an id: in `get weather today`,
//! the last word is not a city.

use std::fmt;

use serde_json::Value;

use crate::words::{FoldedRequest, RequestWord, is_preposition, is_word};

/// Parsed and folded; displays as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentPattern {
    written: String,
    elements: Vec<PatternElement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternElement {
    Literal(String),
    Placeholder(Placeholder),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placeholder {
    pub(crate) name: String,
    /// True if it matches several words.
    many: bool,
    /// True if a preposition precedes it, so that any word after that is a value.
    announced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternMistake {
    #[error("has no words other than its parameters")]
    NoWord,
    #[error("is longer than {} characters", IntentPattern::MAX)]
    TooLong,
    #[error("has an unclosed brace, or an invalid name in braces")]
    Brace,
    #[error("has two adjacent parameters, so it is unclear where one ends")]
    SideBySide,
    #[error("has more than one parameter of several words")]
    SeveralLong,
    #[error("has a duplicate parameter")]
    Twice,
}

/// How a pattern matches a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternFit {
    /// The number of words that the pattern and the request share.
    pub(crate) literals: usize,
    /// The texts captured for parameters, each with its name.
    pub(crate) captured: Vec<(String, String)>,
}

impl IntentPattern {
    /// In characters; requests are far shorter.
    pub const MAX: usize = 200;

    pub fn parse(text: &str) -> Result<Self, PatternMistake> {
        if text.chars().count() > Self::MAX {
            return Err(PatternMistake::TooLong);
        }
        let words = FoldedRequest::read(text).words;
        let mut elements: Vec<_> = words.iter().map(parse_element).collect::<Result<_, _>>()?;
        check(&elements)?;
        mark_announced(&mut elements);
        Ok(Self {
            written: text.trim().to_owned(),
            elements,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns the pattern as a sentence without braces, for comparing its meaning.
    pub fn sentence(&self) -> String {
        self.written.replace("...}", "}").replace(['{', '}'], "")
    }

    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.elements.iter().filter_map(PatternElement::placeholder)
    }

    /// Returns the pattern folded, with every parameter as `{}`: patterns that match the same
    /// requests have the same key.
    pub(crate) fn key(&self) -> String {
        let words: Vec<&str> = self.elements.iter().map(PatternElement::key).collect();
        words.join(" ")
    }

    /// Returns the folded words before the first parameter.
    pub(crate) fn words_before_parameter(&self) -> String {
        let words = self
            .elements
            .iter()
            .take_while(|it| it.placeholder().is_none());
        let words: Vec<&str> = words.map(PatternElement::key).collect();
        words.join(" ")
    }

    /// Returns true if all words other than the parameters are plain: no numbers, paths or ids.
    pub(crate) fn is_plain(&self) -> bool {
        let mut words = self.elements.iter().filter(|it| it.placeholder().is_none());
        words.all(|word| is_word(word.key()))
    }

    pub(crate) fn fit(&self, request: &FoldedRequest) -> Option<PatternFit> {
        let captured = fit(&self.elements, &request.words, request)?;
        Some(PatternFit {
            literals: self.elements.len() - captured.len(),
            captured,
        })
    }
}

impl PatternElement {
    fn placeholder(&self) -> Option<&Placeholder> {
        match self {
            Self::Placeholder(placeholder) => Some(placeholder),
            Self::Literal(_) => None,
        }
    }

    fn key(&self) -> &str {
        match self {
            Self::Literal(word) => word,
            Self::Placeholder(_) => "{}",
        }
    }
}

impl Placeholder {
    fn takes(&self, words: &[RequestWord]) -> bool {
        self.many || self.announced || words.iter().all(RequestWord::looks_like_a_value)
    }
}

impl fmt::Display for IntentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn parse_element(word: &RequestWord) -> Result<PatternElement, PatternMistake> {
    let Some(folded) = &word.folded else {
        return Ok(PatternElement::Literal(word.raw.to_lowercase()));
    };
    if !word.raw.contains(['{', '}']) {
        return Ok(PatternElement::Literal(folded.clone()));
    }
    let inside = word.raw.strip_prefix('{');
    let inside = inside.and_then(|it| it.strip_suffix('}'));
    let inside = inside.ok_or(PatternMistake::Brace)?;
    let name = inside.strip_suffix("...");
    parse_placeholder(name.unwrap_or(inside), name.is_some())
}

fn parse_placeholder(name: &str, many: bool) -> Result<PatternElement, PatternMistake> {
    if !crate::template::is_parameter_name(name) {
        return Err(PatternMistake::Brace);
    }
    let name = name.to_owned();
    Ok(PatternElement::Placeholder(Placeholder {
        name,
        many,
        announced: false,
    }))
}

fn mark_announced(elements: &mut [PatternElement]) {
    let mut before = String::new();
    for element in elements {
        match element {
            PatternElement::Literal(word) => before.clone_from(word),
            PatternElement::Placeholder(placeholder) => {
                placeholder.announced = is_preposition(&before);
            }
        }
    }
}

fn check(elements: &[PatternElement]) -> Result<(), PatternMistake> {
    let placeholders: Vec<&Placeholder> = elements
        .iter()
        .filter_map(PatternElement::placeholder)
        .collect();
    if placeholders.len() == elements.len() {
        return Err(PatternMistake::NoWord);
    }
    let mut pairs = elements.windows(2);
    if pairs.any(|pair| pair.iter().all(|it| it.placeholder().is_some())) {
        return Err(PatternMistake::SideBySide);
    }
    if placeholders
        .iter()
        .filter(|placeholder| placeholder.many)
        .count()
        > 1
    {
        return Err(PatternMistake::SeveralLong);
    }
    let mut names: Vec<&str> = placeholders
        .iter()
        .map(|placeholder| placeholder.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < placeholders.len() {
        return Err(PatternMistake::Twice);
    }
    Ok(())
}

/// Matches all elements to all words, or nothing. A placeholder for several words takes as few as
/// it can.
fn fit(
    elements: &[PatternElement],
    words: &[RequestWord],
    request: &FoldedRequest,
) -> Option<Vec<(String, String)>> {
    let Some((first, rest)) = elements.split_first() else {
        return words.is_empty().then(Vec::new);
    };
    match first {
        PatternElement::Literal(literal) => {
            let (word, others) = words.split_first()?;
            let same = word.folded.as_ref() == Some(literal);
            same.then(|| fit(rest, others, request)).flatten()
        }
        PatternElement::Placeholder(placeholder) => {
            let most = if placeholder.many { words.len() } else { 1 };
            (1..=most).find_map(|taken| {
                let (inside, others) = words.split_at_checked(taken)?;
                if !placeholder.takes(inside) {
                    return None;
                }
                let mut captured = fit(rest, others, request)?;
                captured.insert(0, (placeholder.name.clone(), request.text(inside)));
                Some(captured)
            })
        }
    }
}

/// Reads a text from a request as the value of a parameter with this schema. Returns nothing if it
/// cannot be one.
pub(crate) fn value(text: &str, schema: &Value) -> Option<Value> {
    if let Some(choices) = schema["enum"].as_array() {
        return choices.iter().find(|it| is_choice(it, text)).cloned();
    }
    match schema["type"].as_str()? {
        "string" => Some(text.into()),
        "integer" => text.parse::<i64>().ok().map(Value::from),
        "number" => text.parse::<f64>().ok().map(Value::from),
        "boolean" => text.to_lowercase().parse::<bool>().ok().map(Value::from),
        _ => None,
    }
}

fn is_choice(choice: &Value, text: &str) -> bool {
    match choice {
        Value::String(choice) => choice.eq_ignore_ascii_case(text),
        other => text.parse::<Value>().is_ok_and(|value| value == *other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_a_request_and_takes_its_parameters_from_it() {
        for (pattern, request, expected) in [
            ("list errors", "Show me the errors!", Some("")),
            ("list errors", "list errors in web", None),
            (
                "errors in {project}",
                "errors in web-app",
                Some("project=web-app"),
            ),
            (
                "errors in {project}",
                "errors in \"my app\"",
                Some("project=my app"),
            ),
            (
                "errors in {project}",
                "errors in my app",
                Some("project=app"),
            ),
            ("errors in {project}", "errors in big app", None),
            (
                "search notes for {text...}",
                "find notes for love me do",
                Some("text=love me do"),
            ),
            (
                "copy {a...} to {b}",
                "copy all of it to x",
                Some("a=all of it b=x"),
            ),
            ("get issue {id}", "show issue WEB-12", Some("id=WEB-12")),
            ("get issue {id}", "show issue", None),
            ("get issue {id}", "show issue today", None),
            ("get issue {id}", "show issue 'today'", Some("id=today")),
            ("get issue {id}", "\"show\" issue 1", None),
        ] {
            let fit = IntentPattern::parse(pattern)
                .unwrap()
                .fit(&FoldedRequest::read(request));
            let captured = fit.map(|fit| {
                let pairs = fit
                    .captured
                    .iter()
                    .map(|(name, text)| format!("{name}={text}"));
                pairs.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(captured.as_deref(), expected, "{pattern} | {request}");
        }
    }

    #[test]
    fn an_ambiguous_pattern_is_rejected() {
        for (pattern, mistake) in [
            ("{a}", PatternMistake::NoWord),
            ("", PatternMistake::NoWord),
            ("get {a", PatternMistake::Brace),
            ("get {a b}", PatternMistake::Brace),
            ("get {}", PatternMistake::Brace),
            ("get {a} {b}", PatternMistake::SideBySide),
            ("get {a...} of {b...}", PatternMistake::SeveralLong),
            ("get {a} of {a}", PatternMistake::Twice),
        ] {
            assert_eq!(IntentPattern::parse(pattern), Err(mistake), "{pattern}");
        }
        let long = "x ".repeat(IntentPattern::MAX);
        assert_eq!(IntentPattern::parse(&long), Err(PatternMistake::TooLong));
    }
}
