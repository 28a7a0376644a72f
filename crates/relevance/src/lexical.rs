//! BM25F: finds the tools that share words with an intent. A word in the name counts for more
//! than one in the description.

use std::borrow::Cow;
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

const FIELDS: [Field; 5] = [
    Field::Name,
    Field::Description,
    Field::Provider,
    Field::Parameters,
    Field::Tags,
];
/// Bounds the worth of further occurrences of a word: the usual value of BM25.
const K1: f32 = 1.2;

impl Field {
    /// A name says most about a tool, and parameters share their words with those of many tools.
    /// `training/lexical.py` has the same weights; the fusion was fitted with them.
    fn weight(self) -> f32 {
        match self {
            Self::Name => 2.5,
            Self::Provider => 1.5,
            Self::Description => 1.0,
            Self::Tags => 0.7,
            Self::Parameters => 0.4,
        }
    }

    /// The part that the length of a field has in the worth of its words, between 0 and 1. Names are
    /// all short; lists of parameters and tags differ most.
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
pub struct ToolFields<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub provider: &'a str,
    pub parameters: Cow<'a, str>,
    pub tags: Cow<'a, str>,
}

/// The documents that have a word, for every word.
#[derive(Debug, Default)]
pub struct Lexical {
    numbers: HashMap<Box<str>, u32>,
    /// The start of the postings of each word, by its number; one more for the end.
    starts: Vec<usize>,
    postings: Vec<Posting>,
    documents: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Posting {
    document: u32,
    /// The worth of the word in this document, before its rarity counts.
    worth: f32,
}

/// The score of every document for the words it shares with a text.
#[derive(Debug)]
pub struct SharedWords {
    /// Zero for documents without a common word.
    pub scores: Vec<f32>,
    /// The score of a document that is all about every word of the text; never zero.
    pub attainable: f32,
}

impl Lexical {
    pub fn build<'a>(documents: impl Iterator<Item = ToolFields<'a>>) -> Self {
        let mut counted = WordCounts::default();
        for fields in documents {
            counted.add(&fields);
        }
        let starts = counted.starts();
        Self {
            postings: counted.postings(&starts),
            starts,
            documents: counted.documents.len(),
            numbers: counted.numbers,
        }
    }

    /// Compares a text with every document. Each word of the text counts once.
    pub fn shared(&self, text: &str) -> SharedWords {
        let mut shared = SharedWords {
            scores: vec![0.0; self.documents],
            attainable: f32::MIN_POSITIVE,
        };
        for term in distinct_terms(text) {
            let postings = self.postings(&term);
            let idf = self.idf(postings.len());
            shared.attainable += idf * (K1 + 1.0);
            for Posting { document, worth } in postings {
                shared.scores[*document as usize] += idf * worth;
            }
        }
        shared
    }

    fn postings(&self, term: &str) -> &[Posting] {
        self.numbers.get(term).map_or(&[], |number| {
            let number = *number as usize;
            &self.postings[self.starts[number]..self.starts[number + 1]]
        })
    }

    /// The inverse document frequency, as BM25 defines it: the rarer a word, the higher.
    fn idf(&self, with: usize) -> f32 {
        let (total, with) = (self.documents as f32, with as f32);
        (1.0 + (total - with + 0.5) / (with + 0.5)).ln()
    }
}

/// The words of all documents, before they are weighed against each other.
#[derive(Debug, Default)]
struct WordCounts {
    numbers: HashMap<Box<str>, u32>,
    occurrences: Vec<Occurrence>,
    documents: Vec<CountedDocument>,
}

/// The number of times that a word is in each field of one document.
#[derive(Debug)]
struct Occurrence {
    term: u32,
    counts: [u8; FIELDS.len()],
}

#[derive(Debug)]
struct CountedDocument {
    begin: usize,
    end: usize,
    lengths: [f32; FIELDS.len()],
}

impl WordCounts {
    fn add(&mut self, fields: &ToolFields<'_>) {
        let texts = [
            fields.name,
            fields.description,
            fields.provider,
            &fields.parameters,
            &fields.tags,
        ];
        let terms_of_fields = texts.map(terms);
        let lengths = terms_of_fields.each_ref().map(|terms| terms.len() as f32);
        let found = self.numbered(terms_of_fields);
        let begin = self.occurrences.len();
        let of_each_term = found.chunk_by(|a, b| a.0 == b.0);
        self.occurrences.extend(of_each_term.map(Occurrence::of));
        self.documents.push(CountedDocument {
            begin,
            end: self.occurrences.len(),
            lengths,
        });
    }

