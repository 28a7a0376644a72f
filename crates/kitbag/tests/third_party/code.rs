//! Programs that join real servers in one run, requested by real clients of both eras.

use serde_json::{Value, json};

use crate::clients::{Client, INSPECTOR, PYTHON, PYTHON_LEGACY, TYPESCRIPT, TYPESCRIPT_MODERN};
use crate::gateway::{TestGateway, Transport};
use crate::servers::{self, RealServer};

/// Reads a file, a repository's log and the knowledge graph, each from its own server, and returns one
/// line of each.
fn program(servers: &[RealServer]) -> String {
    let of = |name: &str| {
        let server = servers.iter().find(|server| server.name == name).unwrap();
        server.arguments.to_string()
    };
    format!(
        "const [note, log, graph] = await Promise.all([\n\
           tools.filesystem.read_text_file({}),\n\
           tools.git.git_log({}),\n\
           tools.memory.read_graph({{}}),\n\
         ]);\n\
         const text: string = typeof note === 'string' ? note : note.content;\n\
         return {{ note: text.trim(), commits: JSON.stringify(log).includes('first light'), known: graph.entities.length }};",
        of("filesystem"),
        of("git")
    )
}

#[track_caller]
fn check(client: Client, transport: Transport) {
    let test_gateway = TestGateway::on_code(servers::three_servers);
    test_gateway.introduce_servers();
    let mut caller = client.connect(&test_gateway, transport);
    let result = caller.call(
        "run_code",
        &json!({ "code": program(&test_gateway.servers) }),
    );
    let output = result["content"][0]["text"].as_str().unwrap_or_default();
    let value: Value = serde_json::from_str(output.lines().next().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{result}"));
    assert_eq!(
        value,
        json!({ "note": "kept in a file", "commits": true, "known": 0 })
    );
    for tool in [
        "filesystem__read_text_file",
        "git__git_log",
        "memory__read_graph",
    ] {
        assert!(output.contains(tool), "{output}");
    }
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_inspector_joins_three_servers_in_one_run() {
    check(INSPECTOR, Transport::Http);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_python_client_joins_three_servers_in_both_eras() {
    check(PYTHON, Transport::Http);
    check(PYTHON_LEGACY, Transport::Stdio);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_typescript_client_joins_three_servers_in_both_eras() {
    check(TYPESCRIPT, Transport::Http);
    check(TYPESCRIPT_MODERN, Transport::Stdio);
}
