//! Servers broken in every known way, each with the output of the real ones.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use serde_json::Value;

use kitbag_testkit::home::{CONFIG, Home};
use kitbag_testkit::programs::{testbed, write_program};

use crate::{DoctorRun, write};

/// A server, and the expected diagnosis.
#[derive(Clone)]
struct Broken {
    name: &'static str,
    /// Its table in the configuration.
    table: String,
    /// The output and exit of `npx` or `uvx` for this package.
    script: &'static str,
    cause: &'static str,
    /// Text that the remedy must contain.
    remedy: &'static str,
}

fn npx(
    name: &'static str,
    script: &'static str,
    cause: &'static str,
    remedy: &'static str,
) -> Broken {
    let table = format!("command = 'npx'\nargs = ['-y', '@acme/{name}']\nstart_timeout = '2s'");
    Broken {
        name,
        table,
        script,
        cause,
        remedy,
    }
}

fn uvx(
    name: &'static str,
    script: &'static str,
    cause: &'static str,
    remedy: &'static str,
) -> Broken {
    let table = format!("command = 'uvx'\nargs = ['mcp-{name}']");
    Broken {
        name,
        table,
        script,
        cause,
        remedy,
    }
}

fn with_table(
    name: &'static str,
    table: impl Into<String>,
    cause: &'static str,
    remedy: &'static str,
) -> Broken {
    Broken {
        name,
        table: table.into(),
        script: "",
        cause,
        remedy,
    }
}

fn from_npm() -> Vec<Broken> {
    vec![
        npx(
            "variable",
            "echo 'Error: GITHUB_TOKEN environment variable is required' >&2; exit 1",
            "missing_variable",
            "`env = { GITHUB_TOKEN = \"${secret:GITHUB_TOKEN}\" }`",
        ),
        npx(
            "glob",
            "echo \"SyntaxError: The requested module 'node:fs' does not provide an export named 'globSync'\" >&2
             echo '    at ModuleJob._instantiate (node:internal/modules/esm/module_job:180:21)' >&2
             echo >&2; echo 'Node.js v20.11.1' >&2; exit 1",
            "old_node",
            "install Node.js 22 or later",
        ),
        npx(
            "nowhere",
            "echo 'npm error code E404' >&2
             echo 'npm error 404 Not Found - GET https://registry.example/@acme%2fnowhere - Not found' >&2
             echo \"npm error 404  '@acme/nowhere@*' is not in this registry.\" >&2; exit 1",
            "no_such_package",
            "`npm view @acme/nowhere`",
        ),
        npx(
            "offline",
            "echo 'TypeError: fetch failed' >&2
             echo '  [cause]: Error: getaddrinfo ENOTFOUND mcp.acme.example' >&2; exit 1",
            "no_network",
            "check the connection",
        ),
        npx(
            "port",
            "echo 'Error: listen EADDRINUSE: address already in use :::3000' >&2; exit 1",
            "port_taken",
            "`lsof -i :3000`",
        ),
        npx("stub", "echo 'This package is deprecated, use @acme/new-stub instead.' >&2", "retired", "replacement"),
        npx("quiet", "exit 0", "retired", "enabled = false"),
        npx(
            "web",
            "echo 'MCP server listening on http://127.0.0.1:8000'; cat > /dev/null",
            "serves_http",
            "kitbag servers add web --force http://127.0.0.1:8000/mcp",
        ),
        npx("shell", "exec acme-runtime --stdio", "not_found", "check that `acme-runtime` is installed"),
    ]
}

fn from_pypi() -> Vec<Broken> {
    let arguments = with_table(
        "sqlite",
        "command = 'uvx'\nargs = ['mcp-sqlite', '--db-path', 's3cret.db']",
        "new_mcp_library",
        "add `\"--with\", \"mcp<2\"` at the start of `args` of [servers.sqlite]",
    );
    vec![
        uvx(
            "weather",
            "echo 'Traceback (most recent call last):' >&2
             echo \"ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x, where FastMCP was renamed\" >&2
             exit 1",
            "new_mcp_library",
            "`kitbag servers add weather --force -- uvx --with 'mcp<2' mcp-weather`",
        ),
        Broken {
            script: "echo \"AttributeError: 'Server' object has no attribute 'list_resources'\" >&2; exit 1",
            ..arguments
        },
        uvx(
            "chroma",
            "echo '  File \"/x/site-packages/pydantic/_internal/_typing_extra.py\", line 1' >&2
             echo \"TypeError: _eval_type() got an unexpected keyword argument 'type_params'\" >&2; exit 1",
            "new_pydantic",
            "uvx --with 'pydantic<2.12' mcp-chroma",
        ),
        uvx(
            "postgres",
            "echo 'psycopg.OperationalError: connection to server at \"127.0.0.1\", port 5432 failed: Connection refused' >&2
             echo '        Is the server running on that host and accepting TCP/IP connections?' >&2; exit 1",
            "service_down",
            "start the service it needs",
        ),
        uvx(
            "needs-folder",
            "echo 'usage: mcp-needs-folder [-h] --folder FOLDER' >&2
             echo 'mcp-needs-folder: error: the following arguments are required: --folder' >&2; exit 2",
            "wrong_arguments",
            "`uvx mcp-needs-folder --help`",
        ),
        uvx(
            "key",
            "echo 'httpx.HTTPStatusError: Client error: 401 Unauthorized for url https://api.acme.example/me' >&2; exit 1",
            "bad_credentials",
            "check the keys in `env` of [servers.key]",
        ),
    ]
}

