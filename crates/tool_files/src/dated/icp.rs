//! A profile of ideal customers, and how well companies fit it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::rows::DatedEntry;
use crate::file::mistake::ToolFileMistake;
use crate::file::view::TableView;

/// The relevant facts about a company, and their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct IcpProfile {
    pub name: String,
    criteria: Vec<Criterion>,
}

/// The fit of one company, from 0 to 100, and the reasons for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IcpScore {
    pub company: String,
    pub score: u32,
    /// The share of the weight with a known fact, in percent.
    pub known: u32,
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Criterion {
    /// The name of the fact.
    fact: &'static str,
    weight: f64,
    scale: FitScale,
}

#[derive(Debug, Clone, PartialEq)]
enum FitScale {
    /// The fit of each value that a text may have.
    Words(BTreeMap<String, f64>),
    Ranges(Vec<RangeFit>),
}

/// From the first number, inclusive, to the second, exclusive.
#[derive(Debug, Clone, PartialEq)]
struct RangeFit {
    from: f64,
    to: f64,
    fit: f64,
}

const FACTS: [(&str, FactType); 5] = [
    ("industry", FactType::Words),
    ("employees", FactType::Number),
    ("revenue_usd", FactType::Number),
    ("country", FactType::Words),
    ("technologies", FactType::Words),
];

#[derive(Debug, Clone, Copy)]
enum FactType {
    Words,
    Number,
}

impl IcpProfile {
    /// Scores companies, best first. Each is an object in the tool's format.
    pub fn rank(&self, companies: &[Value]) -> Vec<IcpScore> {
        let mut scores: Vec<IcpScore> = companies.iter().map(|it| self.score(it)).collect();
        scores.sort_by_key(|score| std::cmp::Reverse((score.score, score.known)));
        scores
    }

    /// An unknown fact counts neither for nor against the company.
    fn score(&self, company: &Value) -> IcpScore {
        let judged = self.criteria.iter().filter_map(|it| it.judge(company));
        let judged: Vec<JudgedFact> = judged.collect();
        let known: f64 = judged.iter().map(|it| it.weight).sum();
        let points: f64 = judged.iter().map(|it| it.weight * it.fit).sum();
        let all: f64 = self.criteria.iter().map(|it| it.weight).sum();
        IcpScore {
            company: company["name"].as_str().unwrap_or_default().to_owned(),
            score: share(points, known * PERFECT),
            known: share(known, all),
            reasons: judged.into_iter().map(|it| it.reason).collect(),
        }
    }
}

/// The best possible fit of a value.
const PERFECT: f64 = 100.0;

struct JudgedFact {
    weight: f64,
    fit: f64,
    reason: String,
}

impl Criterion {
    fn judge(&self, company: &Value) -> Option<JudgedFact> {
        let fact = company.get(self.fact).filter(|fact| !fact.is_null())?;
        let fit = match &self.scale {
            FitScale::Words(words) => best_word(words, fact)?,
            FitScale::Ranges(ranges) => in_range(ranges, fact.as_f64()?),
        };
        let shown = fact
            .as_str()
            .map_or_else(|| fact.to_string(), str::to_owned);
        Some(JudgedFact {
            weight: self.weight,
            fit,
            reason: format!(
                "{} {shown}: {fit:.0} of 100, weight {}",
                self.fact, self.weight
            ),
        })
    }
}

/// Returns the best fit among the profile's words that occur in the fact.
fn best_word(words: &BTreeMap<String, f64>, fact: &Value) -> Option<f64> {
    let texts: Vec<String> = match fact {
        Value::String(text) => vec![text.to_lowercase()],
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_lowercase)
            .collect(),
        _ => return None,
    };
    let found = words
        .iter()
        .filter(|(word, _)| texts.iter().any(|text| has_words(text, word)));
    Some(found.map(|(_, fit)| *fit).fold(0.0, f64::max))
}

/// True if the text contains the words as whole words: `us` is in `the us`, and not in `russia`.
fn has_words(text: &str, words: &str) -> bool {
    pad_words(text).contains(&pad_words(words))
}

/// Returns the words with one blank on each side.
fn pad_words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

fn in_range(ranges: &[RangeFit], number: f64) -> f64 {
    let mut ranges = ranges.iter();
    ranges
        .find(|range| range.from <= number && number < range.to)
        .map_or(0.0, |range| range.fit)
}

/// Returns a part of a whole in percent; 0 if the whole is 0.
fn share(part: f64, whole: f64) -> u32 {
    if whole <= 0.0 {
        return 0;
    }
    // Both are sums of positive numbers, and the part is the smaller one.
    (part / whole * 100.0).round() as u32
}

impl DatedEntry for IcpProfile {
    const TABLE: &'static str = "profile";

    fn read(view: &TableView<'_>) -> Option<Self> {
        view.expect_dated_keys(&[
            "name",
            "industry",
            "employees",
            "revenue_usd",
            "country",
            "technologies",
        ]);
        let criteria: Vec<Criterion> = FACTS
            .into_iter()
            .filter_map(|(fact, kind)| criterion(fact, kind, &view.table(fact)?))
            .collect();
        let name = view.needed_text("name")?.value;
        if criteria.is_empty() {
            view.note(ToolFileMistake::EmptyValue);
        }
        Some(Self { name, criteria })
    }

    fn subject(&self) -> String {
        self.name.clone()
    }
}

fn criterion(fact: &'static str, kind: FactType, view: &TableView<'_>) -> Option<Criterion> {
    let scale = match kind {
        FactType::Words => {
            view.expect_keys(&["weight", "fits"]);
            let words = view.amounts("fits").into_iter();
            FitScale::Words(
                words
                    .map(|(word, fit)| (word.to_lowercase(), fit))
                    .collect(),
            )
        }
        FactType::Number => {
            view.expect_keys(&["weight", "ranges"]);
            FitScale::Ranges(view.rows("ranges").iter().filter_map(range).collect())
        }
    };
    if !view.has("weight") {
        view.note(ToolFileMistake::MissingKey { key: "weight" });
    }
    let weight = view.amount("weight")?;
    Some(Criterion {
        fact,
        weight,
        scale,
    })
}

fn range(view: &TableView<'_>) -> Option<RangeFit> {
    view.expect_keys(&["from", "to", "fit"]);
    if !view.has("fit") {
        view.note(ToolFileMistake::MissingKey { key: "fit" });
    }
    Some(RangeFit {
        from: view.amount("from").unwrap_or(0.0),
        to: view.amount("to").unwrap_or(f64::INFINITY),
        fit: view.amount("fit")?,
    })
}
