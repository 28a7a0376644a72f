//! BM25F: finds tools that share words with a query. A word in the name counts more than one in the
//! description.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::terms::split_terms;

/// The fields of a tool's text. Each has its own weight and length normalization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Name,
    Description,
    Server,
    Parameters,
    Tags,
}

const FIELDS: [Field; 5] = [
    Field::Name,
    Field::Description,
    Field::Server,
    Field::Parameters,
    Field::Tags,
];
/// Limits the gain from repeated words; the usual BM25 value.
const K1: f32 = 1.2;

impl Field {
    /// The name says most about a tool; parameter names recur in many tools. Must equal the weights
    /// in `training/lexical.py`, with which the fusion was fitted.
    fn weight(self) -> f32 {
        match self {
            Self::Name => 2.5,
            Self::Server => 1.5,
            Self::Description => 1.0,
            Self::Tags => 0.7,
            Self::Parameters => 0.4,
        }
    }

    /// How much a field's length matters, from 0 to 1. Names are all short; the lengths of
    /// parameter and tag lists vary most.
    fn length_penalty(self) -> f32 {
        match self {
            Self::Description => 0.5,
            Self::Name | Self::Server => 0.3,
            Self::Parameters | Self::Tags => 0.6,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ToolFields<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) server: &'a str,
    pub(crate) parameters: Cow<'a, str>,
    pub(crate) tags: Cow<'a, str>,
}

/// The words of all documents, in blocks.
#[derive(Debug, Default)]
pub(crate) struct Lexical {
    blocks: Vec<Arc<BlockWords>>,
    averages: Averages,
    documents: usize,
}

/// The inverted index of one block.
#[derive(Debug)]
pub(crate) struct BlockWords {
    numbers: HashMap<Arc<str>, usize>,
    /// Where the postings of each word start, plus one entry for the end.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// The length of every field of every document.
    lengths: Vec<Lengths>,
}

/// The average length of each field.
type Averages = [f32; FIELDS.len()];
type Lengths = [u16; FIELDS.len()];
/// How often a word occurs in each field of a document.
type Counts = [u8; FIELDS.len()];

#[derive(Debug, Clone, Copy, Default)]
struct Posting {
    /// The position within the block.
    document: u16,
    counts: Counts,
}

/// The distinct words of one document.
#[derive(Debug, Clone, Default)]
pub(crate) struct DocumentWords {
    counts: Vec<(Arc<str>, Counts)>,
    lengths: Lengths,
}

/// The BM25 scores of all documents for one text.
#[derive(Debug)]
pub(crate) struct LexicalScores {
    /// Zero for documents without a shared word.
    pub(crate) scores: Vec<f32>,
    /// The score of a document that consists entirely of the text's words; never zero.
    pub(crate) attainable: f32,
}

impl Lexical {
    pub(crate) fn new(blocks: Vec<Arc<BlockWords>>) -> Self {
        let documents = blocks.iter().map(|it| it.len()).sum();
        Self {
            averages: average_lengths(&blocks, documents),
            documents,
            blocks,
        }
    }

    /// Compares a text with every document. Repeated words count once.
    pub(crate) fn score_text(&self, text: &str) -> LexicalScores {
        let mut shared = LexicalScores {
            scores: vec![0.0; self.documents],
            attainable: f32::MIN_POSITIVE,
        };
        for term in distinct_terms(text) {
            let postings = self.blocks.iter().map(|block| block.postings(&term));
            let idf = self.idf(postings.clone().map(<[Posting]>::len).sum());
            shared.attainable += idf * (K1 + 1.0);
            let mut scores = shared.scores.as_mut_slice();
            for (block, postings) in self.blocks.iter().zip(postings) {
                let (of_block, of_others) = scores.split_at_mut(block.len());
                for Posting { document, counts } in postings {
                    let document = usize::from(*document);
                    let worth =
                        saturated_frequency(counts, &block.lengths[document], &self.averages);
                    of_block[document] += idf * worth;
                }
                scores = of_others;
            }
        }
        shared
    }

    /// Returns the number of documents with this term.
    pub(crate) fn document_frequency(&self, term: &str) -> usize {
        self.blocks.iter().map(|it| it.postings(term).len()).sum()
    }

    /// True if any term starts with these letters.
    pub(crate) fn is_term_prefix(&self, letters: &str) -> bool {
        let mut terms = self.blocks.iter().flat_map(|it| it.numbers.keys());
        terms.any(|term| term.starts_with(letters))
    }

