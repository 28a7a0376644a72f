//! All templates of a caller, and the best match for a request.
//!
//! Precision matters more than recall: a request that two templates match equally matches none, and
//! a request with something specific in it never matches a similar one without it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use kitbag_domain::Remedy;
use serde_json::{Map, Value};

use crate::pattern::{self, IntentPattern};
use crate::template::{IntentTemplate, TemplateFile, TemplateFileError, TemplateName};
use crate::words::FoldedRequest;

/// An immutable snapshot; changing a template creates another one.
#[derive(Debug, Clone, Default)]
pub struct TemplateSet {
    entries: Vec<TemplateEntry>,
    /// Every intent, with the number of its entry.
    patterns: Vec<(usize, IntentPattern)>,
}

#[derive(Debug, Clone)]
pub struct TemplateEntry {
    pub template: Arc<IntentTemplate>,
    pub origin: TemplateOrigin,
}

/// The author of a template. If two match a request equally, the later in this order wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TemplateOrigin {
    /// Learned from experience.
    Learned,
    /// Kitbag itself.
    BuiltIn,
    /// The operator.
    Own,
}

/// A problem that the author of a template should know about. The other templates work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateComplaint {
    #[error(transparent)]
    Refused(#[from] TemplateFileError),
    #[error("{}: template `{name}` already exists; skipping this one", path.display())]
    SameName { path: PathBuf, name: TemplateName },
    #[error("`{intent}` is an intent of both `{first}` and `{second}`")]
    SameIntent {
        intent: String,
        first: TemplateName,
        second: TemplateName,
    },
}

/// A template that matches a request.
#[derive(Debug, Clone, PartialEq)]
pub enum TemplateMatch {
    /// All required parameters are present, and defaults are filled in.
    Ready {
        template: Arc<IntentTemplate>,
        params: Map<String, Value>,
    },
    Incomplete {
        template: Arc<IntentTemplate>,
        missing: Vec<MissingParameter>,
    },
}

/// A parameter that the caller has to add.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingParameter {
    pub name: String,
    pub schema: Value,
}

/// The similarity that an intent must have with a request in other words, as a cosine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarityBar {
    pub least: f32,
    /// The lead over the next best template.
    pub lead: f32,
}

impl Default for SimilarityBar {
    /// Chosen on 83 sentences with the built-in model and the built-in templates: requests to read
    /// that no template should answer reach 0.73, and two thirds of the right ones 0.75. A miss
    /// costs one search; a wrong template gives a wrong answer.
    fn default() -> Self {
        Self {
            least: 0.75,
            lead: 0.1,
        }
    }
}

impl TemplateSet {
    /// Parses all files. An operator's template replaces a built-in one of the same name.
    pub fn read(files: &[TemplateFile]) -> (Self, Vec<TemplateComplaint>) {
        let mut named = BTreeMap::new();
        let mut complaints = Vec::new();
        for file in files {
            match IntentTemplate::from_toml(&file.path, &file.text) {
                Ok(template) => complaints.extend(add(&mut named, file, template)),
                Err(error) => complaints.push(error.into()),
            }
        }
        let set = Self::new(named.into_values().collect());
        complaints.extend(set.same_intents());
        (set, complaints)
    }

    /// Returns this set plus learned templates, except those whose names are taken.
    pub fn with_learned(&self, learned: impl IntoIterator<Item = IntentTemplate>) -> Self {
        let mut entries = self.entries.clone();
        for template in learned {
            if self.get(template.name()).is_none() {
                entries.push(TemplateEntry {
                    template: Arc::new(template),
                    origin: TemplateOrigin::Learned,
                });
            }
        }
        Self::new(entries)
    }

    fn new(entries: Vec<TemplateEntry>) -> Self {
        let numbered = entries.iter().enumerate();
        let patterns = numbered
            .flat_map(|(number, entry)| patterns(entry).map(move |it| (number, it)))
            .collect();
        Self { entries, patterns }
    }

    pub fn entries(&self) -> &[TemplateEntry] {
        &self.entries
    }

