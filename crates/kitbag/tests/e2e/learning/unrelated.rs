//! Calls unrelated to the query before them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Gateway, Home, Remote, until};

const READ: &str = "read a file";
const READ_AND_COMMIT: &str = "read a file then commit it";

/// A gateway in front of servers for files, version control, the time and a memory.
struct DeveloperGateway {
    gateway: Gateway,
    _servers: Remote,
}

impl DeveloperGateway {
    async fn open() -> Self {
        let home = Home::new("");
        let (names, tools): (Vec<&str>, Vec<Value>) = tools().into_iter().unzip();
        let lines = names.iter().zip(&tools);
        let lines =
            lines.map(|(server, tool)| json!({ "server": server, "tool": tool }).to_string());
        let lines: Vec<String> = lines.collect();
        std::fs::write(home.path("desk.jsonl"), lines.join("\n")).unwrap();
        let catalog = home.path("desk.jsonl");
        let servers = Remote::http(&["--catalog", catalog.to_str().unwrap()]).await;
        let url = servers.url.trim_end_matches('/').to_owned();
        let table = |server: &str| format!("[servers.{server}]\nurl = \"{url}/{server}/mcp\"\n");
        let tables = ["filesystem", "git", "time", "memory"].map(table).concat();
        home.configure(&format!(
            "{tables}[code]\nsurfaces = ['code', 'search']\n[learning]\nkeep_words = true\n"
        ));
        let gateway = home.serve().await;
        let count = tools.len();
        until("all tools can be found", async || {
            let log = gateway.log();
            log.contains(&format!("tools={count} embedded={count}"))
                .then_some(())
        })
        .await;
        Self {
            gateway,
            _servers: servers,
        }
    }

    fn home(&self) -> &Arc<Home> {
        &self.gateway.home
    }