    /// Returns the number of each term with its field, the same terms together.
    fn numbered(&mut self, terms_of_fields: [Vec<String>; FIELDS.len()]) -> Vec<(u32, usize)> {
        let mut found: Vec<(u32, usize)> = Vec::new();
        for (field, terms) in terms_of_fields.into_iter().enumerate() {
            found.extend(terms.into_iter().map(|term| (self.number(term), field)));
        }
        found.sort_unstable();
        found
    }

    fn number(&mut self, term: String) -> u32 {
        let next = u32::try_from(self.numbers.len()).expect("fewer than four billion words");
        *self.numbers.entry(term.into_boxed_str()).or_insert(next)
    }

    /// Returns where the postings of each word begin when they lie one after another.
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0; self.numbers.len() + 1];
        for occurrence in &self.occurrences {
            starts[occurrence.term as usize + 1] += 1;
        }
        for term in 1..starts.len() {
            starts[term] += starts[term - 1];
        }
        starts
    }

    fn postings(&self, starts: &[usize]) -> Vec<Posting> {
        let mut next = starts.to_vec();
        let mut postings = vec![Posting::default(); self.occurrences.len()];
        let averages = averages(&self.documents);
        for (document, number) in self.documents.iter().zip(0..) {
            for occurrence in &self.occurrences[document.begin..document.end] {
                let place = &mut next[occurrence.term as usize];
                postings[*place] = Posting {
                    document: number,
                    worth: document.worth(occurrence, &averages),
                };
                *place += 1;
            }
        }
        postings
    }
}

impl Occurrence {
    /// Counts the occurrences of one term, each given as the term and the field.
    fn of(of_one_term: &[(u32, usize)]) -> Self {
        let mut counts = [0_u8; FIELDS.len()];
        for (_, field) in of_one_term {
            counts[*field] = counts[*field].saturating_add(1);
        }
        Self {
            term: of_one_term[0].0,
            counts,
        }
    }
}

impl CountedDocument {
    /// The saturated, weighted frequency of a word over all fields.
    fn worth(&self, occurrence: &Occurrence, averages: &[f32; FIELDS.len()]) -> f32 {
        let counts = occurrence.counts.map(f32::from);
        let frequency: f32 = (0..FIELDS.len())
            .filter(|at| counts[*at] > 0.0)
            .map(|at| FIELDS[at].weight() * counts[at] / self.length_norm(at, averages))
            .sum();
        frequency * (K1 + 1.0) / (frequency + K1)
    }

    /// Divides the worth of a word: 1 for a field of average length, more for a longer one.
    fn length_norm(&self, at: usize, averages: &[f32; FIELDS.len()]) -> f32 {
        let penalty = FIELDS[at].length_penalty();
        let relative = self.lengths[at] / averages[at].max(1.0);
        1.0 - penalty + penalty * relative
    }
}

fn distinct_terms(text: &str) -> Vec<String> {
    let mut terms = terms(text);
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn averages(documents: &[CountedDocument]) -> [f32; FIELDS.len()] {
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
        let fields = tools.iter().map(|(name, description)| ToolFields {
            name,
            description,
            ..ToolFields::default()
        });
        let scores = Lexical::build(fields).shared(intent).scores;
        let mut ranked: Vec<_> = (0..tools.len()).filter(|at| scores[*at] > 0.0).collect();
        ranked.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let names: Vec<_> = ranked.into_iter().map(|at| tools[at].0).collect();
        assert_eq!(names, expect, "{intent}");
    }

    const TOOLS: [(&str, &str); 4] = [
        ("jira_create_issue", "Creates a ticket in a project"),
        (
            "mail_send",
            "Sends a message; mention the issue in the subject",
        ),
        ("issue_search", "Finds tickets"),
        ("weather", "Forecast for a place"),
    ];

    #[test]
    fn a_word_in_the_name_beats_the_same_word_in_the_description() {
        check(
            &TOOLS,
            "issue",
            &["issue_search", "jira_create_issue", "mail_send"],
        );
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
    fn a_tool_without_a_common_word_has_no_score() {
        check(&TOOLS, "", &[]);
        check(&TOOLS, "the of and", &[]);
        check(&TOOLS, "zebra", &[]);
    }
}
