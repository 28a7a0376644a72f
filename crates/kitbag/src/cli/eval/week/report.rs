//! The figures of the week, for people and for programs.

use kitbag_relevance::Experience;
use serde_json::{Value, json};

use super::observed::LinkFigures;
use super::work::Work;
use crate::cli::output::{format_table, pluralize};

#[derive(Debug, Default)]
pub(super) struct WeekFigures {
    servers: usize,
    tools: usize,
    tasks: usize,
    pub(super) links: LinkFigures,
    /// Searches that have nothing to do with the work, asked at the end of each day.
    unrelated: usize,
    /// Those whose first five tools are not the same, in the same order, as with learning off.
    unrelated_changed: usize,
    /// Searches for other tools of the same servers, asked at the end of each day.
    neighbours: FoundFigures,
    /// The tasks, asked at the end of the week in all wordings.
    asked: FoundFigures,
}

/// Requests whose right tools are known.
#[derive(Debug, Default)]
struct FoundFigures {
    requests: usize,
    /// Requests whose tools are all among the first five with learning off, and after learning.
    found_off: usize,
    found: usize,
    /// Requests that learning brought the missing tool to, and those that it took one from.
    recovered: usize,
    lost: usize,
    /// Requests that learning brought another tool than the right ones to.
    disturbed: usize,
}

impl WeekFigures {
    pub(super) fn of(work: &Work) -> Self {
        Self {
            servers: work.servers,
            tools: work.index.len(),
            tasks: work.tasks.len(),
            ..Self::default()
        }
    }

    pub(super) fn ask_unrelated(&mut self, work: &Work, off: &Experience, learned: &Experience) {
        for request in &work.unrelated {
            let [before, after] = [off, learned].map(|it| work.first_five(request, it));
            self.unrelated += 1;
            self.unrelated_changed += usize::from(before != after);
        }
    }

    pub(super) fn ask_neighbours(&mut self, work: &Work, off: &Experience, learned: &Experience) {
        for request in &work.neighbours {
            let first = [off, learned].map(|it| work.first_five(&request.query, it));
            let right: Vec<&str> = request.relevant.iter().map(String::as_str).collect();
            self.neighbours.judge(&first, &right);
        }
    }

    pub(super) fn ask_tasks(&mut self, work: &Work, off: &Experience, learned: &Experience) {
        for task in &work.tasks {
            let right: Vec<&str> = task.calls.iter().map(|it| it.tool.as_str()).collect();
            for request in task.wordings() {
                let first = [off, learned].map(|it| work.first_five(request, it));
                self.asked.judge(&first, &right);
            }
        }
    }

    fn wrong_per_thousand(&self) -> f64 {
        1_000.0 * self.links.wrong as f64 / self.links.calls.max(1) as f64
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "servers": self.servers,
            "tools": self.tools,
            "tasks": self.tasks,
            "calls": self.links.calls,
            "links": self.links.links,
            "wrong_links": self.links.wrong,
            "wrong_links_per_thousand_calls": self.wrong_per_thousand(),
            "unrelated": { "searches": self.unrelated, "changed": self.unrelated_changed },
            "neighbours": self.neighbours.json(),
            "tasks_asked": self.asked.json(),
        })
    }

    pub(super) fn for_people(&self) -> String {
        let heading = format!(
            "{} of {} with {}\n",
            pluralize(self.tasks, "task"),
            pluralize(self.servers, "server"),
            pluralize(self.tools, "tool"),
        );
        let figure = |what: &str, figure: usize| [what.to_owned(), figure.to_string()];
        let mut rows = vec![
            figure("calls", self.links.calls),
            figure("links of words and the tool of a call", self.links.links),
            [
                "wrong links per thousand calls".to_owned(),
                format!("{:.0}", self.wrong_per_thousand()),
            ],
            figure("unrelated searches", self.unrelated),
            figure(
                "  with another first five than with learning off",
                self.unrelated_changed,
            ),
        ];
        rows.push(figure("searches for other tools", self.neighbours.requests));
        rows.extend(self.neighbours.rows());
        rows.push(figure("searches for the tasks", self.asked.requests));
        rows.extend(self.asked.rows());
        heading + &format_table(["FIGURE", ""], rows)
    }
}

impl FoundFigures {
    /// `first` are the first five with learning off, and after learning.
    fn judge(&mut self, first: &[Vec<String>; 2], right: &[&str]) {
        let [before, after] = first;
        let finds = |first: &[String]| right.iter().all(|it| first.iter().any(|tool| tool == it));
        let (found_before, found) = (finds(before), finds(after));
        let mut brought = after.iter().filter(|tool| !before.contains(tool));
        self.requests += 1;
        self.found_off += usize::from(found_before);
        self.found += usize::from(found);
        self.recovered += usize::from(found && !found_before);
        self.lost += usize::from(found_before && !found);
        self.disturbed += usize::from(brought.any(|tool| !right.contains(&tool.as_str())));
    }

    fn json(&self) -> Value {
        json!({
            "requests": self.requests,
            "found_without_learning": self.found_off,
            "found": self.found,
            "recovered": self.recovered,
            "lost": self.lost,
            "disturbed": self.disturbed,
        })
    }

    fn rows(&self) -> [[String; 2]; 5] {
        [
            (
                "  right among the first five with learning off",
                self.found_off,
            ),
            ("  after learning", self.found),
            ("  recovered", self.recovered),
            ("  lost", self.lost),
            (
                "  with another wrong tool among the first five",
                self.disturbed,
            ),
        ]
        .map(|(what, figure)| [what.to_owned(), figure.to_string()])
    }
}
