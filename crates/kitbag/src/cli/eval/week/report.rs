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
    /// Number of unrelated searches, repeated at the end of each day.
    unrelated: usize,
    /// Number of them whose top five differ from those without learning.
    unrelated_changed: usize,
    /// Searches for other tools of the same servers, at the end of each day.
    neighbours: FoundFigures,
    /// All wordings of the tasks, searched at the end of the week.
    asked: FoundFigures,
}

/// Requests with known right tools.
#[derive(Debug, Default)]
struct FoundFigures {
    requests: usize,
    /// Requests with all right tools in the top five, without and with learning.
    found_off: usize,
    found: usize,
    /// Requests that gained a missing tool, and requests that lost one, through learning.
    recovered: usize,
    lost: usize,
    /// Requests that gained a wrong tool through learning.
    disturbed: usize,
}

impl WeekFigures {
    pub(super) fn new(work: &Work) -> Self {
        Self {
            servers: work.servers,
            tools: work.index.len(),
            tasks: work.tasks.len(),
            ..Self::default()
        }
    }

    pub(super) fn measure_unrelated(
        &mut self,
        work: &Work,
        off: &Experience,
        learned: &Experience,
    ) {
        for request in &work.unrelated {
            let [before, after] = [off, learned].map(|it| work.first_five(request, it));
            self.unrelated += 1;
            self.unrelated_changed += usize::from(before != after);
        }
    }

    pub(super) fn measure_neighbours(
        &mut self,
        work: &Work,
        off: &Experience,
        learned: &Experience,
    ) {
        for request in &work.neighbours {
            let first = [off, learned].map(|it| work.first_five(&request.query, it));
            let right: Vec<&str> = request.relevant.iter().map(String::as_str).collect();
            self.neighbours.judge(&first, &right);
        }
    }

    pub(super) fn measure_tasks(&mut self, work: &Work, off: &Experience, learned: &Experience) {
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

    pub(super) fn to_json(&self) -> Value {
        json!({
            "servers": self.servers,
            "tools": self.tools,
            "tasks": self.tasks,
            "calls": self.links.calls,
            "links": self.links.links,
            "wrong_links": self.links.wrong,
            "wrong_links_per_thousand_calls": self.wrong_per_thousand(),
            "unrelated": { "searches": self.unrelated, "changed": self.unrelated_changed },
            "neighbours": self.neighbours.to_json(),
            "tasks_asked": self.asked.to_json(),
        })
    }

    pub(super) fn to_text(&self) -> String {
        let heading = format!(
            "{} of {} with {}\n",
            pluralize(self.tasks, "task"),
            pluralize(self.servers, "server"),
            pluralize(self.tools, "tool"),
        );
        let figure = |what: &str, figure: usize| [what.to_owned(), figure.to_string()];
        let mut rows = vec![
            figure("calls", self.links.calls),
            figure("links from query to called tool", self.links.links),
            [
                "wrong links per thousand calls".to_owned(),
                format!("{:.0}", self.wrong_per_thousand()),
            ],
            figure("unrelated searches", self.unrelated),
            figure(
                "  with a different top five than without learning",
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
    /// `first` are the top five without and with learning.
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

    fn to_json(&self) -> Value {
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
            ("  right in the top five without learning", self.found_off),
            ("  with learning", self.found),
            ("  recovered", self.recovered),
            ("  lost", self.lost),
            ("  with another wrong tool in the top five", self.disturbed),
        ]
        .map(|(what, figure)| [what.to_owned(), figure.to_string()])
    }
}
