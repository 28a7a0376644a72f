//! Finds the thing that a text means among the names of agents, capabilities or categories.
//!
//! Tried in this order: the name or an alias, common words, a typing error, and finally the
//! meaning, if a model computes vectors. If several things remain, the likeliest are offered.

use std::collections::BTreeMap;

use crate::meaning::Meaning;
use crate::wording::{Wording, count_uses, wordings};
use crate::words::{is_filler, is_misspelling, key, likeness, significant_words};

/// All things of one kind, and their wordings.
#[derive(Debug)]
pub(crate) struct NameIndex {
    named: Vec<NamedThing>,
    wordings: Vec<Wording>,
    /// Words that do not distinguish these things.
    ignored_words: &'static [&'static str],
    /// The number of things that use each word.
    uses: BTreeMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct NamedThing {
    pub(crate) name: String,
    /// A description.
    pub(crate) text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Match {
    One(ResolvedName),
    /// The likeliest first, at most [`MOST`].
    Several(Vec<(usize, f32)>),
    /// The nearest things, each with the low confidence of a guess.
    Nothing {
        near: Vec<(usize, f32)>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResolvedName {
    pub(crate) at: usize,
    /// 1 for a name or an alias.
    pub(crate) confidence: f32,
    /// Other things with the same name.
    pub(crate) others: Vec<usize>,
}

/// The most things to offer: a model chooses among a few.
pub(crate) const MOST: usize = 3;
/// The minimum score and lead for common words to decide. These and the scores below are measured
/// on the suite of questions in the tests.
const ENOUGH: f32 = 0.5;
const LEAD: f32 = 0.1;
/// The minimum score for common words to decide without vectors.
const PLENTY: f32 = 0.7;
/// A word in this many names means none of them.
const SHARED_BY_MANY: usize = 3;
/// The maximum score of a guess: a name that only sounds similar, or the nearest of names that are
/// all far off.
pub(crate) const GUESSED: f32 = 0.1;
/// The score of a thing whose description contains the text. It is below any name's.
const MENTIONED: f32 = 0.3;
/// The minimum length of a text to search for within names and descriptions.
const MIN_SEARCHED: usize = 4;

impl NameIndex {
    /// The aliases refer to the things by their positions in `named`.
    pub(crate) fn new(
        named: Vec<NamedThing>,
        aliases: impl IntoIterator<Item = (String, Vec<usize>)>,
        ignored_words: &'static [&'static str],
    ) -> Self {
        let own = named.iter().enumerate();
        let own = own.map(|(at, thing)| (thing.name.clone(), vec![at]));
        let names: Vec<(String, Vec<usize>)> = own
            .chain(aliases)
            .map(|(name, meant)| (key(&name), meant))
            .collect();
        let wordings = wordings(names, ignored_words);
        let uses = count_uses(&wordings);
        Self {
            named,
            wordings,
            ignored_words,
            uses,
        }
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        &self.named[at].name
    }

    pub(crate) fn all(&self) -> &[NamedThing] {
        &self.named
    }

    pub(crate) fn wordings(&self) -> &[Wording] {
        &self.wordings
    }

    /// Returns the texts to compute vectors for: every wording, then every description.
    pub(crate) fn texts(&self) -> Vec<String> {
        let wordings = self.wordings.iter().map(|wording| wording.key.clone());
        let descriptions = self.named.iter().map(|thing| thing.text.clone());
        wordings.chain(descriptions).collect()
    }

    pub(crate) async fn resolve(&self, query: &str, meaning: Option<&Meaning>) -> Match {
        if let Some(wording) = self.by_name(query) {
            return self.meant_by(wording, query);
        }
        let by_words = self.by_words(query);
        if self.is_vague(query) {
            return self.offer(query, &by_words);
        }
        if let Some(found) =
            clear_winner(&by_words, PLENTY, LEAD).or_else(|| self.by_spelling(query))
        {
            return Match::One(found);
        }
        let judged = match meaning {
            Some(meaning) => meaning.resolve(self, query, &by_words).await,
            None => None,
        };
        judged.unwrap_or_else(|| self.decide_by_words(query, by_words))
    }

    fn meant_by(&self, wording: &Wording, query: &str) -> Match {
        match wording.meant.split_first() {
            Some((at, others)) => Match::One(ResolvedName {
                at: *at,
                confidence: 1.0,
                others: others.to_vec(),
            }),
            None => self.no_match(query),
        }
    }

    fn decide_by_words(&self, query: &str, by_words: Vec<(usize, f32)>) -> Match {
        match clear_winner(&by_words, ENOUGH, LEAD) {
            Some(found) => Match::One(found),
            None if by_words.is_empty() => self.no_match(query),
            None => Match::Several(by_words.into_iter().take(MOST).collect()),
        }
    }

    fn no_match(&self, query: &str) -> Match {
        Match::Nothing {
            near: self.similar_names(query),
        }
    }

    /// True for a word that many names share, or for fillers: choosing one thing would be a guess.
    fn is_vague(&self, query: &str) -> bool {
        let words = self.significant_words(query);
        let [word] = words.as_slice() else {
            return words.iter().all(|word| is_filler(word));
        };
        let things = self.named.iter();
        let shared = things.filter(|thing| self.significant_words(&thing.name).contains(word));
        shared.count() >= SHARED_BY_MANY || is_filler(word)
    }

    /// Offers the likeliest things: first matches by their own name, then things that other words
    /// suggest, finally names that sound similar.
    fn offer(&self, query: &str, by_words: &[(usize, f32)]) -> Match {
        let words = self.significant_words(query);
        let (named, suggested): (Vec<_>, Vec<_>) = by_words
            .iter()
            .copied()
            .partition(|(at, _)| self.has_in_its_name(*at, &words));
        let mut likely: Vec<(usize, f32)> = Vec::new();
        for (at, score) in named
            .into_iter()
            .chain(suggested)
            .chain(self.similar_names(query))
        {
            if likely.len() < MOST && likely.iter().all(|(other, _)| *other != at) {
                likely.push((at, score));
            }
        }
        // An offer is never certain, and the first is the likeliest.
        let mut most = ENOUGH;
        for (_, confidence) in &mut likely {
            most = confidence.min(most);
            *confidence = most;
        }
        Match::Several(likely)
    }

    fn has_in_its_name(&self, at: usize, words: &[String]) -> bool {
        let name = self.significant_words(&self.named[at].name);
        words.iter().all(|word| name.contains(word))
    }

    /// Returns the things whose names sound similar, each with the confidence of a guess.
    pub(crate) fn similar_names(&self, query: &str) -> Vec<(usize, f32)> {
        let query = key(query);
        // Something is always nearest, however far off.
        let best = self.best_scores(|wording| {
            share(strsim::jaro_winkler(&query, &wording.key)).max(f32::EPSILON)
        });
        let best = best.into_iter().take(MOST);
        best.map(|(at, likeness)| (at, GUESSED * likeness))
            .collect()
    }

    /// Returns the text without these names; `None` if it contains none of them, or nothing else.
    pub(crate) fn remove_names_from(&self, query: &str) -> Option<String> {
        let query = format!(" {} ", key(query));
        let wordings = self.wordings.iter();
        let mut names: Vec<String> = wordings
            .map(|wording| format!(" {} ", wording.key))
            .collect();
        // A long name may contain a short one.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let mut rest = query.clone();
        for name in &names {
            rest = rest.replace(name, " ");
        }
        (rest != query && !rest.trim().is_empty()).then(|| rest.trim().to_owned())
    }

    fn by_name(&self, query: &str) -> Option<&Wording> {
        let key = key(query);
        let mut wordings = self.wordings.iter();
        let exact = wordings.find(|wording| wording.key == key);
        exact.or_else(|| self.by_significant_words(query))
    }

    /// Finds a wording that differs only in small words. Two of them may mean different things.
    fn by_significant_words(&self, query: &str) -> Option<&Wording> {
        let words = self.significant_words(query);
        let wordings = self.wordings.iter();
        let mut same = wordings.filter(|wording| wording.words == words);
        let first = same.next()?;
        let agree = same.all(|wording| wording.meant.first() == first.meant.first());
        agree.then_some(first)
    }

    /// Scores things by the words that the text shares with a wording, or else by a wording that
    /// contains it or a description that mentions it.
    fn by_words(&self, query: &str) -> Vec<(usize, f32)> {
        let words = self.significant_words(query);
        let query = words.join(" ");
        let mut found = self.best_scores(|wording| {
            let contained = containment_score(&query, &wording.words.join(" "));
            contained.max(self.overlap(&words, &wording.words))
        });
        for at in self.names_mentioning(&query) {
            match found.iter_mut().find(|(other, _)| *other == at) {
                Some((_, score)) => *score = score.max(MENTIONED),
                None => found.push((at, MENTIONED)),
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }

    fn names_mentioning(&self, query: &str) -> Vec<usize> {
        let mut positions: Vec<usize> = (0..self.named.len()).collect();
        positions.retain(|at| {
            let text = self.significant_words(&self.named[*at].text).join(" ");
            query.len() >= MIN_SEARCHED && text.contains(query)
        });
        positions
    }

    /// Returns the share of words that two texts have in common; a word with many uses counts less.
    fn overlap(&self, query: &[String], wording: &[String]) -> f32 {
        let common = wording
            .iter()
            .map(|word| self.weight(word) * self.best_likeness(word, query));
        let common: f32 = common.sum();
        common / (self.total_weight(query) + self.total_weight(wording) - common)
    }

    /// Only an otherwise unused word may be a typing error of another.
    fn best_likeness(&self, word: &str, query: &[String]) -> f32 {
        let candidates = query
            .iter()
            .filter(|other| *other == word || !self.uses.contains_key(*other));
        candidates
            .map(|other| likeness(word, other))
            .fold(0.0, f32::max)
    }

    fn total_weight(&self, words: &[String]) -> f32 {
        words.iter().map(|word| self.weight(word)).sum()
    }

    fn by_spelling(&self, query: &str) -> Option<ResolvedName> {
        let query = key(query);
        let best = self.best_scores(|wording| {
            if is_misspelling(&query, &wording.key) {
                share(strsim::normalized_damerau_levenshtein(&query, &wording.key))
            } else {
                0.0
            }
        });
        clear_winner(&best, f32::EPSILON, f32::EPSILON)
    }

    fn significant_words(&self, text: &str) -> Vec<String> {
        significant_words(text, self.ignored_words, |word| {
            self.uses.contains_key(word)
        })
    }

    /// Returns every thing with the score of its best wording, best first, without zeros.
    fn best_scores(&self, score: impl Fn(&Wording) -> f32) -> Vec<(usize, f32)> {
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for wording in &self.wordings {
            let score = score(wording);
            for at in &wording.meant {
                let former = best.entry(*at).or_default();
                *former = former.max(score);
            }
        }
        let mut best: Vec<_> = best.into_iter().filter(|(_, score)| *score > 0.0).collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best
    }

    fn weight(&self, word: &str) -> f32 {
        let uses = self.uses.get(word).copied().unwrap_or(1);
        1.0 / (1.0 + ratio(uses.max(1), 1).ln())
    }
}

impl Match {
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self, Self::One(ResolvedName { confidence, .. }) if *confidence >= 1.0)
    }

    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

/// Returns the first, if its score and its lead are sufficient.
pub(crate) fn clear_winner(
    ranked: &[(usize, f32)],
    enough: f32,
    lead: f32,
) -> Option<ResolvedName> {
    let (at, confidence) = *ranked.first()?;
    let next = ranked.get(1).map_or(0.0, |(_, score)| *score);
    (confidence >= enough && confidence - next >= lead).then(|| ResolvedName {
        at,
        confidence,
        others: Vec::new(),
    })
}

/// Scores a text by its share of a wording in which a word begins with it.
fn containment_score(query: &str, whole: &str) -> f32 {
    if query.len() >= MIN_SEARCHED && format!(" {whole}").contains(&format!(" {query}")) {
        ENOUGH + (1.0 - ENOUGH) * ratio(query.len(), whole.len())
    } else {
        0.0
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths and numbers of words are small"
)]
fn ratio(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
fn share(likeness: f64) -> f32 {
    likeness as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves a text among a few things: `=` marks a certain one, `~` a likely one, `?` several,
    /// `-` none.
    async fn check(query: &str, expected: &str) {
        let named = [
            "Plan Mode",
            "Cloud Agents",
            "Background Agents",
            "Checkpoints",
            "Model Selection",
        ];
        let named = named.map(|name| NamedThing {
            name: name.to_owned(),
            text: format!("{name}, described"),
        });
        let aliases = [
            ("undo", vec![3]),
            ("remote agent", vec![1]),
            ("byok", vec![4]),
            ("agent", vec![2]),
            ("plan view", vec![]),
        ];
        let aliases = aliases.map(|(name, meant)| (name.to_owned(), meant));
        let names = NameIndex::new(named.into(), aliases, &["tool"]);
        let found = match names.resolve(query, None).await {
            Match::One(ResolvedName {
                at,
                confidence: 1.0,
                ..
            }) => format!("= {}", names.name(at)),
            Match::One(ResolvedName { at, .. }) => format!("~ {}", names.name(at)),
            Match::Several(some) => {
                format!(
                    "? {}",
                    some.iter()
                        .map(|(at, _)| names.name(*at))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            Match::Nothing { near } => format!("- {}", names.name(near[0].0)),
        };
        assert_eq!(found, expected, "{query}");
    }

    #[tokio::test]
    async fn a_name_is_found_in_every_spelling() {
        check("Plan Mode", "= Plan Mode").await;
        check("plan-mode", "= Plan Mode").await;
        check(" PLAN_MODE ", "= Plan Mode").await;
        check("the plan mode tool", "= Plan Mode").await;
        check("support for cloud agents", "= Cloud Agents").await;
        check("agents in the cloud", "= Cloud Agents").await;
    }

    #[tokio::test]
    async fn an_alias_is_as_good_as_a_name() {
        check("Undo", "= Checkpoints").await;
        check("remote agents", "= Cloud Agents").await;
        check("BYOK support", "= Model Selection").await;
    }

    #[tokio::test]
    async fn common_words_and_typing_errors_are_enough_when_they_are_clear() {
        check("checkpoint restoring", "~ Checkpoints").await;
        check("chekpoints", "~ Checkpoints").await;
        check("select", "~ Model Selection").await;
    }

    #[tokio::test]
    async fn an_open_question_gets_the_likeliest_names_and_an_unknown_one_the_nearest() {
        check("agents that fly", "? Background Agents, Cloud Agents").await;
        check("chckpnt", "- Checkpoints").await;
    }

    #[tokio::test]
    async fn a_word_of_many_names_or_a_filler_is_answered_with_a_choice() {
        let named = ["Code Review", "Code Search", "Code Generation", "Hooks"];
        let named = named.map(|name| NamedThing {
            name: name.to_owned(),
            text: format!("{name}, described"),
        });
        let names = NameIndex::new(named.into(), [("reviewing".to_owned(), vec![0])], &[]);
        for query in ["code", "Code", "support", "features", "is it supported"] {
            match names.resolve(query, None).await {
                Match::Several(some) => {
                    assert!(some.len() > 1 && some.len() <= MOST, "{query}: {some:?}");
                }
                other => panic!("{query} was taken for {other:?}"),
            }
        }
        for query in ["hooks", "hook support", "review", "code review"] {
            assert!(
                matches!(names.resolve(query, None).await, Match::One(_)),
                "{query}"
            );
        }
    }

    #[tokio::test]
    async fn a_name_of_something_else_is_not_taken_for_one_of_these() {
        check("Plan View", "- Plan Mode").await;
    }
}
