//! Finds the sentences of a definition that explain how to fill its arguments: patterns, formats
//! and examples such as `**/*.ext`. Without them, a model calls the right tool wrongly.

use kitbag_domain::text::{first_sentence, strip_to_one_line};
use serde_json::Value;

use super::excerpt::truncate_text;
use super::meant::words;

/// In bytes, for all sentences together.
const MAX_USAGE: usize = 280;
/// In bytes, for one sentence.
const MAX_SENTENCE: usize = 200;

/// Words that announce a format or an example.
const CUES: [&str; 20] = [
    "e.g",
    "i.e",
    "example",
    "such as",
    "format",
    "pattern",
    "glob",
    "regex",
    "syntax",
    "iso 8601",
    "iso-8601",
    "rfc",
    "yyyy",
    "separated",
    "must be",
    "must start",
    "should be",
    "should start",
    "in the form",
    "relative to",
];

/// Words that end with a point in the middle of a sentence.
const ABBREVIATIONS: [&str; 5] = ["e.g.", "i.e.", "etc.", "vs.", "incl."];

/// Returns the sentences of the description that explain how to fill arguments, and then the same
/// from the schema's required parameters.
pub(super) fn usage(description: &str, schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|it| it.keys());
    let names: Vec<String> = names.flat_map(|name| words(name)).collect();
    let first = first_sentence(description);
    let sentences = sentences(description).into_iter();
    let of_description =
        sentences.filter(|sentence| !is_part_of(&first, sentence) && explains(sentence, &names));
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let of_parameters = required.filter_map(|name| {
        let text = properties?.get(name)?.get("description")?.as_str()?;
        let sentence = self::sentences(text).into_iter().find(|it| has_cue(it))?;
        Some(format!("{}: {sentence}", strip_to_one_line(name)))
    });
    let mut usage = String::new();
    for sentence in of_description.chain(of_parameters) {
        let sentence = truncate_text(sentence, MAX_SENTENCE);
        let is_told = usage.contains(sentence.as_str());
        if is_told || usage.len() + sentence.len() > MAX_USAGE {
            continue;
        }
        if !usage.is_empty() {
            usage.push_str(". ");
        }
        usage.push_str(&sentence);
    }
    usage
}

/// True if a summary contains this sentence, possibly truncated.
fn is_part_of(summary: &str, sentence: &str) -> bool {
    let shown = summary.trim_end_matches('…');
    shown.starts_with(sentence) || !shown.is_empty() && sentence.starts_with(shown)
}

/// True for a sentence about the form of a parameter.
fn explains(sentence: &str, names: &[String]) -> bool {
    has_cue(sentence) && words(sentence).iter().any(|word| is_named(word, names))
}

fn is_named(word: &str, names: &[String]) -> bool {
    let single = word.strip_suffix('s').unwrap_or(word);
    names
        .iter()
        .any(|name| name.strip_suffix('s').unwrap_or(name) == single)
}

fn has_cue(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    CUES.iter().any(|cue| lower.contains(cue)) || has_quotation(sentence)
}

/// True if a sentence quotes a text with a symbol in it, as in patterns, dates and paths. An
/// apostrophe does not open a quotation.
fn has_quotation(sentence: &str) -> bool {
    ['`', '"', '\''].into_iter().any(|mark| {
        let mut pieces = sentence.split(mark);
        let before = pieces.next().unwrap_or_default();
        let is_opening = !before.ends_with(char::is_alphanumeric);
        let quoted = pieces
            .next()
            .filter(|_| is_opening && pieces.next().is_some());
        quoted.is_some_and(|text| text.contains(['*', '/', ':', '-', '.', '{', '%', '\\']))
    })
}

/// Returns the sentences of a text, each on one line and without its full stop.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = strip_to_one_line(line);
        let mut begin = 0;
        for (at, _) in line.match_indices(". ") {
            let so_far = &line[begin..=at];
            if !ABBREVIATIONS.iter().any(|it| so_far.ends_with(it)) {
                found.push(so_far.to_owned());
                begin = at + 2;
            }
        }
        found.push(line[begin..].to_owned());
    }
    let trimmed = found.iter().map(|it| {
        it.trim_start_matches(['-', '*', ' '])
            .trim_end_matches(['.', ' '])
    });
    trimmed
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::usage;

    #[test]
    fn sentences_on_patterns_formats_and_examples_are_kept_and_others_are_not() {
        let schema = json!({ "properties": { "path": {}, "pattern": {} }, "required": ["path"] });
        let description = "Searches for files. The pattern is matched against names. \
            Use a pattern like '*.ext' for this folder, e.g. for sources, and '**/*.ext' for all below. \
            Returns full paths. Great when you don't know where a file is. It's the user's choice.";
        assert_eq!(
            usage(description, &schema),
            "The pattern is matched against names. \
             Use a pattern like '*.ext' for this folder, e.g. for sources, and '**/*.ext' for all below"
        );
        assert_eq!(usage("Searches for files by a glob pattern.", &schema), "");
    }

    #[test]
    fn required_parameters_say_their_format() {
        let zone = json!({ "type": "string", "description": "The zone. An IANA name (e.g., 'Asia/Tokyo'). Ask if unsure." });
        let schema =
            json!({ "properties": { "timezone": zone, "hint": zone }, "required": ["timezone"] });
        assert_eq!(
            usage("Tells the time.", &schema),
            "timezone: An IANA name (e.g., 'Asia/Tokyo')"
        );
    }

    #[test]
    fn a_long_text_is_kept_short() {
        let schema = json!({ "properties": { "path": {} } });
        let text =
            "Reads. ".to_owned() + &format!("A path must be {}. ", "long ".repeat(100)).repeat(50);
        let usage = usage(&text, &schema);
        assert!((100..300).contains(&usage.len()), "{usage}");
    }
}