/// Servers without output: the operating system reports the error, or nothing does.
fn silent_servers(home: &Home) -> Vec<Broken> {
    let text = |path: &str| home.path(path).to_str().unwrap().to_owned();
    write(&home.path("plain"), "#!/bin/sh\n");
    write_program(&home.path("old-script"), "#!/opt/acme/python3.7\n");
    write_program(&home.path("env-script"), "#!/usr/bin/env acme-node\n");
    write_program(&home.path(".local/bin/acme-tool"), "#!/bin/sh\n");
    let soon = "start_timeout = '1s'";
    vec![
        with_table(
            "missing",
            "command = 'acme-missing'",
            "not_found",
            "is installed and on the PATH",
        ),
        with_table(
            "elsewhere",
            "command = 'acme-tool'",
            "not_found",
            ".local/bin/acme-tool\"` in [servers.elsewhere]",
        ),
        with_table(
            "plain",
            format!("command = '{}'", text("plain")),
            "not_executable",
            "chmod +x",
        ),
        with_table(
            "script",
            format!("command = '{}'", text("old-script")),
            "no_interpreter",
            "/opt/acme/python3.7",
        ),
        with_table(
            "env",
            format!("command = '{}'", text("env-script")),
            "not_found",
            "`acme-node` is installed",
        ),
        with_table(
            "folder",
            "command = 'cat'\ncwd = 'no/such'",
            "no_folder",
            "no/such`, or correct `cwd`",
        ),
        with_table(
            "silent",
            format!("command = 'sh'\nargs = ['-c', 'cat > /dev/null']\n{soon}"),
            "silent",
            "start_timeout",
        ),
        with_table(
            "chatter",
            format!("command = 'sh'\nargs = ['-c', 'echo hello; cat > /dev/null']\n{soon}"),
            "not_mcp",
            "`args`",
        ),
        with_table(
            "unset",
            "command = 'cat'\nenv = { TOKEN = '${ACME_NOT_SET}' }",
            "missing_variable",
            "export ACME_NOT_SET",
        ),
        with_table(
            "unkept",
            "command = 'cat'\nenv = { TOKEN = '${secret:acme}' }",
            "missing_variable",
            "kitbag secret set acme",
        ),
    ]
}

fn remote_servers() -> Vec<Broken> {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let at = |status: &'static str| format!("url = 'http://{}/mcp'", start_fake_server(status));
    let unauthorized = "401 Unauthorized\r\nWWW-Authenticate: Bearer";
    vec![
        with_table(
            "gone",
            format!("url = 'http://{closed}/mcp'"),
            "unreachable",
            "check that it is running",
        ),
        with_table(
            "guarded",
            at(unauthorized),
            "login_needed",
            "kitbag servers login guarded",
        ),
        with_table(
            "elsewhere-web",
            at("404 Not Found"),
            "not_mcp",
            "check the `url` of [servers.elsewhere-web]",
        ),
    ]
}

/// A web server that gives the same response to every request.
fn start_fake_server(status: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _request = connection.read(&mut [0; 4096]);
            let _gone = write!(
                connection,
                "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
    });
    address
}

/// `npx` and `uvx` that know only these packages.
fn install_runners(home: &Home, servers: &[Broken]) {
    for runner in ["npx", "uvx"] {
        let mut script = "#!/bin/sh\ncase \"$*\" in\n".to_owned();
        for server in servers.iter().filter(|server| !server.script.is_empty()) {
            writeln!(
                script,
                "*/{0} | mcp-{0} | mcp-{0}' '*) {1} ;;",
                server.name, server.script
            )
            .unwrap();
        }
        write_program(&home.path("bin").join(runner), &(script + "esac\n"));
    }
}

#[test]
fn every_broken_server_is_reported_with_cause_and_remedy() {
    let home = Home::new();
    let servers = [
        from_npm(),
        from_pypi(),
        silent_servers(&home),
        remote_servers(),
    ]
    .concat();
    install_runners(&home, &servers);
    let tables = servers
        .iter()
        .map(|server| format!("[servers.{}]\n{}\n", server.name, server.table));
    home.write(CONFIG, &tables.collect::<String>());
    fs::set_permissions(home.config(), fs::Permissions::from_mode(0o600)).unwrap();

    let doctor = DoctorRun::start(&home, &[]);
    assert_eq!(doctor.code, Some(1));
    let mut wrong = Vec::new();
    for Broken {
        name,
        cause,
        remedy,
        ..
    } in &servers
    {
        let found = doctor.only_finding("servers", name, "problem");
        let output = found["try"].as_str().unwrap_or_default();
        if found["cause"]["kind"] != *cause || !output.contains(remedy) {
            wrong.push(format!("{name}: not {cause} => {remedy}, but {found:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        servers.len() >= 12 && !doctor.report.to_string().contains("s3cret"),
        "{:#}",
        doctor.report
    );
    let summary = &doctor.report["summary"];
    assert!(
        summary["problems"].as_u64() >= Some(servers.len() as u64),
        "{summary}"
    );
}

/// Advertises resources but does not implement the method, as many servers do.
const LIAR: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"liar","version":"1"}}' ;;
    *'"tools/list"'*) answer '"result":{"tools":[{"name":"echo","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}' ;;
    *'"id":'*) answer '"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
