//! The habits of the three clients. Chance decides between them, the same chance for the same seed.

use std::collections::HashSet;

use kitbag_domain::Outcome;
use kitbag_relevance::Experience;

use super::super::learning::dice::Dice;
use super::observed::{EventSource, ObservedWeek};
use super::report::WeekFigures;
use super::work::{TaskCall, Work};

const DAYS: i64 = 7;
/// Each client does one or two tasks in one of these, an hour or two of work apart from the others.
const EPISODES_A_DAY: usize = 120;
const DAY: i64 = 86_400_000;
const SECOND: i64 = 1_000;
/// The share of calls that fail.
const FAILS: f64 = 0.04;
/// The share of searches after which the client takes a wrong tool first.
const MISTAKES: f64 = 0.03;

const SEARCHER: &str = "searcher";
const PROGRAMMER: &str = "programmer";
const LISTENER: &str = "listener";

pub(super) struct WorkingWeek<'a> {
    work: &'a Work,
    observed: ObservedWeek<'a>,
    dice: Dice,
    at: i64,
    runs: u64,
}

impl<'a> WorkingWeek<'a> {
    pub(super) fn new(work: &'a Work, seed: u64) -> Self {
        Self {
            work,
            observed: ObservedWeek::new(work),
            dice: Dice::new(seed, 0),
            at: 0,
            runs: 0,
        }
    }

    /// Works for the week, and asks at the end of each day.
    pub(super) fn work(mut self) -> WeekFigures {
        let mut figures = WeekFigures::of(self.work);
        let nothing = Experience::default();
        for day in 0..DAYS {
            self.at = self.at.max(day * DAY);
            for _ in 0..EPISODES_A_DAY {
                self.pass(20, 240);
                match self.dice.pick(&[SEARCHER, PROGRAMMER, LISTENER]) {
                    Some(&SEARCHER) => self.search_then_call(),
                    Some(&PROGRAMMER) => self.run_programs(),
                    _ => self.listen_then_call(),
                }
            }
            figures.ask_unrelated(self.work, &nothing, &self.observed.learned);
            figures.ask_neighbours(self.work, &nothing, &self.observed.learned);
        }
        figures.ask_tasks(self.work, &nothing, &self.observed.learned);
        figures.links = self.observed.links;
        figures
    }

    fn search_then_call(&mut self) {
        if self.dice.happens(0.4) {
            return self.call_unannounced(SEARCHER, None);
        }
        let task = self.some_task();
        let mut found = self.search(SEARCHER, None, task);
        let calls = &self.work.tasks[task].calls;
        if !found.contains(&calls[0].tool) && self.dice.happens(0.5) {
            found = self.search(SEARCHER, None, task);
        }
        if self.dice.happens(MISTAKES) {
            self.mistake(task, &found);
            self.search(SEARCHER, None, task);
        }
        self.call(SEARCHER, None, task, Some(task));
        if self.dice.happens(0.3) {
            self.call_unannounced(SEARCHER, None);
        }
    }

    fn run_programs(&mut self) {
        if self.dice.happens(0.4) {
            return self.call_unannounced(PROGRAMMER, None);
        }
        self.runs += 1;
        let run = Some(self.runs);
        if self.dice.happens(0.7) {
            let task = self.some_task();
            self.search(PROGRAMMER, run, task);
            self.call(PROGRAMMER, run, task, Some(task));
        }
        self.call_unannounced(PROGRAMMER, run);
    }

    fn listen_then_call(&mut self) {
        if self.dice.happens(0.5) {
            return self.call_unannounced(LISTENER, None);
        }
        let task = self.some_task();
        let words = self.words_of(task);
        let found = self.work.first_five(words, &self.observed.learned);
        let source = self.source(None, None);
        self.observed.searched(&source, words, &found);
        self.call(LISTENER, None, task, Some(task));
        if self.dice.happens(0.5) {
            self.call_unannounced(LISTENER, None);
        }
    }

    /// Does one or two tasks without any words.
    fn call_unannounced(&mut self, client: &'static str, run: Option<u64>) {
        for _ in 0..1 + usize::from(self.dice.happens(0.5)) {
            let task = self.some_task();
            self.call(client, run, task, None);
        }
    }

    fn search(&mut self, client: &'static str, run: Option<u64>, task: usize) -> Vec<String> {
        let words = self.words_of(task);
        let found = self.work.first_five(words, &self.observed.learned);
        let source = self.source(Some(client), run);
        self.observed.searched(&source, words, &found);
        found
    }

    fn call(&mut self, client: &'static str, run: Option<u64>, task: usize, cause: Option<usize>) {
        for call in &self.work.tasks[task].calls {
            let outcome = match self.dice.happens(FAILS) {
                true => Outcome::ToolError,
                false => Outcome::Ok,
            };
            let source = self.source(Some(client), run);
            self.observed.called(&source, call, cause, outcome);
        }
    }

    /// Calls another tool that was found.
    fn mistake(&mut self, task: usize, found: &[String]) {
        let right: HashSet<&str> = self.work.tasks[task]
            .calls
            .iter()
            .map(|it| it.tool.as_str())
            .collect();
        let wrong: Vec<&String> = found
            .iter()
            .filter(|it| !right.contains(it.as_str()))
            .collect();
        let Some(tool) = self.dice.pick(&wrong) else {
            return;
        };
        let call = TaskCall {
            tool: (*tool).clone(),
            arguments: serde_json::json!({}),
        };
        let source = self.source(Some(SEARCHER), None);
        self.observed
            .called(&source, &call, Some(task), Outcome::Ok);
    }

    fn some_task(&mut self) -> usize {
        let tasks: Vec<usize> = (0..self.work.tasks.len()).collect();
        // Of two throws the lower one counts, so that some tasks are far more common than others.
        let throws = [0, 1].map(|_| self.dice.pick(&tasks).copied().unwrap_or_default());
        throws[0].min(throws[1])
    }

    fn words_of(&mut self, task: usize) -> &'a str {
        let words = &self.work.tasks[task].words;
        self.dice.pick(words).map_or("", String::as_str)
    }

    fn source(&mut self, client: Option<&'static str>, run: Option<u64>) -> EventSource {
        match run {
            Some(_) => self.at += SECOND / 10,
            None => self.pass(5, 40),
        }
        EventSource {
            client,
            run,
            at: self.at,
        }
    }

    /// Lets a number of seconds pass, from the first to the second.
    fn pass(&mut self, least: i64, most: i64) {
        let seconds: Vec<i64> = (least..=most).collect();
        self.at += SECOND * self.dice.pick(&seconds).copied().unwrap_or(least);
    }
}