    /// The lessons with query text, as `signal tool words`.
    async fn lessons(&self) -> Vec<String> {
        let exported = self.home().kitbag(&["learned", "export"]).await.stdout;
        let lines = exported.lines().filter(|line| !line.is_empty());
        let lessons = lines.map(|line| {
            let lesson: Value = serde_json::from_str(line).unwrap();
            let part = |name: &str| lesson[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", part("signal"), part("tool"), part("words"))
        });
        lessons.collect()
    }

    /// Waits for a lesson that the tool was used, for any query.
    async fn until_used(&self, tool: &str) {
        until("the last call has taught", async || {
            let lessons = self.lessons().await;
            let mut parts = lessons
                .iter()
                .map(|it| it.split(' ').take(2).collect::<Vec<_>>());
            parts
                .any(|it| it[0].contains("used") && it[1] == tool)
                .then_some(())
        })
        .await;
    }
}

/// The tools of each server.
fn tools() -> Vec<(&'static str, Value)> {
    let tools = [
        (
            "filesystem",
            "read_text_file",
            "Returns the text of a file.",
            "path",
        ),
        (
            "filesystem",
            "read_media_file",
            "Returns a picture or a sound file.",
            "path",
        ),
        (
            "filesystem",
            "read_multiple_files",
            "Reads several files at once.",
            "path",
        ),
        ("filesystem", "write_file", "Writes a file anew.", "path"),
        (
            "filesystem",
            "edit_file",
            "Changes lines of a text file.",
            "path",
        ),
        (
            "filesystem",
            "list_directory",
            "Lists the files in a folder.",
            "path",
        ),
        (
            "filesystem",
            "move_file",
            "Moves or renames a file.",
            "path",
        ),
        (
            "filesystem",
            "get_file_info",
            "The size and the times of a file.",
            "path",
        ),
        (
            "git",
            "git_commit",
            "Records the staged changes in the repository.",
            "message",
        ),
        (
            "git",
            "git_status",
            "Shows the state of the working tree.",
            "repo",
        ),
        ("git", "git_log", "Shows the commits.", "repo"),
        (
            "git",
            "git_add",
            "Stages files for the next commit.",
            "repo",
        ),
        (
            "git",
            "git_diff",
            "Shows what differs between commits.",
            "repo",
        ),
        (
            "time",
            "get_current_time",
            "The time now in a time zone.",
            "timezone",
        ),
        (
            "time",
            "convert_time",
            "Converts a time between time zones.",
            "timezone",
        ),
        (
            "memory",
            "read_graph",
            "Returns the whole knowledge graph.",
            "note",
        ),
        (
            "memory",
            "search_nodes",
            "Searches entities in the knowledge graph.",
            "query",
        ),
        (
            "memory",
            "create_entities",
            "Creates entities in the knowledge graph.",
            "name",
        ),
    ];
    let tools = tools.into_iter();
    tools
        .map(|(server, name, description, parameter)| {
            let tool = json!({
                "name": name, "description": description,
                "inputSchema": { "type": "object", "properties": { parameter: { "type": "string" } } },
                "annotations": { "readOnlyHint": true },
            });
            (server, tool)
        })
        .collect()
}

/// The first five tools that a search returns.
async fn search_tools(client: &Client, words: &str) -> Vec<String> {
    let asked = json!({ "query": words, "limit": 5 });
    let output = client
        .call("search_available_tools", &asked)
        .await
        .tool_text();
    let names = output.lines().filter_map(|line| line.split_once('('));
    let names = names
        .map(|(name, _)| name)
        .filter(|name| name.contains("__"));
    names.map(str::to_owned).collect()
}

async fn call(client: &Client, tool: &str, arguments: Value) {
    let call = json!({ "tool": tool, "arguments": arguments });
    client.call("call_api", &call).await.tool_text();
}

#[tokio::test]
async fn unrelated_calls_after_a_search_leave_its_tools_where_they_were() {
    let setup = DeveloperGateway::open().await;
    for era in Era::each() {
        let client = setup.gateway.client_at("/mcp/search", era).connect().await;
        let before = [
            search_tools(&client, READ).await,
            search_tools(&client, READ_AND_COMMIT).await,
        ];
        let program = "const [first] = await search('read a file');\n\
             await call('filesystem__read_text_file', { path: 'notes.txt' });\n\
             await tools.time.get_current_time({ timezone: 'Europe/Zurich' });\n\
             return first.name";
        let ran = client.call("run_code", &json!({ "code": program })).await;
        let output = ran.tool_text();
        assert!(output.contains("time__get_current_time"), "{output}");
        for number in 0..10 {
            let zone = format!("Zone/{number}");
            call(
                &client,
                "time__get_current_time",
                json!({ "timezone": zone }),
            )
            .await;
            call(&client, "memory__read_graph", json!({})).await;
            let query = format!("person {number}");
            call(&client, "memory__search_nodes", json!({ "query": query })).await;
            let batched = ["time__convert_time", "memory__create_entities"]
                .map(|tool| json!({ "tool": tool, "arguments": {} }));
            client
                .call("batch_execute", &json!({ "calls": batched }))
                .await;
        }
        // Lessons are written in the order of the calls, so this is the last one.
        let last = last_tool(era);
        call(&client, last, json!({})).await;
        setup.until_used(last).await;

        let lessons = setup.lessons().await;
        let about_words =
            |lesson: &&String| lesson.ends_with(READ) || lesson.ends_with(READ_AND_COMMIT);
        for lesson in lessons.iter().filter(about_words) {
            assert!(
                !lesson.contains(" time__") && !lesson.contains(" memory__"),
                "{lesson}"
            );
        }
        let used = "found_then_used filesystem__read_text_file read a file";
        assert!(lessons.iter().any(|it| it == used), "{lessons:?}");
        let after = [
            search_tools(&client, READ).await,
            search_tools(&client, READ_AND_COMMIT).await,
        ];
        for (before, after) in before.iter().zip(&after) {
            assert!(
                after.iter().any(|it| it.starts_with("filesystem__read_")),
                "{after:?}"
            );
            let far = |it: &&String| it.starts_with("time__") || it.starts_with("memory__");
            let pushed_in: Vec<&String> = after
                .iter()
                .filter(far)
                .filter(|it| !before.contains(it))
                .collect();
            assert!(pushed_in.is_empty(), "{before:?} {after:?}");
        }
    }
}

/// A tool that is called once, at the end.
fn last_tool(era: Era) -> &'static str {
    match era {
        Era::Legacy => "git__git_status",
        Era::Modern => "git__git_log",
    }
}

#[tokio::test]
async fn a_users_prompt_is_linked_to_the_calls_that_its_answer_or_their_arguments_show() {
    let setup = DeveloperGateway::open().await;
    let said = json!({ "text": "move or rename the harvest report file" }).to_string();
    let url = format!("{}/v1/context", setup.gateway.base);
    let heard = reqwest::Client::new().post(url).body(said).send().await;
    let heard: Value = serde_json::from_str(&heard.unwrap().text().await.unwrap()).unwrap();
    assert!(
        heard["tools"].to_string().contains("filesystem__move_file"),
        "{heard}"
    );
    let client = setup
        .gateway
        .client_at("/mcp/search", Era::Modern)
        .connect()
        .await;
    call(
        &client,
        "filesystem__move_file",
        json!({ "path": "q3.txt" }),
    )
    .await;
    let note = json!({ "query": "report of the harvest" });
    call(&client, "memory__search_nodes", note).await;
    call(
        &client,
        "time__get_current_time",
        json!({ "timezone": "Asia/Tokyo" }),
    )
    .await;
    setup.until_used("time__get_current_time").await;
    let lessons = setup.lessons().await;
    let linked: Vec<&String> = lessons
        .iter()
        .filter(|it| it.ends_with("report file"))
        .collect();
    let used: Vec<&&String> = linked
        .iter()
        .filter(|it| it.contains("_then_used"))
        .collect();
    assert_eq!(
        used,
        [
            &"found_then_used filesystem__move_file move or rename the harvest report file",
            &"said_then_used memory__search_nodes move or rename the harvest report file",
        ]
    );
}
