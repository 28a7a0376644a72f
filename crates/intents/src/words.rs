//! A request in words, folded so that requests with the same meaning have the same text.
//!
//! Folding is conservative: articles and polite beginnings are dropped, plurals become singular, and
//! a few verbs are merged. `show errors` and `list the errors` are one request; `get error 5` is
//! another.

/// A word of a request. Articles are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestWord {
    /// The word as written, for use as a value.
    pub(crate) raw: String,
    /// The word in its form for comparison. A quoted text is only a value and has none.
    pub(crate) folded: Option<String>,
    /// The index of the word among all written words.
    at: usize,
}

/// A request, word by word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoldedRequest {
    pub(crate) words: Vec<RequestWord>,
    written: Vec<String>,
}

impl FoldedRequest {
    /// Longer texts are not requests in a few words, and are not compared.
    pub(crate) const MAX_BYTES: usize = 1_000;

    pub(crate) fn read(text: &str) -> Self {
        let written = split_words(text);
        let mut words: Vec<RequestWord> = written.iter().enumerate().map(to_request_word).collect();
        drop_beginning(&mut words);
        words.retain(|word| !word.is_any_of(ARTICLES));
        fold_verb(&mut words);
        fold_nouns(&mut words);
        let written = written.into_iter().map(|it| it.text).collect();
        Self { words, written }
    }

    /// Returns the words in this range as written, with the articles between them.
    pub(crate) fn text(&self, words: &[RequestWord]) -> String {
        match words {
            [] => String::new(),
            [first, .., last] => self.written[first.at..=last.at].join(" "),
            [only] => only.raw.clone(),
        }
    }

    /// Returns the folded words; a quoted text stays as it is.
    pub(crate) fn folded_text(&self) -> String {
        let words = self.words.iter();
        let words: Vec<&str> = words
            .map(|word| word.folded.as_deref().unwrap_or(&word.raw))
            .collect();
        words.join(" ")
    }

    /// Returns true if the request names something specific: a number, a path, a quoted text, or
    /// the words after a preposition. Similar words cannot carry such a value over.
    pub(crate) fn has_particulars(&self) -> bool {
        self.words.iter().any(RequestWord::is_particular)
    }
}

impl FoldedRequest {
    /// Returns true if the request begins like a question or with a verb that reads. To a model of
    /// meaning, `delete all errors` is as similar to `list errors` as a question about errors is.
    pub(crate) fn asks(&self) -> bool {
        self.words
            .first()
            .is_some_and(|word| word.is_any_of(ASKING))
    }
}

impl RequestWord {
    fn is_any_of(&self, list: &[&str]) -> bool {
        let folded = self.folded.as_deref();
        folded.is_some_and(|word| list.contains(&word))
    }

    fn is_plural(&self) -> bool {
        let folded = self.folded.as_deref();
        folded.is_some_and(|word| is_word(word) && singular(word) != word)
    }

    fn is_particular(&self) -> bool {
        self.folded.is_none() || !is_word(&self.raw) || self.is_any_of(PREPOSITIONS)
    }

    /// A name or an id contains a capital letter, a digit or a mark; a text in quotes needs none.
    pub(crate) fn looks_like_a_value(&self) -> bool {
        self.folded.is_none() || self.raw.chars().any(|c| !c.is_lowercase())
    }

    fn fold_to(&mut self, word: &str) {
        self.folded = Some(word.to_owned());
    }
}

const ARTICLES: &[&str] = &["a", "an", "the", "my", "our", "me", "us", "please"];
const BEGINNINGS: &[&str] = &[
    "please", "kindly", "can", "could", "would", "you", "i", "we", "want", "need", "like", "to",
    "let", "lets", "let's", "me", "us",
];
const PREPOSITIONS: &[&str] = &[
    "in", "of", "for", "from", "by", "with", "without", "at", "on", "about", "between", "since",
    "until", "before", "after", "matching", "named", "called", "under", "to", "into", "as",
];
const LIST: &[&str] = &["list", "enumerate"];
/// These ask for one thing or for several; the noun after them decides.
const SHOW: &[&str] = &[
    "show", "display", "view", "get", "fetch", "retrieve", "give", "see",
];
const SEARCH: &[&str] = &["search", "find", "query", "lookup", "locate"];
const RECENT: &[&str] = &["recent", "latest", "newest"];

pub(crate) fn is_preposition(word: &str) -> bool {
    PREPOSITIONS.contains(&word)
}

/// Returns true for a plain word, which is not a number, path or id.
pub(crate) fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphabetic() || c == '\'')
}

/// The folded words at the start of a request for information.
const ASKING: &[&str] = &[
    "list", "get", "search", "count", "read", "tell", "check", "what", "what's", "which", "who",
    "when", "where", "how", "is", "are", "was", "were", "do", "did", "has", "have", "any",
    "anything", "current", "recent",
];

struct WrittenWord {
    text: String,
    quoted: bool,
}

fn to_request_word((at, written): (usize, &WrittenWord)) -> RequestWord {
    RequestWord {
        raw: written.text.clone(),
        folded: (!written.quoted).then(|| written.text.to_lowercase()),
        at,
    }
}

/// Splits a text at blanks. A text in quotes is one word. A name such as `list_errors`, by itself,
/// is split into its words.
fn split_words(text: &str) -> Vec<WrittenWord> {
    let text = text.trim();
    if is_identifier(text) {
        return text.split('_').filter_map(plain_word).collect();
    }
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some((word, after)) = next_word(rest) {
        words.extend(word);
        rest = after;
    }
    words
}

fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    text.contains('_') && characters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns the first word, if it has any letters, and the text after it.
fn next_word(text: &str) -> Option<(Option<WrittenWord>, &str)> {
    let text = text.trim_start();
    let first = text.chars().next()?;
    if let Some((inside, after)) = split_quoted(text, first) {
        let text = inside.to_owned();
        return Some((Some(WrittenWord { text, quoted: true }), after));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    Some((plain_word(&text[..end]), &text[end..]))
}

fn split_quoted(text: &str, first: char) -> Option<(&str, &str)> {
    let close = match first {
        '"' | '\'' | '`' => first,
        '“' => '”',
        _ => return None,
    };
    let (inside, after) = text[first.len_utf8()..].split_once(close)?;
    (!inside.trim().is_empty()).then_some((inside, after))
}

fn plain_word(word: &str) -> Option<WrittenWord> {
    let text = word.trim_end_matches(['?', '!', '.', ',', ';', ':']);
    let text = text.trim_start_matches(['¿', '¡', ',', ';']);
    (!text.is_empty()).then(|| WrittenWord {
        text: text.to_owned(),
        quoted: false,
    })
}

/// Drops `could you please` and the like, unless nothing else was said.
fn drop_beginning(words: &mut Vec<RequestWord>) {
    let content_start = words.iter().position(|word| !word.is_any_of(BEGINNINGS));
    if let Some(content_start) = content_start {
        words.drain(..content_start);
    }
}

/// Folds the verb at the start of a request.
fn fold_verb(words: &mut Vec<RequestWord>) {
    fold_two_words(words);
    let several = asks_for_several(words);
    let Some(verb) = words.first_mut() else {
        return;
    };
    if verb.is_any_of(LIST) {
        verb.fold_to("list");
    } else if verb.is_any_of(SHOW) {
        verb.fold_to(if several { "list" } else { "get" });
    } else if verb.is_any_of(SEARCH) {
        verb.fold_to("search");
    }
}

/// `how many` counts, `look for`, `look up` and `search for` search.
fn fold_two_words(words: &mut Vec<RequestWord>) {
    let [first, second, ..] = words.as_mut_slice() else {
        return;
    };
    let pair = (first.folded.as_deref(), second.folded.as_deref());
    let verb = match pair {
        (Some("how"), Some("many")) => "count",
        (Some("look"), Some("for" | "up")) | (Some("search"), Some("for")) => "search",
        _ => return,
    };
    first.fold_to(verb);
    words.remove(1);
}

/// Returns true if there is a plural between the verb and the first preposition.
fn asks_for_several(words: &[RequestWord]) -> bool {
    let nouns = words.iter().skip(1);
    let mut nouns = nouns.take_while(|word| !word.is_any_of(PREPOSITIONS));
    nouns.any(RequestWord::is_plural)
}

fn fold_nouns(words: &mut [RequestWord]) {
    for word in words {
        if word.is_any_of(RECENT) {
            word.fold_to("recent");
        } else if let Some(folded) = &word.folded {
            word.folded = Some(singular(folded));
        }
    }
}

/// Words that end like a plural but are not.
const NO_PLURALS: &[&str] = &["news", "series", "always", "https", "across", "dns", "aws"];

pub(crate) fn singular(word: &str) -> String {
    // `is`, `his`, `bus` and ids of a few letters are not plurals.
    if word.len() < 4 || NO_PLURALS.contains(&word) || !word.is_ascii() {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with(['s', 'u', 'i', '\'']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_that_mean_the_same_are_spelt_the_same() {
        for (text, expected) in [
            ("List errors", "list error"),
            ("list_errors", "list error"),
            ("Could you please show me the errors?", "list error"),
            ("get the latest errors", "list recent error"),
            ("show error", "get error"),
            ("get queries of my boxes", "list query of box"),
            ("look up issues", "search issue"),
            ("search for the issues", "search issue"),
            ("how many errors", "count error"),
            ("get status", "get status"),
            ("read files", "read file"),
            ("find 'The Beatles'", "search The Beatles"),
            ("what's new", "what's new"),
            ("I want to", "i want to"),
            ("", ""),
        ] {
            assert_eq!(FoldedRequest::read(text).folded_text(), expected, "{text}");
        }
    }

    #[test]
    fn a_request_with_particulars_is_detected() {
        for (text, expected) in [
            ("what errors did we have lately", false),
            ("errors in production", true),
            ("error 500", true),
            ("tell me about \"x\"", true),
            ("read src/main.rs", true),
        ] {
            assert_eq!(
                FoldedRequest::read(text).has_particulars(),
                expected,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_request_fits_the_intent_of_the_same_words(text in "([a-z]{1,8} ){1,6}") {
            let request = FoldedRequest::read(&text);
            prop_assume!(!request.words.is_empty());
            let intent = crate::pattern::IntentPattern::parse(&text).unwrap();
            prop_assert!(intent.fit(&request).is_some());
        }

        #[test]
        fn any_text_can_be_read(text in "\\PC{0,80}") {
            let request = FoldedRequest::read(&text);
            request.text(&request.words);
            let _mistake = crate::pattern::IntentPattern::parse(&text);
        }
    }
}
