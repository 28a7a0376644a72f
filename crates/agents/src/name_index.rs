//! From what somebody says to what is meant: one way for agents, capabilities and categories.
//!
//! In order: the very name or an alias, words in common, a slip of the pen, and at last the
//! meaning, where there is somebody who can tell. What stays open is told with the likeliest.

use std::collections::{BTreeMap, BTreeSet};

use crate::meaning::Meaning;
use crate::words::{is_filler, key, likeness, misspelt, stem, telling};

/// All things of one kind, and all the ways to say them.
#[derive(Debug)]
pub(crate) struct Names {
    named: Vec<Named>,
    ways: Vec<Way>,
    /// Words that say nothing among these things.
    besides: &'static [&'static str],
    /// How many things a word is used for.
    spread: BTreeMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) key: String,
    words: Vec<String>,
    /// Where it may mean several things, the likeliest stands first. Nothing, where it is the name
    /// of something else that must not be taken for one of these.
    pub(crate) meant: Vec<usize>,
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
/// From here on they need nobody who can tell what is meant.
const PLENTY: f32 = 0.7;
/// From here on a word in so many names means none of them.
const SHARED_BY_MANY: usize = 3;
/// What sounds like it, for want of anything better.
const GUESSED: f32 = 0.1;
/// What a description says is less than what a name says.
const MENTIONED: f32 = 0.3;

impl Names {
    /// The aliases name the things they stand for by their places.
    pub(crate) fn new(
        named: Vec<Named>,
        aliases: impl IntoIterator<Item = (String, Vec<usize>)>,
        besides: &'static [&'static str],
    ) -> Self {
        let own = named
            .iter()
            .enumerate()
            .map(|(at, it)| (it.name.clone(), vec![at]));
        let said: Vec<(String, Vec<usize>)> = own
            .chain(aliases)
            .map(|(said, meant)| (key(&said), meant))
            .collect();
        let single: BTreeSet<String> = said
            .iter()
            .flat_map(|(key, _)| key.split(' ').map(stem))
            .collect();
        let mut ways: Vec<Way> = Vec::new();
        for (key, meant) in said {
            match ways.iter_mut().find(|way| way.key == key) {
                Some(way) => {
                    let new: Vec<usize> = meant
                        .into_iter()
                        .filter(|at| !way.meant.contains(at))
                        .collect();
                    way.meant.extend(new);
                }
                None => {
                    let words = telling(&key, besides, |word| single.contains(word));
                    ways.push(Way { words, key, meant });
                }
            }
        }
        let spread = spread(&ways);
        Self {
            named,
            ways,
            besides,
            spread,
        }
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        &self.named[at].name
    }

    pub(crate) fn all(&self) -> &[Named] {
        &self.named
    }

    pub(crate) fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// What vectors are made of: every way to say something, then what is known of each thing.
    pub(crate) fn texts(&self) -> Vec<String> {
        let ways = self.ways.iter().map(|way| way.key.clone());
        ways.chain(self.named.iter().map(|it| it.text.clone()))
            .collect()
    }

    pub(crate) async fn resolve(&self, said: &str, meaning: Option<&Meaning>) -> Match {
        if let Some(way) = self.by_name(said) {
            return match way.meant.split_first() {
                Some((at, others)) => Match::One(Meant {
                    at: *at,
                    confidence: 1.0,
                    others: others.to_vec(),
                }),
                None => Match::Nothing {
                    near: self.near(said),
                },
            };
        }
        let by_words = self.by_words(said);
        if self.is_vague(said) {
            return self.offer(said, by_words);
        }
        if let Some(meant) = clear(&by_words, PLENTY, LEAD).or_else(|| self.by_spelling(said)) {
            return Match::One(meant);
        }
        let judged = match meaning {
            Some(meaning) => meaning.judge(self, said, &by_words).await,
            None => None,
        };
        judged.unwrap_or_else(|| match clear(&by_words, ENOUGH, LEAD) {
            Some(meant) => Match::One(meant),
            None if by_words.is_empty() => Match::Nothing {
                near: self.near(said),
            },
            None => Match::Several(by_words.into_iter().take(MOST).collect()),
        })
    }

    /// Whether it is a word that many things share, or one that says nothing: whatever was chosen
    /// for it would be a guess.
    fn is_vague(&self, said: &str) -> bool {
        let words = self.telling(said);
        let [word] = words.as_slice() else {
            return words.iter().all(|word| is_filler(word));
        };
        let shared = self
            .named
            .iter()
            .filter(|it| self.telling(&it.name).contains(word))
            .count();
        shared >= SHARED_BY_MANY || is_filler(word)
    }

    /// The likeliest, by words and then by sound.
    fn offer(&self, said: &str, by_words: Vec<(usize, f32)>) -> Match {
        let mut likely: Vec<(usize, f32)> = by_words.into_iter().take(MOST).collect();
        for at in self.near(said) {
            if likely.len() < MOST && likely.iter().all(|(other, _)| *other != at) {
                likely.push((at, GUESSED));
            }
        }
        // What is offered is open; only a name is certain.
        for (_, confidence) in &mut likely {
            *confidence = confidence.min(ENOUGH);
        }
        Match::Several(likely)
    }

    /// Those that sound like it, for whoever has to choose again.
    pub(crate) fn near(&self, said: &str) -> Vec<usize> {
        let said = key(said);
        let best = self.best(|way| share(strsim::jaro_winkler(&said, &way.key)));
        best.into_iter().map(|(at, _)| at).take(MOST).collect()
    }

    /// What is left of it without any of these names; nothing, if there were none or is no more.
    pub(crate) fn cut_from(&self, said: &str) -> Option<String> {
        let said = format!(" {} ", key(said));
        let mut names: Vec<String> = self
            .ways
            .iter()
            .map(|way| format!(" {} ", way.key))
            .collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let rest = names
            .iter()
            .fold(said.clone(), |rest, name| rest.replace(name, " "));
        (rest != said && !rest.trim().is_empty()).then(|| rest.trim().to_owned())
    }

    fn by_name(&self, said: &str) -> Option<&Way> {
        let (key, words) = (key(said), self.telling(said));
        self.ways.iter().find(|way| way.key == key).or_else(|| {
            let mut like_it = self.ways.iter().filter(|way| way.words == words);
            let first = like_it.next()?;
            // Two ways that differ only in small words may mean different things.
            like_it
                .all(|way| way.meant.first() == first.meant.first())
                .then_some(first)
        })
    }

    /// By the words that what was said has in common with a way to say it; else by what begins or
    /// goes on like it, or mentions it.
    fn by_words(&self, said: &str) -> Vec<(usize, f32)> {
        let words = self.telling(said);
        let said = words.join(" ");
        let long = said.len() >= 4;
        let mut found = self.best(|way| {
            let whole = way.words.join(" ");
            let part = long && format!(" {whole}").contains(&format!(" {said}"));
            let part = if part {
                ENOUGH + (1.0 - ENOUGH) * ratio(said.len(), whole.len())
            } else {
                0.0
            };
            part.max(self.overlap(&words, &way.words))
        });
        let mentions = |it: &Named| long && self.telling(&it.text).join(" ").contains(&said);
        for at in (0..self.named.len()).filter(|at| mentions(&self.named[*at])) {
            match found.iter_mut().find(|(other, _)| *other == at) {
                Some((_, score)) => *score = score.max(MENTIONED),
                None => found.push((at, MENTIONED)),
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }

    /// How much of the one is in the other and the other way round; a word that is used for many
    /// things counts for less. Only a word that is used for nothing may be another in disguise.
    fn overlap(&self, said: &[String], way: &[String]) -> f32 {
        let weight = |words: &[String]| words.iter().map(|word| self.weight(word)).sum::<f32>();
        let could_be = |word: &str, other: &str| word == other || !self.spread.contains_key(other);
        let best = |word: &String| {
            let others = said.iter().filter(|other| could_be(word, other));
            others
                .map(|other| likeness(word, other))
                .fold(0.0, f32::max)
        };
        let common: f32 = way.iter().map(|word| self.weight(word) * best(word)).sum();
        common / (weight(said) + weight(way) - common)
    }

    fn by_spelling(&self, said: &str) -> Option<Meant> {
        let said = key(said);
        let alike = |way: &Way| share(strsim::normalized_damerau_levenshtein(&said, &way.key));
        let best = self.best(|way| {
            if misspelt(&said, &way.key) {
                alike(way)
            } else {
                0.0
            }
        });
        clear(&best, f32::EPSILON, f32::EPSILON)
    }

    fn telling(&self, text: &str) -> Vec<String> {
        telling(text, self.besides, |word| self.spread.contains_key(word))
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
        1.0 / (1.0 + ratio(spread.max(1), 1).ln())
    }
}

impl Match {
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self, Self::One(Meant { confidence, .. }) if *confidence >= 1.0)
    }
}

