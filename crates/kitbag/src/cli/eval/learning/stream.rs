//! The stream of use: which requests are replayed, and what each teaches.
//!
//! For each request the client sees the first five tools of the static ranking and calls the right one.
//! If it is among the five, it was found and used. Otherwise the query text comes with the call, as
//! through the model proxy; with `--found-only` it does not, and the call teaches nothing about it. Tools
//! that were shown but not called count as bypassed.

use std::collections::{HashMap, HashSet};

use kitbag_relevance::{Lesson, Signal};

use super::dice::Dice;
use super::{NOW, ReplayedRequest, ReplayedSet};

/// The number of tools that a model sees by default.
pub(super) const SHOWN: usize = 5;

/// Indices of the replayed and of the held-out requests.
pub(super) struct StreamSplit {
    pub(super) stream: Vec<usize>,
    pub(super) held_out: Vec<usize>,
}

impl StreamSplit {
    /// Holds out about half of the requests of each tool. The only request of a tool is held out, since
    /// nothing could be measured after replaying it.
    pub(super) fn split_requests(requests: &[ReplayedRequest], dice: &mut Dice) -> Self {
        let mut order: Vec<usize> = (0..requests.len()).collect();
        dice.shuffle(&mut order);
        let mut halves = HalfBalance::count_requests(requests);
        let (stream, held_out) = order
            .into_iter()
            .partition(|number| halves.assign_to_stream(&requests[*number].relevant, dice));
        Self { stream, held_out }
    }
}

/// Assigns requests so that each tool has about as many in one half as in the other.
struct HalfBalance<'a> {
    requests: HashMap<&'a str, usize>,
    /// Per tool, its requests in the stream minus its held-out requests.
    stream_surplus: HashMap<&'a str, i32>,
}

impl<'a> HalfBalance<'a> {
    fn count_requests(requests: &'a [ReplayedRequest]) -> Self {
        let mut halves = Self {
            requests: HashMap::new(),
            stream_surplus: HashMap::new(),
        };
        for tool in requests.iter().flat_map(|it| &it.relevant) {
            *halves.requests.entry(tool).or_default() += 1;
        }
        halves
    }

    /// True if a request for these tools goes to the stream.
    fn assign_to_stream(&mut self, tools: &'a [String], dice: &mut Dice) -> bool {
        let goes = self.can_teach(tools) && self.is_stream_behind(tools, dice);
        for tool in tools {
            *self.stream_surplus.entry(tool).or_default() += if goes { 1 } else { -1 };
        }
        goes
    }

    fn can_teach(&self, tools: &[String]) -> bool {
        tools.iter().any(|tool| self.requests[tool.as_str()] > 1)
    }

    fn is_stream_behind(&self, tools: &[String], dice: &mut Dice) -> bool {
        let ahead = tools
            .iter()
            .filter_map(|tool| self.stream_surplus.get(tool.as_str()));
        match ahead.sum::<i32>() {
            0 => dice.chance(0.5),
            ahead => ahead < 0,
        }
    }
}

/// How the simulated clients behave.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientHabits {
    /// Share of uses of a wrong tool.
    pub(super) wrong: f64,
    /// Calls of tools that were not shown come without query text.
    pub(super) found_only: bool,
}

/// The lessons of a stream, and the tools they are about.
pub(super) struct StreamLessons<'a> {
    pub(super) lessons: Vec<Lesson>,
    pub(super) used: HashSet<&'a str>,
}

impl<'a> StreamLessons<'a> {
    /// Replays the stream until each tool was used `uses` times, or all its requests are replayed.
    pub(super) fn from_stream(
        set: &'a ReplayedSet,
        split: &StreamSplit,
        uses: usize,
        habits: ClientHabits,
        dice: Dice,
    ) -> Self {
        let mut teaching = StreamReplay {
            set,
            habits,
            dice,
            uses: HashMap::new(),
            lessons: Vec::new(),
        };
        for number in &split.stream {
            teaching.replay_request(*number, uses);
        }
        Self {
            lessons: teaching.lessons,
            used: teaching.uses.into_keys().collect(),
        }
    }
}

struct StreamReplay<'a> {
    set: &'a ReplayedSet,
    habits: ClientHabits,
    dice: Dice,
    uses: HashMap<&'a str, usize>,
    lessons: Vec<Lesson>,
}

impl<'a> StreamReplay<'a> {
    fn replay_request(&mut self, number: usize, uses: usize) {
        let set = self.set;
        let request = &set.requests[number];
        let mut called = Vec::new();
        for tool in &request.relevant {
            let so_far = self.uses.entry(tool).or_default();
            if *so_far < uses {
                *so_far += 1;
                called.push(self.choose_call(tool, request));
            }
        }
        for tool in &called {
            match request.shown_tools().contains(tool) {
                true => self.add_lesson(number, tool, Signal::FoundThenUsed),
                false if self.habits.found_only => {}
                false => self.add_lesson(number, tool, Signal::SaidThenUsed),
            }
        }
        if called
            .iter()
            .any(|tool| request.shown_tools().contains(tool))
        {
            let bypassed = request
                .shown_tools()
                .iter()
                .filter(|tool| !called.contains(tool));
            bypassed.for_each(|tool| self.add_lesson(number, tool, Signal::Bypassed));
        }
    }

    /// Returns the called tool: the right one, or by mistake one of the shown tools or any other.
    fn choose_call(&mut self, right: &'a String, request: &'a ReplayedRequest) -> &'a String {
        if !self.dice.chance(self.habits.wrong) {
            return right;
        }
        let shown = request.shown_tools().iter();
        let mistakes: Vec<&String> = shown.filter(|it| !request.relevant.contains(it)).collect();
        if self.dice.chance(0.5)
            && let Some(mistake) = self.dice.pick(&mistakes)
        {
            return mistake;
        }
        self.dice.pick(&self.set.tools).unwrap_or(right)
    }

    /// Adds a lesson; each request is its own session.
    fn add_lesson(&mut self, number: usize, tool: &str, signal: Signal) {
        let context = self.set.requests[number].intent.as_query().vector;
        self.lessons.push(Lesson {
            tool: tool.to_owned(),
            context: context.unwrap_or_default().into(),
            signal,
            at: NOW,
            session: number as u64,
            id: self.lessons.len() as i64,
        });
    }
}

impl ReplayedRequest {
    fn shown_tools(&self) -> &[String] {
        &self.ranked[..self.ranked.len().min(SHOWN)]
    }
}