    /// The inverse document frequency as BM25 defines it: higher for rarer words.
    fn idf(&self, with: usize) -> f32 {
        let (total, with) = (self.documents as f32, with as f32);
        (1.0 + (total - with + 0.5) / (with + 0.5)).ln()
    }
}

impl BlockWords {
    pub(crate) fn new(documents: Vec<DocumentWords>) -> Self {
        let lengths = documents.iter().map(|it| it.lengths).collect();
        let mut numbers = HashMap::new();
        let mut found: Vec<(usize, Posting)> = Vec::new();
        for (document, words) in (0..).zip(documents) {
            for (term, counts) in words.counts {
                let next = numbers.len();
                let number = *numbers.entry(term).or_insert(next);
                found.push((number, Posting { document, counts }));
            }
        }
        // A stable sort keeps documents in order.
        found.sort_by_key(|(number, _)| *number);
        let mut starts = vec![0; numbers.len() + 1];
        for (number, _) in &found {
            starts[number + 1] += 1;
        }
        for number in 1..starts.len() {
            starts[number] += starts[number - 1];
        }
        Self {
            postings: found.into_iter().map(|(_, posting)| posting).collect(),
            numbers,
            starts,
            lengths,
        }
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Reconstructs the words of every document.
    pub(crate) fn to_documents(&self) -> Vec<DocumentWords> {
        let empty = self.lengths.iter().map(|lengths| DocumentWords {
            lengths: *lengths,
            ..DocumentWords::default()
        });
        let mut documents: Vec<_> = empty.collect();
        for (term, number) in &self.numbers {
            for Posting { document, counts } in self.postings_at(*number) {
                let counts = (term.clone(), *counts);
                documents[usize::from(*document)].counts.push(counts);
            }
        }
        documents
    }

    fn postings(&self, term: &str) -> &[Posting] {
        let number = self.numbers.get(term);
        number.map_or(&[], |number| self.postings_at(*number))
    }

    fn postings_at(&self, number: usize) -> &[Posting] {
        &self.postings[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

impl DocumentWords {
    pub(crate) fn from_fields(fields: &ToolFields<'_>) -> Self {
        let texts = [
            fields.name,
            fields.description,
            fields.server,
            &fields.parameters,
            &fields.tags,
        ];
        let terms_of_fields = texts.map(split_terms);
        // `split_terms` returns at most two thousand.
        let lengths = terms_of_fields.each_ref().map(|terms| terms.len() as u16);
        let with_fields = terms_of_fields.into_iter().enumerate();
        let mut found: Vec<(String, usize)> = with_fields
            .flat_map(|(field, terms)| terms.into_iter().map(move |term| (term, field)))
            .collect();
        found.sort_unstable();
        let of_each_term = found.chunk_by(|a, b| a.0 == b.0);
        Self {
            counts: of_each_term.map(count_term).collect(),
            lengths,
        }
    }
}

/// Counts the occurrences of one term, given as (term, field) pairs.
fn count_term(of_one_term: &[(String, usize)]) -> (Arc<str>, Counts) {
    let mut counts = Counts::default();
    for (_, field) in of_one_term {
        counts[*field] = counts[*field].saturating_add(1);
    }
    (of_one_term[0].0.as_str().into(), counts)
}

/// The weighted, saturated frequency of a term over all fields, without its rarity.
fn saturated_frequency(counts: &Counts, lengths: &Lengths, averages: &Averages) -> f32 {
    let frequency: f32 = (0..FIELDS.len())
        .filter(|at| counts[*at] > 0)
        .map(|at| {
            let norm = length_norm(FIELDS[at], f32::from(lengths[at]), averages[at]);
            FIELDS[at].weight() * f32::from(counts[at]) / norm
        })
        .sum();
    frequency * (K1 + 1.0) / (frequency + K1)
}

/// Length normalization: 1 for a field of average length, more for longer ones.
fn length_norm(field: Field, length: f32, average: f32) -> f32 {
    let penalty = field.length_penalty();
    let relative = length / average.max(1.0);
    1.0 - penalty + penalty * relative
}

fn distinct_terms(text: &str) -> Vec<String> {
    let mut terms = split_terms(text);
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn average_lengths(blocks: &[Arc<BlockWords>], documents: usize) -> Averages {
    let mut sums = [0_u64; FIELDS.len()];
    for lengths in blocks.iter().flat_map(|it| &it.lengths) {
        for (sum, length) in sums.iter_mut().zip(lengths) {
            *sum += u64::from(*length);
        }
    }
    sums.map(|sum| sum as f32 / documents.max(1) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes tools as (name, description) and expects names by descending score.
    #[track_caller]
    fn check(tools: &[(&str, &str)], query: &str, expect: &[&str]) {
        let fields = tools.iter().map(|(name, description)| ToolFields {
            name,
            description,
            ..ToolFields::default()
        });
        let words = fields.map(|it| DocumentWords::from_fields(&it)).collect();
        let lexical = Lexical::new(vec![Arc::new(BlockWords::new(words))]);
        let scores = lexical.score_text(query).scores;
        let mut ranked: Vec<_> = (0..tools.len()).filter(|at| scores[*at] > 0.0).collect();
        ranked.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let names: Vec<_> = ranked.into_iter().map(|at| tools[at].0).collect();
        assert_eq!(names, expect, "{query}");
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
