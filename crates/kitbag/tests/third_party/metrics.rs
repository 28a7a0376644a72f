//! The metrics page, parsed by Prometheus's own Python library.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::clients::PYTHON;
use crate::gateway::{TestGateway, Transport, tools};
use crate::servers;

/// Parses a page in either format and prints each family with its type.
const READER: &str = "
import sys
if sys.argv[1] == 'openmetrics':
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
else:
    from prometheus_client.parser import text_string_to_metric_families as read
for family in read(sys.stdin.read()):
    print(family.name, family.type)
";

#[track_caller]
fn check(test_gateway: &TestGateway, format: &str, accept: &str, expected: &[&str]) {
    let url = test_gateway.endpoint().replace("/mcp", "/metrics");
    let page = Command::new("curl")
        .args(["-sf", "-H", &format!("accept: {accept}"), &url])
        .output()
        .unwrap();
    assert!(
        page.status.success(),
        "{}",
        String::from_utf8_lossy(&page.stderr)
    );
    let python = tools().join("python/desk/bin/python");
    let mut reader = Command::new(python)
        .args(["-c", READER, format])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    reader
        .stdin
        .take()
        .unwrap()
        .write_all(&page.stdout)
        .unwrap();
    let read = reader.wait_with_output().unwrap();
    let read = (
        read.status.success(),
        String::from_utf8(read.stdout).unwrap(),
    );
    assert!(
        read.0,
        "the page is not {format}:\n{}",
        String::from_utf8_lossy(&page.stdout)
    );
    for family in expected {
        assert!(
            read.1.lines().any(|line| line == *family),
            "no {family} in\n{}",
            read.1
        );
    }
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_library_of_prometheus_reads_both_formats() {
    let test_gateway = TestGateway::with(servers::all);
    let mut caller = PYTHON.connect(&test_gateway, Transport::Http);
    let server = &test_gateway.servers[0];
    caller.list_until(&[server.tool_on_merged_route()]);
    assert_ne!(
        caller.call(&server.tool_on_merged_route(), &server.arguments)["isError"],
        json!(true)
    );
    let families = [
        "kitbag_calls counter",
        "kitbag_call_duration_seconds histogram",
        "process_cpu_seconds counter",
    ];
    let accept = "application/openmetrics-text; version=1.0.0";
    check(
        &test_gateway,
        "openmetrics",
        accept,
        &[&families[..], &["kitbag_build info"]].concat(),
    );
    for accept in ["text/plain; version=0.0.4", "*/*"] {
        let expected = [&families[..], &["kitbag_build_info gauge"]].concat();
        check(&test_gateway, "classic", accept, &expected);
    }
}
