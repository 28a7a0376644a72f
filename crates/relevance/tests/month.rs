//! A month of use: the longer an agent works, the fewer of its conversations need a search.

use std::sync::Arc;

use kitbag_domain::{Caller, Outcome, Timestamp};
use kitbag_relevance::learning::call_linker::{CallLinker, DraftContext, LessonDraft};
use kitbag_relevance::learning::event::{CallArguments, ClientKey, UseEvent, UseKind};
use kitbag_relevance::learning::{Experience, Lesson, tools_to_show};

const DAY: i64 = 86_400_000;
const DAYS: usize = 30;
const CONVERSATIONS_A_DAY: usize = 20;
const TOPICS: usize = 40;
const DIMENSION: usize = 64;
/// The wording of a topic varies from day to day by this much.
const NOISE: f32 = 0.35;

/// A deterministic generator.
struct MonthDice(u64);

impl MonthDice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn vector(&mut self) -> Vec<f32> {
        let numbers = (0..DIMENSION).map(|_| self.next() as f32 / u64::MAX as f32 - 0.5);
        unit(numbers.collect())
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|it| *it /= length);
    vector
}

/// An agent whose tools can be found by description for two topics in three.
struct Agent {
    dice: MonthDice,
    topics: Vec<Vec<f32>>,
    linker: CallLinker,
    experience: Experience,
    lessons: i64,
}

impl Agent {
    fn new() -> Self {
        let mut dice = MonthDice(0x9e37_79b9_7f4a_7c15);
        let topics = (0..TOPICS).map(|_| dice.vector()).collect();
        Self {
            dice,
            topics,
            linker: CallLinker::default(),
            experience: Experience::default(),
            lessons: 0,
        }
    }

    /// Simulates one conversation, and returns true if the agent had to search.
    fn converse(&mut self, client: &str, now: Timestamp) -> bool {
        // The minimum of two makes some topics far more common than others.
        let topic = self.dice.below(TOPICS).min(self.dice.below(TOPICS));
        let noise = self.dice.vector();
        let words = self.topics[topic].iter().zip(noise);
        let words: Arc<[f32]> = unit(words.map(|(it, off)| it + NOISE * off).collect()).into();
        let searches = topic.is_multiple_of(3) && !self.is_surfaced(topic, &words, now);
        let tool = tool(topic);
        let text_words: Arc<str> = "words".into();
        let first = match searches {
            true => UseKind::Searched {
                words: text_words,
                found: [tool_other(topic), tool.clone()].into(),
            },
            false => UseKind::Said { words: text_words },
        };
        let call = UseKind::Called {
            tool,
            arguments: None,
            outcome: Outcome::Ok,
        };
        for (what, vector) in [(first, Some(words)), (call, None)] {
            let client = ClientKey {
                caller: Caller::local(),
                id: Some(client.into()),
            };
            let event = UseEvent {
                client,
                run: None,
                at: now,
                what,
            };
            let drafts = self
                .linker
                .record_event(&event, vector, CallArguments::default());
            self.learn(drafts, now);
        }
        searches
    }

    /// True if past use would show the tool for this request.
    fn is_surfaced(&self, topic: usize, words: &[f32], now: Timestamp) -> bool {
        let votes = self.experience.votes(words, now);
        let mut shown: Vec<&str> = votes.favoured_tools().collect();
        shown.sort_by(|a, b| bonus(&votes, b).total_cmp(&bonus(&votes, a)));
        shown.truncate(tools_to_show(votes.confidence()));
        shown.contains(&tool(topic).as_str())
    }

    fn learn(&mut self, drafts: Vec<LessonDraft>, now: Timestamp) {
        let lessons = drafts.into_iter().filter_map(|draft| {
            let DraftContext::Words { vector, .. } = draft.context else {
                return None;
            };
            self.lessons += 1;
            Some(Lesson {
                tool: draft.tool,
                context: vector,
                signal: draft.signal,
                at: draft.at,
                session: draft.session.cast_unsigned(),
                id: self.lessons,
            })
        });
        let lessons = lessons.collect();
        self.experience = self.experience.with_lessons(lessons, now);
    }
}

fn bonus(votes: &kitbag_relevance::learning::Votes, tool: &str) -> f32 {
    votes.get(tool).map_or(0.0, |vote| vote.bonus)
}

fn tool(topic: usize) -> String {
    format!("tool_{topic}")
}

fn tool_other(topic: usize) -> String {
    format!("other_{topic}")
}

#[test]
fn fewer_conversations_need_a_search_week_by_week() {
    let mut agent = Agent::new();
    let mut searches = Vec::new();
    for day in 0..DAYS {
        let now = Timestamp(day as i64 * DAY);
        let of_day = (0..CONVERSATIONS_A_DAY)
            .filter(|number| agent.converse(&format!("{day}/{number}"), now))
            .count();
        searches.push(of_day);
    }
    let week = |number: usize| searches[7 * number..7 * (number + 1)].iter().sum::<usize>();
    let weeks = [week(0), week(1), week(2), week(3)];
    assert!(weeks[0] >= 10, "{weeks:?}");
    assert!(weeks[3] * 5 <= weeks[0], "{weeks:?}");
    assert!(
        weeks.is_sorted_by(|earlier, later| earlier >= later),
        "{weeks:?}"
    );
}
