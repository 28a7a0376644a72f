//! BM25F: finds the tools that share words with an intent. A word in the name counts for more
//! than one in the description.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::terms::terms;

/// The parts of a tool's text, each with its own weight and its own sense of length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
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
pub(crate) struct ToolFields<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) parameters: Cow<'a, str>,
    pub(crate) tags: Cow<'a, str>,
}

/// The words of all documents, block by block.
#[derive(Debug, Default)]
pub(crate) struct Lexical {
    blocks: Vec<Arc<BlockWords>>,
    averages: Averages,
    documents: usize,
}

/// The documents of one block that have a word, for every word.
#[derive(Debug)]
pub(crate) struct BlockWords {
    numbers: HashMap<Arc<str>, usize>,
    /// The start of the postings of each word, by its number; one more for the end.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// The length of every field of every document.
    lengths: Vec<Lengths>,
}

/// The average lengths of the fields.
type Averages = [f32; FIELDS.len()];
type Lengths = [u16; FIELDS.len()];
/// The number of times that a word is in each field of one document.
type Counts = [u8; FIELDS.len()];

#[derive(Debug, Clone, Copy, Default)]
struct Posting {
    /// Its position in the block.
    document: u16,
    counts: Counts,
}

/// The words of one document, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct DocumentWords {
    counts: Vec<(Arc<str>, Counts)>,
    lengths: Lengths,
}

/// The score of every document for the words it shares with a text.
#[derive(Debug)]
pub(crate) struct SharedWords {
    /// Zero for documents without a common word.
    pub(crate) scores: Vec<f32>,
    /// The score of a document that is all about every word of the text; never zero.
    pub(crate) attainable: f32,
}

impl Lexical {
    pub(crate) fn of(blocks: Vec<Arc<BlockWords>>) -> Self {
        let documents = blocks.iter().map(|it| it.len()).sum();
        Self {
            averages: averages(&blocks, documents),
            documents,
            blocks,
        }
    }

    /// Compares a text with every document. Each word of the text counts once.
    pub(crate) fn shared(&self, text: &str) -> SharedWords {
        let mut shared = SharedWords {
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
                    let worth = worth(counts, &block.lengths[document], &self.averages);
                    of_block[document] += idf * worth;
                }
                scores = of_others;
            }
        }
        shared
    }

    /// Returns the number of documents that have a term.
    pub(crate) fn frequency(&self, term: &str) -> usize {
        self.blocks.iter().map(|it| it.postings(term).len()).sum()
    }

    /// True if a term begins with these letters.
    pub(crate) fn begins_a_term(&self, letters: &str) -> bool {
        let mut terms = self.blocks.iter().flat_map(|it| it.numbers.keys());
        terms.any(|term| term.starts_with(letters))
    }

    /// The inverse document frequency, as BM25 defines it: the rarer a word, the higher.
    fn idf(&self, with: usize) -> f32 {
        let (total, with) = (self.documents as f32, with as f32);
        (1.0 + (total - with + 0.5) / (with + 0.5)).ln()
    }
}

impl BlockWords {
    pub(crate) fn of(documents: Vec<DocumentWords>) -> Self {
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
        // Documents stay in their order.
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

    /// Returns the words of every document again.
    pub(crate) fn documents(&self) -> Vec<DocumentWords> {
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
    pub(crate) fn read(fields: &ToolFields<'_>) -> Self {
        let texts = [
            fields.name,
            fields.description,
            fields.provider,
            &fields.parameters,
            &fields.tags,
        ];
        let terms_of_fields = texts.map(terms);
        // `terms` returns no more than two thousand.
        let lengths = terms_of_fields.each_ref().map(|terms| terms.len() as u16);
        let with_fields = terms_of_fields.into_iter().enumerate();
        let mut found: Vec<(String, usize)> = with_fields
            .flat_map(|(field, terms)| terms.into_iter().map(move |term| (term, field)))
            .collect();
        found.sort_unstable();
        let of_each_term = found.chunk_by(|a, b| a.0 == b.0);
        Self {
            counts: of_each_term.map(counted).collect(),
            lengths,
        }
    }
}

/// Counts the occurrences of one term, each given as the term and the field.
fn counted(of_one_term: &[(String, usize)]) -> (Arc<str>, Counts) {
    let mut counts = Counts::default();
    for (_, field) in of_one_term {
        counts[*field] = counts[*field].saturating_add(1);
    }
    (of_one_term[0].0.as_str().into(), counts)
}

/// The saturated, weighted frequency of a word over all fields, before its rarity counts.
fn worth(counts: &Counts, lengths: &Lengths, averages: &Averages) -> f32 {
    let frequency: f32 = (0..FIELDS.len())
        .filter(|at| counts[*at] > 0)
        .map(|at| {
            let norm = length_norm(FIELDS[at], f32::from(lengths[at]), averages[at]);
            FIELDS[at].weight() * f32::from(counts[at]) / norm
        })
        .sum();
    frequency * (K1 + 1.0) / (frequency + K1)
}

/// Divides the worth of a word: 1 for a field of average length, more for a longer one.
fn length_norm(field: Field, length: f32, average: f32) -> f32 {
    let penalty = field.length_penalty();
    let relative = length / average.max(1.0);
    1.0 - penalty + penalty * relative
}

fn distinct_terms(text: &str) -> Vec<String> {
    let mut terms = terms(text);
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn averages(blocks: &[Arc<BlockWords>], documents: usize) -> Averages {
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

    /// `name: description` lines in, names by falling score out.
    #[track_caller]
    fn check(tools: &[(&str, &str)], intent: &str, expect: &[&str]) {
        let fields = tools.iter().map(|(name, description)| ToolFields {
            name,
            description,
            ..ToolFields::default()
        });
        let words = fields.map(|it| DocumentWords::read(&it)).collect();
        let lexical = Lexical::of(vec![Arc::new(BlockWords::of(words))]);
        let scores = lexical.shared(intent).scores;
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
