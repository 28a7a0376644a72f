//! From what somebody says to what is meant: one way for agents, capabilities and categories.
//!
//! In order: the very name or an alias, words in common, a slip of the pen, and at last the
//! meaning, where there is somebody who can tell. What stays open is told with the likeliest.

use std::collections::{BTreeMap, BTreeSet};

use crate::meaning::Meaning;

/// All things of one kind, and all the ways to say them.
#[derive(Debug)]
pub(crate) struct Names {
    named: Vec<Named>,
    ways: Vec<Way>,
    /// How many things a word is used for.
    spread: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Way {
    key: String,
    short: String,
    /// Where it may mean several things, the likeliest stands first.
    meant: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    /// What is to be known about it.
    pub(crate) text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Match {
    One(Meant),
    /// The likeliest first, at most [`MOST`].
    Several(Vec<(usize, f32)>),
    Nothing {
        near: Vec<usize>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Meant {
    pub(crate) at: usize,
    /// 1 for a name or an alias.
    pub(crate) confidence: f32,
    /// What the same word also stands for.
    pub(crate) others: Vec<usize>,
}

/// As many as are worth offering.
pub(crate) const MOST: usize = 3;
/// From here on, and with such a lead, words in common decide.
const ENOUGH: f32 = 0.5;
const LEAD: f32 = 0.1;
/// Two letters wrong in ten are a slip, more are another word.
const SLIP: f32 = 0.8;
/// What a description says is less than what a name says.
const MENTIONED: f32 = 0.3;

impl Names {
    /// The aliases name the thing they stand for by its place.
    pub(crate) fn new(named: Vec<Named>, aliases: &[(&str, usize)]) -> Self {
        let mut ways: Vec<Way> = Vec::new();
        let own = named.iter().enumerate().map(|(at, it)| (it.name.as_str(), at));
        for (said, at) in own.chain(aliases.iter().copied()) {
            let key = key(said);
            match ways.iter_mut().find(|way| way.key == key) {
                Some(way) if way.meant.contains(&at) => {}
                Some(way) => way.meant.push(at),
                None => ways.push(Way { short: short(said), key, meant: vec![at] }),
            }
        }
        let spread = spread(&ways);
        Self { named, ways, spread }
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        &self.named[at].name
    }

    pub(crate) fn all(&self) -> &[Named] {
        &self.named
    }

    pub(crate) async fn resolve(&self, said: &str, meaning: Option<&Meaning>) -> Match {
        if let Some(meant) = self.by_name(said) {
            return Match::One(meant);
        }
        let by_words = self.by_words(said);
        if let Some(meant) = clear(&by_words, ENOUGH, LEAD).or_else(|| self.by_spelling(said)) {
            return Match::One(meant);
        }
        let judged = match meaning {
            Some(meaning) => meaning.judge(self, said, &by_words).await,
            None => None,
        };
        match judged {
            Some(found) => found,
            None if by_words.is_empty() => Match::Nothing { near: self.near(said) },
            None => Match::Several(by_words.into_iter().take(MOST).collect()),
        }
    }

    /// Those that sound like it, for whoever has to choose again.
    pub(crate) fn near(&self, said: &str) -> Vec<usize> {
        let said = key(said);
        let best = self.best(|way| share(strsim::jaro_winkler(&said, &way.key)));
        best.into_iter().map(|(at, _)| at).take(MOST).collect()
    }

    fn by_name(&self, said: &str) -> Option<Meant> {
        let (key, short) = (key(said), short(said));
        let way = self.ways.iter().find(|way| way.key == key).or_else(|| {
            let mut like_it = self.ways.iter().filter(|way| way.short == short);
            let first = like_it.next()?;
            // Two ways that differ only in small words may mean different things.
            like_it.all(|way| way.meant[0] == first.meant[0]).then_some(first)
        })?;
        let (at, others) = way.meant.split_first()?;
        Some(Meant { at: *at, confidence: 1.0, others: others.to_vec() })
    }

    /// How much of what was said is in a way to say it and the other way round; a word that is
    /// used for many things counts for less, and a part of a word as a part.
    fn by_words(&self, said: &str) -> Vec<(usize, f32)> {
        let said = short(said);
        let words: BTreeSet<&str> = said.split(' ').collect();
        let long = said.len() >= 4;
        let mut found = self.best(|way| {
            let theirs: BTreeSet<&str> = way.short.split(' ').collect();
            let common: f32 = words.intersection(&theirs).map(|word| self.weight(word)).sum();
            let all: f32 = words.union(&theirs).map(|word| self.weight(word)).sum();
            let part = long && way.short.contains(&said);
            let part = if part { ENOUGH + (1.0 - ENOUGH) * ratio(said.len(), way.short.len()) } else { 0.0 };
            part.max(common / all)
        });
        let mentions = |it: &Named| long && short(&it.text).contains(&said);
        for at in (0..self.named.len()).filter(|at| mentions(&self.named[*at])) {
            match found.iter_mut().find(|(other, _)| *other == at) {
                Some((_, score)) => *score = score.max(MENTIONED),
                None => found.push((at, MENTIONED)),
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }

    fn by_spelling(&self, said: &str) -> Option<Meant> {
        let said = key(said);
        let best = self.best(|way| share(strsim::normalized_damerau_levenshtein(&said, &way.key)));
        clear(&best, SLIP, f32::EPSILON).filter(|_| said.len() >= 4)
    }

    /// Every thing with its best way, the best first; what scores nothing is left out.
    fn best(&self, score: impl Fn(&Way) -> f32) -> Vec<(usize, f32)> {
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for way in &self.ways {
            let score = score(way);
            for at in &way.meant {
                let slot = best.entry(*at).or_default();
                *slot = slot.max(score);
            }
        }
        let mut best: Vec<_> = best.into_iter().filter(|(_, score)| *score > 0.0).collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best
    }

    fn weight(&self, word: &str) -> f32 {
        let spread = self.spread.get(word).copied().unwrap_or(1);
        1.0 / (1.0 + ratio(spread, 1).ln())
    }
}

/// The words of a text, small and one blank apart; whatever stands between them is no matter.
pub(crate) fn key(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The first, if it scores enough and leads the next.
pub(crate) fn clear(ranked: &[(usize, f32)], enough: f32, lead: f32) -> Option<Meant> {
    let (at, confidence) = *ranked.first()?;
    let next = ranked.get(1).map_or(0.0, |(_, score)| *score);
    (confidence >= enough && confidence - next >= lead).then(|| Meant { at, confidence, others: Vec::new() })
}

/// The words that say something, each in the singular.
fn short(text: &str) -> String {
    let key = key(text);
    let telling: Vec<&str> = key.split(' ').filter(|word| !is_filler(word)).map(singular).collect();
    if telling.is_empty() { key } else { telling.join(" ") }
}

/// What people wrap around the thing they mean.
const FILLERS: &str = "a an and any are available can capabilities capability do does feature features for from \
    functionality has have how in is it its of on own support supported supports the to use using with";

fn is_filler(word: &str) -> bool {
    FILLERS.split(' ').any(|filler| filler == word)
}

fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem,
        _ => word,
    }
}

fn spread(ways: &[Way]) -> BTreeMap<String, usize> {
    let mut users: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for way in ways {
        for word in way.short.split(' ') {
            users.entry(word).or_default().extend(&way.meant);
        }
    }
    users.into_iter().map(|(word, users)| (word.to_owned(), users.len())).collect()
}

#[expect(clippy::cast_precision_loss, reason = "lengths and numbers of words are small")]
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

    /// What is found among a few things: `=` one for sure, `~` one with less than that, `?` several.
    async fn check(said: &str, expected: &str) {
        let named = ["Plan Mode", "Cloud Agents", "Background Agents", "Checkpoints", "Model Selection"];
        let named = named.map(|name| Named { name: name.to_owned(), text: format!("{name}, described") });
        let names = Names::new(named.into(), &[("undo", 3), ("remote agent", 1), ("byok", 4), ("agent", 2)]);
        let told = match names.resolve(said, None).await {
            Match::One(Meant { at, confidence: 1.0, .. }) => format!("= {}", names.name(at)),
            Match::One(Meant { at, .. }) => format!("~ {}", names.name(at)),
            Match::Several(some) => {
                format!("? {}", some.iter().map(|it| names.name(it.0)).collect::<Vec<_>>().join(", "))
            }
            Match::Nothing { near } => format!("- {}", names.name(near[0])),
        };
        assert_eq!(told, expected, "{said}");
    }

    #[tokio::test]
    async fn a_name_is_found_however_it_is_written() {
        check("Plan Mode", "= Plan Mode").await;
        check("plan-mode", "= Plan Mode").await;
        check(" PLAN_MODE ", "= Plan Mode").await;
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
    async fn words_in_common_and_slips_of_the_pen_are_enough_when_they_are_clear() {
        check("checkpoint restoring", "~ Checkpoints").await;
        check("chekpoints", "~ Checkpoints").await;
        check("select", "~ Model Selection").await;
    }

    #[tokio::test]
    async fn what_stays_open_is_told_with_the_likeliest_and_what_is_unknown_with_the_nearest() {
        check("agents that fly", "? Background Agents, Cloud Agents").await;
        check("chckpnt", "- Checkpoints").await;
    }
}