    pub fn get(&self, name: &TemplateName) -> Option<&TemplateEntry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.template.name() == name)
    }

    /// Returns the template whose program calls this tool, preferably one that calls nothing else.
    pub fn program_for(&self, server: &str, tool: &str) -> Option<&TemplateName> {
        let templates = || self.entries.iter().map(|entry| &entry.template);
        let calls = |template: &IntentTemplate| {
            let mut uses = template.uses().iter();
            uses.any(|it| it.alias.as_str() == server && it.tool == tool)
        };
        let alone = templates().find(|it| it.uses().len() == 1 && calls(it));
        let found = alone.or_else(|| templates().find(|it| calls(it)));
        found.map(|template| template.name())
    }

    /// Returns every intent as a sentence, in the order of the scores that [`best`](Self::best)
    /// takes.
    pub fn intents(&self) -> impl ExactSizeIterator<Item = (&TemplateName, String)> {
        self.patterns.iter().map(|(number, pattern)| {
            let template = &self.entries[*number].template;
            (template.name(), pattern.sentence())
        })
    }

    /// Finds the template whose intent matches the words. Given parameters take precedence over
    /// values in the words. `usable` reports whether the caller may and can use a template.
    pub fn find(
        &self,
        words: &str,
        given: &Map<String, Value>,
        usable: impl Fn(&IntentTemplate) -> bool,
    ) -> Option<TemplateMatch> {
        if words.len() > FoldedRequest::MAX_BYTES {
            return None;
        }
        let request = FoldedRequest::read(words);
        let patterns = self.patterns.iter();
        let fits = patterns.filter_map(|(number, pattern)| {
            let entry = &self.entries[*number];
            usable(&entry.template)
                .then(|| RankedMatch::new(*number, entry, pattern, &request, given))
                .flatten()
        });
        single_best(fits.collect())
    }

    /// Finds the template whose intents are most similar to the words, if one is similar enough and
    /// clearly more so than all others. `scores` correspond to [`intents`](Self::intents).
    pub fn best(
        &self,
        scores: &[f32],
        bar: SimilarityBar,
        words: &str,
        given: &Map<String, Value>,
        usable: impl Fn(&IntentTemplate) -> bool,
    ) -> Option<TemplateMatch> {
        let request = FoldedRequest::read(words);
        if request.has_particulars() || !request.asks() {
            return None;
        }
        let mut ranked: Vec<(usize, f32)> = self.best_scores(scores).into_iter().collect();
        ranked.retain(|(number, _)| usable(&self.entries[*number].template));
        ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let (number, score) = *ranked.first()?;
        let next = ranked.get(1).map_or(0.0, |(_, next)| *next);
        let entry = &self.entries[number];
        let clear = score >= bar.least && score - next >= bar.lead;
        (clear && accepts(&entry.template, given)).then(|| to_match(entry, given.clone()))
    }

    fn best_scores(&self, scores: &[f32]) -> HashMap<usize, f32> {
        let mut best = HashMap::new();
        for ((number, _), score) in self.patterns.iter().zip(scores) {
            let known = best.entry(*number).or_insert(f32::MIN);
            *known = score.max(*known);
        }
        best
    }

    /// Returns the intents that two templates share.
    fn same_intents(&self) -> Vec<TemplateComplaint> {
        let mut first: HashMap<String, usize> = HashMap::new();
        let mut complaints = Vec::new();
        for (number, pattern) in &self.patterns {
            let other = *first.entry(pattern.key()).or_insert(*number);
            if other != *number {
                complaints.push(TemplateComplaint::SameIntent {
                    intent: pattern.to_string(),
                    first: self.entries[other].template.name().clone(),
                    second: self.entries[*number].template.name().clone(),
                });
            }
        }
        complaints
    }
}

/// The intents of a template, and its name, which is one as well.
fn patterns(entry: &TemplateEntry) -> impl Iterator<Item = IntentPattern> {
    let name = IntentPattern::parse(entry.template.name().as_str());
    let mut patterns = entry.template.intents().to_vec();
    if let Ok(name) = name
        && patterns.iter().all(|it| it.key() != name.key())
    {
        patterns.push(name);
    }
    patterns.into_iter()
}

fn add(
    named: &mut BTreeMap<TemplateName, TemplateEntry>,
    file: &TemplateFile,
    template: IntentTemplate,
) -> Option<TemplateComplaint> {
    let name = template.name().clone();
    if named.get(&name).is_some_and(|it| it.origin >= file.origin) {
        let path = file.path.clone();
        return Some(TemplateComplaint::SameName { path, name });
    }
    let template = Arc::new(template);
    let origin = file.origin;
    named.insert(name, TemplateEntry { template, origin });
    None
}

/// A match, with its rank.
struct RankedMatch {
    entry: usize,
    rank: (usize, bool, TemplateOrigin),
    found: TemplateMatch,
}

impl RankedMatch {
    fn new(
        number: usize,
        entry: &TemplateEntry,
        pattern: &IntentPattern,
        request: &FoldedRequest,
        given: &Map<String, Value>,
    ) -> Option<Self> {
        let fit = pattern.fit(request)?;
        if !accepts(&entry.template, given) {
            return None;
        }
        let mut params = given.clone();
        for (name, text) in fit.captured {
            let schema = entry.template.parameters().schema_of(&name)?;
            let value = pattern::value(&text, &schema)?;
            params.entry(name).or_insert(value);
        }
        let found = to_match(entry, params);
        let ready = matches!(found, TemplateMatch::Ready { .. });
        Some(Self {
            entry: number,
            rank: (fit.literals, ready, entry.origin),
            found,
        })
    }
}

/// Returns the match with the most words in common, unless another template has as many.
fn single_best(mut fits: Vec<RankedMatch>) -> Option<TemplateMatch> {
    fits.sort_by_key(|fit| std::cmp::Reverse(fit.rank));
    let mut fits = fits.into_iter();
    let best = fits.next()?;
    let mut equals = fits.take_while(|other| other.rank == best.rank);
    let doubtful = equals.any(|other| other.entry != best.entry);
    (!doubtful).then_some(best.found)
}

/// False for an unknown parameter: it asks for something that the template does not do.
fn accepts(template: &IntentTemplate, given: &Map<String, Value>) -> bool {
    given
        .keys()
        .all(|name| template.parameters().contains(name))
}

fn to_match(entry: &TemplateEntry, params: Map<String, Value>) -> TemplateMatch {
    let template = entry.template.clone();
    let required = template.parameters().required_names();
    let missing: Vec<_> = required
        .filter(|name| !params.contains_key(*name))
        .map(|name| MissingParameter {
            name: name.to_owned(),
            schema: template.parameters().schema_of(name).unwrap_or_default(),
        })
        .collect();
    if missing.is_empty() {
        let params = template.parameters().fill(params);
        TemplateMatch::Ready { template, params }
    } else {
        TemplateMatch::Incomplete { template, missing }
    }
}

impl Remedy for TemplateComplaint {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Refused(error) => error.remedy(),
            Self::SameName { .. } => Some("give one of them another name".to_owned()),
            Self::SameIntent { .. } => Some(
                "change it in one of them; of two templates with the same rank, neither answers"
                    .to_owned(),
            ),
        }
    }
}

impl TemplateOrigin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Learned => "learned",
            Self::BuiltIn => "built-in",
            Self::Own => "own",
        }
    }
}

impl fmt::Display for TemplateOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
