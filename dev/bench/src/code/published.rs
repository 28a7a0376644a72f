//! A peer's tasks, read from its files, and Kitbag's program for each of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// The files that a peer publishes: `eval_tasks_r3.json` and `round3.json` of Bifrost.
#[derive(Debug)]
pub(super) struct TaskFiles {
    pub(super) tasks: PathBuf,
    pub(super) tools: PathBuf,
}

#[derive(Debug)]
pub(super) struct PublishedTask {
    pub(super) id: String,
    pub(super) request: String,
    /// The required tools, under their names at a gateway.
    pub(super) expected: Vec<String>,
    /// True if at least one tool has the name that the task expects.
    pub(super) names_a_tool: bool,
}

/// A program as a model could have written it, and its prior searches.
#[derive(Debug)]
pub(super) struct TaskProgram {
    pub(super) code: String,
    searches: Vec<String>,
}

/// Names in tasks, and the listed names of the same tools.
const RENAMED: [(&str, &str); 5] = [
    ("get_hacker_news_frontpage", "get_frontpage"),
    ("list_apollo_contact_stages", "list_contact_stages"),
    ("apollo_people_search", "people_search"),
    ("search_organizations_in_apollo", "search_organizations"),
    ("create_a_google_sheet", "create_spreadsheet"),
];

impl TaskFiles {
    pub(super) fn tools(&self) -> anyhow::Result<Vec<Value>> {
        list(&self.tools)
    }

    pub(super) fn tasks(&self) -> anyhow::Result<Vec<PublishedTask>> {
        let tools = self.tools()?;
        let tasks = list(&self.tasks)?;
        tasks
            .iter()
            .map(|task| PublishedTask::read(task, &tools))
            .collect()
    }
}

impl PublishedTask {
    fn read(task: &Value, tools: &[Value]) -> anyhow::Result<Self> {
        let id = text(&task["id"]);
        let names: Vec<&str> = texts(&task["expected_tools"]).collect();
        let servers: Vec<&str> = texts(&task["expected_servers"]).collect();
        let expected: Option<Vec<String>> = names
            .iter()
            .map(|name| exposed_name(listed_name(name), &servers, tools))
            .collect();
        let mut as_expected = names.iter().map(|name| exposed_name(name, &servers, tools));
        Ok(Self {
            id: id.to_owned(),
            request: text(&task["query"]).to_owned(),
            names_a_tool: as_expected.any(|found| found.is_some()),
            expected: expected
                .with_context(|| format!("{id} expects a tool that is not in the list"))?,
        })
    }
}

impl TaskProgram {
    pub(super) fn read(folder: &Path, id: &str) -> anyhow::Result<Self> {
        let path = folder.join(format!("{id}.js"));
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// The first line is the purpose, the second the searches.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let mut lines = text.splitn(3, '\n').skip(1);
        let (Some(searches), Some(code)) = (lines.next(), lines.next()) else {
            bail!("a program needs a line about its purpose, one with its searches, and code");
        };
        let searches = searches
            .strip_prefix("// search: ")
            .context("the second line does not begin with `// search: `")?;
        Ok(Self {
            code: code.trim_end().to_owned(),
            searches: searches.split("; ").map(str::to_owned).collect(),
        })
    }

    /// Returns the program that searches for the tools.
    pub(super) fn search(&self) -> String {
        search_program(&self.searches)
    }

    /// Returns the same program, changed to return the calls that it makes.
    pub(super) fn recording_program(&self) -> String {
        const BEFORE: &str = "\
const made = [];
const recorded = (server, tool) => args => {
  made.push({ tool: `${server}__${tool}`, arguments: args ?? {} });
  return tools[server][tool](args);
};
const server = name => new Proxy({}, { get: (_, tool) => recorded(name, tool) });
await (async tools => {
";
        const AFTER: &str = "
})(new Proxy({}, { get: (_, name) => server(name) }));
return made;
";
        [BEFORE, &self.code, AFTER].concat()
    }
}

/// Returns a program that searches like a model.
pub(super) fn search_program(texts: &[String]) -> String {
    match texts {
        [one] => format!("return await search({})", json!(one)),
        several => format!(
            "return await Promise.all({}.map(text => search(text, {{ limit: 3 }})))",
            json!(several)
        ),
    }
}

fn listed_name(expected: &str) -> &str {
    let renamed = RENAMED.iter().find(|(old, _)| *old == expected);
    renamed.map_or(expected, |(_, listed)| listed)
}

/// Returns the name of a tool at the gateway. Tasks spell some servers differently than the list.
fn exposed_name(name: &str, servers: &[&str], tools: &[Value]) -> Option<String> {
    let mut named = tools.iter().filter(|tool| tool["tool_name"] == name);
    let tool = named.find(|tool| {
        let own = text(&tool["server"]);
        servers
            .iter()
            .any(|server| server.eq_ignore_ascii_case(own))
    })?;
    Some(format!("{}__{name}", text(&tool["server"])))
}

fn list(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not a list", path.display()))
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().map(text)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_finds_its_tools_under_other_spellings() {
        let tools = [
            json!({ "server": "SQLite", "tool_name": "query" }),
            json!({ "server": "HackerNews", "tool_name": "get_frontpage" }),
        ];
        let task = json!({
            "id": "T1", "query": "do it", "expected_servers": ["SqLite", "HackerNews"],
            "expected_tools": ["query", "get_hacker_news_frontpage"],
        });
        let task = PublishedTask::read(&task, &tools).unwrap();
        assert_eq!(
            task.expected,
            ["SQLite__query", "HackerNews__get_frontpage"]
        );
        assert!(task.names_a_tool);
    }

    #[test]
    fn a_program_is_separated_from_its_searches() {
        let program = TaskProgram::parse("// Why.\n// search: a b; c\nreturn 1;\n").unwrap();
        assert_eq!(program.code, "return 1;");
        assert_eq!(program.searches, ["a b", "c"]);
    }
}