done
"#;

#[test]
fn a_list_that_is_advertised_and_not_given_is_a_warning_and_an_odd_one_out_is_named() {
    let home = Home::new();
    write_program(&home.path("bin/liar"), LIAR);
    let tools = "[tools.liar__ech]\ncost_usd = 1\n[tools.liar__echo]\ncost_usd = 1\n";
    home.write(
        CONFIG,
        &format!("[servers.liar]\ncommand = 'liar'\n{tools}"),
    );
    let doctor = DoctorRun::start(&home, &[]);
    assert_eq!(doctor.code, Some(0), "{:#}", doctor.report);
    let found: Vec<&Value> = doctor.findings("servers", "liar");
    assert!(
        found[0]["severity"] == "ok" && found.len() == 3,
        "{found:#?}"
    );
    for lied in &found[1..] {
        let what = lied["what"].as_str().unwrap();
        assert!(
            lied["severity"] == "warning" && what.contains("resources/"),
            "{what}"
        );
    }
    let odd = doctor.only_finding("configuration", "[tools.\"liar__ech\"]", "warning");
    assert_eq!(odd["try"], "did you mean `liar__echo`?");
}

#[test]
fn a_server_that_is_nearly_too_slow_is_a_warning() {
    let home = Home::new();
    let table = format!(
        "command = '{}'\nargs = ['--manner', 'slow-start', 'stdio']\n",
        testbed()
    );
    home.write(
        CONFIG,
        &format!("[servers.bed]\n{table}start_timeout = '5s'\n"),
    );
    let doctor = DoctorRun::start(&home, &["bed"]);
    let found = doctor.findings("servers", "bed");
    assert!(
        doctor.code == Some(0) && found.len() == 3 && found[2]["severity"] == "warning",
        "{found:#?}"
    );
    assert_eq!(found[2]["try"], "raise `start_timeout` of [servers.bed]");
}

#[test]
fn the_built_in_server_is_checked_too_and_wrong_data_is_named() {
    let home = Home::new();
    home.write(CONFIG, "");
    let doctor = DoctorRun::start(&home, &["agents"]);
    assert!(
        doctor.only_finding("servers", "agents", "ok")["what"]
            .as_str()
            .unwrap()
            .starts_with("offers 4 tools")
    );
    let doctor = DoctorRun::start(&home, &["--offline"]);
    assert_eq!(
        doctor.only_finding("servers", "agents", "note")["what"],
        "is built in; knows 12 agents"
    );

    home.write(CONFIG, "[agents]\ndirectory = 'data'\n");
    let file = ".config/kitbag/data/agents/mine/capabilities/current.json";
    write(
        &home.path(file),
        r#"{"agent":{"id":"mine","name":"Mine"},"capabilities":[]}"#,
    );
    for words in [&[][..], &["agents"], &["--offline"]] {
        let doctor = DoctorRun::start(&home, words);
        let found = doctor.only_finding("servers", "agents", "problem");
        let place = format!("{file}, field `agent`: missing field `vendor`");
        assert!(found.to_string().contains(&place), "{words:?} {found:#}");
        assert!(
            found["try"].as_str().unwrap().contains("agents/schema/"),
            "{words:?} {found:#}"
        );
        assert_eq!(doctor.code, Some(1));
    }
}

#[test]
fn one_server_can_be_checked_and_offline_starts_none() {
    let home = Home::new();
    let mark = home.path("started");
    let script = format!("touch {}", mark.display());
    home.write(
        CONFIG,
        &format!(
            "[servers.a]\ncommand = 'sh'\nargs = ['-c', '{script}']\n[servers.b]\ncommand = 'acme-missing'\n"
        ),
    );
    let doctor = DoctorRun::start(&home, &["--offline"]);
    assert!(
        doctor.code == Some(1) && !mark.exists(),
        "{:#}",
        doctor.report
    );
    doctor.only_finding("servers", "a", "note");
    assert_eq!(
        doctor.only_finding("servers", "b", "problem")["cause"]["kind"],
        "not_found"
    );

    let doctor = DoctorRun::start(&home, &["b"]);
    assert!(
        !mark.exists() && doctor.findings("servers", "a").is_empty(),
        "{:#}",
        doctor.report
    );
    assert!(doctor.findings("clients", "").is_empty() && doctor.findings("address", "").is_empty());
    let output = home.fails(&["doctor", "c"]);
    assert!(output.contains("no server `c`"), "{output}");
}
