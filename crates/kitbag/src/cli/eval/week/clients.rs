//! The behaviour of the three clients, random but reproducible from the seed.

use std::collections::HashSet;

use kitbag_domain::Outcome;
use kitbag_relevance::Experience;

use super::super::learning::dice::Dice;
use super::observed::{EventSource, ObservedWeek};
use super::report::WeekFigures;
use super::work::{TaskCall, Work};

const DAYS: i64 = 7;
/// A client does one or two tasks per episode; episodes are an hour or two apart.
const EPISODES_A_DAY: usize = 120;
const DAY: i64 = 86_400_000;
const SECOND: i64 = 1_000;
/// Share of calls that fail.
const FAILS: f64 = 0.04;
/// Share of searches after which the client first calls a wrong tool.
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

    /// Simulates the week, and measures at the end of each day.
    pub(super) fn run_week(mut self) -> WeekFigures {
        let mut figures = WeekFigures::new(self.work);
        let nothing = Experience::default();
        for day in 0..DAYS {
            self.at = self.at.max(day * DAY);
            for _ in 0..EPISODES_A_DAY {
                self.pass_seconds(20, 240);
                match self.dice.pick(&[SEARCHER, PROGRAMMER, LISTENER]) {
                    Some(&SEARCHER) => self.search_then_call(),
                    Some(&PROGRAMMER) => self.run_programs(),
                    _ => self.listen_then_call(),
                }
            }
            figures.measure_unrelated(self.work, &nothing, &self.observed.learned);
            figures.measure_neighbours(self.work, &nothing, &self.observed.learned);
        }
        figures.measure_tasks(self.work, &nothing, &self.observed.learned);
        figures.links = self.observed.links;
        figures
    }

    fn search_then_call(&mut self) {
        if self.dice.chance(0.4) {
            return self.call_without_search(SEARCHER, None);
        }
        let task = self.pick_task();
        let mut found = self.search_task(SEARCHER, None, task);
        let calls = &self.work.tasks[task].calls;
        if !found.contains(&calls[0].tool) && self.dice.chance(0.5) {
            found = self.search_task(SEARCHER, None, task);
        }
        if self.dice.chance(MISTAKES) {
            self.call_wrong_tool(task, &found);
            self.search_task(SEARCHER, None, task);
        }
        self.call_task_tools(SEARCHER, None, task, Some(task));
        if self.dice.chance(0.3) {
            self.call_without_search(SEARCHER, None);
        }
    }

    fn run_programs(&mut self) {
        if self.dice.chance(0.4) {
            return self.call_without_search(PROGRAMMER, None);
        }
        self.runs += 1;
        let run = Some(self.runs);
        if self.dice.chance(0.7) {
            let task = self.pick_task();
            self.search_task(PROGRAMMER, run, task);
            self.call_task_tools(PROGRAMMER, run, task, Some(task));
        }
        self.call_without_search(PROGRAMMER, run);
    }

    fn listen_then_call(&mut self) {
        if self.dice.chance(0.5) {
            return self.call_without_search(LISTENER, None);
        }
        let task = self.pick_task();
        let words = self.pick_query(task);
        let found = self.work.first_five(words, &self.observed.learned);
        let source = self.event_source(None, None);
        self.observed.record_search(&source, words, &found);
        self.call_task_tools(LISTENER, None, task, Some(task));
        if self.dice.chance(0.5) {
            self.call_without_search(LISTENER, None);
        }
    }

    /// Does one or two tasks without a search.
    fn call_without_search(&mut self, client: &'static str, run: Option<u64>) {
        for _ in 0..1 + usize::from(self.dice.chance(0.5)) {
            let task = self.pick_task();
            self.call_task_tools(client, run, task, None);
        }
    }

    fn search_task(&mut self, client: &'static str, run: Option<u64>, task: usize) -> Vec<String> {
        let words = self.pick_query(task);
        let found = self.work.first_five(words, &self.observed.learned);
        let source = self.event_source(Some(client), run);
        self.observed.record_search(&source, words, &found);
        found
    }

    fn call_task_tools(
        &mut self,
        client: &'static str,
        run: Option<u64>,
        task: usize,
        cause: Option<usize>,
    ) {
        for call in &self.work.tasks[task].calls {
            let outcome = match self.dice.chance(FAILS) {
                true => Outcome::ToolError,
                false => Outcome::Ok,
            };
            let source = self.event_source(Some(client), run);
            self.observed.record_call(&source, call, cause, outcome);
        }
    }

    /// Calls another tool that was found.
    fn call_wrong_tool(&mut self, task: usize, found: &[String]) {
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
        let source = self.event_source(Some(SEARCHER), None);
        self.observed
            .record_call(&source, &call, Some(task), Outcome::Ok);
    }

    fn pick_task(&mut self) -> usize {
        let tasks: Vec<usize> = (0..self.work.tasks.len()).collect();
        // The lower of two random numbers makes some tasks far more common than others.
        let throws = [0, 1].map(|_| self.dice.pick(&tasks).copied().unwrap_or_default());
        throws[0].min(throws[1])
    }

    fn pick_query(&mut self, task: usize) -> &'a str {
        let words = &self.work.tasks[task].words;
        self.dice.pick(words).map_or("", String::as_str)
    }

    fn event_source(&mut self, client: Option<&'static str>, run: Option<u64>) -> EventSource {
        match run {
            Some(_) => self.at += SECOND / 10,
            None => self.pass_seconds(5, 40),
        }
        EventSource {
            client,
            run,
            at: self.at,
        }
    }

    /// Lets a random number of seconds pass.
    fn pass_seconds(&mut self, least: i64, most: i64) {
        let seconds: Vec<i64> = (least..=most).collect();
        self.at += SECOND * self.dice.pick(&seconds).copied().unwrap_or(least);
    }
}
