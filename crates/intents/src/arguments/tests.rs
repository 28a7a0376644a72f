//! Claims about which values are read from a request, and which requests are not bound.

mod tools;

use serde_json::json;

use self::tools::tool;
use super::*;

fn zones() -> ZoneNames {
    let names = [
        "Asia/Tokyo",
        "Europe/Berlin",
        "America/New_York",
        "UTC",
        "posix/Asia/Tokyo",
    ];
    ZoneNames::new(names.map(str::to_owned))
}

fn describe_call(words: &str, name: &str) -> String {
    let (server, description, class, schema) = tool(name);
    let tool = DescribedTool {
        server,
        name,
        description,
        class,
        schema: &schema,
    };
    match bind(words, &Map::new(), &tool, &zones()) {
        Binding::Complete(call) if call.unexplained == 0 => {
            crate::canonical::text(&Value::Object(call.arguments))
        }
        Binding::Complete(call) => format!("{} unexplained", call.unexplained),
        Binding::Incomplete(missing) => format!("lacks {}", missing.join(", ")),
        Binding::Unrelated => "unrelated".to_owned(),
    }
}

#[track_caller]
fn check(cases: &[(&str, &str, &str)]) {
    let wrong = cases.iter().filter_map(|(words, tool, expected)| {
        let outcome = describe_call(words, tool);
        (outcome != *expected).then(|| format!("{words} | {tool}: {outcome}, not {expected}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn arguments_are_read_from_plain_requests() {
    check(&[
        (
            "read /d/notes.txt",
            "read_file",
            r#"{"path":"/d/notes.txt"}"#,
        ),
        (
            "show the first 3 lines of \"/d/notes.txt\"",
            "read_file",
            r#"{"head":3,"path":"/d/notes.txt"}"#,
        ),
        (
            "show the last 2 lines of notes.txt",
            "read_file",
            r#"{"path":"notes.txt","tail":2}"#,
        ),
        (
            "find *.md files in /d",
            "search_files",
            r#"{"path":"/d","pattern":"**/*.md"}"#,
        ),
        (
            "move /d/a.txt to /d/b.txt",
            "move_file",
            r#"{"destination":"/d/b.txt","source":"/d/a.txt"}"#,
        ),
        (
            "rename a.txt to b.txt",
            "move_file",
            r#"{"destination":"b.txt","source":"a.txt"}"#,
        ),
        (
            "write \"hello\" to /d/a.txt",
            "write_file",
            r#"{"content":"hello","path":"/d/a.txt"}"#,
        ),
        (
            "show the last commit of /d/repo",
            "git_log",
            r#"{"max_count":1,"repo_path":"/d/repo"}"#,
        ),
        (
            "list the last 5 commits in /d/repo",
            "git_log",
            r#"{"max_count":5,"repo_path":"/d/repo"}"#,
        ),
        (
            "convert 3pm from New York to Tokyo",
            "convert_time",
            r#"{"source_timezone":"America/New_York","target_timezone":"Asia/Tokyo","time":"15:00"}"#,
        ),
        (
            "what time is it in Tokyo?",
            "get_current_time",
            r#"{"timezone":"Asia/Tokyo"}"#,
        ),
        (
            "run SELECT a FROM b WHERE c = 'D e'",
            "read_query",
            r#"{"query":"SELECT a FROM b WHERE c = 'D e'"}"#,
        ),
        (
            "run \"SELECT a FROM b\"",
            "read_query",
            r#"{"query":"SELECT a FROM b"}"#,
        ),
        (
            "describe the orders table",
            "describe_table",
            r#"{"table_name":"orders"}"#,
        ),
        (
            "what columns does the table orders have",
            "describe_table",
            r#"{"table_name":"orders"}"#,
        ),
        (
            "find notes about green tea",
            "search_notes",
            r#"{"query":"green tea"}"#,
        ),
        (
            "read A1:B2 of the sheet Sales",
            "read_range",
            r#"{"range":"A1:B2","sheet":"Sales"}"#,
        ),
    ]);
}

#[test]
fn a_unit_or_a_name_goes_to_the_parameter_in_its_direction() {
    check(&[
        (
            "convert 2 hours to minutes",
            "convert_duration",
            r#"{"from_unit":"hour","to_unit":"minute","value":2}"#,
        ),
        (
            "how many minutes are 2 hours",
            "convert_duration",
            r#"{"from_unit":"hour","to_unit":"minute","value":2}"#,
        ),
        (
            "convert 2 light years to hours",
            "convert_duration",
            r#"{"from_unit":"light year","to_unit":"hour","value":2}"#,
        ),
        (
            "convert 5 inches to yards",
            "convert_any",
            r#"{"from_unit":"inches","to_unit":"yards","value":5}"#,
        ),
        (
            "convert 2 hours to inches",
            "convert_duration",
            "lacks to_unit",
        ),
    ]);
}

#[test]
fn a_text_with_a_label_goes_to_that_parameter_only() {
    check(&[
        (
            "add a slide with the title \"Teas\"",
            "add_slide",
            r#"{"title":"Teas"}"#,
        ),
        (
            "add a slide with the title \"Teas\"",
            "create_slide_from_template",
            "lacks template_id",
        ),
        (
            "create a slide from the template \"Teas\"",
            "create_slide_from_template",
            r#"{"template_id":"Teas"}"#,
        ),
    ]);
}

#[test]
fn a_tool_for_any_statement_gets_the_statement() {
    check(&[
        (
            "run SELECT a FROM b",
            "query",
            r#"{"query":"SELECT a FROM b"}"#,
        ),
        ("select a from b", "query", r#"{"query":"select a from b"}"#),
        ("SHOW TABLES", "query", r#"{"query":"SHOW TABLES"}"#),
        ("DROP TABLE b", "query", r#"{"query":"DROP TABLE b"}"#),
        ("SHOW TABLES", "read_query", "unrelated"),
        ("list the tables", "query", "unrelated"),
    ]);
}

#[test]
fn a_tool_that_reads_by_its_name_answers_a_question() {
    check(&[
        (
            "get info about /d/a.pdf",
            "volume_info",
            r#"{"path":"/d/a.pdf"}"#,
        ),
        (
            "show info about /d/a.pdf",
            "volume_info",
            r#"{"path":"/d/a.pdf"}"#,
        ),
        ("delete the info about /d/a.pdf", "volume_info", "unrelated"),
        (
            "show the cache of /d/a.pdf",
            "volume_warm_cache",
            "unrelated",
        ),
        (
            "get info about /d/a.docx",
            "letter_info",
            r#"{"filename":"/d/a.docx"}"#,
        ),
        ("get info about /d/a.pdf", "letter_info", "unrelated"),
        (
            "get info about /d/a.txt",
            "letter_info",
            r#"{"filename":"/d/a.txt"}"#,
        ),
        ("get task 1", "task_get", r#"{"id":1}"#),
        (
            "find tasks about the rent",
            "task_list",
            r#"{"keyword":"rent"}"#,
        ),
        ("list the done tasks", "task_list", r#"{"status":"done"}"#),
    ]);
}

#[test]
fn a_request_for_something_else_or_for_more_is_unrelated() {
    check(&[
        ("delete /d/notes.txt", "read_file", "unrelated"),
        ("read /d/notes.txt", "delete_file", "unrelated"),
        ("what would delete /d/notes.txt", "delete_file", "unrelated"),
        ("read /d/notes.txt and delete it", "read_file", "unrelated"),
        ("read /d/a.txt and /d/b.txt", "read_file", "unrelated"),
        ("list /d except *.md", "list_directory", "unrelated"),
        (
            "list the files in /d that are larger than 5 MB",
            "list_directory",
            "unrelated",
        ),
        ("read /d/notes.txt", "list_directory", "unrelated"),
        ("list the frobs in /d", "list_directory", "1 unexplained"),
        ("run DELETE FROM b", "read_query", "unrelated"),
        ("run SELECT a FROM b", "write_query", "unrelated"),
        (
            "delete everything in /d but a.txt",
            "delete_file",
            "unrelated",
        ),
        ("do not delete /d/a.txt", "delete_file", "unrelated"),
        ("unmove /d/a.txt to /d/b.txt", "move_file", "unrelated"),
        (
            "what time is it in Atlantis",
            "get_current_time",
            "lacks timezone",
        ),
        ("show the last commits", "git_log", "lacks repo_path"),
    ]);
}

#[test]
fn given_arguments_win_and_unknown_ones_are_rejected() {
    let (server, description, class, schema) = tool("read_file");
    let tool = DescribedTool {
        server,
        name: "read_file",
        description,
        class,
        schema: &schema,
    };
    let bound = |given: Value| bind("read the file", given.as_object().unwrap(), &tool, &zones());
    let Binding::Complete(call) = bound(json!({ "path": "/x" })) else {
        panic!("the path is given");
    };
    assert_eq!(Value::Object(call.arguments), json!({ "path": "/x" }));
    assert_eq!(bound(json!({ "nothing": 1 })), Binding::Unrelated);
}

#[test]
fn a_location_becomes_its_time_zone() {
    let schema =
        json!({ "properties": { "timezone": { "type": "string" }, "name": { "type": "string" } } });
    let mut arguments = json!({ "timezone": "new york", "name": "Tokyo" });
    let arguments = arguments.as_object_mut().unwrap();
    zones::resolve_zones(&schema, arguments, &zones()).unwrap();
    assert_eq!(
        Value::Object(arguments.clone()),
        json!({ "timezone": "America/New_York", "name": "Tokyo" })
    );
    arguments.insert("timezone".to_owned(), json!("Atlantis"));
    let none = zones::resolve_zones(&schema, arguments, &zones()).unwrap_err();
    assert_eq!(none, ("timezone".to_owned(), "Atlantis".to_owned()));
}
