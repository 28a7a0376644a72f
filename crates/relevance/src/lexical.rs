//! BM25F: which tools share words with an intent, where a word in the name counts for more
//! than one in the description.

use std::collections::HashMap;

use crate::terms::terms;

/// The parts of a tool's text, each with its own weight and its own sense of length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Name,
    Description,
    Provider,
    Parameters,
    Tags,
}

const FIELDS: [Field; 5] = [Field::Name, Field::Description, Field::Provider, Field::Parameters, Field::Tags];
const K1: f32 = 1.2;

impl Field {
    fn weight(self) -> f32 {
        match self {
            Self::Name => 2.5,
            Self::Provider => 1.5,
            Self::Description => 1.0,
            Self::Tags => 0.7,
            Self::Parameters => 0.4,
        }
    }

    /// How much a long field is held against its words.
    fn length_penalty(self) -> f32 {
        match self {
            Self::Description => 0.5,
            Self::Name | Self::Provider => 0.3,
            Self::Parameters | Self::Tags => 0.6,
        }
    }
}

/// One tool's text, by field.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub provider: &'a str,
    pub parameters: &'a str,
    pub tags: &'a str,
}

#[derive(Debug, Default)]
pub struct Lexical {
    postings: HashMap<String, Postings>,
    documents: usize,
}

#[derive(Debug, Default)]
struct Postings {
    idf: f32,
    /// Document, and what one occurrence of the word there is worth before `idf`.
    worth: Vec<(u32, f32)>,
}

impl Lexical {
    pub fn build<'a>(documents: impl ExactSizeIterator<Item = Fields<'a>>) -> Self {
        let counted: Vec<Counted> = documents.map(|fields| Counted::of(&fields)).collect();
        let averages = averages(&counted);
        let mut postings: HashMap<String, Postings> = HashMap::new();
        for (number, document) in counted.iter().enumerate() {
            for (term, counts) in &document.terms {
                let number = u32::try_from(number).expect("fewer than four billion tools");
                let worth = document.worth(counts, &averages);
                postings.entry(term.clone()).or_default().worth.push((number, worth));
            }
        }
        let total = counted.len() as f32;
        for posting in postings.values_mut() {
            let with = posting.worth.len() as f32;
            posting.idf = (1.0 + (total - with + 0.5) / (with + 0.5)).ln();
        }
        Self { postings, documents: counted.len() }
    }

    /// The score of every document, zero for those without a common word. Each word of the
    /// intent counts once.
    pub fn scores(&self, intent: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.documents];
        let mut asked = terms(intent);
        asked.sort_unstable();
        asked.dedup();
        for posting in asked.iter().filter_map(|term| self.postings.get(term)) {
            for (document, worth) in &posting.worth {
                scores[*document as usize] += posting.idf * worth;
            }
        }
        scores
    }
}

struct Counted {
    terms: HashMap<String, [u16; FIELDS.len()]>,
    lengths: [f32; FIELDS.len()],
}

impl Counted {
    fn of(fields: &Fields<'_>) -> Self {
        let texts = [fields.name, fields.description, fields.provider, fields.parameters, fields.tags];
        let mut counted = Self { terms: HashMap::new(), lengths: [0.0; FIELDS.len()] };
        for (field, text) in texts.into_iter().enumerate() {
            for term in terms(text) {
                let counts = counted.terms.entry(term).or_default();
                counts[field] = counts[field].saturating_add(1);
                counted.lengths[field] += 1.0;
            }
        }
        counted
    }

    /// The saturated, weighted frequency of a word over all fields.
    fn worth(&self, counts: &[u16; FIELDS.len()], averages: &[f32; FIELDS.len()]) -> f32 {
        let frequency: f32 = FIELDS
            .iter()
            .enumerate()
            .filter(|(at, _)| counts[*at] > 0)
            .map(|(at, field)| {
                let relative = self.lengths[at] / averages[at].max(1.0);
                let norm = 1.0 - field.length_penalty() + field.length_penalty() * relative;
                field.weight() * f32::from(counts[at]) / norm
            })
            .sum();
        frequency * (K1 + 1.0) / (frequency + K1)
    }
}

fn averages(documents: &[Counted]) -> [f32; FIELDS.len()] {
    let mut sums = [0.0; FIELDS.len()];
    for document in documents {
        for (sum, length) in sums.iter_mut().zip(document.lengths) {
            *sum += length;
        }
    }
    sums.map(|sum| sum / documents.len().max(1) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: description` lines in, names by falling score out.
    #[track_caller]
    fn check(tools: &[(&str, &str)], intent: &str, expect: &[&str]) {
        let fields =
            tools.iter().map(|(name, description)| Fields { name, description, ..Fields::default() });
        let scores = Lexical::build(fields).scores(intent);
        let mut ranked: Vec<_> = (0..tools.len()).filter(|at| scores[*at] > 0.0).collect();
        ranked.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let names: Vec<_> = ranked.into_iter().map(|at| tools[at].0).collect();
        assert_eq!(names, expect, "{intent}");
    }

    const TOOLS: [(&str, &str); 4] = [
        ("jira_create_issue", "Creates a ticket in a project"),
        ("mail_send", "Sends a message; mention the issue in the subject"),
        ("issue_search", "Finds tickets"),
        ("weather", "Forecast for a place"),
    ];

    #[test]
    fn a_word_in_the_name_beats_the_same_word_in_the_description() {
        check(&TOOLS, "issue", &["issue_search", "jira_create_issue", "mail_send"]);
    }

    #[test]
    fn a_rare_word_decides() {
        check(
            &TOOLS,
            "create an issue about the weather forecast",
            &["weather", "jira_create_issue", "issue_search", "mail_send"],
        );
    }

    #[test]
    fn no_common_word_no_score() {
        check(&TOOLS, "", &[]);
        check(&TOOLS, "the of and", &[]);
        check(&TOOLS, "zebra", &[]);
    }
}
