//! `kitbag tools`, `kitbag tools show` and `kitbag call`.

use std::fs;

use serde_json::Value;

use kitbag_testkit::home::{CONFIG, Home};
use kitbag_testkit::programs::testbed;

#[test]
fn a_call_is_checked_before_its_server_is_started_and_explained_as_to_any_client() {
    let home = Home::new();
    let starts = home.path("starts");
    let script = format!(
        "echo started >> {}; exec {} stdio",
        starts.display(),
        testbed()
    );
    home.ok(&["servers", "add", "bed", "--", "sh", "-c", &script]);
    let before = fs::read_to_string(&starts).unwrap();

    let output = home.fails(&["call", "bed__slow", "ms=soon"]);
    assert!(
        output.starts_with("error: `bed__slow` was not called because its arguments are invalid:"),
        "{output}"
    );
    assert!(
        output.contains("/ms: expected an integer, got \"soon\" (a string)"),
        "{output}"
    );
    let output: Value =
        serde_json::from_str(&home.fails(&["call", "bed__slow", "ms=soon", "--json"])).unwrap();
    assert!(
        output["error"]
            .as_str()
            .unwrap()
            .contains("/ms: expected an integer"),
        "{output}"
    );
    assert_eq!(
        fs::read_to_string(&starts).unwrap(),
        before,
        "nothing was started"
    );

    let output = home.ok(&["call", "bed__slow", "{\"ms\": 1}"]);
    assert!(output.starts_with("slept 1 ms"), "{output}");
    let output = home.ok(&["call", "bed__slow", "ms:=\"1\""]);
    assert!(
        output.contains("slept 1 ms") && output.contains("Taken as: ms = 1 (was a string)"),
        "{output}"
    );
}

#[test]
fn a_tool_is_described_with_its_parameters_and_a_search_without_a_match_says_so() {
    let home = Home::new();
    let output = home.ok(&["tools", "show", "agents__lookup_capability"]);
    assert!(
        output.contains("PARAMETER")
            && output.contains("To call it: kitbag call agents__lookup_capability"),
        "{output}"
    );
    let definition = home.json(&["tools", "show", "agents__lookup_capability"]);
    assert!(definition["inputSchema"].is_object(), "{definition}");
    assert!(
        home.fails(&["tools", "show", "agents__lokup_capability"])
            .contains("did you mean agents__lookup_capability")
    );
    home.write(CONFIG, "[servers.off]\ncommand = 'x'\nenabled = false\n");
    let output = home.run(&["tools", "zzzz"]);
    assert!(
        output
            .stderr
            .contains("`zzzz` occurs in the name or description of none"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_catalog_tool_needs_no_server() {
    let home = Home::new();
    home.write(CONFIG, "[catalog]\ntools = ['agent-state']\n");
    let output = home.run(&["tools"]);
    assert!(output.stdout.contains("agent_state"), "{}", output.stdout);
    assert!(!output.stderr.contains("No servers"), "{}", output.stderr);
}