/// The first, if it scores enough and leads the next.
pub(crate) fn clear(ranked: &[(usize, f32)], enough: f32, lead: f32) -> Option<Meant> {
    let (at, confidence) = *ranked.first()?;
    let next = ranked.get(1).map_or(0.0, |(_, score)| *score);
    (confidence >= enough && confidence - next >= lead).then(|| Meant {
        at,
        confidence,
        others: Vec::new(),
    })
}

fn spread(ways: &[Way]) -> BTreeMap<String, usize> {
    let mut users: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for way in ways {
        for word in &way.words {
            users.entry(word).or_default().extend(&way.meant);
        }
    }
    users
        .into_iter()
        .map(|(word, users)| (word.to_owned(), users.len()))
        .collect()
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

    /// What is found among a few things: `=` one for sure, `~` one with less than that, `?` several.
    async fn check(said: &str, expected: &str) {
        let named = [
            "Plan Mode",
            "Cloud Agents",
            "Background Agents",
            "Checkpoints",
            "Model Selection",
        ];
        let named = named.map(|name| Named {
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
        let aliases = aliases.map(|(said, meant)| (said.to_owned(), meant));
        let names = Names::new(named.into(), aliases, &["tool"]);
        let told = match names.resolve(said, None).await {
            Match::One(Meant {
                at,
                confidence: 1.0,
                ..
            }) => format!("= {}", names.name(at)),
            Match::One(Meant { at, .. }) => format!("~ {}", names.name(at)),
            Match::Several(some) => {
                format!(
                    "? {}",
                    some.iter()
                        .map(|it| names.name(it.0))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
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

    #[tokio::test]
    async fn a_word_that_many_share_or_that_says_nothing_is_answered_with_a_choice() {
        let named = ["Code Review", "Code Search", "Code Generation", "Hooks"];
        let named = named.map(|name| Named {
            name: name.to_owned(),
            text: format!("{name}, described"),
        });
        let names = Names::new(named.into(), [("reviewing".to_owned(), vec![0])], &[]);
        for said in ["code", "Code", "support", "features", "is it supported"] {
            match names.resolve(said, None).await {
                Match::Several(some) => {
                    assert!(some.len() > 1 && some.len() <= MOST, "{said}: {some:?}")
                }
                other => panic!("{said} was taken for {other:?}"),
            }
        }
        for said in ["hooks", "hook support", "review", "code review"] {
            assert!(
                matches!(names.resolve(said, None).await, Match::One(_)),
                "{said}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_known_to_be_something_else_is_not_taken_for_one_of_these() {
        check("Plan View", "- Plan Mode").await;
    }
}
